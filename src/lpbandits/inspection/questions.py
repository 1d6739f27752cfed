"""Informative questions: the pairs of actions for which a person's preference is most informative about the state.

A person's scale is unknown, so the reward of one action is not informative; the preference between two is. With
utilities β ± s on the logit scale a person of state z prefers a to b with probability

    P_z(a, b) = E σ(β_a − β_b) ≈ σ((β_a − β_b) / √(1 + π (s_a² + s_b²) / 8)),

close to ½ where people of one state differ or the errors are large. (A state's ordering may be certain while one
person's answer is close to chance.) Without utilities, people follow their state's ordering: P is 0 or 1, and ½ within
a tier. The mutual information of answer and state is H(Σ w_z P_z) − Σ w_z H(P_z) bits, with the prior w and the binary
entropy H. A state where one of the two actions is unknown does not contribute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import entr, expit

from lpbandits.fit.uncertainty import probability_above
from lpbandits.model import EDGE, PreferenceModel
from lpbandits.typing import BoolArray, FloatArray, IntArray, Label

CANDIDATES = 300
"""Number of actions whose pairs are considered: those whose utilities differ most between states, given their errors.

In fits to MovieLens (1,132 and 1,297 actions, 5 and 50 states) the five best pairs lie among these.
"""
MAX_CELLS = 5_000_000
"""Maximum number of pairs times states; a model with very many states has fewer candidates."""
MAX_QUESTIONS = 8
"""Maximum number of pairs asked one after another: they have 2⁸ combinations of answers."""
MIN_BITS = 0.01
"""Minimum information that a pair must add, in bits."""

ROWS = 16
"""Combinations of answers processed together."""

_NEAR = 1e-9
"""Smaller differences in bits count as equal, so that results do not depend on the machine."""


@dataclass(frozen=True)
class Pair:
    """Two actions between which the preference is informative."""

    first: Label
    """The action preferred by the first state that knows both."""
    second: Label
    chance_first: tuple[float | None, ...]
    """Per state: probability that its ordering has the first above the second; None where one of them is unknown."""
    says_first: tuple[float | None, ...]
    """Per state: expected share of its people who prefer the first."""
    tells: float
    """Information about the state from this answer alone, in bits."""
    guessed: float
    """Probability that the likeliest state is right, given this answer and the previous ones."""


@dataclass(frozen=True)
class Trait:
    """The preference that best separates a state: its people prefer the first to the second more often than others."""

    state: int
    first: Label
    second: Label
    says_first: float
    others_say_first: float


@dataclass(frozen=True, eq=False)
class PairSearch:
    """Candidate pairs of actions, and the answers of each state's people.

    >>> model = PreferenceModel([[0, 1, 2, 3], [3, 1, 2, 0], [3, 2, 1, 0]], prior=[0.5, 0.25, 0.25])
    >>> search = PairSearch.of(model, np.ones((3, 4), dtype=bool), ["tea", "jam", "rum", "gin"])
    >>> [(pair.first, pair.second, pair.says_first, pair.tells, pair.guessed) for pair in search.informative(5)]
    [('tea', 'gin', (1.0, 0.0, 0.0), 1.0, 0.75), ('jam', 'rum', (1.0, 1.0, 0.0), 0.8112..., 1.0)]
    >>> search.trait(2)
    Trait(state=2, first='rum', second='jam', says_first=1.0, others_say_first=0.0)
    """

    model: PreferenceModel
    names: Sequence[Label]
    first: IntArray
    second: IntArray
    known: FloatArray
    """m×c: 1 where both actions are known in the state, else 0."""
    answers: FloatArray
    """m×c: probability that a person prefers the first; 0 where unknown."""

    @classmethod
    def of(cls, model: PreferenceModel, known: BoolArray, names: Sequence[Label]) -> "PairSearch":
        """Build the pairs of the most contested actions; `known` is the m×k mask of known actions."""
        most = min(CANDIDATES, int((1 + np.sqrt(1 + 8 * MAX_CELLS / model.n_states)) / 2))
        contested = np.sort(np.argsort(-_contest(model, known), kind="stable")[:most])
        i, j = np.triu_indices(len(contested), 1)
        first, second = contested[i], contested[j]
        both = known[:, first] & known[:, second]
        answers = np.where(both, _answers(model, first, second), 0.0)
        return cls(model, names, first, second, both.astype(np.float64), answers)

    def informative(self, count: int) -> list[Pair]:
        """Return at most `count` (and `MAX_QUESTIONS`) pairs, each adding most information to those before it.

        An action is reused in another pair only when no other pair adds information: two answers about one action are
        not independent. When no information remains, pairs of other actions follow that are informative on their own.
        """
        joint = self.model.prior[None]  # probability of each state and of the answers so far, a row per combination
        alone = self._information(joint)
        fresh, unasked = np.ones((2, len(self.first)), dtype=np.bool_)
        pairs: list[Pair] = []
        while len(pairs) < min(count, MAX_QUESTIONS):
            more = self._information(joint)
            tiers = (np.where(fresh, more, 0.0), np.where(unasked, more, 0.0), np.where(fresh, alone, 0.0))
            best_bits = next((bits for bits in tiers if bits.max(initial=0.0) >= MIN_BITS), None)
            if best_bits is None:
                break
            best = self._best(best_bits)
            used = [self.first[best], self.second[best]]
            fresh &= ~(np.isin(self.first, used) | np.isin(self.second, used))
            unasked[best] = False
            joint = self._answered(joint, best)
            pairs.append(self._pair(best, float(alone[best]), float(joint.max(axis=1).sum())))
        return pairs

    def trait(self, state: int) -> Trait | None:
        """Return the pair that best separates a state from all others, both taken as equally likely."""
        mass, first = (total - self.model.prior[state] * part[state] for total, part in self._all)
        usable = (mass > EDGE) & (self.known[state] > 0)
        inside = self.answers[state]
        others = np.where(usable, first / np.where(mass > EDGE, mass, 1.0), inside)
        bits = _entropy((inside + others) / 2) - (_entropy(inside) + _entropy(others)) / 2
        if bits.max(initial=0.0) < _NEAR:
            return None
        best = self._best(bits)
        one, other = self.names[self.first[best]], self.names[self.second[best]]
        p, q = float(inside[best]), float(others[best])
        return Trait(state, one, other, p, q) if p > q else Trait(state, other, one, 1.0 - p, 1.0 - q)

    @cached_property
    def _all(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Sums over all states of `known` and `answers`, each with its terms."""
        return tuple((np.asarray(self.model.prior @ part), part) for part in (self.known, self.answers))

    @cached_property
    def _conditional_entropy(self) -> FloatArray:
        """Entropy of each answer given the state, in bits."""
        return np.asarray(self.model.prior @ (self.known * _entropy(self.answers)))

    def _information(self, joint: FloatArray) -> FloatArray:
        """Return the bits that each pair adds to the answers behind `joint`."""
        bits = -self._conditional_entropy
        for start in range(0, len(joint), ROWS):
            rows = joint[start : start + ROWS]
            mass = rows @ self.known
            bits += (mass * _entropy(rows @ self.answers / np.where(mass > 0, mass, 1.0))).sum(axis=0)
        return bits

    def _answered(self, joint: FloatArray, pair: int) -> FloatArray:
        """Split each row of `joint` by the answer; a state where the pair is unknown answers as the others do."""
        known, answers = self.known[:, pair], self.answers[:, pair]
        mass = joint @ known
        usual = (joint @ answers / np.where(mass > 0, mass, 1.0))[:, None]
        chance = np.where(known > 0, answers, usual)
        return np.concatenate([joint * chance, joint * (1.0 - chance)])

    def _best(self, bits: FloatArray) -> int:
        """Return the pair with most bits; ties are broken by the largest minimum rank difference."""
        top = np.flatnonzero(bits >= bits.max() - _NEAR)
        ranks = self.model.mid_ranks
        places = np.abs(ranks[:, self.first[top]] - ranks[:, self.second[top]])
        return int(top[np.argmax(np.where(self.known[:, top] > 0, places, len(ranks[0])).min(axis=0))])

    def _pair(self, index: int, bits: float, guessed: float) -> Pair:
        known = self.known[:, index] > 0
        answers = self.answers[:, index]
        one, other = int(self.first[index]), int(self.second[index])
        if answers[int(np.argmax(known))] < 0.5:
            one, other, answers = other, one, 1.0 - answers
        logits, errors = self.model.logits, self.model.errors
        sure = _order_answers(self.model, one, other)
        if logits is not None and errors is not None:
            sure = probability_above(logits, errors, one, other)
        first, second = self.names[one], self.names[other]
        return Pair(first, second, _where(known, sure), _where(known, answers), bits, guessed)


