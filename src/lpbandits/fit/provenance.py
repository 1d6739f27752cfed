"""`Provenance`: how a model was fitted, as kept in its file: settings, report, versions and a sketch of its people.

The sketch tells whether people were in the training data without storing their labels: it holds the 1,024 smallest
64-bit hashes of labels. Hashes are uniform, so among people with hashes in the range of the sketch, the share that
occurs in it estimates the share that was in the fit.
"""

import hashlib
import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.fit.em import Em
from lpbandits.fit.estimator import Estimator
from lpbandits.fit.two_stage import TwoStage
from lpbandits.model import PreferenceModel, as_model
from lpbandits.typing import Json, Label

METHODS: dict[str, type[TwoStage] | type[Em]] = {"two-stage": TwoStage, "em": Em}
PACKAGES = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")

SKETCH_SIZE = 1_024
MIN_LOOKED_UP = 100
"""With this many people looked up and none found, fewer than 3 % were in the fit (95 % confidence)."""

MAX_NUMBER = 10**9
HASH = re.compile("[0-9a-f]{16}")

Reader = Callable[[Any, str], Any]
"""Check a JSON value; the text is its name in errors."""


@dataclass(frozen=True)
class CurveRow:
    """Held-out score of one number of states; see `StateCurve`."""

    states: int
    heldout_log_likelihood: float
    score: float
    below_best: float
    standard_error: float
    chosen: bool = False


