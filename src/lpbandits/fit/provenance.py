"""`Provenance`: how a model was fitted, as kept in its file: settings, report and versions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Literal

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.fit.methods.em import Em
from lpbandits.fit.methods.estimator import Estimator, fit_options
from lpbandits.fit.methods.mixture import Mixture
from lpbandits.fit.methods.two_stage import TwoStage
from lpbandits.model import PreferenceModel, as_model
from lpbandits.typing import Json

METHODS: dict[str, type[TwoStage | Mixture | Em]] = {one.method: one for one in (Mixture, TwoStage, Em)}

MAX_NUMBER = 10**9


@dataclass(frozen=True)
class Provenance:
    """How a model was fitted; fields that its file does not have are empty. See `FitReport` for numbers of the fit.

    Examples
    --------
    >>> model = PreferenceModel([[1, 0, 2]], provenance={"never_compared": [[2]], "report": {"people": 9}})
    >>> provenance = Provenance.of(model)
    >>> provenance.never_compared, provenance.people, provenance.ties
    (((2,),), 9, None)
    """

    settings: Json | None = None
    """Arguments of the fit: `method`, those of the estimator and those of `fit_states`."""
    versions: Mapping[str, Any] = field(default_factory=dict)
    never_compared: Sequence[Sequence[int]] = ()
    """Per state, the indices of the actions without comparisons in it."""
    method: str | None = None
    people: int | None = None
    state_people: Sequence[int] = ()
    heldout_log_likelihood: float | None = None
    heldout_people: int | None = None
    ties: float | None = None
    warnings: Sequence[str] = ()
    curve: Sequence[Json] = ()

    @classmethod
    def of(cls, model: PreferenceModel) -> "Provenance":
        """Read the provenance of a model; its keys may be missing."""
        content = as_model(model).provenance
        settings, report = content.get("settings"), content.get("report")
        count = partial(validate.as_count, low=0, high=MAX_NUMBER)
        actions = partial(_list, read=partial(validate.as_count, low=0, high=model.n_actions - 1))
        readers: dict[str, Callable[[Any, str], Any]] = {
            "versions": _object,
            "never_compared": partial(_list, read=actions, length=model.n_states),
            "report.method": validate.as_text,
            "report.people": count,
            "report.state_people": partial(_list, read=count, length=model.n_states),
            "report.heldout_log_likelihood": partial(validate.as_number, low=-MAX_NUMBER, high=0),
            "report.heldout_people": count,
            "report.ties": partial(validate.as_number, low=0, high=1),
            "report.warnings": partial(_list, read=validate.as_text),
            "report.curve": partial(_list, read=_curve_row),
        }
        checked = {}
        try:
            parents = {"": content, "report": {} if report is None else _object(report, "report")}
            for path, read in readers.items():
                parent, _, key = path.rpartition(".")
                if (value := parents[parent].get(key)) is not None:
                    checked[key] = read(value, path)
        except InvalidInput as error:
            raise FileFormatError(f"provenance is invalid: {error}; fit the model again, or remove the key") from None
        return cls(settings if isinstance(settings, dict) else None, **checked)

    def refit_settings(self) -> tuple[Estimator, int | Literal["auto"], Json] | None:
        """Return estimator, states and options, so that `fit_states(log, estimator, states=states, **options)` refits.

        None without settings of a known method, or if EM started from given labels.
        """
        recorded = self.settings or {}
        kind = METHODS.get(str(recorded.get("method", self.method)))  # older models have the method in the report
        if not recorded or kind is None or recorded.get("start") is not None:
            return None
        try:
            options = fit_options(
                states=recorded.get("states"),
                max_states=recorded.get("max_states"),
                pairs_per_person=recorded.get("pairs_per_person"),
                heldout=recorded.get("heldout", 0.1),
                taste=recorded.get("taste", True),
            )
            estimator = kind(**{one.name: recorded[one.name] for one in fields(kind) if one.name in recorded})
        except InvalidInput as error:
            raise FileFormatError(f"provenance.settings is invalid: {error}; fit the model again") from None
        return estimator, options.pop("states"), options


def _curve_row(value: Any, name: str) -> Json:
    """Check one row of `StateCurve.rows`."""
    for key in ("states", "score", "below_best", "standard_error"):
        validate.as_number(_object(value, name).get(key), f"{name}.{key}", low=-MAX_NUMBER, high=MAX_NUMBER)
    return _object(value, name)


def _object(value: Any, name: str) -> Json:
    if not isinstance(value, dict):
        raise validate.invalid(name, "an object", value)
    return value


def _list(value: Any, name: str, read: Callable[[Any, str], Any], length: int | None = None) -> tuple[Any, ...]:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise validate.invalid(name, "a list" if length is None else f"a list of {length} entries", value)
    return tuple(read(entry, f"{name}[{i}]") for i, entry in enumerate(value))
