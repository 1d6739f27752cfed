"""Tables of any origin, opened alike: the names of their columns, and some of these under other names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import polars as pl

from lpbandits.data.columns import apart, check_width
from lpbandits.data.frames import as_series, columns_of, is_pandas
from lpbandits.data.parquet_columns import SharedColumns
from lpbandits.data.sources import Source
from lpbandits.errors import InvalidInput
from lpbandits.typing import Label


@dataclass(frozen=True)
class Table:
    """The columns of a source, known by their numbers: two may have the same name."""

    source: Source
    names: list[str]
    """A name that stood before is marked; see `columns.apart`."""
    take: Callable[[Mapping[str, int]], pl.LazyFrame]
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Further columns, which only some of several files have: for each a file that has it not."""
    reordered: str | None = None
    """A file that has the columns in another order than the first one."""

    def columns(self, **chosen: int) -> pl.LazyFrame:
        """Return `row`, `blank` (is the whole line empty?) and the chosen columns, as the source has them."""
        return self.take(chosen).with_row_index("row")


def open_table(source: Source, *, wide: bool = False) -> Table:
    """Open what a source holds; `wide` if the user says that it is so laid out."""
    table = _opened(source, wide=wide)
    if not table.names and not table.lacking:
        raise InvalidInput(f"{source.name} has no columns; give a person, an action and a rating")
    check_width(len(table.names), source.name)
    return table


def _opened(source: Source, *, wide: bool) -> Table:
    if is_pandas(source.frame):
        names, columns = columns_of(source.frame, wide=wide)
        return Table(source, names, _taker(names, columns))
    if source.kind == "parquet":
        shared = SharedColumns(source)
        return Table(source, shared.names, shared.take, shared.lacking, shared.reordered)
    raw = _raw(source)
    names = raw.collect_schema().names()
    kept = names[:: source.step]
    if source.columns:
        if len(kept) < len(source.columns):
            raise InvalidInput(f"{source.name} has {len(kept)} columns; it must have {', '.join(source.columns)}")
        kept = kept[: len(source.columns)]
    has_lines = source.kind in ("text", "excel")
    blank = pl.all_horizontal(pl.all().is_null()) if has_lines else pl.lit(False)

    def take(chosen: Mapping[str, int]) -> pl.LazyFrame:
        columns = [pl.col(kept[place]).alias(name) for name, place in chosen.items()]
        return raw.select(blank.alias("blank"), *columns)

    return Table(source, list(source.columns or kept), take)


def _raw(source: Source) -> pl.LazyFrame:
    if source.kind == "frame":
        return source.frame.lazy()  # type: ignore[no-any-return] # a frame of polars, as `source_of` found
    if source.kind == "excel":
        return _of_excel(source)
    return pl.scan_csv(
        source.path, separator=source.separator, has_header=source.columns is None, infer_schema=False, glob=False
    )


def _of_excel(source: Source) -> pl.LazyFrame:
    """Return the first sheet, all of it text, with its first row as header."""
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
    except Exception as error:  # whatever the reader raises, it cannot read the file
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidInput(f"{source.name} is not a workbook that can be read: {first}; save it as CSV") from None
    if cells.is_empty():
        raise InvalidInput(f"the first sheet of {source.name} is empty; its first row must name the columns")
    header = ["" if name is None else name for name in cells.row(0)]
    return cells.slice(1).rename(dict(zip(cells.columns, apart(header), strict=True))).lazy()


def _taker(names: list[str], columns: list[Any]) -> Callable[[Mapping[str, int]], pl.LazyFrame]:
    """Return what takes columns of a pandas frame, each of them converted once."""

    @cache
    def made(place: int) -> pl.Series:
        return as_series(columns[place], names[place])

    def take(chosen: Mapping[str, int]) -> pl.LazyFrame:
        blank = pl.repeat(False, len(columns[0]), eager=True)
        return pl.LazyFrame({"blank": blank, **{name: made(place) for name, place in chosen.items()}})

    return take


def labels_as_series(name: str, labels: Sequence[Label]) -> pl.Series:
    """Return labels as a column: whole numbers if all of them are, and fit; otherwise text.

    >>> labels_as_series("person", [1, "ann"]).to_list()
    ['1', 'ann']
    """
    if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels):
        return pl.Series(name, labels, dtype=pl.Int64)
    return pl.Series(name, [str(label) for label in labels], dtype=pl.String)
