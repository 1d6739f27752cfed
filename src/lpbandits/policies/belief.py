"""`Belief`: the knowledge of a policy about one person, as plain arrays that can be saved and restored."""

import math
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.kernels import layout
from lpbandits.kernels.calls import IMPOSSIBLE, NO_POSTERIOR, restoring
from lpbandits.notebook import Shown
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, IntArray, Json, SlotArray

if TYPE_CHECKING:
    from lpbandits.policies.policy import Policy

ROOM = 8
"""Number of tried actions that a new belief has room for; it grows when needed."""
MAGIC = b"LPB2"
PERSONAL = b"LPP2"
"""Begins a packed belief that has the person's prior."""
_HEAD = struct.Struct("<4sI8sI")  # magic, checksum of all that follows it, belief id, number of tried actions
_CHECKED = 8  # first byte of which the checksum is
_MAGIC_1 = b"LPB1"  # of lpbandits up to 0.3
_HEAD_1 = struct.Struct("<4s8sIIII")  # magic, policy id, tried actions, states, rows and columns of `own`
_SLOTS = ("count", "sum", "spread")
_STATES = ("score", "posterior")  # the other rows never change
_OTHER = "belongs to another model, evidence or noise; give a policy with those of the policy that created it"
_FAULTS = {IMPOSSIBLE: "its counts, sums or spreads are impossible", NO_POSTERIOR: "it gives no posterior"}
_Saved = tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray | None]
"""Tried actions, the saved arrays `slots`, `states` and `own`, and the person's prior."""


@contextmanager
def reading_saved(part: str) -> Iterator[None]:
    """Convert errors in the content of a saved agent, policy or belief to `FileFormatError`."""
    try:
        yield
    except FileFormatError:
        raise
    except InvalidInput as error:
        raise FileFormatError(f"the saved {part} is invalid: {error}") from None
    except validate.CONVERSION_ERRORS as error:
        raise FileFormatError(f"the saved {part} is incomplete: {error!r}") from None


