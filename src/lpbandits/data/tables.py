"""`Table`, one class per format: columns selected by number as a lazy polars frame, and locations of rows."""

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.columns.cells import check_width, is_text, unique_names
from lpbandits.errors import InvalidInput, reason
from lpbandits.text import pluralize
from lpbandits.typing import Label

DAMAGED = "it may be truncated or damaged: copy or download it again"

FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Errors of polars about a table that cannot be read."""

NEVER_BLANK = pl.lit(False)
"""Blank rows of a frame: none."""

EMPTY_LINE = pl.all_horizontal(pl.all().is_null())
"""Blank rows of text and workbooks: those with no value in any column."""

MOVIELENS = ("userId", "movieId", "rating")
"""Columns of the MovieLens files without a header line."""

MAX_CELLS = 2**24
"""Maximum number of cells of a text table with lines shorter than its header.

Missing cells take memory, although they have no byte in the file.
"""

MAX_FIELD_LINES = 1000
"""Maximum number of lines of a quoted field when searching for an unclosed quote."""

MAX_EXACT = 2**53
"""Smaller integers are exact as floats."""

CASTS = pl.ScanCastOptions(integer_cast=["upcast", "allow-float"], float_cast="upcast", categorical_to_string="allow")
"""The casts that `common_type` asks for."""


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
        return unreadable(self.name, error, self.remedy)

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Convert the errors of reading the table to `InvalidInput` with the location of the first unreadable part."""
        try:
            yield
        except FAULTS as error:
            raise self.fault(error) from None


