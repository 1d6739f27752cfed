"""What a model says, for people: its states, how sure they are, how they differ, and what else the model knows.

An `Inspection` has labels as they are, for programs; the tables made of it have them as they are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from lpbandits import validate
from lpbandits.errors import translate_errors
from lpbandits.fit.provenance import CurveRow, Provenance
from lpbandits.fit.uncertainty import DRAWS, LEVEL, expected_pairs_right, probability_above, rank_intervals
from lpbandits.inspection.contrasts import NEVER, TIES, Contrasts, known_actions, silences
from lpbandits.inspection.facts import TasteView, Verdict
from lpbandits.inspection.tables import percent
from lpbandits.limits import check_resources
from lpbandits.model import PreferenceModel
from lpbandits.text import display, share_text
from lpbandits.typing import IntArray, Json, Label

PAIRS, FIRST, MEANS = "pairs right", "first above second", "mean rewards"
WHOLE = "prefers first … likes least"
PAIR_RULE = "Pairs right: the share of pairs of actions expected to be in the right order, by the errors of utilities."
CURVE_RULE = "Chosen: the fewest states whose score on unseen people is at most one standard error below the best."
WHY = {TIES: "all actions tie", NEVER: "no actions were compared"}


@dataclass(frozen=True)
class State:
    """One state: its share of people, and its most and least preferred known actions, best first.

    No action is in both lists: of few actions they are the whole ordering.
    """

    state: int
    share: float
    top: tuple[Label, ...]
    bottom: tuple[Label, ...]
    unknown: int = 0
    """How many actions nobody in the state compared: where they stand in its ordering is not its people's word."""
    certainty: "Certainty | None" = None
    """None if the model has no errors."""
    between: int = 0
    """How many known actions stand between the two lists."""
    silent: str | None = None
    """Why nothing is known of what the state prefers; None if something is."""
    people: int | None = None
    """How many people of the fit are most likely in the state."""
    means: tuple[float, float] | None = None
    """The lowest and the highest mean reward, if the model has them."""


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
class Inspection:
    """A model for people."""

    actions: int
    states: tuple[State, ...]
    contrasts: Contrasts
    """How the states differ."""
    provenance: Json
    fit: Provenance
    """What the provenance says of a fit."""
    noise: float | None = None
    taste: TasteView | None = None
    evaluation: Json | None = None

    @property
    def verdict(self) -> Verdict:
        """What an evaluation found."""
        return Verdict.of(self.evaluation)

    @property
    def silence(self) -> str | None:
        """What to say when nothing is known of what people prefer, in any state; else None."""
        reasons = {state.silent for state in self.states}
        if None in reasons:
            return None
        why = " or ".join(text for reason, text in WHY.items() if reason in reasons)
        return f"This model does not know what people prefer: {why}. The order of its actions means nothing."

    def first(self, most: int) -> "Inspection":
        """Return what is said of the first states, and as many disagreements: more than that nobody sees at once."""
        return replace(self, states=self.states[:most], contrasts=self.contrasts.first(most))

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        fit = self.fit
        return {
            "actions": self.actions,
            "people": fit.people,
            "states": [asdict(state) for state in self.states],
            **self.contrasts.to_dict(),
            "heldout": fit.heldout,
            "heldout_people": fit.heldout_people,
            "ties": fit.ties,
            "noise": self.noise,
            "taste": None if self.taste is None else asdict(self.taste),
            "warnings": list(fit.warnings),
            "evaluation": self.evaluation,
            "provenance": self.provenance,
        }


