"""`inspect`: states, uncertainty, differences between states, taste model and provenance of a model.

An `Inspection` holds labels unchanged, for programs; its tables hold them as displayed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from lpbandits import validate
from lpbandits.data.names import name_actions
from lpbandits.errors import translate_errors
from lpbandits.fit.provenance import Provenance
from lpbandits.fit.uncertainty import LEVEL, expected_pairs_right, probability_above, rank_intervals
from lpbandits.inspection.contrasts import NEVER, TIES, Contrasts, no_preference_reasons, percent
from lpbandits.inspection.facts import TasteView
from lpbandits.model import PreferenceModel, as_model
from lpbandits.notebook import Charted
from lpbandits.text import display, pluralize, share_text
from lpbandits.typing import IntArray, Json, Label

PAIRS, FIRST, MEANS = "pairs right", "first above second", "mean rewards"
COMPLETE = "prefers first … likes least"
PAIR_NOTE = "Pairs right: expected share of action pairs in the right order, given the errors of the utilities."
CURVE_NOTE = (
    "Score: mean log density per rating of held-out people. Chosen: the fewest states with a score at most one "
    "standard error below the best."
)
WHY = {TIES: "all actions tie", NEVER: "no actions were compared"}


@dataclass(frozen=True)
class State:
    """One state: its share, and its most and least preferred known actions, best first; no action is in both lists."""

    state: int
    share: float
    top: tuple[Label, ...]
    bottom: tuple[Label, ...]
    unknown: int = 0
    """Number of actions never compared in the state; their ranks carry no information."""
    certainty: "OrderUncertainty | None" = None
    """None for a model without errors."""
    between: int = 0
    """Number of known actions between the two lists."""
    silent: str | None = None
    """Reason why the state has no known preferences; None if it has."""
    people: int | None = None
    """Number of people in the fit whose likeliest state it is."""
    means: tuple[float, float] | None = None
    """Lowest and highest mean reward; None for a model without means."""


@dataclass(frozen=True)
class OrderUncertainty:
    """Uncertainty of a state's ordering of its known actions."""

    places: tuple[tuple[int, int], ...]
    """Interval, with coverage `LEVEL`, of the rank of each action in `top`."""
    first_above_second: float | None
    """Probability that the first action is above the second; None without a second."""
    pairs_right: float | None
    """Expected share of pairs of actions in the right order."""


@dataclass(frozen=True, repr=False)
class Inspection(Charted):
    """Summary of a model for display."""

    actions: int
    states: tuple[State, ...]
    contrasts: Contrasts
    """Differences between the states."""
    provenance: Json
    fit: Provenance
    """How the model was fitted."""
    noise: float | None = None
    taste: TasteView | None = None
    evaluation: Json | None = None

    @property
    def silence(self) -> str | None:
        """Message if no state has known preferences, else None."""
        reasons = {state.silent for state in self.states}
        if None in reasons:
            return None
        why = " or ".join(text for reason, text in WHY.items() if reason in reasons)
        return f"This model has no known preferences: {why}. The order of its actions carries no information."

    def first(self, most: int) -> "Inspection":
        """Keep the first `most` states and disagreements."""
        return replace(self, states=self.states[:most], contrasts=self.contrasts.first(most))

    @property
    def sizes(self) -> str:
        """The numbers of states, of actions and, if known, of people."""
        sizes = f"{pluralize(len(self.states), 'state')}, {pluralize(self.actions, 'action')}"
        if self.fit.people is None:
            return sizes
        return f"{sizes}, fitted to {pluralize(self.fit.people, 'person', 'people')}"

    def __repr__(self) -> str:
        return f"<Inspection: {self.sizes}>"

    def to_dict(self) -> Json:
        """Return the inspection as a JSON object."""
        fit = self.fit
        return {
            "actions": self.actions,
            "people": fit.people,
            "states": [asdict(state) for state in self.states],
            **asdict(self.contrasts),
            "heldout": fit.heldout_log_likelihood,
            "heldout_people": fit.heldout_people,
            "ties": fit.ties,
            "noise": self.noise,
            "taste": None if self.taste is None else asdict(self.taste),
            "warnings": list(fit.warnings),
            "evaluation": self.evaluation,
            "provenance": self.provenance,
        }


