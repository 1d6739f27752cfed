"""What a model says, for people: its states, how far apart they are, and where they disagree.

An `Inspection` has labels as they are, for programs; the tables made of it have them as they are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from lpbandits import validate
from lpbandits.errors import door
from lpbandits.limits import affordable
from lpbandits.model import PreferenceModel
from lpbandits.recovery.certainty import DRAWS, LEVEL, chance_above, pairs_right, place_intervals
from lpbandits.recovery.record import CurveRow, FitRecord
from lpbandits.recovery.report import share_text
from lpbandits.text import shown
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json, Label

PAIRS, FIRST = "pairs right", "first above second"
PAIR_RULE = "Pairs right: the share of pairs of actions expected to be in the right order, by the errors of utilities."
CURVE_RULE = "Chosen: the fewest states whose score on unseen people is at most one standard error below the best."


@dataclass(frozen=True)
class State:
    """One state: its share of people, and its most and least preferred known actions, best first."""

    state: int
    share: float
    top: tuple[Label, ...]
    bottom: tuple[Label, ...]
    unknown: int = 0
    """How many actions nobody in the state compared: where they stand in its ordering is not its people's word."""
    certainty: "Certainty | None" = None
    """None if the model has no errors."""


@dataclass(frozen=True)
class Certainty:
    """How sure a state's ordering is, among its known actions."""

    places: tuple[tuple[int, int], ...]
    """Of each action in the state's `top`: the first and last place of its 90 % interval."""
    first_above_second: float | None
    """The probability that the first action is really above the second; None if there is no second."""
    pairs_right: float | None
    """The share of pairs of actions that are expected to be in the right order."""


@dataclass(frozen=True)
class Disagreement:
    """An action that states place very differently; `ranks` has its place among each state's known actions, from 1."""

    action: Label
    ranks: tuple[int | None, ...]
    """None in a state where the action's place is unknown."""
    spread: float
    """Distance between the best and the worst place, as a share of the places known in each state."""


@dataclass(frozen=True)
class Inspection:
    """A model for people."""

    actions: int
    states: tuple[State, ...]
    kendall: tuple[tuple[float | None, ...], ...]
    """The share of action pairs known in both states that two states order differently; None without such pairs."""
    disagreements: tuple[Disagreement, ...]
    provenance: Json
    fit: FitRecord
    """What the provenance says of a fit."""

    def first(self, most: int) -> "Inspection":
        """Return what is said of the first states, and as many disagreements: more than that nobody sees at once."""
        return replace(
            self,
            states=self.states[:most],
            kendall=tuple(row[:most] for row in self.kendall[:most]),
            disagreements=tuple(replace(d, ranks=d.ranks[:most]) for d in self.disagreements[:most]),
        )

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        return {
            "actions": self.actions,
            "states": [asdict(state) for state in self.states],
            "kendall": self.kendall,
            "disagreements": [asdict(disagreement) for disagreement in self.disagreements],
            "provenance": self.provenance,
        }


@door("inspecting a model")
def inspect_model(model: PreferenceModel, *, top: int = 5, names: Mapping[str, str] | None = None) -> Inspection:
    """Return what a model says, with `top` actions at each end and as many disagreements.

    `names` maps labels (as text) to names for people; labels without one stand for themselves. Actions that a fit never
    compared in a state (as its provenance says) are left out of that state's lists and distances.

    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> seen = inspect_model(model, top=1)
    >>> seen.states[1].top, seen.disagreements[0].action, seen.disagreements[0].spread
    (('drug B',), 'rest', 1.0)
    """
    top = min(validate.as_count(top, "top"), model.n_actions)
    m = model.n_states
    affordable(
        f"to show {m:,} states, {top:,} actions each, and the distances between them",
        "show fewer actions, or a model of fewer states",
        size=100 * m * m + 200 * m * top + (8 * DRAWS * top if model.errors is not None else 0),
        operations=(10 * DRAWS * m * model.n_actions if model.errors is not None else 0),
    )
    called = tuple((names or {}).get(str(label), label) for label in model.actions)
    fit = FitRecord.of(model)
    known = known_actions(model, fit)
    states = []
    for z, order in enumerate(model.orderings):
        listed = [called[a] for a in order[known[z][order]].tolist()]
        unknown = model.n_actions - len(listed)
        certainty = _certainty(model, z, order[known[z][order]], top)
        states.append(State(z, float(model.prior[z]), tuple(listed[:top]), tuple(listed[-top:]), unknown, certainty))
    return Inspection(
        model.n_actions,
        tuple(states),
        _distances(model, known),
        _disagreements(model, known, called, top),
        model.provenance,
        fit,
    )


