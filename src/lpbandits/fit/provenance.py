"""What a model's provenance says of its fit, read in one place: it is any JSON object, and may be anybody's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.typing import Json

MOST_ROWS = 1000
"""Rows of the curve, warnings and versions that a fit has at most."""

_LARGEST = 1e9

T = TypeVar("T", Json, list[Any])


@dataclass(frozen=True)
class CurveRow:
    """How well one number of states did on people not in the fit; see `StateCurve`."""

    states: int
    heldout_log_likelihood: float
    score: float
    below_best: float
    standard_error: float
    chosen: bool = False


@dataclass(frozen=True)
class FitRecord:
    """What the provenance of a fitted model says; nothing, where there are no such keys.

    >>> told = FitRecord.of(PreferenceModel([[1, 0, 2]], provenance={"never_compared": [[2]], "report": {"people": 9}}))
    >>> told.never_compared, told.people, told.ties
    (((2,),), 9, None)
    >>> FitRecord.of(PreferenceModel([[0, 1]], provenance={"report": "x"}))
    Traceback (most recent call last):
    ...
    lpbandits.errors.FileFormatError: the model's provenance is not what a fit writes: report is 'x', not an object; ...
    """

    versions: Mapping[str, str]
    never_compared: tuple[tuple[int, ...], ...]
    """Per state, the actions that nobody in it compared: where they stand in its ordering is not its people's word."""
    curve: tuple[CurveRow, ...]
    """How well different numbers of states did, if the fit chose it."""
    warnings: tuple[str, ...]
    people: int | None = None
    """In the fit."""
    state_people: tuple[int, ...] = ()
    """Per state, the people whose likeliest it is."""
    heldout: float | None = None
    """Log-likelihood per comparison of people not in the fit,"""
    heldout_people: int | None = None
    """of whom there were so many."""
    ties: float | None = None
    """The share of comparisons that are ties."""

    @classmethod
    def of(cls, model: PreferenceModel) -> "FitRecord":
        """Read the provenance of a model."""
        told = model.provenance
        try:
            report = _object(told.get("report"), "report")
            versions = _object(told.get("versions"), "versions")
            curve = _list(report.get("curve"), "report.curve")
            warnings = _list(report.get("warnings"), "report.warnings")
            return cls(
                {name: _text(value, f"versions.{name}") for name, value in versions.items()},
                tuple(_never_compared(told.get("never_compared"), model)),
                tuple(_row(row, f"report.curve[{i}]") for i, row in enumerate(curve)),
                tuple(_text(value, f"report.warnings[{i}]") for i, value in enumerate(warnings)),
                _count(report, "people"),
                tuple(_state_people(report.get("state_people"), model)),
                _number(report, "heldout_log_likelihood", low=-_LARGEST, high=0.0),
                _count(report, "heldout_people"),
                _number(report, "ties", low=0.0, high=1.0),
            )
        except InvalidInput as error:
            raise FileFormatError(
                f"the model's provenance is not what a fit writes: {error}; fit the model again, or leave the key out"
            ) from None


def _never_compared(value: Any, model: PreferenceModel) -> Iterator[tuple[int, ...]]:
    name = "never_compared"
    states = _list(value, name, model.n_states)
    if value is not None and len(states) != model.n_states:
        raise InvalidInput(f"{name} has {len(states)} lists for {model.n_states} states")
    for z, actions in enumerate(states):
        absent = _list(actions, f"{name}[{z}]", model.n_actions)
        most = model.n_actions - 1
        numbers = tuple(validate.as_count(a, f"{name}[{z}][{i}]", low=0, high=most) for i, a in enumerate(absent))
        if len(set(numbers)) < len(numbers):
            raise InvalidInput(f"{name}[{z}] names an action twice")
        yield numbers


def _state_people(value: Any, model: PreferenceModel) -> Iterator[int]:
    name = "report.state_people"
    counts = _list(value, name, model.n_states)
    if value is not None and len(counts) != model.n_states:
        raise InvalidInput(f"{name} has {len(counts)} counts for {model.n_states} states")
    for z, count in enumerate(counts):
        yield validate.as_count(count, f"{name}[{z}]", low=0, high=int(_LARGEST))


def _count(report: Json, key: str) -> int | None:
    value = report.get(key)
    return None if value is None else validate.as_count(value, f"report.{key}", low=0, high=int(_LARGEST))


def _number(report: Json, key: str, *, low: float, high: float) -> float | None:
    value = report.get(key)
    return None if value is None else validate.as_number(value, f"report.{key}", low=low, high=high)


def _row(value: Any, name: str) -> CurveRow:
    row = _object(value, name)
    numbers = {
        key: validate.as_number(row.get(key), f"{name}.{key}", low=-_LARGEST, high=_LARGEST)
        for key in ("heldout_log_likelihood", "score", "below_best", "standard_error")
    }
    chosen = row.get("chosen", False)
    if not isinstance(chosen, bool):
        raise InvalidInput(f"{name}.chosen is {_word(chosen)}, neither true nor false")
    return CurveRow(states=validate.as_count(row.get("states"), f"{name}.states"), chosen=chosen, **numbers)


def _object(value: Any, name: str) -> Json:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} is {_word(value)}, not an object")
    return _few(value, name, MOST_ROWS)


def _list(value: Any, name: str, most: int = MOST_ROWS) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidInput(f"{name} is {_word(value)}, not a list")
    return _few(value, name, most)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is {_word(value)}, not text")
    return value


def _few(value: T, name: str, most: int) -> T:
    if len(value) > most:
        raise InvalidInput(f"{name} has {len(value):,} entries; at most {most:,} are possible")
    return value


def _word(value: Any) -> str:
    """Return a JSON value for a message: a long list is not written out."""
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else f"{value!r:.60}"