@dataclass(eq=False, repr=False)
class Belief(Shown):
    """The knowledge of a policy about one person; `lpbandits.kernels.layout` describes the arrays.

    A policy creates it (`policy.new_belief()`). It depends on the model and the evidence, not on the rule or on
    `explore`: every policy with the same model and evidence can use it.

    Examples
    --------
    >>> from lpbandits import LpbTS, PreferenceModel
    >>> policy = LpbTS(PreferenceModel([[0, 1], [1, 0]]))
    >>> belief = policy.new_belief()
    >>> belief.tried, belief.states[layout.POSTERIOR].tolist()
    (0, [0.5, 0.5])
    >>> len(belief.pack()), Belief.unpack(policy, belief.pack()).tried
    (20, 0)
    """

    slots: FloatArray
    states: FloatArray
    own: FloatArray
    order: SlotArray
    work: FloatArray
    id: bytes
    tried: int = 0
    own_is_saved: bool = True
    states_are_saved: bool = True
    prior: FloatArray | None = None
    """Probability of each state before the first outcome; None: the model's."""

    @classmethod
    def new(cls, policy: "Policy", room: int, prior: FloatArray | None = None) -> "Belief":
        """Return the belief about a new person, with room for `room` tried actions."""
        ordered = policy.ranks.shape[0] if policy.evidence.ordered or not policy.evidence.latent else 0
        return cls(
            slots=np.zeros((layout.SLOT_ROWS, room)),
            states=policy.start_states.copy() if prior is None else policy.starts(prior[None])[0],
            own=policy.start_own.copy(),
            order=np.zeros((1 + ordered, room), dtype=np.uint32),
            work=_scratch(policy, room),
            id=policy.belief_id,
            own_is_saved=not policy.evidence.derived,
            states_are_saved=not policy.evidence.batchable,
            prior=prior,
        )

    @staticmethod
    def checked(policy: "Policy", belief: Any) -> "Belief":
        """Return a belief; raise `InvalidInput` unless it is one of this policy, whose kernels index its arrays."""
        if not isinstance(belief, Belief):
            raise validate.invalid("belief", "a Belief", belief, "give Belief.unpack(policy, data)")
        if belief.id != policy.belief_id:
            raise InvalidInput(f"the belief {_OTHER}")
        rows, columns = policy.scratch
        if belief.work.shape[0] < layout.RULE_WORK + rows or belief.work.shape[1] < columns:
            belief.work = _scratch(policy, belief.room)  # a policy with another rule created it
        return belief

    def copy(self) -> "Belief":
        """Return an independent copy."""
        arrays = (self.slots.copy(), self.states.copy(), self.own.copy(), self.order.copy(), self.work.copy())
        return Belief(*arrays, self.id, self.tried, self.own_is_saved, self.states_are_saved, self.prior)

    @property
    def room(self) -> int:
        """Number of tried actions it can hold."""
        return int(self.slots.shape[1])

    @property
    def actions(self) -> IntArray:
        """The tried actions in order of slots."""
        return self.order[0, : self.tried].astype(np.int64)

    @property
    def outcomes(self) -> int:
        """Number of outcomes; a duel counts once for each of its two actions."""
        return int(self.slots[layout.COUNT, : self.tried].sum())

    def __repr__(self) -> str:
        states = self.states.shape[1]
        parts = [pluralize(self.outcomes, "outcome"), pluralize(self.tried, "tried action")]
        return f"<Belief: {', '.join([*parts, *([pluralize(states, 'state')] if states else [])])}>"

    def _grow(self) -> None:
        """Double the room; this replaces the arrays."""
        room = self.room
        slots, order = np.zeros((len(self.slots), 2 * room)), np.zeros((len(self.order), 2 * room), dtype=np.uint32)
        slots[:, :room], order[:, :room] = self.slots, self.order
        self.slots, self.order = slots, order
        self.work = np.zeros((self.work.shape[0], max(self.work.shape[1], 2 * room)))

    def to_dict(self, labels: Sequence[Any]) -> Json:
        """Return a JSON object with actions by label; null is −∞, the score of an impossible state.

        "own" lists the nonzero entries of the array `own` as row, column and value.
        """
        actions = self.actions.tolist()
        rows = self.slots[:, : self.tried].T.tolist()
        states = [[None if x == -np.inf else x for x in row] for row in self.states[: len(_STATES)].tolist()]
        own = self.own if self.own_is_saved else self.own[:0]
        prior = {} if self.prior is None else {"prior": self.prior.tolist()}
        return prior | {
            "tried": [
                {"action": labels[a], **dict(zip(_SLOTS, row, strict=True))}
                for a, row in zip(actions, rows, strict=True)
            ],
            "states": dict(zip(_STATES, states, strict=True)),
            "own": [[i, j, float(own[i, j])] for i, j in np.argwhere(own).tolist()],
        }

    @classmethod
    def from_dict(cls, policy: "Policy", content: Any) -> "Belief":
        """Return the belief that `to_dict` wrote, for the same policy."""
        if not isinstance(content, dict):
            raise FileFormatError("the saved belief must be a JSON object")
        with reading_saved("belief"):
            tried = list(content["tried"])
            actions = [policy.index_of(row["action"]) for row in tried]
            rows = [[row[name] for name in _SLOTS] for row in tried]
            slots = np.array(rows, dtype=np.float64).reshape(-1, len(_SLOTS))
            saved = [content["states"][name] for name in _STATES]
            states = np.array([[-np.inf if x is None else x for x in row] for row in saved], dtype=np.float64)
            own = np.zeros(_saved_shapes(policy)[1])
            for row, column, value in content["own"]:
                own[validate.as_count(row, "row", low=0), validate.as_count(column, "column", low=0)] = value
        return cls._restored(policy, np.array(actions, dtype=np.int64), slots.T, states, own, content.get("prior"))

    def pack(self) -> bytes:
        """Return bytes: 20, 28 per tried action, 16 per state unless derived from these, and `own`, compressed.

        A prior of the person takes 8 more per state.
        """
        n = self.tried
        rest = self.id + struct.pack("<I", n) + _little_endian(self.order[0, :n]) + _little_endian(self.slots[:, :n])
        if self.states_are_saved:
            rest += _little_endian(self.states[: len(_STATES)])
        if self.prior is not None:
            rest += _little_endian(self.prior)
        if self.own_is_saved and self.own.size:
            rest += zlib.compress(_little_endian(self.own), 1)
        return (MAGIC if self.prior is None else PERSONAL) + struct.pack("<I", zlib.crc32(rest)) + rest

    @classmethod
    def unpack(cls, policy: "Policy", data: Any) -> "Belief":
        """Return the belief that `pack` wrote, for a policy with the same model and evidence.

        Display names, covariates and provenance of the model may differ, but not the labels of actions. Bytes of
        lpbandits up to 0.3 need the same rule too.
        """
        if not hasattr(policy, "new_belief"):
            raise validate.invalid("policy", "a Policy", policy, "give one such as LpbTS(model)")
        if not isinstance(data, bytes | bytearray) or data[:4] not in (MAGIC, PERSONAL, _MAGIC_1):
            raise FileFormatError("data is not a packed belief; give the bytes of Belief.pack")
        return cls._restored(policy, *(_read_1 if data[:4] == _MAGIC_1 else _read)(policy, data))

    @classmethod
    def _restored(
        cls, policy: "Policy", actions: IntArray, slots: FloatArray, states: FloatArray, own: FloatArray, prior: Any
    ) -> "Belief":
        """Validate saved arrays and return a belief; slot orders, scores and posterior are recomputed."""
        n = len(actions)
        if (states.shape, own.shape) != _saved_shapes(policy):
            raise FileFormatError(
                f"the saved belief has arrays of shapes {states.shape} and {own.shape}, but this policy has "
                f"{_saved_shapes(policy)}; give the policy that created it"
            )
        tried = actions.tolist()
        if len(set(tried)) < n or (n and max(tried) >= policy.model.n_actions):
            raise FileFormatError("the saved belief is invalid: an action is listed twice or unknown")
        if prior is None:
            belief = policy.new_belief(max(ROOM, n))
        else:
            with reading_saved("belief"):
                belief = policy.new_belief(max(ROOM, n), prior)
        belief.order[0, :n], belief.slots[:, :n], belief.tried = actions, slots, n
        if belief.own_is_saved:
            belief.own[:] = own
        if n:
            belief.states[: len(_STATES)] = states
        fault = restoring(policy.evidence.update_posterior)(*policy.arrays(belief), n, validate.MAX_ABS_VALUE)
        if fault:
            raise FileFormatError(f"the saved belief is invalid: {_FAULTS[fault]}")
        return belief