@dataclass(frozen=True)
class Provenance:
    """How a model was fitted; empty fields for a model that was not fitted.

    Examples
    --------
    >>> model = PreferenceModel([[1, 0, 2]], provenance={"never_compared": [[2]], "report": {"people": 9}})
    >>> provenance = Provenance.of(model)
    >>> provenance.never_compared, provenance.people, provenance.ties
    (((2,),), 9, None)
    """

    settings: Json | None = None
    """Arguments of the fit: `method`, those of the estimator and those of `fit_states`."""
    data_sha256: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    never_compared: tuple[tuple[int, ...], ...] = ()
    """Per state, the indices of the actions without comparisons in it."""
    people_sketch: tuple[str, ...] | None = None
    report: Json = field(default_factory=dict)
    """`FitReport` without times and memory."""

    @classmethod
    def of(cls, model: PreferenceModel) -> "Provenance":
        """Read the provenance of a model."""
        return cls.from_dict(as_model(model).provenance, model.n_states, model.n_actions)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], n_states: int, n_actions: int) -> "Provenance":
        """Read the JSON object that `to_dict` returns; keys may be missing."""
        absent = _list_of(_list_of(_within(validate.as_count, 0, n_actions - 1)), n_states)
        readers: dict[str, Reader] = {
            "data_sha256": validate.as_text,
            "versions": _versions,
            "never_compared": lambda value, name: tuple(map(tuple, absent(value, name))),
            "people_sketch": _sketch,
            "report": _report_reader(n_states),
        }
        settings = content.get("settings")
        try:
            checked = {key: read(content[key], key) for key, read in readers.items() if content.get(key) is not None}
        except InvalidInput as error:
            raise FileFormatError(f"provenance is invalid: {error}; fit the model again, or remove the key") from None
        return cls(settings=settings if isinstance(settings, dict) else None, **checked)

    def to_dict(self) -> Json:
        """Return the provenance as a JSON object; equal data and settings give an equal object."""
        return {
            "made_by": f"recovery, {self.report['method']}",
            "data_sha256": self.data_sha256,
            "settings": self.settings,
            "versions": dict(self.versions),
            "never_compared": [list(row) for row in self.never_compared],
            "people_sketch": list(self.people_sketch or ()),
            "report": self.report,
        }

    @property
    def people(self) -> int | None:
        """Number of people in the fit."""
        return self.report.get("people")

    @property
    def state_people(self) -> tuple[int, ...]:
        """Per state, the number of people whose likeliest state it is."""
        return tuple(self.report.get("state_people") or ())

    @property
    def heldout(self) -> float | None:
        """Held-out log-likelihood per comparison."""
        return self.report.get("heldout_log_likelihood")

    @property
    def heldout_people(self) -> int | None:
        """Number of held-out people."""
        return self.report.get("heldout_people")

    @property
    def ties(self) -> float | None:
        """Share of comparisons that are ties."""
        return self.report.get("ties")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the fit."""
        return tuple(self.report.get("warnings") or ())

    @property
    def curve(self) -> tuple[CurveRow, ...]:
        """Scores by number of states, if the fit chose it."""
        names = [one.name for one in fields(CurveRow)]
        rows = self.report.get("curve") or ()
        return tuple(CurveRow(**{name: row[name] for name in names if name in row}) for row in rows)

    def refit_settings(self) -> tuple[Estimator, int | Literal["auto"], Json] | None:
        """Return estimator, states and options, so that `fit_states(log, estimator, states=states, **options)` refits.

        None without settings of a known method, or if EM started from given labels.

        Examples
        --------
        >>> from lpbandits import Ratings, fit_states
        >>> log = Ratings.from_arrays(*zip(*[(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]))
        >>> model = fit_states(log, TwoStage(seed=1, prior_sd=2.0), states=2, taste=False).model
        >>> estimator, states, options = Provenance.of(model).refit_settings()
        >>> estimator, states, options["taste"]
        (TwoStage(scale='cosine', prior_sd=2.0, restarts=None, seed=1, shrink=True), 2, False)
        >>> fit_states(log, estimator, states=states, **options).model == model
        True
        """
        recorded = self.settings or {}
        method = recorded.get("method", self.report.get("method"))
        if not recorded or not isinstance(method, str) or method not in METHODS or recorded.get("start") is not None:
            return None
        kind = METHODS[method]
        try:
            states: Any = recorded.get("states")
            if not validate.is_exactly(states, "auto"):
                states = validate.as_count(states, "states")
            options: Json = {
                "heldout": validate.as_number(recorded.get("heldout", 0.1), "heldout", low=0, high=0.9),
                "taste": validate.as_flag(recorded.get("taste", True), "taste"),
            }
            for name in ("max_states", "pairs_per_person"):
                value = recorded.get(name)
                options[name] = None if value is None else validate.as_count(value, name)
            estimator = kind(**{one.name: recorded[one.name] for one in fields(kind) if one.name in recorded})
        except InvalidInput as error:
            raise FileFormatError(f"provenance.settings is invalid: {error}; fit the model again") from None
        return estimator, states, options

    def none_in_training(self, people: Sequence[Label]) -> bool | None:
        """Return True if (almost) none of `people` were in the training data, None if unknown.

        Examples
        --------
        >>> provenance = Provenance(people_sketch=sketch(["ann", "bo", "eve"]))
        >>> provenance.none_in_training(["ian", "joe"]), provenance.none_in_training(["ian", "bo"])
        (True, False)
        """
        if self.people_sketch is None:
            return None
        hashes, exact = {_hash(label) for label in people}, len(self.people_sketch) < SKETCH_SIZE
        if not exact:
            hashes = {one for one in hashes if one <= self.people_sketch[-1]}
        if not hashes.isdisjoint(self.people_sketch):
            return False
        return True if len(hashes) >= (1 if exact else MIN_LOOKED_UP) else None


def sketch(people: Iterable[Label]) -> tuple[str, ...]:
    """Return the 1,024 smallest hashes of people's labels, in ascending order: the first 8 bytes of SHA-256.

    >>> sketch(["ann", "bo"])
    ('3d099d0f13df9d0b', '49915e0d7d4b402e')
    """
    return tuple(heapq.nsmallest(SKETCH_SIZE, {_hash(label) for label in people}))


def _hash(label: Label) -> str:
    return hashlib.sha256(str(label).encode()).hexdigest()[:16]


def _sketch(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and HASH.fullmatch(one) for one in value):
        raise InvalidInput(f"{name} must be a list of hashes, got {validate.short_repr(value)}")
    if not 0 < len(value) <= SKETCH_SIZE:
        raise InvalidInput(f"{name} must have 1 to {SKETCH_SIZE} hashes, got {len(value)}")
    return tuple(sorted(set(value)))


def _versions(value: Any, name: str) -> dict[str, str]:
    return {key: validate.as_text(text, f"{name}.{key}") for key, text in _object({})(value, name).items()}


def _report_reader(n_states: int) -> Reader:
    """Return the check of the report's fields that `Provenance` has as properties."""
    count = _within(validate.as_count, 0, MAX_NUMBER)
    scores = ("heldout_log_likelihood", "score", "below_best", "standard_error")
    row = {
        "states": validate.as_count,
        **dict.fromkeys(scores, _within(validate.as_number, -MAX_NUMBER, MAX_NUMBER)),
        "chosen": validate.as_flag,
    }
    return _object(
        {
            "people": count,
            "heldout_people": count,
            "heldout_log_likelihood": _within(validate.as_number, -MAX_NUMBER, 0),
            "ties": _within(validate.as_number, 0, 1),
            "state_people": _list_of(count, n_states),
            "warnings": _list_of(validate.as_text),
            "curve": _list_of(_object(row, required=("states", *scores))),
        }
    )


def _within(check: Callable[..., Any], low: int, high: int) -> Reader:
    return lambda value, name: check(value, name, low=low, high=high)


def _list_of(read: Reader, length: int | None = None) -> Reader:
    def read_list(value: Any, name: str) -> list[Any]:
        if not isinstance(value, list) or len(value) != (len(value) if length is None else length):
            raise validate.invalid(name, "a list" if length is None else f"a list of {length} entries", value)
        return [read(one, f"{name}[{i}]") for i, one in enumerate(value)]

    return read_list


def _object(readers: Mapping[str, Reader], required: Sequence[str] = ()) -> Reader:
    def read_object(value: Any, name: str) -> Json:
        if not isinstance(value, dict):
            raise validate.invalid(name, "an object", value)
        keys = [key for key in readers if key in required or value.get(key) is not None]
        return value | {key: readers[key](value.get(key), f"{name}.{key}") for key in keys}

    return read_object
