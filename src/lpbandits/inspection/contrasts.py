"""Differences between the states of a model: distances, ranks, and informative pairs of actions."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr

from lpbandits.fit.provenance import Provenance
from lpbandits.inspection.questions import Pair, PairSearch, Trait
from lpbandits.kernels.kendall import kendall_distances
from lpbandits.model import EDGE, PreferenceModel
from lpbandits.typing import BoolArray, FloatArray, Label

TIES, NEVER = "ties", "never compared"
"""Reasons why a state has no known preferences."""


@dataclass(frozen=True)
class Disagreement:
    """An action with very different ranks; `ranks` are among each state's known actions, from 1."""

    action: Label
    ranks: tuple[int | None, ...]
    """None in a state where the action is unknown."""
    spread: float
    """Difference between the highest and the lowest relative rank: 0 for the first, 1 for the last known action."""


@dataclass(frozen=True)
class Contrasts:
    """Differences between states."""

    kendall: tuple[tuple[float | None, ...], ...]
    """Share of action pairs known in both states that two states order differently; None without such pairs."""
    disagreements: tuple[Disagreement, ...]
    pairs: tuple[Pair, ...]
    traits: tuple[Trait, ...]
    """At most one per state, for three states and more."""
    bits: float
    """Entropy of the prior, in bits."""

    @classmethod
    def of(cls, model: PreferenceModel, known: BoolArray, names: Sequence[Label], top: int) -> "Contrasts":
        """Compare the states on their known actions, with `top` disagreements and pairs."""
        search = PairSearch.of(model, known, names)
        traits = [search.trait(z) for z in range(model.n_states)] if model.n_states > 2 else []
        return cls(
            _distances(model, known),
            _disagreements(model, known, names, top),
            tuple(search.informative(top)),
            tuple(trait for trait in traits if trait),
            float(entr(model.prior).sum() / np.log(2.0)),
        )

    @property
    def deterministic(self) -> bool:
        """Whether people are assumed to follow their state's ordering, because the model has no utilities."""
        return all(share in (None, 0.0, 1.0) for pair in self.pairs for share in pair.says_first)

    def first(self, most: int) -> "Contrasts":
        """Keep the first `most` states and disagreements."""
        return replace(
            self,
            kendall=tuple(row[:most] for row in self.kendall[:most]),
            disagreements=tuple(replace(d, ranks=d.ranks[:most]) for d in self.disagreements[:most]),
            pairs=tuple(
                replace(p, chance_first=p.chance_first[:most], says_first=p.says_first[:most]) for p in self.pairs
            ),
            traits=tuple(trait for trait in self.traits if trait.state < most),
        )


def silences(model: PreferenceModel, known: BoolArray, fit: Provenance) -> tuple[str | None, ...]:
    """Return, for each state, the reason why it has no known preferences; None if it has some."""
    values = model.means if model.utilities is None else model.utilities
    out: list[str | None] = []
    for z, there in enumerate(known):
        alike = values is not None and there.sum() > 1 and float(np.ptp(values[z, there])) < EDGE
        out.append(NEVER if not there.any() else TIES if alike or (fit.ties or 0.0) > 1.0 - EDGE else None)
    return tuple(out)


def _distances(model: PreferenceModel, known: BoolArray) -> tuple[tuple[float | None, ...], ...]:
    if known.all():
        return tuple(tuple(row) for row in model.kendall.tolist())
    table: list[list[float | None]] = [[0.0] * model.n_states for _ in range(model.n_states)]
    for y, z in itertools.combinations(range(model.n_states), 2):
        orders = np.argsort(model.ranks[[y, z]][:, known[y] & known[z]], axis=1)
        pairs = orders.shape[1] * (orders.shape[1] - 1) // 2
        differ = int(kendall_distances(orders, np.argsort(orders, axis=1))[0, 1])
        table[y][z] = table[z][y] = differ / pairs if pairs else None
    return tuple(tuple(row) for row in table)


def _disagreements(
    model: PreferenceModel, known: BoolArray, names: Sequence[Label], top: int
) -> tuple[Disagreement, ...]:
    along = np.take_along_axis(known, model.orderings, axis=1)
    ranks = np.take_along_axis(np.cumsum(along, axis=1), model.ranks, axis=1)  # places among known actions, from 1
    places: FloatArray = (ranks - 1) / np.maximum(known.sum(axis=1, keepdims=True) - 1, 1)
    best = np.where(known, places, np.inf).min(axis=0)
    worst = np.where(known, places, -np.inf).max(axis=0)
    spread = np.where(known.sum(axis=0) > 1, worst - best, 0.0)
    return tuple(
        Disagreement(
            names[a],
            tuple(int(ranks[z, a]) if known[z, a] else None for z in range(model.n_states)),
            float(spread[a]),
        )
        for a in np.argsort(-spread, kind="stable")[:top].tolist()
        if spread[a] > 0
    )
