"""Differences between the states of a model: distances, ranks and informative pairs of actions, and their tables."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr

from lpbandits.fit.provenance import Provenance
from lpbandits.inspection.questions import CANDIDATES, Pair, PairSearch, Trait
from lpbandits.kernels.kendall import kendall_distances
from lpbandits.model import EDGE, PreferenceModel
from lpbandits.text import display, pluralize
from lpbandits.typing import BoolArray, FloatArray, Label

TIES, NEVER = "ties", "never compared"
"""Reasons why a state has no known preferences."""

ASK = "Most informative questions: which of two does a person prefer?"
TRAITS = "Most distinctive preference of each state"
TELLS, GUESSED, MEMBERS, OTHERS = "information", "state identified", "its people", "others"
TRAIT_NOTE = "Expected share of the state's people, and of all others, who prefer the first to the second."

MIN_CONFIDENCE = 0.9
"""With a lower probability, the order of two actions is marked as uncertain."""

MAX_LISTED = 6
"""Maximum number of states listed; more are counted."""


@dataclass(frozen=True)
class Disagreement:
    """An action with very different ranks; `ranks` are among each state's known actions, from 1.

    The actions of a tier have the rank of its first.
    """

    action: Label
    ranks: tuple[int | None, ...]
    """None in a state where the action is unknown."""
    spread: float
    """Difference between the highest and the lowest relative rank: 0 for the first, 1 for the last known action.

    The actions of a tier have its mid-rank.
    """


@dataclass(frozen=True)
class Contrasts:
    """Differences between states."""

    kendall: tuple[tuple[float | None, ...], ...]
    """Share of action pairs known in both states that two states order differently; None without such pairs.

    A pair that one state orders and the other has in one tier counts half.
    """
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
        """Whether all expected shares are 0 or 1, as for a model without utilities."""
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


def no_preference_reasons(model: PreferenceModel, known: BoolArray, fit: Provenance) -> tuple[str | None, ...]:
    """Return, for each state, the reason why it has no known preferences; None if it has some."""
    values = model.means if model.utilities is None else model.utilities
    out: list[str | None] = []
    for z, mask in enumerate(known):
        equal = values is not None and mask.sum() > 1 and float(np.ptp(values[z, mask])) < EDGE
        out.append(NEVER if not mask.any() else TIES if equal or (fit.ties or 0.0) > 1.0 - EDGE else None)
    return tuple(out)


def _distances(model: PreferenceModel, known: BoolArray) -> tuple[tuple[float | None, ...], ...]:
    if known.all():
        return tuple(tuple(row) for row in model.kendall.tolist())
    table: list[list[float | None]] = [[0.0] * model.n_states for _ in range(model.n_states)]
    for y, z in itertools.combinations(range(model.n_states), 2):
        ranks = np.ascontiguousarray(model.ranks[[y, z]][:, known[y] & known[z]])
        pairs = ranks.shape[1] * (ranks.shape[1] - 1)
        table[y][z] = table[z][y] = int(kendall_distances(ranks, ranks, True)[0, 1]) / pairs if pairs else None
    return tuple(tuple(row) for row in table)


def _disagreements(
    model: PreferenceModel, known: BoolArray, names: Sequence[Label], top: int
) -> tuple[Disagreement, ...]:
    along = np.take_along_axis(known, model.orderings, axis=1)
    counts = np.pad(np.cumsum(along, axis=1), ((0, 0), (1, 0)))  # known actions before each place
    ranks = np.take_along_axis(counts, model.ranks, axis=1) + 1  # among known actions
    last = np.take_along_axis(counts, (2.0 * model.mid_ranks).astype(np.int64) - model.ranks + 1, axis=1)  # of the tier
    relative: FloatArray = ((ranks + last) / 2.0 - 1) / np.maximum(known.sum(axis=1, keepdims=True) - 1, 1)
    best = np.where(known, relative, np.inf).min(axis=0)
    worst = np.where(known, relative, -np.inf).max(axis=0)
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


def percent(share: float | None) -> str:
    """Format a probability; only exact certainty is 100 % or 0 %.

    >>> percent(0.7), percent(0.999), percent(0.001), percent(None)
    ('70%', '>99%', '<1%', '–')
    """
    if share is None:
        return "–"
    return ">99%" if 0.995 <= share < 1 else "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def pair_table(contrasts: Contrasts) -> tuple[list[str], list[list[str]]]:
    """Return the pairs, with the states that prefer each action, as columns and rows."""
    certain = contrasts.deterministic
    rows = [
        [
            display(pair.first),
            _states_preferring(pair, first=True, certain=certain),
            display(pair.second),
            _states_preferring(pair, first=False, certain=certain),
            f"{pair.tells:.2f} bits",
            percent(pair.guessed),
        ]
        for pair in contrasts.pairs
    ]
    return ["either", "preferred by", "or", "preferred by", TELLS, GUESSED], rows


def pair_note(contrasts: Contrasts, *, actions: int, largest: float) -> str:
    """Explain the table of pairs."""
    text = (
        "People use different scales, so one rating is not informative. Each pair is the one that adds most "
        "information to the pairs above it. "
        f"Information: bits of this answer alone, of {contrasts.bits:.2f} in total. State identified: probability that "
        f"the likeliest state is right after this answer and those above ({percent(largest)} without answers). "
    )
    if contrasts.deterministic:
        text += "People are assumed to follow their state's ordering exactly."
    else:
        text += "In brackets: expected share of the state's people."
    if any(_is_uncertain(chance) for pair in contrasts.pairs for chance in pair.chance_first):
        text += f" ?: the state's order of the two is uncertain (below {MIN_CONFIDENCE:.0%})."
    if actions > CANDIDATES:
        text += f" Pairs of the {CANDIDATES} most contested actions were considered."
    return text


def trait_table(contrasts: Contrasts) -> tuple[list[str], list[list[str]]]:
    """Return the distinctive preferences as columns and rows."""
    rows = [
        [str(t.state), display(t.first), display(t.second), percent(t.says_first), percent(t.others_say_first)]
        for t in contrasts.traits
    ]
    return ["state", "prefers, more than others,", "to", MEMBERS, OTHERS], rows


def _states_preferring(pair: Pair, *, first: bool, certain: bool) -> str:
    """Return the states that prefer one of the two, and the shares of their people who do."""
    states, shares = [], []
    for z, (share, chance) in enumerate(zip(pair.says_first, pair.chance_first, strict=True)):
        if share is not None and share != 0.5 and (share > 0.5) is first:
            states.append(f"{z}?" if _is_uncertain(chance) else str(z))
            shares.append(share if first else 1.0 - share)
    if not states:
        return "no state"
    named = f"{'state' if len(states) == 1 else 'states'} {', '.join(states)}"
    if len(states) > MAX_LISTED:
        named = pluralize(len(states), "state")
    if certain:
        return named
    low, high = percent(min(shares)), percent(max(shares))
    return f"{named} ({low})" if low == high else f"{named} ({low.rstrip('%')} to {high})"


def _is_uncertain(chance: float | None) -> bool:
    return chance is not None and 1.0 - MIN_CONFIDENCE < chance < MIN_CONFIDENCE
