"""What a model says, for people: its states, how far apart they are, and where they disagree."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from lpbandits import validate
from lpbandits.model import PreferenceModel
from lpbandits.typing import Json, Label


@dataclass(frozen=True)
class State:
    """One state: its share of people, and its most and least preferred actions, best first."""

    state: int
    share: float
    top: tuple[Label, ...]
    bottom: tuple[Label, ...]


@dataclass(frozen=True)
class Disagreement:
    """An action that states place very differently; `ranks` has its place in each state, 1 for the best."""

    action: Label
    ranks: tuple[int, ...]
    spread: float
    """Distance between the best and the worst place, as a share of all places."""


@dataclass(frozen=True)
class Inspection:
    """A model for people."""

    actions: int
    states: tuple[State, ...]
    kendall: tuple[tuple[float, ...], ...]
    """The share of action pairs that two states order differently."""
    disagreements: tuple[Disagreement, ...]
    provenance: Json

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        return asdict(self)


def inspect_model(model: PreferenceModel, *, top: int = 5, names: Mapping[str, str] | None = None) -> Inspection:
    """Return what a model says, with `top` actions at each end and as many disagreements.

    `names` maps labels (as text) to names for people; labels without one stand for themselves.

    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> seen = inspect_model(model, top=1)
    >>> seen.states[1].top, seen.disagreements[0].action, seen.disagreements[0].spread
    (('drug B',), 'rest', 1.0)
    """
    top = min(validate.as_count(top, "top"), model.size)
    shown = tuple((names or {}).get(str(label), label) for label in model.actions)
    states = tuple(
        State(
            z,
            float(model.prior[z]),
            tuple(shown[a] for a in order[:top]),
            tuple(shown[a] for a in order[-top:]),
        )
        for z, order in enumerate(model.orderings)
    )
    spread = (model.ranks.max(axis=0) - model.ranks.min(axis=0)) / max(model.size - 1, 1)
    widest = np.argsort(-spread, kind="stable")[:top]
    disagreements = tuple(
        Disagreement(shown[a], tuple(int(r) + 1 for r in model.ranks[:, a]), float(spread[a]))
        for a in widest
        if spread[a] > 0
    )
    kendall = tuple(tuple(float(x) for x in row) for row in model.kendall)
    return Inspection(model.size, states, kendall, disagreements, model.provenance)


def state_table(seen: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return the states as columns and rows of text."""
    rows = [[str(s.state), f"{s.share:.0%}", _listed(s.top), "… " + _listed(s.bottom)] for s in seen.states]
    return ["state", "share", "prefers", "likes least"], rows


def _listed(actions: tuple[object, ...]) -> str:
    return " · ".join(map(str, actions))
