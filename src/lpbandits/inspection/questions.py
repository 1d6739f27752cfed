"""Which of two actions does a person prefer? The pairs whose answer tells most of the person's state.

A person's scale is unknown, so that what one action gave tells nothing of their state; which of two they prefer does.
With utilities β ± s on the logit scale a person of state z says a, asked for a or b, with the chance

    P_z(a, b) = E σ(β_a − β_b) ≈ σ((β_a − β_b) / √(1 + π (s_a² + s_b²) / 8)),

near ½ where people of one state differ and where little is known of them. (That the state's ordering has a above b may
be quite sure, and one person's answer still be nearly a coin toss.) Without utilities the orderings are taken at their
word: P is 0 or 1. The answer tells H(Σ w_z P_z) − Σ w_z H(P_z) bits of the state, with its prior w and the entropy H of
a coin. Of a state where one of the two is unknown it tells nothing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import entr, expit, logit

from lpbandits.fit.uncertainty import probability_above
from lpbandits.model import EDGE, PreferenceModel
from lpbandits.typing import BoolArray, FloatArray, IntArray

CANDIDATES = 300
"""Actions whose pairs are looked at: those that states place most differently, for how well the places are known.

In fits of MovieLens (1,132 and 1,297 actions, 5 and 50 states) the best five of all pairs are among them.
"""
CELLS = 5_000_000
"""Pairs times states that are looked at; a model of very many states has fewer candidates."""
QUESTIONS = 8
"""Pairs that are asked one after another, at most: all their answers together are 2⁸."""
LEAST = 0.01
"""Bits that a pair must add."""

ROWS = 16
"""Ways to answer that are looked at together, so that they take little memory."""

_NEAR = 1e-9
"""Bits: pairs no further apart are equal, on whatever machine."""


@dataclass(frozen=True)
class InformativePair:
    """Two actions, by index, and what each state's people say when asked which of them they prefer."""

    first: int
    """What the first state that knows both prefers."""
    second: int
    answers: tuple[float | None, ...]
    """Per state: the chance that a person says the first; None where one of the two is unknown."""
    sure: tuple[float | None, ...]
    """Per state: the chance that its ordering really has the first above the second."""
    bits: float
    """What the answer tells of the state, without any other answer."""
    guessed: float
    """The chance that the likeliest state is right, after this answer and those to the pairs before."""


@dataclass(frozen=True)
class Apart:
    """The pair that best tells one state from all others together."""

    state: int
    first: int
    """What people of the state say oftener than others, asked for it or the second."""
    second: int
    own: float
    others: float
    """The chances that they say so."""