def _certainty(model: PreferenceModel, state: int, order: IntArray, top: int) -> Certainty | None:
    if model.logits is None or model.errors is None:
        return None
    utilities, errors = model.logits[state, order], model.errors[state, order]
    first = np.arange(min(top, len(order)))
    places = place_intervals(utilities, errors, first)
    return Certainty(
        tuple((low, high) for low, high in places.tolist()),
        chance_above(utilities, errors, 0, 1) if len(order) > 1 else None,
        pairs_right(utilities, errors),
    )


def known_actions(model: PreferenceModel, fit: FitRecord) -> BoolArray:
    """Return m×k: whether the action's place in the state is known; everywhere, when the fit does not tell.

    >>> model = PreferenceModel([[1, 0, 2]], provenance={"never_compared": [[2]]})
    >>> known_actions(model, FitRecord.of(model)).tolist()
    [[True, True, False]]
    """
    known = np.ones((model.n_states, model.n_actions), dtype=np.bool_)
    for z, absent in enumerate(fit.never_compared):
        known[z, list(absent)] = False
    return known


def state_table(seen: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return the states as columns and rows of text; columns of certainty and unknown actions only if there are any."""
    columns = ["state", "share", "prefers", "likes least"]
    rows = [[str(s.state), share_text(s.share), _listed(s.top), "… " + _listed(s.bottom)] for s in seen.states]
    if any(s.unknown for s in seen.states):
        columns.append("never compared")
        for row, state in zip(rows, seen.states, strict=True):
            row.append(f"{state.unknown:,} unknown" if state.unknown else "")
    if any(s.certainty for s in seen.states):
        columns.append(PAIRS)
        for row, state in zip(rows, seen.states, strict=True):
            row.append(_percent(state.certainty.pairs_right if state.certainty else None))
    return columns, rows


def place_table(seen: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return how sure the first places are, as columns and rows of text; no row for a state where nothing is known."""
    rows = [
        [
            str(state.state),
            " · ".join(
                f"{shown(action)} {low}–{high}" if low < high else f"{shown(action)} {low}"
                for action, (low, high) in zip(state.top, state.certainty.places, strict=True)
            ),
            _percent(state.certainty.first_above_second),
        ]
        for state in seen.states
        if state.certainty and state.certainty.places
    ]
    return ["state", "first actions, and where they may stand", FIRST], rows


def place_rule(seen: Inspection) -> str:
    """Return how to read the table of places; an interval that begins below the place itself needs a word more."""
    text = f"{LEVEL:.0%} intervals of places among known actions; the chance that the first is really above the second."
    starts = [low - i for s in seen.states if s.certainty for i, (low, _) in enumerate(s.certainty.places, start=1)]
    if any(start > 0 for start in starts):
        text += " Where one begins below the action's own place, some of the many uncertain actions are surely better."
    return text


def _percent(share: float | None) -> str:
    """Return a probability for people: only certainty itself is 100 %."""
    return "–" if share is None else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def curve_table(curve: Sequence[CurveRow]) -> tuple[list[str], list[list[str]]]:
    """Return how many states were tried, and how well they did, as columns and rows of text."""
    rows = [
        [
            str(row.states),
            f"{row.heldout_log_likelihood:.4f}",
            f"{row.score:.4f}",
            f"{row.below_best:.4f} ± {row.standard_error:.4f}",
            "← chosen" if row.chosen else "",
        ]
        for row in curve
    ]
    return ["states", "held-out", "score", "below best", ""], rows


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
    model: PreferenceModel, known: BoolArray, called: tuple[Label, ...], top: int
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


def _listed(actions: tuple[object, ...]) -> str:
    return " · ".join(map(shown, actions))