class TextTable(Table):
    """CSV, TSV or MovieLens text; MovieLens files, known by the name `file`, have no header line, but known columns.

    The '::' of MovieLens is read as ':' with an empty field between, so that every other field is a column.
    """

    row_word = "line"
    remedy = DAMAGED

    def __init__(self, name: str, path: Path, file: str, *, narrow: bool) -> None:
        line = first_line(name, path)
        self._path, self._separator, self._step = path, max(",\t;|", key=line.count), 1
        if file == "u.data":
            self._separator, self.known = "\t", MOVIELENS
        elif "::" in line and file.lower().endswith(".dat"):
            self._separator, self.known, self._step = ":", MOVIELENS, 2
        elif not line.count(self._separator) and not narrow:
            raise InvalidInput(
                f"{name} is not a table: its first line {line[:60]!r} has no comma, tab, semicolon or bar; give a CSV, "
                "TSV or Parquet file with one rating per row"
            )
        width, size = line.count(self._separator) + 1, path.stat().st_size
        if width > 64:  # a complete line has a byte per column
            with path.open("rb") as raw:
                n_lines = sum(chunk.count(b"\n") for chunk in iter(lambda: raw.read(2**20), b""))
            if width * n_lines > max(MAX_CELLS, size):
                raise InvalidInput(
                    f"{name} has {n_lines:,} lines and {width:,} columns, but is too small to have a cell in all of "
                    f"them; the limit is {MAX_CELLS:,} cells: give one rating per row, in three columns"
                )
        header = not self.known
        if header and line.count('"') % 2:  # polars would read the whole text as the header
            raise bare_quote(name, 1)
        frame = pl.scan_csv(path, separator=self._separator, has_header=header, infer_schema=False, glob=False)
        super().__init__(name, frame, rows=size // 16, first_row=1 + header, blank=EMPTY_LINE)

    @cached_property
    def _fields(self) -> list[str]:
        return self._frame.collect_schema().names()[:: self._step]

    def fault(self, error: BaseException) -> InvalidInput:
        """Return the error of lines with too many fields, else of the first that is not UTF-8 or has a bare quote."""
        mark = re.escape(self._separator)
        begin = rf'(?:^|(?<={mark}))"[^"]*+(?:""[^"]*+)*+'
        closed, opened = re.compile(rf'{begin}"(?={mark}|\Z)'), re.compile(rf"{begin}\Z")
        first, width, record = 0, 0, ""  # a quoted field may continue on further lines
        wide: list[tuple[int, int]] = []
        with self._path.open("rb") as raw:
            for line, content in enumerate(raw, start=1):
                try:
                    text = content.decode("utf-8-sig" if line == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError:
                    if wide:
                        break
                    return InvalidInput(f"{self.name}, line {line}: it is not UTF-8 text; save the file as UTF-8")
                first, record = (first, f"{record}\n{text}") if record else (line, text)
                rest = closed.sub("", record)
                if '"' in rest:
                    if opened.search(rest) and line - first < MAX_FIELD_LINES:
                        continue
                    break
                n_fields, record = rest.count(self._separator) + 1, ""
                width = width or n_fields
                if n_fields > width:
                    wide.append((line, n_fields))
        if wide:
            return self._too_many_fields(wide, width)
        return bare_quote(self.name, first) if record else super().fault(error)

    def _too_many_fields(self, lines: Sequence[tuple[int, int]], width: int) -> InvalidInput:
        """Return the error of lines, each with its number of fields."""
        (line, n_fields), *others = lines
        hint = ", or separate columns by semicolons if numbers have a decimal comma" if self._separator == "," else ""
        also = ", also " + ", ".join(f"line {other}" for other, _ in others[:4]) if others else ""
        more = ", …" if len(others) > 4 else ""
        return InvalidInput(
            f"{self.name}, line {line}: it has {n_fields} fields, but the first line has {width} "
            f"({pluralize(len(lines), 'such line')} in all{also}{more}); correct or remove "
            f"{'them' if others else 'the line'}{hint}"
        )


def bare_quote(name: str, line: int) -> InvalidInput:
    """Return the error of a quote that neither encloses a field nor is doubled inside one."""
    return InvalidInput(
        f"{name}, line {line}: it has a quote that is not closed, or inside a field; enclose the field in quotes and "
        'double those inside: "12"" vinyl"'
    )


def first_line(name: str, path: Path) -> str:
    """Return the first line of a text."""
    with path.open("rb") as raw:
        start = raw.readline(2**20)
    if not start.strip():
        raise InvalidInput(f"{name} is empty or starts with a blank line; its first line must name the columns")
    try:
        return start.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text; save it as UTF-8 CSV or as Parquet") from None


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
                columns[role] = _from_pandas(self._columns[index], role)
            except InvalidInput:
                raise
            except (*validate.CONVERSION_ERRORS, pl.exceptions.PolarsError) as error:
                raise InvalidInput(
                    f"column {self.names[index]!r} of the frame cannot be read: {error}; give text or numbers"
                ) from None
        return pl.LazyFrame(columns).select(NEVER_BLANK.alias("blank"), pl.all()).with_row_index("row")


def _from_pandas(column: Any, role: str) -> pl.Series:
    """Return a pandas column as numbers if all cells are numbers, otherwise as text; labels are checked."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return pl.Series(np.array(column))
    cells = [None if missing else cell for cell, missing in zip(column.tolist(), column.isna(), strict=True)]
    if role in ("person", "action"):
        present = [cell for cell in cells if cell is not None]
        labels, codes = validate.encode_labels(present, role, len(present))
        plain = iter(codes.tolist())
        cells = [None if cell is None else labels[next(plain)] for cell in cells]
    return pl.Series([cell.item() if isinstance(cell, np.generic) else cell for cell in cells], strict=False)


class ParquetFile(NamedTuple):
    """A Parquet file: its path, its name in messages, its columns and its number of rows."""

    path: Path
    name: str
    schema: pl.Schema
    rows: int


class ParquetTable(Table):
    """The columns that Parquet files share, each cast to one type.

    Files without rows are ignored: their column types are often wrong or missing.
    """

    remedy = DAMAGED

    def __init__(self, name: str, paths: Sequence[Path], names: Sequence[str]) -> None:
        self.files = list(map(_open, paths, names))
        super().__init__(name, pl.LazyFrame(), rows=sum(file.rows for file in self.files))
        filled = [file for file in self.files if file.rows] or self.files[:1]
        self._paths = [file.path for file in filled]
        self._types: dict[str, dict[pl.DataType, str]] = {}
        """For each column its types, each with the first file that has it."""
        for file in filled:
            for column, dtype in file.schema.items():
                self._types.setdefault(column, {}).setdefault(dtype, file.name)
        without = {column: [file.name for file in filled if column not in file.schema] for column in self._types}
        self.lacking = {column: files[0] for column, files in without.items() if files}
        self.names = [column for column in self._types if column not in self.lacking]
        check_width(len(self.names), name)
        shared = {file.name: [column for column in file.schema if column not in self.lacking] for file in filled}
        self.reordered = next((file for file, columns in shared.items() if columns != self.names), None)

    def columns(self, **chosen: int) -> pl.LazyFrame:
        """Return `row`, `blank` (always False) and the chosen columns."""
        columns = {role: self.names[index] for role, index in chosen.items()}
        types = {}
        for column in columns.values():
            common = common_type(self._types[column])
            if common is None:
                raise self._differ(column)
            types[column] = common
        table = _scan(self._paths, schema=types, extra_columns="ignore", cast_options=CASTS)
        for role in ("person", "action"):
            name = columns.get(role)
            if name is None or not types[name].is_float() or len(self._types[name].keys() - {pl.Null()}) < 2:
                continue
            label = pl.col(name)
            exact = label.is_nan() | ((label.abs() < MAX_EXACT) & (label == label.round()))
            if not table.select(exact.all()).collect(engine="streaming").item():
                raise self._differ(name)
        selected = table.select(pl.lit(False).alias("blank"), **{role: pl.col(name) for role, name in columns.items()})
        return selected.with_row_index("row")

    def place(self, row: int) -> str:
        """Return the file of a row, and its number in that file."""
        for file in self.files:
            if row < file.rows:
                break
            row -= file.rows
        return f"{file.name}, row {row + 1}"

    def fault(self, error: BaseException) -> InvalidInput:
        """Return the error of the first file that cannot be read completely."""
        for file in self.files if len(self.files) > 1 else ():
            try:
                for _ in _scan(file.path).collect_batches():
                    pass
            except FAULTS as fault:
                return unreadable(file.name, fault)
        return super().fault(error)

    def _differ(self, column: str) -> InvalidInput:
        kinds = " and ".join(f"{dtype} in {file}" for dtype, file in self._types[column].items() if dtype != pl.Null())
        return InvalidInput(
            f"column {column!r} is {kinds:.300}, which cannot be combined without loss; write it with one type in all "
            f"files of {self.name}"
        )


def _scan(source: Path | list[Path], **options: Any) -> pl.LazyFrame:
    return pl.scan_parquet(source, glob=False, hive_partitioning=False, **options)


def _open(path: Path, name: str) -> ParquetFile:
    """Read the footer of a Parquet file."""
    try:
        table = _scan(path)
        return ParquetFile(path, name, table.collect_schema(), int(table.select(pl.len()).collect().item()))
    except FAULTS as error:
        raise unreadable(name, error) from None


def unreadable(name: str, error: BaseException, remedy: str = DAMAGED) -> InvalidInput:
    """Return the error of a table that polars cannot read; the text of a panic is not for users."""
    panic = isinstance(error, pl.exceptions.PanicException) and "os error" not in str(error)
    return InvalidInput(
        f"cannot read {name}: {f'polars cannot decode it; {remedy}' if panic else reason(error, remedy)}"
    )


def common_type(types: Collection[pl.DataType]) -> pl.DataType | None:
    """Return the type to which values of all these types are cast, or None.

    Integers and floats become floats; labels among them must be integers below 2^53, which are exact.

    >>> pairs = [pl.Int32(), pl.Int64()], [pl.UInt64(), pl.Int8()], [pl.Int8(), pl.String()]
    >>> [common_type(pair) for pair in pairs]
    [Int64, Int128, None]
    """
    kinds = set(types) - {pl.Null()}  # a column of nulls goes with any type
    if len(kinds) < 2:
        return next(iter(kinds), pl.Null())
    if all(is_text(kind) and not isinstance(kind, pl.Enum) for kind in kinds):
        return pl.String()
    if all(kind.is_integer() for kind in kinds):
        return pl.Int128() if kinds & {pl.UInt64(), pl.Int128()} else pl.Int64()
    return pl.Float64() if all(kind.is_integer() or kind.is_float() for kind in kinds) else None


def labels_as_series(name: str, labels: Sequence[Label]) -> pl.Series:
    """Return labels as a column of integers, or of text if they are not all 64-bit integers.

    >>> labels_as_series("person", [1, "ann"]).to_list()
    ['1', 'ann']
    """
    if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels):
        return pl.Series(name, labels, dtype=pl.Int64)
    return pl.Series(name, [str(label) for label in labels], dtype=pl.String)