@translate_errors("inspecting a model")
def inspect(model: PreferenceModel, *, top: int = 5, names: Mapping[str, str] | None = None) -> Inspection:
    """Summarize a model.

    Parameters
    ----------
    top
        Number of actions at each end of an ordering, of disagreements and of pairs.
    names
        Names by label (as text); by default the names in the model, or the labels.

    Notes
    -----
    Actions that the fit never compared in a state are left out of that state's lists and distances, and so are all
    actions of a state where they tie.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> inspection = inspect(model, top=1)
    >>> disagreement = inspection.contrasts.disagreements[0]
    >>> inspection.states[1].top, disagreement.action, disagreement.spread
    (('drug B',), 'rest', 1.0)
    >>> [(pair.first, pair.second, pair.chance_first, pair.tells) for pair in inspection.contrasts.pairs]
    [('rest', 'drug B', (1.0, 0.0), 1.0)]
    """
    top = min(validate.as_count(top, "top"), as_model(model).n_actions)
    name_actions(model.actions, names)  # validates the names
    given = {str(label): name for label, name in (names or {}).items()}
    defaults = model.actions if model.names is None else model.names
    action_names = [given.get(str(label), name) for label, name in zip(model.actions, defaults, strict=True)]
    fit = Provenance.of(model)
    known = np.ones((model.n_states, model.n_actions), dtype=np.bool_)  # compared in the state
    for z, never_compared in enumerate(fit.never_compared):
        known[z, list(never_compared)] = False
    unknown = model.n_actions - known.sum(axis=1)
    silent = no_preference_reasons(model, known, fit)
    known[[reason is not None for reason in silent]] = False
    states = []
    for z, order in enumerate(model.orderings):
        placed = order[known[z][order]]
        listed, last = [action_names[a] for a in placed.tolist()], max(top, len(placed) - top)
        states.append(
            State(
                z,
                float(model.prior[z]),
                tuple(listed[:top]),
                tuple(listed[last:]),
                int(unknown[z]),
                _order_uncertainty(model, z, placed, top),
                between=max(last - top, 0) if listed else 0,
                silent=silent[z],
                people=fit.state_people[z] if fit.state_people else None,
                means=None if model.means is None else (float(model.means[z].min()), float(model.means[z].max())),
            )
        )
    return Inspection(
        model.n_actions,
        tuple(states),
        Contrasts.of(model, known, action_names, top),
        model.provenance,
        fit,
        noise=model.noise,
        taste=None if model.taste is None else TasteView.of(model.taste, action_names, top),
        evaluation=model.evaluation,
    )


def _order_uncertainty(model: PreferenceModel, state: int, order: IntArray, top: int) -> OrderUncertainty | None:
    if model.logits is None or model.errors is None:
        return None
    utilities, errors = model.logits[state, order], model.errors[state, order]
    first = np.arange(min(top, len(order)))
    places = rank_intervals(utilities, errors, first)
    return OrderUncertainty(
        tuple((low, high) for low, high in places.tolist()),
        float(probability_above(utilities, errors, 0, 1)) if len(order) > 1 else None,
        expected_pairs_right(utilities, errors),
    )


def state_table(inspection: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return the states as columns and rows, without empty columns; short orderings are listed completely."""
    states = inspection.states
    complete = not any(s.between for s in states)
    columns = {"state": [str(s.state) for s in states], "share": [share_text(s.share) for s in states]}
    if any(s.people is not None for s in states):
        columns["people"] = ["–" if s.people is None else f"{s.people:,}" for s in states]
    columns[COMPLETE if complete else "prefers"] = [
        f"unknown: {WHY[s.silent]}" if s.silent else _listed(s.top if s.between else s.top + s.bottom) for s in states
    ]
    if not complete:
        columns["likes least"] = ["… " + _listed(s.bottom) if s.between else "" for s in states]
    if any(s.means for s in states):
        columns[MEANS] = [f"{s.means[0]:.3g} to {s.means[1]:.3g}" if s.means else "" for s in states]
    if any(s.unknown for s in states):
        columns["never compared"] = [f"{s.unknown:,} unknown" if s.unknown else "" for s in states]
    if any(s.certainty and s.top for s in states):
        columns[PAIRS] = [percent(s.certainty.pairs_right if s.certainty else None) for s in states]
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]


def place_table(inspection: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return rank intervals of the first actions as columns and rows; states without known preferences have no row."""
    rows = [
        [
            str(state.state),
            " · ".join(
                f"{display(action)}: {low}–{high}" if low < high else f"{display(action)}: {low}"
                for action, (low, high) in zip(state.top, state.certainty.places, strict=True)
            ),
            percent(state.certainty.first_above_second),
        ]
        for state in inspection.states
        if state.certainty and state.certainty.places
    ]
    return ["state", "first actions with rank intervals", FIRST], rows


def place_note(inspection: Inspection) -> str:
    """Explain the table of rank intervals."""
    text = f"{LEVEL:.0%} intervals of ranks among known actions; probability that the first is above the second."
    places = [place for state in inspection.states if state.certainty for place in enumerate(state.certainty.places, 1)]
    if any(low > rank for rank, (low, _) in places):
        text += (
            " Where an interval does not reach the action's own rank, some of the many uncertain actions are probably "
            "better."
        )
    return text


def curve_table(curve: Sequence[Json]) -> tuple[list[str], list[list[str]]]:
    """Return the held-out scores by number of states as columns and rows."""
    rows = [
        [
            str(row["states"]),
            f"{row['score']:.4f}",
            f"{row['below_best']:.4f} ± {row['standard_error']:.4f}",
            "← chosen" if row.get("chosen") else "",
        ]
        for row in curve
    ]
    return ["states", "score", "below best", ""], rows


def _listed(actions: tuple[object, ...]) -> str:
    return " · ".join(map(display, actions))