def _read(policy: "Policy", data: bytes | bytearray) -> _Saved:
    """Return the saved arrays of packed bytes."""
    if len(data) < _HEAD.size or zlib.crc32(memoryview(data)[_CHECKED:]) != _HEAD.unpack_from(data)[1]:
        raise FileFormatError("the packed belief is truncated or damaged")
    *_, belief_id, n = _HEAD.unpack_from(data)
    if belief_id not in (policy.belief_id, policy.former_belief_id):
        raise FileFormatError(f"the packed belief {_OTHER}")
    shape, own_shape = _saved_shapes(policy)
    recomputed = policy.evidence.batchable
    actions, slots, states, end = _arrays_in(data, _HEAD.size, n, 0 if recomputed else shape[1])
    prior, own_size = None, math.prod(own_shape)
    if data[:4] == PERSONAL:
        if len(data) < end + 8 * shape[1]:
            raise FileFormatError("the packed belief is truncated or damaged")
        prior, end = np.frombuffer(data, "<f8", shape[1], end).astype(np.float64), end + 8 * shape[1]
    packed = _inflated(data[end:], 8 * own_size) if own_size else data[end:]
    if len(packed) != 8 * own_size:
        raise FileFormatError("the packed belief is truncated or damaged")
    own = np.frombuffer(packed, "<f8").reshape(own_shape)
    return actions, slots, policy.start_states[: len(_STATES)] if recomputed else states, own, prior