@translate_errors("inspecting a model")
def inspect_model(model: PreferenceModel, *, top: int = 5, names: Mapping[str, str] | None = None) -> Inspection:
    """Return what a model says, with `top` actions at each end, and as many disagreements and pairs.

    `names` maps labels (as text) to names for people; labels without one have the model's name, or stand for
    themselves. Actions that a fit never compared in a state (as its provenance says) are left out of that state's lists
    and distances, and so are all actions of a state where they tie.

    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> seen = inspect_model(model, top=1)
    >>> seen.states[1].top, seen.contrasts.disagreements[0].action, seen.contrasts.disagreements[0].spread
    (('drug B',), 'rest', 1.0)
    >>> [(pair.first, pair.second, pair.chance_first, pair.tells) for pair in seen.contrasts.pairs]
    [('rest', 'drug B', (1.0, 0.0), 1.0)]
    """
    top = min(validate.as_count(top, "top"), model.n_actions)
    m = model.n_states
    check_resources(
        f"to show {m:,} states, {top:,} actions each, and the distances between them",
        "show fewer actions, or a model of fewer states",
        size=100 * m * m + 200 * m * top + (8 * DRAWS * top if model.errors is not None else 0),
        operations=(10 * DRAWS * m * model.n_actions if model.errors is not None else 0),
    )
    own = model.actions if model.names is None else model.names
    called = [(names or {}).get(str(label), name) for label, name in zip(model.actions, own, strict=True)]
    fit = Provenance.of(model)
    known = known_actions(model, fit)
    unknown = model.n_actions - known.sum(axis=1)
    silent = silences(model, known, fit)
    known[[reason is not None for reason in silent]] = False
    states = []
    for z, order in enumerate(model.orderings):
        placed = order[known[z][order]]
        listed, last = [called[a] for a in placed.tolist()], max(top, len(placed) - top)
        states.append(
            State(
                z,
                float(model.prior[z]),
                tuple(listed[:top]),
                tuple(listed[last:]),
                int(unknown[z]),
                _certainty(model, z, placed, top),
                between=max(last - top, 0) if listed else 0,
                silent=silent[z],
                people=fit.state_people[z] if fit.state_people else None,
                means=None if model.means is None else (float(model.means[z].min()), float(model.means[z].max())),
            )
        )
    return Inspection(
        model.n_actions,
        tuple(states),
        Contrasts.of(model, known, called, top),
        model.provenance,
        fit,
        noise=model.noise,
        taste=None if model.taste is None else TasteView.of(model.taste, called, top),
        evaluation=model.evaluation,
    )


def _certainty(model: PreferenceModel, state: int, order: IntArray, top: int) -> Certainty | None:
    if model.logits is None or model.errors is None:
        return None
    utilities, errors = model.logits[state, order], model.errors[state, order]
    first = np.arange(min(top, len(order)))
    places = rank_intervals(utilities, errors, first)
    return Certainty(
        tuple((low, high) for low, high in places.tolist()),
        probability_above(utilities, errors, 0, 1) if len(order) > 1 else None,
        expected_pairs_right(utilities, errors),
    )


def state_table(seen: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return the states as columns and rows of text; what no state has gets no column.

    Where all orderings are short each is listed once, as a whole.
    """
    states = seen.states
    whole = not any(s.between for s in states)
    columns = {"state": [str(s.state) for s in states], "share": [share_text(s.share) for s in states]}
    if any(s.people is not None for s in states):
        columns["people"] = ["–" if s.people is None else f"{s.people:,}" for s in states]
    columns[WHOLE if whole else "prefers"] = list(map(_first, states))
    if not whole:
        columns["likes least"] = ["… " + _listed(s.bottom) if s.between else "" for s in states]
    if any(s.means for s in states):
        columns[MEANS] = [f"{s.means[0]:.3g} to {s.means[1]:.3g}" if s.means else "" for s in states]
    if any(s.unknown for s in states):
        columns["never compared"] = [f"{s.unknown:,} unknown" if s.unknown else "" for s in states]
    if any(s.certainty and s.top for s in states):
        columns[PAIRS] = [percent(s.certainty.pairs_right if s.certainty else None) for s in states]
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]


def place_table(seen: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return how sure the first places are, as columns and rows of text; no row for a state where nothing is known."""
    rows = [
        [
            str(state.state),
            " · ".join(
                f"{display(action)}: {low}–{high}" if low < high else f"{display(action)}: {low}"
                for action, (low, high) in zip(state.top, state.certainty.places, strict=True)
            ),
            percent(state.certainty.first_above_second),
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


def _first(state: State) -> str:
    """Return the first actions of a state, all if they are few, or why nothing is known."""
    if state.silent:
        return f"nothing is known: {WHY[state.silent]}"
    return _listed(state.top if state.between else state.top + state.bottom)


def _listed(actions: tuple[object, ...]) -> str:
    return " · ".join(map(display, actions))
