"""`PeopleTable`: a table with a person column, whose rows are located in messages."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lpbandits.data.cleaning import all_integers, label_expr
from lpbandits.data.columns.cells import comma_hint
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.columns.roles import check_once, find_columns, like
from lpbandits.data.faults import label_faults
from lpbandits.data.sources import open_table
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.text import pluralize
from lpbandits.typing import IntArray


@dataclass(frozen=True)
class PeopleTable:
    """An open table and the number of its person column."""

    table: Table
    person: int

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.table.name

    @property
    def others(self) -> dict[str, int]:
        """The other columns that have a name, by name."""
        named = ((name, i) for i, name in enumerate(self.table.names) if i != self.person)
        return {name: i for name, i in named if name.strip()}

    def frame(self, columns: Mapping[str, int]) -> pl.DataFrame:
        """Return row, person (a valid label) and these columns, unconverted and named by their numbers."""
        chosen = {str(check_once(self.table, i)): i for i in columns.values()}
        frame = self.table.columns(person=self.person, **chosen).filter(~pl.col("blank")).drop("blank").collect()
        dtype = frame.schema["person"]
        for what, test in label_faults("person", dtype).items():
            self.check(frame, test, what)
        integers = frame.select(all_integers("person", dtype, self.table)).item()
        return frame.with_columns(label_expr("person", dtype, integers=integers))

    def check(self, frame: pl.DataFrame, wrong: pl.Expr, what: str, remedy: str = "correct or remove the row") -> None:
        """Raise an error for the first row where `wrong` holds."""
        rows = frame.filter(wrong.fill_null(False))["row"]
        if len(rows):
            raise InvalidInput(f"{self.table.place(rows[0])}: {what} ({pluralize(len(rows), 'such row')}); {remedy}")


@contextlib.contextmanager
def open_people(source: Any, *, person: str | None = None) -> Iterator[PeopleTable]:
    """Open a path or a frame.

    The person is the column named `person`, if there is one; else the first column, if its name suggests a person; else
    the only column whose name does.
    """
    with open_table(source, ReadOptions(), narrow=True) as table, table.readable():
        known = person if person is not None and person in table.names else None
        if known is None and like(table.names[:1], "person"):
            known = table.names[0]
        yield PeopleTable(table, find_columns(table, {"person": known})["person"])


def read_people(source: Any, *, person: str | None = None) -> pl.Series:
    """Return the distinct people of a table.

    >>> read_people(pl.DataFrame({"user": ["ann", "bo", "ann"], "member": [1, 0, 1]})).to_list()
    ['ann', 'bo']
    """
    with open_people(source, person=person) as table:
        return table.frame({})["person"].unique(maintain_order=True)


def number_remedy(value: object) -> str:
    """Return the remedy for a number with a comma; empty for other values. Frames have no option for it.

    >>> number_remedy("1.234,5")
    'it looks like a decimal comma: write 1234.5, or read decimal commas in all tables (--decimal-comma)'
    """
    plain = str(value).strip().replace(".", "").replace(",", ".")
    return comma_hint(value, f"write {plain}, or read decimal commas in all tables (--decimal-comma)")


def places_of(people: pl.Series, table: pl.Series) -> IntArray:
    """Return the row of each person in a table of distinct people, -1 without one; 7 and "7" are the same label.

    >>> places_of(pl.Series([7, 8]), pl.Series(["ann", "7"])).tolist()
    [1, -1]
    """
    rows = pl.DataFrame({"person": table.cast(pl.String)}).with_row_index("place")
    asked = pl.DataFrame({"person": people.cast(pl.String)})
    found = asked.join(rows, on="person", how="left", maintain_order="left")["place"]
    return found.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