def _read_1(policy: "Policy", data: bytes | bytearray) -> _Saved:
    """Return the saved arrays of bytes that lpbandits up to 0.3 packed: all arrays were compressed together."""
    if len(data) < _HEAD_1.size:
        raise FileFormatError("the packed belief is truncated or damaged")
    _, policy_id, n, *_ = _HEAD_1.unpack_from(data)
    if policy_id != policy.id:
        raise FileFormatError(
            "the packed belief of lpbandits 0.3 or earlier belongs to another policy or model; give the policy that "
            "created it"
        )
    if n > policy.model.n_actions:
        raise FileFormatError("the packed belief is invalid: it has more actions than the model")
    shape, own_shape = _saved_shapes(policy)
    body = _inflated(data[_HEAD_1.size :], 28 * n + 8 * (math.prod(shape) + math.prod(own_shape)))
    actions, slots, states, end = _arrays_in(body, 0, n, shape[1])
    return actions, slots, states, np.frombuffer(body, "<f8", offset=end).reshape(own_shape), None


def _arrays_in(data: bytes | bytearray, at: int, n: int, m: int) -> tuple[IntArray, FloatArray, FloatArray, int]:
    """Return the arrays of n tried actions and m states from position `at` on, and where they end."""
    middle, end = at + 28 * n, at + 28 * n + 8 * len(_STATES) * m
    if len(data) < end:
        raise FileFormatError("the packed belief is truncated or damaged")
    actions = np.frombuffer(data, "<u4", n, at).astype(np.int64)
    slots = np.frombuffer(data, "<f8", layout.SLOT_ROWS * n, at + 4 * n).reshape(layout.SLOT_ROWS, n)
    return actions, slots, np.frombuffer(data, "<f8", len(_STATES) * m, middle).reshape(len(_STATES), m), end


def _inflated(data: bytes | bytearray, size: int) -> bytes:
    """Return the `size` bytes of a zlib stream."""
    try:
        inflater = zlib.decompressobj()
        body = inflater.decompress(data, size + 1)
    except zlib.error as error:
        raise FileFormatError(f"the packed belief is damaged: {error}") from None
    if len(body) != size or not inflater.eof or inflater.unused_data:
        raise FileFormatError("the packed belief is truncated or damaged")
    return body


def _little_endian(array: FloatArray | SlotArray) -> bytes:
    return (array if sys.byteorder == "little" else array.astype(array.dtype.newbyteorder("<"))).tobytes()


def _scratch(policy: "Policy", room: int) -> FloatArray:
    rows, columns = policy.scratch
    return np.zeros((layout.RULE_WORK + rows, max(room, columns)))


def initial_states(policy: "Policy", priors: FloatArray) -> FloatArray:
    """Return `states` of people without outcomes, people×4×m, from their priors; no columns without latent states."""
    if not policy.evidence.latent:
        return np.zeros((len(priors), layout.STATE_ROWS, 0))
    states = np.zeros((len(priors), layout.STATE_ROWS, priors.shape[1]))
    with np.errstate(divide="ignore"):
        states[:, layout.LOG_PRIOR] = np.log(priors)
    states[:, layout.SCORE] = states[:, layout.LOG_PRIOR]
    possible = priors > 0
    equal = possible / possible.sum(axis=1, keepdims=True)
    states[:, layout.POSTERIOR] = priors if policy.evidence.probabilistic else equal
    states[:, layout.BEST] = np.argmin(policy.ranks, axis=1)
    return states


def _saved_shapes(policy: "Policy") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of the saved arrays `states` and `own` of a policy's beliefs."""
    own = (0, 0) if policy.evidence.derived else policy.start_own.shape
    return (len(_STATES), policy.start_states.shape[1]), own
