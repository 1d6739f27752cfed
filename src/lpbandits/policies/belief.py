"""`Belief`: the knowledge of a policy about one person, as plain arrays that can be saved and restored."""

import struct
import zlib
from collections.abc import Sequence
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
_HEAD = struct.Struct("<4s8sIIII")  # magic, policy id, tried actions, states, rows and columns of `own`
_SLOTS = ("count", "sum", "spread")
_STATES = ("score", "posterior")  # the other rows never change


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

    @classmethod
    def new(cls, policy: "Policy", room: int = 8) -> "Belief":
        """Return the belief about a new person, with room for `room` tried actions."""
        _check_policy(policy)
        room = validate.as_count(room, "room")
        ordered = policy.ranks.shape[0] if policy.evidence.ordered or not policy.evidence.latent else 0
        rows, columns = map(max, policy.rule.work(policy.model), policy.evidence.work(policy.model))
        return cls(
            slots=np.zeros((layout.SLOT_ROWS, room)),
            states=policy.start_states.copy(),
            own=policy.start_own.copy(),
            order=np.zeros((1 + ordered, room), dtype=np.uint32),
            work=np.zeros((layout.RULE_WORK + rows, max(room, columns))),
            policy_id=policy.id,
            own_is_saved=not policy.evidence.derived,
        )

    @classmethod
    def copied(cls, policy: "Policy", belief: Any) -> "Belief":
        """Return a copy; raise `InvalidInput` unless it is a belief of this policy."""
        _check_policy(policy)
        if not isinstance(belief, Belief):
            raise InvalidInput(
                f"belief must be a Belief, got {validate.short_repr(belief)}; give Belief.unpack(policy, data)"
            )
        if belief.policy_id != policy.id:
            raise InvalidInput("the belief belongs to another policy or model; give the policy that created it")
        out = cls.new(policy, max(belief.room, 1))
        for name in ("slots", "states", "own", "order"):
            target, source = getattr(out, name), getattr(belief, name)
            if not isinstance(source, np.ndarray) or (source.shape, source.dtype) != (target.shape, target.dtype):
                raise InvalidInput(
                    f"the belief's array {name!r} has the wrong shape or type; give a belief of new_belief or unpack"
                )
            target[:] = source
        out.tried = validate.as_count(belief.tried, "tried", low=0, high=out.room)
        return out

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
        own = self.own if self.own_is_saved else self.own[:0]
        return {
            "tried": [
                {"action": labels[a], **dict(zip(_SLOTS, row, strict=True))}
                for a, row in zip(actions, rows, strict=True)
            ],
            "states": {name: _plain(self.states[i]) for i, name in enumerate(_STATES)},
            "own": [[i, j, float(own[i, j])] for i, j in np.argwhere(own).tolist()],
        }

    @classmethod
    def from_dict(cls, policy: "Policy", content: Any) -> "Belief":
        """Return the belief that `to_dict` wrote, for the same policy."""
        _check_policy(policy)
        if not isinstance(content, dict):
            raise FileFormatError("the saved belief must be a JSON object")
        try:
            tried = list(content["tried"])
            actions = [policy.index_of(row["action"]) for row in tried]
            rows = [[row[name] for name in _SLOTS] for row in tried]
            slots = validate.as_floats(rows, "tried", shape=(None, len(_SLOTS))) if rows else np.zeros((0, len(_SLOTS)))
            saved = [content["states"][name] for name in _STATES]
            states = np.array([[-np.inf if x is None else x for x in row] for row in saved], dtype=np.float64)
            own = np.zeros(_saved_shape(policy))
            for row, column, value in content["own"]:
                own[validate.as_count(row, "row", low=0), validate.as_count(column, "column", low=0)] = value
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            if isinstance(error, InvalidInput):
                raise FileFormatError(f"the saved belief is invalid: {error}") from None
            raise FileFormatError(f"the saved belief is incomplete: {error!r}") from None
        return cls._restored(policy, np.array(actions, dtype=np.int64), slots.T, states, own)

    def pack(self) -> bytes:
        """Return compressed bytes: about 30 bytes per tried action and 16 per state."""
        m = self.states.shape[1]
        own = self.own if self.own_is_saved else np.zeros((0, 0))
        head = _HEAD.pack(MAGIC, self.policy_id, self.tried, m, *own.shape)
        arrays = (self.order[0, : self.tried], self.slots[:, : self.tried], self.states[: len(_STATES)], own)
        body = b"".join(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<"), copy=False).tobytes() for a in arrays)
        return head + zlib.compress(body, 1)

    @classmethod
    def unpack(cls, policy: "Policy", data: Any) -> "Belief":
        """Return the belief that `pack` wrote, for the same policy."""
        _check_policy(policy)
        if not isinstance(data, bytes | bytearray) or len(data) < _HEAD.size or not data.startswith(MAGIC):
            raise FileFormatError("data is not a packed belief; give the bytes of Belief.pack")
        _, policy_id, tried, m, rows, columns = _HEAD.unpack_from(data)
        if policy_id != policy.id:
            raise FileFormatError(
                "the packed belief belongs to another policy or model; give the policy that created it"
            )
        _check_shapes(policy, tried, m, (rows, columns))
        sizes = (4 * tried, 8 * layout.SLOT_ROWS * tried, 8 * len(_STATES) * m, 8 * rows * columns)
        try:
            inflater = zlib.decompressobj()
            body = inflater.decompress(data[_HEAD.size :], sum(sizes) + 1)
        except zlib.error as error:
            raise FileFormatError(f"the packed belief is damaged: {error}") from None
        if len(body) != sum(sizes) or not inflater.eof or inflater.unused_data:
            raise FileFormatError("the packed belief is truncated or damaged")
        ends = np.cumsum(sizes)
        actions = np.frombuffer(body[: ends[0]], dtype="<u4").astype(np.int64)
        slots, states, own = (
            np.frombuffer(body[low:high], dtype="<f8").astype(np.float64) for low, high in pairwise(ends)
        )
        shapes = ((layout.SLOT_ROWS, tried), (len(_STATES), m), (rows, columns))
        return cls._restored(
            policy, actions, *(a.reshape(shape) for a, shape in zip((slots, states, own), shapes, strict=True))
        )

    @classmethod
    def _restored(
        cls, policy: "Policy", actions: IntArray, slots: FloatArray, states: FloatArray, own: FloatArray
    ) -> "Belief":
        """Validate saved arrays and return a belief; slot orders, scores and posterior are recomputed."""
        n = len(actions)
        if states.ndim != 2:
            raise FileFormatError(f"the saved belief's states must be a matrix, got shape {states.shape}")
        _check_shapes(policy, n, states.shape[1], own.shape)
        if len(np.unique(actions)) < n or (n and actions.max() >= policy.model.n_actions):
            raise FileFormatError("the saved belief is invalid: an action is listed twice or unknown")
        try:
            _check_slots(policy, slots)
            belief = cls.new(policy, max(8, n))
            belief.slots[:, :n], belief.tried = slots, n
            if policy.feedback == "duels" and belief.outcomes % 2:
                raise InvalidInput(f"the counts sum to {belief.outcomes}, but each duel has two actions")
            _check_own(policy, own, actions, belief.outcomes // (2 if policy.feedback == "duels" else 1))
            _check_states(policy, states)
        except InvalidInput as error:
            raise FileFormatError(f"the saved belief is invalid: {error}") from None
        for slot, action in enumerate(actions.tolist()):
            place(policy.ranks, belief.order, slot, action)
        if belief.own_is_saved:
            belief.own[:] = own
        if n:
            belief.states[: len(_STATES)] = states
        if n and policy.evidence.update_posterior is not None:
            policy.evidence.update_posterior(policy.arrays(belief), n)
        if np.isnan(belief.states).any():
            raise FileFormatError("the saved belief is invalid: it gives no posterior")
        return belief


def _check_policy(policy: Any) -> None:
    if not hasattr(policy, "new_belief"):
        raise InvalidInput(f"policy must be a Policy, got {validate.short_repr(policy)}; give one such as LpbTS(model)")


def _saved_shape(policy: "Policy") -> tuple[int, int]:
    """Return the shape of the saved part of the evidence's array `own`."""
    rows, columns = (0, 0) if policy.evidence.derived else policy.start_own.shape
    return rows, columns


def _check_shapes(policy: "Policy", tried: int, states: int, own: tuple[int, ...]) -> None:
    """Reject a belief of another policy before allocating arrays of its size."""
    m, k = policy.start_states.shape[1], policy.model.n_actions
    if (states, own) != (m, _saved_shape(policy)) or tried > k:
        raise FileFormatError(
            f"the saved belief has {tried} tried actions, {states} states and an array of shape {own}; this policy has "
            f"{k} actions, {m} states and shape {_saved_shape(policy)}: give the policy that created it"
        )


def _check_slots(policy: "Policy", slots: FloatArray) -> None:
    """Reject counts, sums and spreads that are impossible for the policy's rewards or duels."""
    counts, sums, spreads = slots
    family = "bernoulli" if policy.feedback == "duels" else policy.rewards.family
    largest = {"bernoulli": 1.0, "poisson": validate.MAX_ABS_VALUE, "gaussian": validate.MAX_ABS_VALUE}[family]
    lowest = -largest if family == "gaussian" else 0.0
    most = largest * counts * (1.0 + 1e-9)  # sums are rounded
    for ok, rule in (
        (np.isfinite(slots), "every number is finite"),
        ((counts >= 1) & (counts <= 2.0**53) & (counts == np.floor(counts)), "counts are whole and at least 1"),
        ((sums >= (-most if lowest else 0.0)) & (sums <= most), f"a {family} reward is {lowest:g} to {largest:g}"),
        ((sums == np.floor(sums)) | (family == "gaussian"), f"{family} rewards are whole numbers"),
        ((spreads >= 0) & (spreads <= (4.0 * largest) ** 2 * counts), "such rewards cannot have this spread"),
        ((spreads == 0) | (counts > 1), "one reward has no spread"),
        ((spreads == 0) | (not policy.rewards.noise_known), "a spread is recorded only if the noise is unknown"),
    ):
        wrong = np.argwhere(~np.atleast_2d(ok))
        if len(wrong):
            count, total, spread = slots[:, int(wrong[0][1])].tolist()
            raise InvalidInput(f"an action has count {count:g}, sum {total:g} and spread {spread:g}, but {rule}")


def _check_own(policy: "Policy", own: FloatArray, actions: IntArray, outcomes: int) -> None:
    if not np.isfinite(own).all():
        raise InvalidInput("the array 'own' is not finite")
    if not len(actions) and not policy.evidence.derived and not np.array_equal(own, policy.start_own):
        raise InvalidInput("the array 'own' is not empty, but no action was tried")
    policy.evidence.check_own(policy.model, own, outcomes)


def _check_states(policy: "Policy", states: FloatArray) -> None:
    """Reject invalid scores and probabilities; only an impossible state has the score −∞."""
    score, posterior = states
    if not len(score):
        return
    possible = policy.start_states[layout.LOG_PRIOR] > -np.inf
    if not np.isfinite(score[possible]).all() or np.isnan(score).any() or np.any(score == np.inf):
        raise InvalidInput("a score is not a finite number")
    if not (np.all(posterior >= 0) and abs(float(posterior.sum()) - 1.0) < 1e-6):
        raise InvalidInput("the posterior must be nonnegative and sum to 1")


def _plain(values: FloatArray) -> list[float | None]:
    return [None if x == -np.inf else x for x in values.tolist()]
