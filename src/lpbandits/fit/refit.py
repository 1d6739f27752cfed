"""Fitting once more as a model was fitted: its settings, read back from its provenance."""

from dataclasses import fields
from typing import Any

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.fit.em import Em
from lpbandits.fit.estimator import Estimator
from lpbandits.fit.pipeline import States
from lpbandits.fit.two_stage import TwoStage
from lpbandits.model import PreferenceModel, as_model
from lpbandits.typing import Json

METHODS: dict[str, type[TwoStage] | type[Em]] = {"two-stage": TwoStage, "em": Em}


def estimator_of(model: PreferenceModel) -> tuple[Estimator, States, Json] | None:
    """Return how a model was fitted: `fit_states(log, estimator, states=states, **settings)` does it again.

    `states` is what was asked for, "auto" too. None where the provenance does not tell: no fit of ours made the model,
    or EM was started from labels that were given person by person. What is told but no fit writes is refused.

    >>> from lpbandits import Ratings, fit_states
    >>> log = Ratings.from_arrays(*zip(*[(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]))
    >>> made = fit_states(log, TwoStage(seed=1, prior_sd=2.0), states=2, taste=False).model
    >>> estimator, states, settings = estimator_of(made)
    >>> estimator, states, settings["taste"]
    (TwoStage(scale='cosine', prior_sd=2.0, restarts=None, seed=1, shrink=True), 2, False)
    >>> fit_states(log, estimator, states=states, **settings).model == made
    True
    """
    told = as_model(model).provenance
    given, report = told.get("settings"), told.get("report")
    if not isinstance(given, dict):
        return None
    method = given.get("method", report.get("method") if isinstance(report, dict) else None)
    if not isinstance(method, str) or method not in METHODS or given.get("start") is not None:
        return None
    kind = METHODS[method]
    own: Json = {field.name: given[field.name] for field in fields(kind) if field.name in given}
    try:
        states: Any = given.get("states")
        if not validate.is_exactly(states, "auto"):
            states = validate.as_count(states, "states")
        return kind(**own), states, _others(given)
    except InvalidInput as error:
        raise FileFormatError(
            f"the model's provenance is not what a fit writes: {error}; fit the model again, or leave its settings out"
        ) from None


def _others(given: Json) -> Json:
    """Return the settings that are `fit_states`' own, those missing at their defaults."""
    counts = {name: given.get(name) for name in ("max_states", "pairs_per_person")}
    return {
        **{name: None if value is None else validate.as_count(value, name) for name, value in counts.items()},
        "heldout": validate.as_number(given.get("heldout", 0.1), "heldout", low=0, high=0.9),
        "taste": validate.as_flag(given.get("taste", True), "taste"),
    }
