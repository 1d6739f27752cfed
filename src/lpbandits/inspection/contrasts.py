"""How a model's states differ, for people: distances, places, and the pairs of actions that tell them apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from lpbandits.fit.provenance import Provenance
from lpbandits.inspection.questions import PairSearch
from lpbandits.model import EDGE, PreferenceModel
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json, Label

TIES, NEVER = "ties", "never compared"
"""Why nothing is known of what a state prefers."""


@dataclass(frozen=True)
class Disagreement:
    """An action that states place very differently; `ranks` has its place among each state's known actions, from 1."""

    action: Label
    ranks: tuple[int | None, ...]
    """None in a state where the action's place is unknown."""
    spread: float
    """Distance between the best and the worst place, as a share of the places known in each state."""


@dataclass(frozen=True)
class Pair:
    """Two actions that tell states apart, when a person says which they prefer; see `recovery.telling_pairs`."""

    first: Label
    second: Label
    chance_first: tuple[float | None, ...]
    """Per state: how surely its ordering has the first above the second; None where one of them is unknown."""
    says_first: tuple[float | None, ...]
    """Per state: the share of its people who are expected to say the first."""
    tells: float
    """Bits that the answer tells of the state."""
    guessed: float
    """How often the likeliest state is right after this answer and those to the pairs before."""


@dataclass(frozen=True)
class Trait:
    """What sets a state apart: its people say the first oftener than others do, asked for it or the second."""

    state: int
    first: Label
    second: Label
    says_first: float
    others_say_first: float


@dataclass(frozen=True)
class Contrasts:
    """How states differ."""

    kendall: tuple[tuple[float | None, ...], ...]
    """The share of action pairs known in both states that two states order differently; None without such pairs."""
    disagreements: tuple[Disagreement, ...]
    pairs: tuple[Pair, ...]
    traits: tuple[Trait, ...]
    """Of three states and more; none of a state that nothing sets apart."""
    bits: float
    """What there is to tell of a person's state: the entropy of the prior."""

    @classmethod
    def of(cls, model: PreferenceModel, known: BoolArray, called: Sequence[Label], top: int) -> "Contrasts":
        """Compare the states, where actions are known, with `top` disagreements and pairs."""
        search = PairSearch.of(model, known)
        pairs = [
            Pair(called[p.first], called[p.second], p.sure, p.answers, p.bits, p.guessed)
            for p in search.informative(top)
        ]
        apart = [search.apart(z) for z in range(model.n_states)] if model.n_states > 2 else []
        traits = [Trait(t.state, called[t.first], called[t.second], t.own, t.others) for t in apart if t]
        bits = float(entr(model.prior).sum() / np.log(2.0))
        disagreements = _disagreements(model, known, called, top)
        return cls(_distances(model, known), disagreements, tuple(pairs), tuple(traits), bits)

    @property
    def at_their_word(self) -> bool:
        """Whether everybody is taken to follow their state's ordering, for want of utilities."""
        return all(share in (None, 0.0, 1.0) for pair in self.pairs for share in pair.says_first)

    def first(self, most: int) -> "Contrasts":
        """Return what is said of the first states, and as many disagreements."""
        return Contrasts(
            tuple(row[:most] for row in self.kendall[:most]),
            tuple(Disagreement(d.action, d.ranks[:most], d.spread) for d in self.disagreements[:most]),
            tuple(
                Pair(p.first, p.second, p.chance_first[:most], p.says_first[:most], p.tells, p.guessed)
                for p in self.pairs
            ),
            tuple(trait for trait in self.traits if trait.state < most),
            self.bits,
        )

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        lists = {name: [vars(one) for one in getattr(self, name)] for name in ("pairs", "traits", "disagreements")}
        return {"kendall": self.kendall, "bits": self.bits, **lists}


def known_actions(model: PreferenceModel, fit: Provenance) -> BoolArray:
    """Return m×k: whether the action's place in the state is known; everywhere, when the fit does not tell.

    >>> model = PreferenceModel([[1, 0, 2]], provenance={"never_compared": [[2]]})
    >>> known_actions(model, Provenance.of(model)).tolist()
    [[True, True, False]]
    """
    known = np.ones((model.n_states, model.n_actions), dtype=np.bool_)
    for z, absent in enumerate(fit.never_compared):
        known[z, list(absent)] = False
    return known


def silences(model: PreferenceModel, known: BoolArray, fit: Provenance) -> tuple[str | None, ...]:
    """Return, for every state, why nothing is known of what it prefers; None where something is.

    >>> model = PreferenceModel([[0, 1], [1, 0]], utilities=[[0.5, 0.5], [0.2, 0.8]])
    >>> silences(model, np.ones((2, 2), dtype=bool), Provenance.of(model))
    ('ties', None)
    """
    values = model.means if model.utilities is None else model.utilities
    out: list[str | None] = []
    for z, there in enumerate(known):
        alike = values is not None and there.sum() > 1 and float(np.ptp(values[z, there])) < EDGE
        out.append(NEVER if not there.any() else TIES if alike or (fit.ties or 0.0) > 1.0 - EDGE else None)
    return tuple(out)


def _distances(model: PreferenceModel, known: BoolArray) -> tuple[tuple[float | None, ...], ...]:
    if known.all():
        return tuple(tuple(float(x) for x in row) for row in model.kendall)
    from lpbandits.kernels.kendall import kendall_distances  # noqa: PLC0415 - compiled code only when asked for

    table: list[list[float | None]] = [[0.0] * model.n_states for _ in range(model.n_states)]
    for y in range(model.n_states):
        for z in range(y + 1, model.n_states):
            both = known[y] & known[z]
            pairs = int(both.sum()) * (int(both.sum()) - 1) // 2
            orders = np.stack([_renumbered(model.orderings[s], both) for s in (y, z)])
            differ = int(kendall_distances(orders, np.argsort(orders, axis=1))[0, 1])
            table[y][z] = table[z][y] = differ / pairs if pairs else None
    return tuple(tuple(row) for row in table)


def _renumbered(order: IntArray, kept: BoolArray) -> IntArray:
    """Return the order of the kept actions alone, numbered anew from 0."""
    number = np.cumsum(kept) - 1
    return number[order[kept[order]]]


def _disagreements(
    model: PreferenceModel, known: BoolArray, called: Sequence[Label], top: int
) -> tuple[Disagreement, ...]:
    along = np.take_along_axis(known, model.orderings, axis=1)
    ranks = np.take_along_axis(np.cumsum(along, axis=1), model.ranks, axis=1)  # places among known actions, from 1
    places: FloatArray = (ranks - 1) / np.maximum(known.sum(axis=1, keepdims=True) - 1, 1)
    best = np.where(known, places, np.inf).min(axis=0)
    worst = np.where(known, places, -np.inf).max(axis=0)
    spread = np.where(known.sum(axis=0) > 1, worst - best, 0.0)
    return tuple(
        Disagreement(
            called[a],
            tuple(int(ranks[z, a]) if known[z, a] else None for z in range(model.n_states)),
            float(spread[a]),
        )
        for a in np.argsort(-spread, kind="stable")[:top].tolist()
        if spread[a] > 0
    )
