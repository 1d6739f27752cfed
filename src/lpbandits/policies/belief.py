"""`Belief`: the knowledge of a policy about one person, as plain arrays that can be saved and restored."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.kernels import layout
from lpbandits.kernels.tally import place
from lpbandits.typing import FloatArray, IntArray, Json, SlotArray

if TYPE_CHECKING:
    from lpbandits.policies.policy import Policy

MAGIC = b"LPB1"
PERSONAL = b"LPP1"
"""Begins a packed belief that ends with the person's prior."""
_HEAD = struct.Struct("<4s8sIIII")  # magic, policy id, tried actions, states, rows and columns of `own`
_SLOTS = ("count", "sum", "spread")
_STATES = ("score", "posterior")  # the other rows never change


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


@dataclass(eq=False)
class Belief:
    """The knowledge of a policy about one person; `lpbandits.kernels.layout` describes the arrays.

    A belief belongs to one policy, which creates it (`policy.new_belief()`).

    Examples
    --------
    >>> from lpbandits import LpbTS, PreferenceModel
    >>> policy = LpbTS(PreferenceModel([[0, 1], [1, 0]]))
    >>> belief = policy.new_belief()
    >>> belief.tried, belief.states[layout.POSTERIOR].tolist()
    (0, [0.5, 0.5])
    >>> len(belief.pack()), Belief.unpack(policy, belief.pack()).tried
    (53, 0)
    """

    slots: FloatArray
    states: FloatArray
    own: FloatArray
    order: SlotArray
    work: FloatArray
    policy_id: bytes
    tried: int = 0
    own_is_saved: bool = True
    prior: FloatArray | None = None
    """Probability of each state before the first outcome; None: the model's."""

    @classmethod
    def new(cls, policy: "Policy", room: int = 8, prior: FloatArray | None = None) -> "Belief":
        """Return the belief about a new person; `policy.new_belief` validates the prior."""
        room = validate.as_count(room, "room")
        ordered = policy.ranks.shape[0] if policy.evidence.ordered or not policy.evidence.latent else 0
        rows, columns = policy.scratch
        return cls(
            slots=np.zeros((layout.SLOT_ROWS, room)),
            states=policy.start_states.copy() if prior is None else policy.starts(prior[None])[0],
            own=policy.start_own.copy(),
            order=np.zeros((1 + ordered, room), dtype=np.uint32),
            work=np.zeros((layout.RULE_WORK + rows, max(room, columns))),
            policy_id=policy.id,
            own_is_saved=not policy.evidence.derived,
            prior=prior,
        )

    @staticmethod
    def checked(policy: "Policy", belief: Any) -> "Belief":
        """Return a belief; raise `InvalidInput` unless it is one of this policy, whose kernels index its arrays."""
        if not isinstance(belief, Belief):
            raise validate.invalid("belief", "a Belief", belief, "give Belief.unpack(policy, data)")
        if belief.policy_id != policy.id:
            raise InvalidInput("the belief belongs to another policy or model; give the policy that created it")
        return belief

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

    def _grow(self) -> None:
        """Double the room; this replaces the arrays."""
        more = ((0, 0), (0, self.room))
        self.slots, self.order = np.pad(self.slots, more), np.pad(self.order, more)
        self.work = np.zeros((self.work.shape[0], max(self.work.shape[1], self.room)))

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
        """Return compressed bytes; before compression about 30 per tried action and 16 per state, plus `own`."""
        m = self.states.shape[1]
        own = self.own if self.own_is_saved else np.zeros((0, 0))
        magic, prior = (MAGIC, np.zeros(0)) if self.prior is None else (PERSONAL, self.prior)
        head = _HEAD.pack(magic, self.policy_id, self.tried, m, *own.shape)
        arrays = (self.order[0, : self.tried], self.slots[:, : self.tried], self.states[: len(_STATES)], own, prior)
        body = b"".join(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"), copy=False).tobytes() for a in arrays)
        return head + zlib.compress(body, 1)

    @classmethod
    def unpack(cls, policy: "Policy", data: Any) -> "Belief":
        """Return the belief that `pack` wrote, for the same policy."""
        if not hasattr(policy, "new_belief"):
            raise validate.invalid("policy", "a Policy", policy, "give one such as LpbTS(model)")
        if not isinstance(data, bytes | bytearray) or len(data) < _HEAD.size or data[:4] not in (MAGIC, PERSONAL):
            raise FileFormatError("data is not a packed belief; give the bytes of Belief.pack")
        magic, policy_id, tried, *_ = _HEAD.unpack_from(data)
        if policy_id != policy.id:
            raise FileFormatError(
                "the packed belief belongs to another policy or model; give the policy that created it"
            )
        n_priors = int(magic == PERSONAL)
        shapes = ((layout.SLOT_ROWS, tried), *_saved_shapes(policy), (n_priors, policy.start_states.shape[1]))
        sizes = (4 * tried, *(8 * height * width for height, width in shapes))
        try:
            inflater = zlib.decompressobj()
            body = inflater.decompress(data[_HEAD.size :], sum(sizes) + 1)
        except zlib.error as error:
            raise FileFormatError(f"the packed belief is damaged: {error}") from None
        if len(body) != sum(sizes) or not inflater.eof or inflater.unused_data:
            raise FileFormatError("the packed belief is truncated or damaged")
        ends = np.cumsum(sizes)
        actions = np.frombuffer(body[: ends[0]], dtype="<u4").astype(np.int64)
        slots, states, own, priors = (
            np.frombuffer(body[low:high], dtype="<f8").astype(np.float64).reshape(shape)
            for (low, high), shape in zip(pairwise(ends), shapes, strict=True)
        )
        return cls._restored(policy, actions, slots, states, own, priors[0] if n_priors else None)

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
        if len(np.unique(actions)) < n or (n and actions.max() >= policy.model.n_actions):
            raise FileFormatError("the saved belief is invalid: an action is listed twice or unknown")
        counts, sums, spreads = slots
        largest = validate.MAX_ABS_VALUE * (1.0 + 1e-9)  # sums are rounded
        whole = (counts >= 1) & (counts <= 2.0**53) & (counts == np.floor(counts))
        if not np.all(
            whole & (abs(sums) <= largest * counts) & (spreads >= 0) & (spreads <= 16.0 * largest**2 * counts)
        ):
            raise FileFormatError("the saved belief is invalid: its counts, sums or spreads are impossible")
        with reading_saved("belief"):
            belief = policy.new_belief(max(8, n), prior)
        belief.slots[:, :n], belief.tried = slots, n
        for slot, action in enumerate(actions.tolist()):
            place(policy.ranks, belief.order, slot, action)
        if belief.own_is_saved:
            belief.own[:] = own
        if n:
            belief.states[: len(_STATES)] = states
            if policy.evidence.update_posterior is not None:
                policy._call(policy.evidence.update_posterior, belief)
        if np.isnan(belief.states).any() or not np.isfinite(belief.own).all():
            raise FileFormatError("the saved belief is invalid: it gives no posterior")
        return belief


def _saved_shapes(policy: "Policy") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of the saved arrays `states` and `own` of a policy's beliefs."""
    own = (0, 0) if policy.evidence.derived else policy.start_own.shape
    return (len(_STATES), policy.start_states.shape[1]), own