def _contest(model: PreferenceModel, known: BoolArray) -> FloatArray:
    """Return the variance of each action's utility between states, relative to its standard error."""
    fitted = model.logits if model.errors is not None else None
    utilities = -model.mid_ranks if fitted is None else fitted
    weight = model.prior[:, None] * known
    mass = np.maximum(weight.sum(axis=0), EDGE)
    mean = (weight * utilities).sum(axis=0) / mass
    spread = (weight * (utilities - mean) ** 2).sum(axis=0) / mass
    error = 0.0 if model.errors is None else (weight * model.errors**2).sum(axis=0) / mass
    return np.asarray(spread / (error + EDGE))


def _answers(model: PreferenceModel, first: IntArray, second: IntArray) -> FloatArray:
    """Return m×c probabilities that a person of the state prefers the first."""
    if model.logits is None:
        return _order_answers(model, first, second)
    utilities = model.logits
    errors = np.zeros_like(utilities) if model.errors is None else model.errors
    variance = errors[:, first] ** 2 + errors[:, second] ** 2
    return np.asarray(expit((utilities[:, first] - utilities[:, second]) / np.sqrt(1.0 + np.pi * variance / 8.0)))


def _order_answers(model: PreferenceModel, first: IntArray | int, second: IntArray | int) -> FloatArray:
    """Return the probabilities that the states' orderings have the first above the second: ½ within a tier."""
    difference = model.ranks[:, second] - model.ranks[:, first]
    return np.asarray((1.0 + np.sign(difference)) / 2.0)


def _where(known: BoolArray, chances: FloatArray) -> tuple[float | None, ...]:
    return tuple(chance if there else None for chance, there in zip(chances.tolist(), known.tolist(), strict=True))


def _entropy(chance: FloatArray) -> FloatArray:
    """Return the binary entropy in bits."""
    inside = np.clip(chance, 0.0, 1.0)
    return np.asarray((entr(inside) + entr(1.0 - inside)) / np.log(2.0))
