"""`Table`: columns of a source in any format, selected by number as a lazy polars frame, and locations of rows."""

import contextlib
import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.columns import check_width, unique_names
from lpbandits.errors import InvalidInput, reason
from lpbandits.typing import Label

DAMAGED = "it may be truncated or damaged: copy or download it again"

FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Errors of polars about a table that cannot be read."""

NEVER_BLANK = pl.lit(False)
EMPTY_LINE = pl.all_horizontal(pl.all().is_null())
"""Rows that count as blank: none in a frame; in text and workbooks, those with no value in any column."""


class Table:
    """A polars frame, and the base of the other formats.

    Columns are selected by number: two may have the same name, of which the second is marked (see
    `columns.unique_names`).
    """

    row_word = "row"
    remedy = "correct the frame"
    known: Sequence[str] = ()
    """Columns of a file without a header line."""
    lacking: Mapping[str, str] = MappingProxyType({})
    """Columns that only some of several files have, with a file that lacks each."""
    reordered: str | None = None
    """A file whose columns are in another order than those of the first file."""

    def __init__(
        self, name: str, frame: pl.LazyFrame, *, rows: int | None = 0, first_row: int = 1, blank: pl.Expr = NEVER_BLANK
    ) -> None:
        self.name = name
        self.estimated_rows = rows
        """Estimated number of rows to load; 0 for a frame in memory, None if unknown."""
        self._frame, self._first_row, self._blank = frame, first_row, blank

    @cached_property
    def _fields(self) -> list[str]:
        return self._frame.collect_schema().names()

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        if len(self._fields) < max(len(self.known), 1):
            wanted = ", ".join(self.known or ("person", "action", "rating"))
            raise InvalidInput(f"{self.name} has {len(self._fields) or 'no'} columns; it must have {wanted}")
        check_width(len(self._fields), self.name)
        return list(self.known) or self._fields

    def columns(self, **chosen: int) -> pl.LazyFrame:
        """Return `row`, `blank` (whether the line is blank) and the chosen columns, unconverted."""
        columns = {role: pl.col(self._fields[index]) for role, index in chosen.items()}
        return self._frame.select(self._blank.alias("blank"), **columns).with_row_index("row")

    def place(self, row: int) -> str:
        """Return the location of data row `row` for a message.

        >>> Table("the frame", pl.LazyFrame()).place(0)
        'the frame, row 1'
        """
        return f"{self.name}, {self.row_word} {row + self._first_row}"

    def fault(self, error: BaseException) -> InvalidInput:
        """Return the error of the first part that cannot be read."""
        return InvalidInput(f"cannot read {self.name}: {reason(error, self.remedy)}")

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Convert the errors of reading the table to `InvalidInput` with the location of the first unreadable part."""
        try:
            yield
        except FAULTS as error:
            raise self.fault(error) from None


class TextTable(Table):
    """CSV, TSV or MovieLens text; MovieLens files have no header line, but known columns.

    With `step` 2 only every other field is a column: the '::' of MovieLens is read as ':' with an empty field between.
    """

    row_word = "line"
    remedy = DAMAGED

    def __init__(self, name: str, path: Path, separator: str, known: Sequence[str] = (), step: int = 1) -> None:
        frame = pl.scan_csv(path, separator=separator, has_header=not known, infer_schema=False, glob=False)
        rows, first_row = path.stat().st_size // 16, 1 if known else 2
        super().__init__(name, frame, rows=rows, first_row=first_row, blank=EMPTY_LINE)
        self.known, self._path, self._separator, self._step = known, path, separator, step

    @cached_property
    def _fields(self) -> list[str]:
        return self._frame.collect_schema().names()[:: self._step]

    def fault(self, error: BaseException) -> InvalidInput:
        """Return the error of the first line that is not UTF-8 or has more fields than the first."""
        line, width = 0, 0
        try:
            with self._path.open("rb") as raw:
                for line, content in enumerate(raw, start=1):
                    n_fields = len(next(csv.reader([content.decode("utf-8")], delimiter=self._separator), []))
                    width = width or n_fields
                    if n_fields > width:
                        hint = ", or separate columns by semicolons if numbers have a decimal comma"
                        return InvalidInput(
                            f"{self.name}, line {line}: it has {n_fields} fields, but the first line has {width}; "
                            f"correct or remove the line{hint if self._separator == ',' else ''}"
                        )
        except UnicodeDecodeError:
            return InvalidInput(f"{self.name}, line {line}: it is not UTF-8 text; save the file as UTF-8")
        except (csv.Error, OSError) as fault:
            return InvalidInput(f"{self.name}, line {line + 1}: {fault}; correct or remove the line")
        return super().fault(error)


class PandasTable(Table):
    """A pandas frame: its index if that has a name or, in a wide table, holds text, and its columns.

    Only selected columns are converted. `pl.from_pandas` would need pyarrow.
    """

    def __init__(self, name: str, frame: Any, *, wide: bool) -> None:
        super().__init__(name, pl.LazyFrame())
        index_names = list(frame.index.names)
        if wide and index_names == [None] and frame.index.dtype.kind == "O":
            index_names = ["person"]
        index = [(level, frame.index.get_level_values(i)) for i, level in enumerate(index_names) if level is not None]
        columns = [*index, *((column, frame.iloc[:, i]) for i, column in enumerate(frame.columns))]
        self._columns = [column for _, column in columns]
        labels = [str(int(label)) if isinstance(label, int | np.integer) else label for label, _ in columns]
        self._fields = unique_names(validate.as_text(label, "a column name of the frame") for label in labels)

    def columns(self, **chosen: int) -> pl.LazyFrame:
        """Return `row`, `blank` and the chosen columns."""
        columns = {}
        for role, index in chosen.items():
            try:
                columns[role] = _from_pandas(self._columns[index])
            except (*validate.CONVERSION_ERRORS, pl.exceptions.PolarsError) as error:
                raise InvalidInput(
                    f"column {self.names[index]!r} of the frame cannot be read: {error}; give text or numbers"
                ) from None
        return pl.LazyFrame(columns).select(NEVER_BLANK.alias("blank"), pl.all()).with_row_index("row")


def _from_pandas(column: Any) -> pl.Series:
    """Return a pandas column as numbers if all cells are numbers, otherwise as text."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return pl.Series(np.array(column))
    cells = [None if missing else cell for cell, missing in zip(column.tolist(), column.isna(), strict=True)]
    return pl.Series([cell.item() if isinstance(cell, np.generic) else cell for cell in cells], strict=False)


def labels_as_series(name: str, labels: Sequence[Label]) -> pl.Series:
    """Return labels as a column of integers, or of text if they are not all 64-bit integers.

    >>> labels_as_series("person", [1, "ann"]).to_list()
    ['1', 'ann']
    """
    if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels):
        return pl.Series(name, labels, dtype=pl.Int64)
    return pl.Series(name, [str(label) for label in labels], dtype=pl.String)
