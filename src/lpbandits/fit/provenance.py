"""`Provenance`: how a model was fitted, as kept in its file: settings, report, versions and a sketch of its people.

The sketch answers whether given people were in the training data without storing labels. A fit keeps the 1,024 smallest
64-bit hashes of people's labels. Hashes are uniform, so among other people with hashes in the same range, the share
that occurs in the sketch estimates the share that was in the fit.
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

MAX_ROWS = 1000
"""Maximum number of curve rows, warnings and versions."""

_MAX = 10**9
_HASH = re.compile("[0-9a-f]{16}")


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
        try:
            settings = content.get("settings")
            return cls(
                settings if isinstance(settings, dict) else None,
                None if content.get("data_sha256") is None else _text(content["data_sha256"], "data_sha256"),
                {name: _text(value, f"versions.{name}") for name, value in _dict(content, "versions").items()},
                _never_compared(content, n_states, n_actions),
                _sketch(content.get("people_sketch")),
                _report(_dict(content, "report"), n_states),
            )
        except InvalidInput as error:
            raise FileFormatError(f"provenance is invalid: {error}; fit the model again, or remove the key") from None

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
        given = self.settings or {}
        method = given.get("method", self.report.get("method"))
        if not given or not isinstance(method, str) or method not in METHODS or given.get("start") is not None:
            return None
        kind = METHODS[method]
        try:
            states: Any = given.get("states")
            if not validate.is_exactly(states, "auto"):
                states = validate.as_count(states, "states")
            counts = {name: given.get(name) for name in ("max_states", "pairs_per_person")}
            options: Json = {
                **{name: None if value is None else validate.as_count(value, name) for name, value in counts.items()},
                "heldout": validate.as_number(given.get("heldout", 0.1), "heldout", low=0, high=0.9),
                "taste": validate.as_flag(given.get("taste", True), "taste"),
            }
            return kind(**{one.name: given[one.name] for one in fields(kind) if one.name in given}), states, options
        except InvalidInput as error:
            raise FileFormatError(f"provenance.settings is invalid: {error}; fit the model again") from None

    def share_in_training(self, people: Sequence[Label]) -> float | None:
        """Return the share of `people` that was in the training data, None if unknown.

        Exact for fits of fewer than 1,024 people. For larger fits an estimate from the people with hashes in the range
        of the sketch.

        Examples
        --------
        >>> Provenance(people_sketch=sketch(["ann", "bo", "eve"])).share_in_training(["ann", "bo", "ian", "joe"])
        0.5
        """
        return self._lookup(people)[0]

    def none_in_training(self, people: Sequence[Label]) -> bool | None:
        """Return True if (almost) none of `people` were in the training data, None if unknown.

        Examples
        --------
        >>> provenance = Provenance(people_sketch=sketch(["ann", "bo", "eve"]))
        >>> provenance.none_in_training(["ian", "joe"]), provenance.none_in_training(["ian", "bo"])
        (True, False)
        """
        share, looked_up = self._lookup(people)
        if share is None or share > 0.0:
            return None if share is None else False
        exact = len(self.people_sketch or ()) < SKETCH_SIZE
        return True if exact or looked_up >= MIN_LOOKED_UP else None

    def _lookup(self, people: Sequence[Label]) -> tuple[float | None, int]:
        """Return the share of people found, and the number of people it is based on."""
        labels = validate.as_list(people, "people", "labels", max_length=2**31)
        hashes = {_hash(validate.as_label(label, f"people[{i}]")) for i, label in enumerate(labels)}
        if self.people_sketch is None:
            return None, 0
        if len(self.people_sketch) == SKETCH_SIZE:
            hashes = {one for one in hashes if one <= self.people_sketch[-1]}
        return (len(hashes.intersection(self.people_sketch)) / len(hashes) if hashes else None), len(hashes)


def sketch(people: Iterable[Label]) -> tuple[str, ...]:
    """Return the 1,024 smallest hashes of people's labels, in ascending order: the first 8 bytes of SHA-256.

    >>> sketch(["ann", "bo"])
    ('3d099d0f13df9d0b', '49915e0d7d4b402e')
    """
    return tuple(heapq.nsmallest(SKETCH_SIZE, {_hash(label) for label in people}))


def _hash(label: Label) -> str:
    return hashlib.sha256(str(label).encode()).hexdigest()[:16]


def _sketch(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    hashes = _list(value, "people_sketch", SKETCH_SIZE)
    if not hashes or not all(isinstance(one, str) and _HASH.fullmatch(one) for one in hashes):
        raise InvalidInput(f"people_sketch must be a list of 1 to {SKETCH_SIZE} hashes")
    return tuple(sorted(set(hashes)))


def _never_compared(content: Mapping[str, Any], n_states: int, n_actions: int) -> tuple[tuple[int, ...], ...]:
    rows = []
    for z, row in enumerate(_per_state(content, "never_compared", n_states)):
        name = f"never_compared[{z}]"
        actions = tuple(
            validate.as_count(a, f"{name}[{i}]", low=0, high=n_actions - 1)
            for i, a in enumerate(_list(row, name, n_actions))
        )
        if len(set(actions)) < len(actions):
            raise InvalidInput(f"{name} must not repeat an action")
        rows.append(actions)
    return tuple(rows)


def _report(report: Json, n_states: int) -> Json:
    """Check the fields that the properties return; missing ones stay missing."""
    checks: dict[str, Callable[[Any, str], Any]] = {
        "people": _count,
        "heldout_people": _count,
        "heldout_log_likelihood": lambda value, name: validate.as_number(value, name, low=-_MAX, high=0.0),
        "ties": lambda value, name: validate.as_number(value, name, low=0.0, high=1.0),
        "state_people": lambda _, name: [
            _count(count, f"{name}[{z}]") for z, count in enumerate(_per_state(report, "state_people", n_states))
        ],
        "warnings": lambda value, name: [_text(one, f"{name}[{i}]") for i, one in enumerate(_list(value, name))],
        "curve": lambda value, name: [_curve_row(row, f"{name}[{i}]") for i, row in enumerate(_list(value, name))],
    }
    return report | {
        key: check(report[key], f"report.{key}") for key, check in checks.items() if report.get(key) is not None
    }


def _curve_row(row: Any, name: str) -> Json:
    if not isinstance(row, dict):
        raise InvalidInput(f"{name} must be an object, got {validate.short_repr(row)}")
    numbers = {
        key: validate.as_number(row.get(key), f"{name}.{key}", low=-_MAX, high=_MAX)
        for key in ("heldout_log_likelihood", "score", "below_best", "standard_error")
    }
    chosen = validate.as_flag(row.get("chosen", False), f"{name}.chosen")
    return {"states": validate.as_count(row.get("states"), f"{name}.states"), "chosen": chosen, **numbers}


def _count(value: Any, name: str) -> int:
    return validate.as_count(value, name, low=0, high=_MAX)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, got {validate.short_repr(value)}")
    return value


def _dict(content: Mapping[str, Any], name: str) -> Json:
    value = content.get(name)
    if value is not None and (not isinstance(value, dict) or len(value) > MAX_ROWS):
        raise InvalidInput(f"{name} must be an object with at most {MAX_ROWS} keys, got {validate.short_repr(value)}")
    return value or {}


def _list(value: Any, name: str, most: int = MAX_ROWS) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise InvalidInput(f"{name} must be a list with at most {most:,} entries, got {validate.short_repr(value)}")
    return value


def _per_state(content: Mapping[str, Any], name: str, n_states: int) -> list[Any]:
    value = content.get(name)
    if value is not None and len(_list(value, name, n_states)) != n_states:
        raise InvalidInput(f"{name} must have one entry for each of {n_states} states, got {len(value)}")
    return value or []
