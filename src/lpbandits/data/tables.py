"""`Table`: the columns of a source in any format, selected by number and returned as a lazy polars frame."""

import contextlib
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.columns import check_width, unique_names
from lpbandits.data.parquet import DAMAGED, FAULTS, ParquetColumns, find_damaged
from lpbandits.data.sources import READ_ERRORS, Source, is_pandas
from lpbandits.errors import InvalidInput, reason
from lpbandits.typing import Label

_NUMPY_TYPES: dict[str, type[np.generic]] = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}


@dataclass(frozen=True)
class Table:
    """The columns of a source, by number: two may have the same name."""

    source: Source
    names: list[str]
    """Repeated names are marked; see `columns.unique_names`."""
    take: Callable[[Mapping[str, int]], pl.LazyFrame]
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Columns that only some of several files have, with a file that lacks each."""
    reordered: str | None = None
    """A file whose columns are in another order than those of the first file."""

    def columns(self, **chosen: int) -> pl.LazyFrame:
        """Return `row`, `blank` (whether all cells of the line are empty) and the chosen columns, unconverted."""
        return self.take(chosen).with_row_index("row")


def open_table(source: Source, *, wide: bool = False) -> Table:
    """Open a source; `wide` if the user gave that layout."""
    if is_pandas(source.frame):
        table = _open_pandas(source, wide=wide)
    elif source.kind == "parquet":
        shared = ParquetColumns(source.files, source.name)
        table = Table(source, shared.names, shared.take, shared.lacking, shared.reordered)
    else:
        table = _open_rows(source)
    if not table.names and not table.lacking:
        raise InvalidInput(f"{source.name} has no columns; give a person, an action and a rating")
    check_width(len(table.names), source.name)
    return table


def _open_rows(source: Source) -> Table:
    """Open a text, a workbook or a polars frame."""
    if source.kind == "frame":
        raw: pl.LazyFrame = source.frame.lazy()
    elif source.kind == "excel":
        raw = _read_excel(source).lazy()
    else:
        header = source.columns is None
        raw = pl.scan_csv(source.path, separator=source.separator, has_header=header, infer_schema=False, glob=False)
    names = raw.collect_schema().names()[:: source.step]
    if source.columns:
        if len(names) < len(source.columns):
            raise InvalidInput(f"{source.name} has {len(names)} columns; it must have {', '.join(source.columns)}")
        names = names[: len(source.columns)]
    blank = pl.lit(False) if source.kind == "frame" else pl.all_horizontal(pl.all().is_null())

    def take(chosen: Mapping[str, int]) -> pl.LazyFrame:
        return raw.select(blank.alias("blank"), *(pl.col(names[i]).alias(role) for role, i in chosen.items()))

    return Table(source, list(source.columns or names), take)


def _read_excel(source: Source) -> pl.DataFrame:
    """Return the first sheet as text, with the first row as header."""
    try:
        cells = pl.read_excel(
            source.path,
            sheet_id=1,
            has_header=False,
            infer_schema_length=0,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except Exception as error:  # the readers of workbooks share no exception
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidInput(f"cannot read the workbook {source.name}: {first}; save it as CSV") from None
    if cells.is_empty():
        raise InvalidInput(f"the first sheet of {source.name} is empty; its first row must name the columns")
    header = ["" if name is None else name for name in cells.row(0)]
    return cells.slice(1).rename(dict(zip(cells.columns, unique_names(header), strict=True)))


def _open_pandas(source: Source, *, wide: bool) -> Table:
    """Open a pandas frame: the index if it has a name (in a wide table, also one of text), then the columns.

    `pl.from_pandas` would need pyarrow for text columns, so columns are converted here.
    """
    frame = source.frame
    try:
        index = frame.index
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        names = list(index.names)
        if wide and names == [None] and levels[0].dtype.kind == "O":
            names = ["person"]
        columns = [(name, level) for name, level in zip(names, levels, strict=True) if name is not None]
        columns += [(name, frame.iloc[:, i]) for i, name in enumerate(frame.columns)]
        labels = unique_names(_column_name(name) for name, _ in columns)
        height = len(frame)
    except InvalidInput:
        raise
    except validate.CONVERSION_ERRORS as error:
        raise InvalidInput(f"the frame cannot be read: {error}; give plain columns") from None

    @cache
    def series(i: int) -> pl.Series:
        try:
            return _from_pandas(columns[i][1])
        except (*validate.CONVERSION_ERRORS, ImportError, pl.exceptions.PolarsError) as error:
            raise InvalidInput(
                f"column {labels[i]!r} of the frame cannot be read: {error}; give text or numbers"
            ) from None

    def take(chosen: Mapping[str, int]) -> pl.LazyFrame:
        blank = pl.repeat(False, height, eager=True)
        return pl.LazyFrame({"blank": blank, **{role: series(i) for role, i in chosen.items()}})

    return Table(source, labels, take)


def _column_name(label: Any) -> str:
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return str(int(label))
    return validate.as_text(label, "a column name of the frame")


def _from_pandas(column: Any) -> pl.Series:
    """Return a pandas column as polars would read it from a file: numbers if all cells are, otherwise text."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in _NUMPY_TYPES:
        return pl.Series(np.array(column, dtype=_NUMPY_TYPES[column.dtype.kind]))
    cells = [None if missing else cell for cell, missing in zip(column.tolist(), column.isna(), strict=True)]
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return pl.Series([None] * len(cells), dtype=pl.String)
    if kinds <= {int, float} and float in kinds:
        return pl.Series(cells, dtype=pl.Float64, strict=False)
    if len(kinds) == 1 and not issubclass(next(iter(kinds)), str | int):
        return pl.Series(cells)  # dates and the like, which are refused by their type
    if kinds == {int} and all(cell is None or -(2**63) <= cell < 2**63 for cell in cells):
        return pl.Series(cells, dtype=pl.Int64)
    if not all(issubclass(kind, str | int | float) and kind is not bool for kind in kinds):
        raise TypeError(f"it mixes {' and '.join(sorted(kind.__name__ for kind in kinds))} values")
    return pl.Series([None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def labels_as_series(name: str, labels: Sequence[Label]) -> pl.Series:
    """Return labels as a column of integers, or of text if they are not all 64-bit integers.

    >>> labels_as_series("person", [1, "ann"]).to_list()
    ['1', 'ann']
    """
    if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels):
        return pl.Series(name, labels, dtype=pl.Int64)
    return pl.Series(name, [str(label) for label in labels], dtype=pl.String)


@contextlib.contextmanager
def readable(source: Source) -> Iterator[None]:
    """Convert the errors of reading a source to `InvalidInput` with the location of the first unreadable part."""
    lazy = isinstance(source.frame, pl.LazyFrame)  # which may run functions of the user
    faults = (*FAULTS, *validate.CONVERSION_ERRORS) if lazy else FAULTS
    try:
        yield
    except InvalidInput:
        raise
    except faults as error:
        remedy = "correct the frame" if source.kind == "frame" else DAMAGED
        fault = find_damaged(source.files) if len(source.files) > 1 else None
        if source.kind == "text":
            fault = _text_fault(source)
        raise (fault or InvalidInput(f"cannot read {source.name}: {reason(error, remedy)}")) from None


def _text_fault(source: Source) -> InvalidInput | None:
    """Return the error of the first line that is not UTF-8 or has more fields than the first, or None."""
    line, width = 0, 0
    try:
        with source.path.open("rb") as raw:
            for line, content in enumerate(raw, start=1):
                n_fields = len(next(csv.reader([content.decode("utf-8")], delimiter=source.separator), []))
                width = width or n_fields
                if n_fields > width:
                    hint = ", or separate columns by semicolons if numbers have a decimal comma"
                    return InvalidInput(
                        f"{source.name}, line {line}: it has {n_fields} fields, but the first line has {width}; "
                        f"correct or remove the line{hint if source.separator == ',' else ''}"
                    )
    except UnicodeDecodeError:
        return InvalidInput(f"{source.name}, line {line}: it is not UTF-8 text; save the file as UTF-8")
    except csv.Error as error:
        return InvalidInput(f"{source.name}, line {line}: {error}; correct or remove the line")
    except READ_ERRORS as error:
        return InvalidInput(f"cannot read {source.name} beyond line {line}: {error}; {DAMAGED}")
    return None
