"""`CovariateTable`: what is known about people, by column, and the priors that a model derives from it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.columns.cells import clipped, is_blank, is_text, number
from lpbandits.data.tables import labels_as_series
from lpbandits.errors import CovariateWarning, InvalidInput, translate_errors, warn_caller
from lpbandits.model import PreferenceModel
from lpbandits.model_parts.covariates import MISSING
from lpbandits.people.priors import Priors
from lpbandits.people.tables import PeopleTable, number_remedy, open_people

NEARLY_ALL = 0.9
"""Share of numbers from which on the other cells of a column are errors, and of dates for a column of dates."""

MAX_SHOWN = 5
"""Maximum number of columns that an error lists."""

MAX_COVARIATES = 100
"""Maximum number of columns of covariates."""

DATE = r"^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2}([0-9]{2})?)([ T].*)?$"
"""Text that is a date, perhaps with a time."""

NO_DATES = "it holds dates; give an age or a duration as a number"


@dataclass(frozen=True, eq=False)
class CovariateTable:
    """Columns of distinct people: numbers (NaN if missing) or text (None if missing).

    >>> table = CovariateTable.read(pl.DataFrame({"person": [1, 2], "age": ["40", "n/a"], "sex": ["f", " m"]}))
    >>> table.kinds, table.values["age"].tolist(), table.values["sex"].tolist()
    ({'age': 'number', 'sex': 'text'}, [40.0, nan], ['f', 'm'])
    """

    people: pl.Series
    kinds: Mapping[str, str]
    values: Mapping[str, np.ndarray[Any, Any]]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Columns that hold neither numbers nor text, and why."""

    @classmethod
    @translate_errors("reading covariates")
    def read(
        cls,
        source: Any,
        *,
        kinds: Mapping[str, str] | None = None,
        person: str | None = None,
        decimal_comma: bool = False,
    ) -> "CovariateTable":
        """Read a path or a frame with one row per person.

        Without `kinds`, all columns are read: as numbers if all their cells are numbers or missing. Dates are left out.
        With `kinds`, only these columns are read; those that the table lacks are left out. A table that has none of
        them, but others, is refused.
        """
        with open_people(source, person=person) as table:
            chosen = table.others if kinds is None else _known_columns(table, kinds)
            if kinds is None and len(chosen) > MAX_COVARIATES:
                raise InvalidInput(
                    f"{table.name} must have at most {MAX_COVARIATES} columns of covariates, got {len(chosen):,}; keep "
                    "the person and what may tell preferences"
                )
            frame = table.frame(chosen)
            frame = frame.unique(pl.exclude("row"), keep="first", maintain_order=True)
            table.check(frame, ~pl.col("person").is_first_distinct(), "the person has other values in an earlier row")
            found: dict[str, str] = {}
            values: dict[str, np.ndarray[Any, Any]] = {}
            left_out: dict[str, str] = {}
            for name, i in chosen.items():
                dtype = frame.schema[str(i)]
                if not (is_text(dtype) or dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
                    what = f"it holds {dtype} values, not numbers or text"
                    left_out[name] = f"{what}; give an age or a duration as a number" if dtype.is_temporal() else what
                    continue
                if kinds is None and is_text(dtype) and _are_dates(frame, str(i)):
                    left_out[name] = NO_DATES
                    continue
                numeric = _number(str(i), dtype, decimal_comma=decimal_comma)
                kind = _kind(frame, str(i), numeric) if kinds is None else kinds[name]
                found[name] = kind
                values[name] = _values(frame, table, name, str(i), kind, numeric)
            return cls(frame["person"], found, values, left_out)

    def priors(self, model: PreferenceModel) -> Priors:
        """Return the priors of these people by the model's covariates."""
        if model.covariates is None:
            raise InvalidInput("the model must have covariates; fit it with a table of people (lpb fit --people)")
        rows = model.covariates.priors(self.values, len(self.people), model.prior)
        return Priors(self.people, rows, model.prior)


def has_covariates(source: Any, model: PreferenceModel, *, person: str | None = None) -> bool:
    """Return whether a table of people has a covariate by which a model derives priors.

    >>> has_covariates(pl.DataFrame({"person": ["ann"], "age": [40]}), PreferenceModel([[0, 1], [1, 0]]))
    False
    """
    if model.covariates is None or model.covariates.factor == 0.0:
        return False
    with open_people(source, person=person) as table:
        return bool(_known_columns(table, model.covariates.columns))


def covariate_priors(
    source: Any, model: PreferenceModel, *, person: str | None = None, decimal_comma: bool = False
) -> Priors:
    """Return the priors of the people of a table by the model's covariates.

    Warn once of levels that the model lacks, and of columns that the table lacks.

    >>> from lpbandits import CovariateModel
    >>> sex = CovariateModel(["sex"], ["text"], [["f", "m"]], [0], [1], [0, 0], [[1.0, 0, 0], [0, 1.0, 0]], 0.5)
    >>> people = pl.DataFrame({"person": ["ann", "bo"], "sex": ["f", None]})
    >>> model = PreferenceModel([[0, 1], [1, 0]], covariates=sex)
    >>> covariate_priors(people, model).of(people["person"]).round(3).tolist()
    [[0.616, 0.384], [0.5, 0.5]]
    """
    if model.covariates is None:
        raise InvalidInput("the model must have covariates; fit it with a table of people (lpb fit --people)")
    kinds = model.covariates.column_kinds
    table = CovariateTable.read(source, kinds=kinds, person=person, decimal_comma=decimal_comma)
    missing = [validate.short_repr(name) for name in kinds if name not in (*table.kinds, *table.left_out)]
    if missing and table.kinds and model.covariates.factor > 0.0:
        warn_caller(
            f"the table of people has no column {', '.join(missing)}; these covariates of the model count as missing",
            CovariateWarning,
        )
    model.covariates.warn_of_unknown(table.values)
    return table.priors(model)


def _known_columns(table: PeopleTable, names: Collection[str]) -> dict[str, int]:
    """Return the columns of a table that are among the covariates `names`; refuse one with other columns only."""
    found = {name: i for name, i in table.others.items() if name in names}
    if table.others and not found:
        columns = list(table.others)[:MAX_COVARIATES]
        near = next(filter(None, (validate.did_you_mean(name, names) for name in columns)), "")
        more = ", …" if len(table.others) > MAX_SHOWN else ""
        raise InvalidInput(
            f"{table.name} must have a column of the model's covariates ({', '.join(names)}), got "
            f"{', '.join(map(validate.short_repr, columns[:MAX_SHOWN]))}{more}{near}; rename the columns, or give the "
            "column of people alone"
        )
    return found


def as_covariates(source: Any) -> CovariateTable:
    """Return a table of covariates, read if it is a path or a frame."""
    return source if isinstance(source, CovariateTable) else CovariateTable.read(source)


def labels_of(people: Any) -> pl.Series:
    """Return labels as a column."""
    return people if isinstance(people, pl.Series) else labels_as_series("person", people)


def _number(key: str, dtype: pl.DataType, *, decimal_comma: bool) -> pl.Expr:
    """Return a column as finite numbers, null where it is missing or not a number."""
    value = number(pl.col(key), dtype, decimal_comma=decimal_comma)
    return pl.when(value.is_finite() & (value.abs() <= validate.MAX_ABS_VALUE)).then(value)


def _are_dates(frame: pl.DataFrame, key: str) -> bool:
    """Return whether nearly all cells of a column of text that are not missing are dates."""
    known = frame.filter(~is_blank(key, frame.schema[key], MISSING))
    share = known.select(clipped(pl.col(key)).str.strip_chars().str.contains(DATE).mean()).item()
    return share is not None and share >= NEARLY_ALL


def _kind(frame: pl.DataFrame, key: str, numeric: pl.Expr) -> str:
    """Return "number" if nearly all cells of a column are numbers or missing, else "text".

    Numbers with a comma count, so that they are errors with a remedy instead of categories.
    """
    dtype = frame.schema[key]
    blank = is_blank(key, dtype, MISSING)
    is_number = numeric.is_not_null() | _number(key, dtype, decimal_comma=True).is_not_null()
    share = frame.filter(~blank).select(is_number.mean()).item()
    return "number" if share is None or share >= NEARLY_ALL else "text"


def _values(
    frame: pl.DataFrame, table: PeopleTable, name: str, key: str, kind: str, numeric: pl.Expr
) -> np.ndarray[Any, Any]:
    """Return a column as numbers or as text."""
    dtype = frame.schema[key]
    blank = is_blank(key, dtype, MISSING)
    if kind == "number":
        wrong = numeric.is_null() & ~blank
        first = frame.filter(wrong)[key].head(1).to_list()
        if first:
            remedy = number_remedy(first[0]) or "correct it, or leave it empty if it is unknown"
            table.check(frame, wrong, f"{name!r} is {validate.short_repr(first[0])}, not a number", remedy)
        return frame.select(pl.when(~blank).then(numeric).fill_null(np.nan).alias("x"))["x"].to_numpy()
    text = clipped(pl.col(key)) if is_text(dtype) else pl.col(key).cast(pl.String).str.strip_suffix(".0")
    return np.array(frame.select(pl.when(~blank).then(text.str.strip_chars()).alias("x"))["x"].to_list(), dtype=object)
