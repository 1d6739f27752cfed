"""Labels in files: which actions are allowed, and for whom to decide."""

from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.data.columns import guess_columns, like
from lpbandits.data.reader import all_integers, label_expr
from lpbandits.data.sources import find_fault, open_source
from lpbandits.data.tables import open_table
from lpbandits.decisions.engine import Personal
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.typing import Int32Array, IntArray, Label


class Coder:
    """Finds actions by their labels as they stand in tables: numbers, or text.

    >>> Coder(("tea", 7)).codes(pl.Series(["7", "jam", "tea"])).tolist()
    [1, -1, 0]
    """

    def __init__(self, labels: tuple[Label, ...]) -> None:
        spelt = {str(label): i for i, label in reversed(list(enumerate(labels)))}
        self._text = spelt | {label: i for i, label in enumerate(labels) if isinstance(label, str)}
        numbers = {int(text): i for text, i in spelt.items() if _is_number(text)}
        self._numbers = numbers | {label: i for i, label in enumerate(labels) if isinstance(label, int)}
        self._numbers = {label: i for label, i in self._numbers.items() if abs(label) < 2**63}

    def codes(self, column: pl.Series) -> Int32Array:
        """Return the index of each label, -1 for one that is not known."""
        index: dict[str, int] | dict[int, int] = self._text if column.dtype == pl.String else self._numbers
        if not index:
            return np.full(len(column), -1, dtype=np.int32)
        known = pl.Series(list(index), dtype=column.dtype)
        places = pl.Series(list(index.values()), dtype=pl.Int32)
        return column.replace_strict(known, places, default=-1, return_dtype=pl.Int32).to_numpy()


def _is_number(text: str) -> bool:
    return len(text) < 20 and text.lstrip("-").isdigit() and str(int(text)) == text


def read_labels(path: str | Path, role: str, optional: str | None = None) -> pl.DataFrame:
    """Return a table's labels of a role, and of an `optional` one if the table has a column for it.

    Labels are whole numbers if all of a column are, otherwise text; rows that occur again are left out.
    """
    with open_source(path, narrow=True) as source:
        try:
            table = open_table(source)
            known = [*table.names, *table.lacking]
            roles = [optional, role] if optional is not None and like(known, optional) else [role]
            chosen = guess_columns(table.names, {}, source.name, roles, lacking=table.lacking)
            columns = table.columns(**{wanted: table.names.index(name) for wanted, name in chosen.items()})
            frame = columns.filter(~pl.col("blank")).select(roles).collect()
            kinds = {wanted: all_integers(wanted, frame.schema[wanted], source) for wanted in roles}
            whole = frame.select(**kinds).row(0, named=True)
            for wanted in roles:
                if (missing := frame[wanted].null_count()) > 0:
                    raise InvalidInput(
                        f"{source.name} has {missing:,} rows without a label of the {wanted}; correct or remove them"
                    )
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InvalidInput(find_fault(source) or f"cannot read {source.name}: {first}; {source.remedy}") from None
        labels = [label_expr(wanted, frame.schema[wanted], whole=whole[wanted]) for wanted in roles]
        return frame.select(labels).unique(maintain_order=True)


class Allowed:
    """Which actions are allowed: for everybody (`common`, by index; empty: all), or, of a table, for each person."""

    def __init__(self, model: PreferenceModel, given: str | Path | None = None) -> None:
        self.common: IntArray = np.empty(0, dtype=np.int64)
        self.table: pl.DataFrame | None = None
        if given is None:
            return
        coder = Coder(model.actions)
        text = str(given)
        if not _is_file(text):
            frame = pl.DataFrame({"action": [word.strip() for word in text.split(",") if word.strip()]})
            frame = frame.cast(pl.String)
            source = "--allowed"
        else:
            frame = read_labels(text, "action", optional="person")
            source = text
        codes = coder.codes(frame["action"])
        odd = np.flatnonzero(codes < 0)
        if len(odd):
            raise InvalidInput(
                f"action {frame['action'][int(odd[0])]!r} of {source} is not among the model's {model.n_actions:,} "
                f"({len(odd):,} such labels in all); name actions of the model, with commas, or a file that holds them"
            )
        if "person" in frame.columns:
            self.table = frame.select("person", pl.Series("code", codes)).sort("code")
        else:
            self.common = np.unique(codes).astype(np.int64)
            if not len(self.common):
                raise InvalidInput(f"{source} allows no action; allow at least one, or leave it out to allow all")

    def of(self, people: pl.Series) -> Personal | None:
        """Return the sets of some people, if each has their own."""
        if self.table is None:
            return None
        kind = people.dtype if people.dtype == self.table.schema["person"] else pl.String
        mine = people.cast(kind).alias("person").to_frame().with_row_index("place")
        rows = self.table.with_columns(pl.col("person").cast(kind)).join(mine, on="person", how="inner")
        rows = rows.sort("place", "code")
        starts = np.zeros(len(people) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows["place"].to_numpy(), minlength=len(people)), out=starts[1:])
        return Personal(starts, rows["code"].to_numpy().astype(np.int64))


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