@dataclass(frozen=True, eq=False)
class PairSearch:
    """Candidate pairs of actions, and what the states' people say of each.

    >>> model = PreferenceModel([[0, 1, 2, 3], [3, 1, 2, 0], [3, 2, 1, 0]], prior=[0.5, 0.25, 0.25])
    >>> search = PairSearch.of(model, np.ones((3, 4), dtype=bool))
    >>> [(pair.first, pair.second, pair.answers, pair.bits, pair.guessed) for pair in search.informative(5)]
    [(0, 3, (1.0, 0.0, 0.0), 1.0, 0.75), (1, 2, (1.0, 1.0, 0.0), 0.8112..., 1.0)]
    >>> search.apart(2)
    Apart(state=2, first=2, second=1, own=1.0, others=0.0)
    """

    model: PreferenceModel
    first: IntArray
    second: IntArray
    known: FloatArray
    """m×c: 1 where both actions are known in the state, else 0."""
    answers: FloatArray
    """m×c: the chance that a person says the first; 0 where unknown."""

    @classmethod
    def of(cls, model: PreferenceModel, known: BoolArray) -> "PairSearch":
        """Make the pairs of the most contested actions; `known` (m×k) says which actions are known in which state."""
        most = min(CANDIDATES, int((1 + np.sqrt(1 + 8 * CELLS / model.n_states)) / 2))
        some = np.sort(np.argsort(-_contest(model, known), kind="stable")[:most])
        i, j = np.triu_indices(len(some), 1)
        first, second = some[i], some[j]
        both = known[:, first] & known[:, second]
        return cls(model, first, second, both.astype(np.float64), np.where(both, _answers(model, first, second), 0.0))

    def informative(self, count: int) -> list[InformativePair]:
        """Return at most `count` (and `QUESTIONS`) pairs, each the one that tells most beyond those before it.

        An action comes again, in another pair, only when others tell nothing more: two answers about one action are
        not independent. When nothing is left to tell, pairs of other actions follow that would tell much by themselves.
        """
        left = self.model.prior[None]  # the chance of a state and of the answers so far: a row for every way to answer
        alone = self._told(left)
        fresh, unasked = np.ones((2, len(self.first)), dtype=np.bool_)
        found: list[InformativePair] = []
        while len(found) < min(count, QUESTIONS):
            more = self._told(left)
            ways = (np.where(fresh, more, 0.0), np.where(unasked, more, 0.0), np.where(fresh, alone, 0.0))
            told = next((bits for bits in ways if bits.max(initial=0.0) >= LEAST), None)
            if told is None:
                break
            best = self._best(told)
            used = [self.first[best], self.second[best]]
            fresh &= ~(np.isin(self.first, used) | np.isin(self.second, used))
            unasked[best] = False
            left = self._answered(left, best)
            found.append(self._pair(best, float(alone[best]), float(left.max(axis=1).sum())))
        return found

    def apart(self, state: int) -> Apart | None:
        """Return the pair whose answer best tells a state from all others, were they as likely as it."""
        mass, first = (total - self.model.prior[state] * part[state] for total, part in self._all)
        told = (mass > EDGE) & (self.known[state] > 0)
        own = self.answers[state]
        others = np.where(told, first / np.where(mass > EDGE, mass, 1.0), own)
        bits = _coin((own + others) / 2) - (_coin(own) + _coin(others)) / 2
        if bits.max(initial=0.0) < _NEAR:
            return None
        best = self._best(bits)
        a, b, p, q = int(self.first[best]), int(self.second[best]), float(own[best]), float(others[best])
        return Apart(state, a, b, p, q) if p > q else Apart(state, b, a, 1.0 - p, 1.0 - q)

    @cached_property
    def _all(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Sums over all states, with what they are sums of: who knows both actions, and who says the first."""
        return tuple((np.asarray(self.model.prior @ part), part) for part in (self.known, self.answers))

    @cached_property
    def _doubt(self) -> FloatArray:
        """What remains open of each answer, in bits, when the state is known."""
        return np.asarray(self.model.prior @ (self.known * _coin(self.answers)))

    def _told(self, left: FloatArray) -> FloatArray:
        """Return the bits that each pair tells beyond the answers that led to `left`."""
        bits = -self._doubt
        for start in range(0, len(left), ROWS):
            rows = left[start : start + ROWS]
            mass = rows @ self.known
            bits += (mass * _coin(rows @ self.answers / np.where(mass > 0, mass, 1.0))).sum(axis=0)
        return bits

    def _answered(self, left: FloatArray, pair: int) -> FloatArray:
        """Return `left` with a row for either answer; a state where the pair is unknown answers as the others do."""
        known, answers = self.known[:, pair], self.answers[:, pair]
        mass = left @ known
        usual = (left @ answers / np.where(mass > 0, mass, 1.0))[:, None]
        chance = np.where(known > 0, answers, usual)
        return np.concatenate([left * chance, left * (1.0 - chance)])

    def _best(self, bits: FloatArray) -> int:
        """Return the pair of most bits; of equal ones that whose places are furthest apart in every state."""
        top = np.flatnonzero(bits >= bits.max() - _NEAR)
        ranks = self.model.ranks
        places = np.abs(ranks[:, self.first[top]] - ranks[:, self.second[top]])
        return int(top[np.argmax(np.where(self.known[:, top] > 0, places, len(ranks[0])).min(axis=0))])

    def _pair(self, index: int, bits: float, guessed: float) -> InformativePair:
        known = self.known[:, index] > 0
        answers = self.answers[:, index]
        one, other = int(self.first[index]), int(self.second[index])
        if answers[int(np.argmax(known))] < 0.5:
            one, other, answers = other, one, 1.0 - answers
        sure = _sure(self.model, one, other)
        return InformativePair(one, other, _where(known, answers), _where(known, sure), bits, guessed)


def _contest(model: PreferenceModel, known: BoolArray) -> FloatArray:
    """Return how differently states place each action, for how well its places are known."""
    heights = model.logits if model.logits is not None else -model.ranks.astype(np.float64)
    weight = model.prior[:, None] * known
    mass = np.maximum(weight.sum(axis=0), EDGE)
    mean = (weight * heights).sum(axis=0) / mass
    spread = (weight * (heights - mean) ** 2).sum(axis=0) / mass
    error = 0.0 if model.errors is None else (weight * model.errors**2).sum(axis=0) / mass
    return np.asarray(spread / (error + EDGE))


def _answers(model: PreferenceModel, first: IntArray, second: IntArray) -> FloatArray:
    """Return m×c chances that a person of the state says the first of the two."""
    if model.utilities is None:
        return (model.ranks[:, first] < model.ranks[:, second]).astype(np.float64)
    heights = logit(np.clip(model.utilities, EDGE, 1.0 - EDGE))
    errors = np.zeros_like(heights) if model.errors is None else model.errors
    variance = errors[:, first] ** 2 + errors[:, second] ** 2
    return np.asarray(expit((heights[:, first] - heights[:, second]) / np.sqrt(1.0 + np.pi * variance / 8.0)))


def _sure(model: PreferenceModel, one: int, other: int) -> FloatArray:
    if model.logits is None or model.errors is None:
        return (model.ranks[:, one] < model.ranks[:, other]).astype(np.float64)
    rows = zip(model.logits, model.errors, strict=True)
    return np.array([probability_above(utilities, errors, one, other) for utilities, errors in rows])


def _where(known: BoolArray, chances: FloatArray) -> tuple[float | None, ...]:
    return tuple(chance if there else None for chance, there in zip(chances.tolist(), known.tolist(), strict=True))


def _coin(chance: FloatArray) -> FloatArray:
    """Return the entropy of a coin, in bits."""
    inside = np.clip(chance, 0.0, 1.0)
    return np.asarray((entr(inside) + entr(1.0 - inside)) / np.log(2.0))
