"""`CovariateModel`: the probability of each state given what is known about a person before the first outcome."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import CovariateWarning, FileFormatError, InvalidInput, warn_caller
from lpbandits.typing import BoolArray, FloatArray, Json

KINDS = ("number", "text")

MAX_DEVIATION = 4.0
"""Standardized numbers are limited to ± this, so that a wrong entry cannot decide alone."""

MAX_FACTOR = 0.98
"""Largest weight of the regression; each state keeps a part of its share."""

MAX_COEFFICIENT = 1e6

MAX_SHOWN = 3
"""Maximum number of unknown levels of a column in a warning."""

MISSING = (
    *("", "na", "n/a", "n.a.", "<na>", "#n/a", "nan", "none", "null", "nil", "missing"),
    *("-", "--", "–", "—", ".", "?"),
)
"""Lowercase text that stands for a missing value."""

_FIELDS = ("columns", "kinds", "levels", "means", "scales", "intercepts", "coefficients", "factor")


@dataclass(frozen=True, eq=False)
class CovariateModel:
    """Multinomial logistic regression of the state on covariates, shrunk towards the model's prior.

    With the prior w, p_z = (1 − factor) w_z + factor softmax_z(intercept + coefficients · x). A person of whom no
    covariate is known has the prior w. The features x of a column of numbers are its standardized value (0 if missing)
    and an indicator of a missing value; those of a column of text are an indicator of each level and one of a missing
    value. A level that is not listed counts as missing.

    Parameters
    ----------
    columns
        Names of the covariates.
    kinds
        "number" or "text", by column.
    levels
        Listed levels of each column of text; none for numbers. Others count as missing.
    means, scales
        Mean and standard deviation of each column of numbers; 0 and 1 for text.
    intercepts
        m: one per state.
    coefficients
        m×features, in the order of the columns.
    factor
        Weight of the regression, from 0 (the covariates do not help: everyone has the prior) to 0.98.

    Examples
    --------
    >>> sex = CovariateModel(["sex"], ["text"], [["f", "m"]], [0], [1], [0, 0], [[1.0, 0, 0], [0, 1.0, 0]], 0.5)
    >>> sex.priors({"sex": ["f", "m", None]}, 3, np.array([0.6, 0.4])).round(2).tolist()
    [[0.67, 0.33], [0.43, 0.57], [0.6, 0.4]]
    """

    columns: Sequence[str]
    kinds: Sequence[str]
    levels: Sequence[Sequence[str]]
    means: FloatArray
    scales: FloatArray
    intercepts: FloatArray
    coefficients: FloatArray
    factor: float

    def __post_init__(self) -> None:
        columns = tuple(
            validate.as_text(name, "columns") for name in validate.as_list(self.columns, "columns", "names")
        )
        if not columns or len(set(columns)) < len(columns):
            raise validate.invalid("columns", "one or more distinct names", list(columns))
        n = len(columns)
        lists = [validate.as_list(getattr(self, name), name, "entries") for name in ("kinds", "levels")]
        for name, entries in zip(("kinds", "levels"), lists, strict=True):
            if len(entries) != n:
                raise InvalidInput(f"{name} must have one entry for each of the {n} columns, got {len(entries)}")
        kinds = tuple(validate.as_choice(kind, "kinds", KINDS) for kind in lists[0])
        levels = tuple(tuple(validate.as_text(one, "levels") for one in row) for row in map(_as_levels, lists[1]))
        if any(row and kind == "number" for row, kind in zip(levels, kinds, strict=True)):
            raise InvalidInput("levels must be empty for a column of numbers")
        means, scales = (
            validate.as_floats(getattr(self, name), name, shape=(n,), max_abs=validate.MAX_ABS_VALUE)
            for name in ("means", "scales")
        )
        validate.check_entries(scales, "scales", scales <= 0, "be greater than 0")
        width = sum(n_features(kind, row) for kind, row in zip(kinds, levels, strict=True))
        limit: Json = {"max_abs": MAX_COEFFICIENT}
        intercepts = validate.as_floats(self.intercepts, "intercepts", shape=(None,), **limit)
        coefficients = validate.as_floats(self.coefficients, "coefficients", shape=(len(intercepts), width), **limit)
        factor = validate.as_number(self.factor, "factor", low=0, high=MAX_FACTOR)
        values = (columns, kinds, levels, means, scales, intercepts, coefficients, factor)
        for name, value in zip(_FIELDS, values, strict=True):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def n_states(self) -> int:
        """The number m of states."""
        return len(self.intercepts)

    @property
    def column_kinds(self) -> dict[str, str]:
        """Kind of each column, by name."""
        return dict(zip(self.columns, self.kinds, strict=True))

    def priors(self, values: Mapping[str, Any], count: int, prior: FloatArray) -> FloatArray:
        """Return count×m: the probability of each state of `count` people.

        `values` holds the column of each covariate: numbers (NaN if missing) or text (None if missing). A covariate
        that it lacks is missing for all people.
        """
        x, known = self.features(values, count)
        logits = np.tile(self.intercepts, (count, 1))
        for j in range(x.shape[1]):  # one by one, so that a person's sum does not depend on the other people
            logits += x[:, j, None] * self.coefficients[:, j]
        logits -= logits.max(axis=1, keepdims=True)
        weights = np.exp(logits)
        mixed = (1.0 - self.factor) * prior + self.factor * (weights / weights.sum(axis=1, keepdims=True))
        return np.where((known & (self.factor > 0.0))[:, None], mixed, prior)

    def features(self, values: Mapping[str, Any], count: int) -> tuple[FloatArray, BoolArray]:
        """Return count×features, and whether anything is known about each person."""
        parts: list[FloatArray] = []
        known = np.zeros(count, dtype=np.bool_)
        for i, name in enumerate(self.columns):
            column = values.get(name)
            if self.kinds[i] == "number":
                numbers = np.full(count, np.nan) if column is None else np.asarray(column, dtype=np.float64)
                missing = np.isnan(numbers)
                part = np.zeros((count, 1))
                scaled = (numbers[~missing] - self.means[i]) / self.scales[i]
                part[~missing, 0] = np.clip(scaled, -MAX_DEVIATION, MAX_DEVIATION)
            else:
                texts = np.full(count, None) if column is None else np.asarray(column, dtype=object)
                part = np.zeros((count, len(self.levels[i])))
                for j, level in enumerate(self.levels[i]):
                    part[:, j] = texts == level
                missing = ~part.any(axis=1)
            parts += [part, missing[:, None].astype(np.float64)]
            known |= ~missing
        return np.ascontiguousarray(np.concatenate(parts, axis=1)), known

    def warn_of_unknown(self, values: Mapping[str, Any]) -> None:
        """Warn once of all levels in the columns `values` that the model does not list, if it uses covariates."""
        parts = []
        for name, kind, levels in zip(self.columns, self.kinds, self.levels, strict=True):
            if kind == "number" or name not in values or self.factor == 0.0:
                continue
            counts = Counter[str | None](np.asarray(values[name], dtype=object).tolist())
            for level in (None, *levels):
                del counts[level]
            if counts:
                shown = [f"{validate.short_repr(level)} ({count:,})" for level, count in counts.most_common(MAX_SHOWN)]
                more = f" and {len(counts) - MAX_SHOWN:,} more" if len(counts) > MAX_SHOWN else ""
                near = validate.did_you_mean(next(iter(counts)), levels)
                parts.append(f"{name} has {', '.join(shown)}{more}{near}")
        if parts:
            warn_caller(
                f"levels of covariates that the model does not know count as missing: {'; '.join(parts)}; correct "
                "them, or fit the model again",
                CovariateWarning,
            )

    def prior_for(self, covariates: Any, prior: FloatArray) -> FloatArray:
        """Return the probability of each state of one person; see `PreferenceModel.prior_for`."""
        values = {name: [value] for name, value in self.checked(covariates).items()}
        self.warn_of_unknown(values)
        row: FloatArray = self.priors(values, 1, prior)[0]
        return row

    def checked(self, covariates: Any) -> Json:
        """Return the covariates of one person as plain values: floats, text, or None if missing."""
        if not isinstance(covariates, Mapping):
            raise validate.invalid("covariates", "a dict by column, such as {'age': 40}", covariates)
        values = {}
        for name, value in covariates.items():
            if name not in self.columns:
                raise InvalidInput(
                    f"unknown covariate {validate.short_repr(name)}; the model has {', '.join(self.columns)}"
                    + validate.did_you_mean(name, self.columns)
                )
            kind = self.kinds[self.columns.index(name)]
            values[str(name)] = as_value(value, kind, f"covariates[{validate.short_repr(name)}]")
        return values

    def to_dict(self) -> Json:
        """Return the model as a JSON object."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else _plain(value) for name, value in values.items()
        }

    @classmethod
    def from_dict(cls, content: Any) -> "CovariateModel":
        """Read the JSON object that `to_dict` returns."""
        if not isinstance(content, dict) or set(content) != set(_FIELDS):
            raise FileFormatError(
                f"covariates must be an object with the keys {', '.join(_FIELDS)}; fit the model again"
            )
        try:
            return cls(**content)
        except InvalidInput as error:
            raise FileFormatError(f"covariates are invalid: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CovariateModel) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.columns, self.levels, self.intercepts.tobytes(), self.coefficients.tobytes(), self.factor))

    def __repr__(self) -> str:
        return f"<CovariateModel: {self.n_states} states given {', '.join(self.columns)}, factor {self.factor:g}>"


def n_features(kind: str, levels: Sequence[str]) -> int:
    """Return the number of features of a column, with the indicator of a missing value."""
    return 2 if kind == "number" else len(levels) + 1


def is_missing(texts: "np.ndarray[Any, Any]") -> BoolArray:
    """Return which entries of a column of text are None."""
    return np.array([text is None for text in texts.tolist()], dtype=np.bool_)


def as_value(value: Any, kind: str, name: str) -> float | str | None:
    """Return one covariate as a float or text, None if missing.

    >>> as_value(" F ", "text", "sex"), as_value(float("nan"), "number", "age"), as_value(True, "number", "member")
    ('F', None, 1.0)
    """
    if value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value))):
        return None
    if kind == "number":
        number = float(value) if isinstance(value, bool | np.bool_) else value
        return validate.as_number(number, name, low=-validate.MAX_ABS_VALUE, high=validate.MAX_ABS_VALUE)
    text = validate.as_text(value, name) if isinstance(value, str) else str(validate.as_label(value, name))
    return None if text.strip().lower() in MISSING else text.strip()


def _as_levels(value: Any) -> list[Any]:
    return validate.as_list(value, "levels", "texts")


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
