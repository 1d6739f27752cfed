"""Labels in files: allowed actions, and people to decide for."""

import contextlib
import re
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.data.cleaning import all_integers, label_expr
from lpbandits.data.columns import guess_columns, like
from lpbandits.data.sources import open_source
from lpbandits.data.tables import open_table, readable
from lpbandits.decisions.batches import NO_ACTIONS, AllowedSets
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.typing import Int32Array, IntArray, Label


class ActionIndex:
    """Index of actions by their labels in tables, which are numbers or text.

    >>> ActionIndex(("tea", 7)).codes(pl.Series(["7", "jam", "tea"])).tolist()
    [1, -1, 0]
    """

    def __init__(self, labels: tuple[Label, ...]) -> None:
        as_text = {str(label): i for i, label in reversed(list(enumerate(labels)))}
        self._text = as_text | {label: i for i, label in enumerate(labels) if isinstance(label, str)}
        numbers = {int(text): i for text, i in as_text.items() if re.fullmatch("0|-?[1-9][0-9]{0,18}", text)}
        numbers |= {label: i for i, label in enumerate(labels) if isinstance(label, int)}
        self._numbers = {label: i for label, i in numbers.items() if abs(label) < 2**63}

    def codes(self, column: pl.Series) -> Int32Array:
        """Return the index of each label, -1 for an unknown one."""
        index: dict[str, int] | dict[int, int] = self._text if column.dtype == pl.String else self._numbers
        if not index:
            return np.full(len(column), -1, dtype=np.int32)
        labels = pl.Series(list(index), dtype=column.dtype)
        codes = pl.Series(list(index.values()), dtype=pl.Int32)
        return column.replace_strict(labels, codes, default=-1, return_dtype=pl.Int32).to_numpy()


def read_labels(path: str | Path, role: str, optional: str | None = None) -> pl.DataFrame:
    """Read the distinct labels of a role, and those of an `optional` role if the table has a column for it.

    Labels are whole numbers if all labels of the column are, otherwise text.
    """
    with open_source(path, narrow=True) as source, readable(source):
        table = open_table(source)
        names = [*table.names, *table.lacking]
        roles = [optional, role] if optional is not None and like(names, optional) else [role]
        chosen = guess_columns(table.names, {}, source.name, roles, lacking=table.lacking)
        columns = table.columns(**{role: table.names.index(name) for role, name in chosen.items()})
        frame = columns.filter(~pl.col("blank")).select(roles).collect()
        for name in roles:
            if (missing := frame[name].null_count()) > 0:
                raise InvalidInput(f"{source.name} has {missing:,} rows without a {name}; correct or remove them")
        tests = {name: all_integers(name, frame.schema[name], source) for name in roles}
        integers = frame.select(**tests).row(0, named=True)
        labels = [label_expr(name, frame.schema[name], integers=integers[name]) for name in roles]
        return frame.select(labels).unique(maintain_order=True)


class AllowedActions:
    """Allowed actions from an option: comma-separated labels, or a table of actions or of people and actions.

    `common` holds the indices of the actions that are allowed for all people; empty: all actions.
    """

    def __init__(self, model: PreferenceModel, option: str | Path | None = None) -> None:
        self.common: IntArray = NO_ACTIONS
        self._table: pl.DataFrame | None = None
        if option is None:
            return
        source = str(option)
        is_file = False
        with contextlib.suppress(OSError, ValueError):  # a list of labels may be an invalid name
            is_file = Path(source).is_file()
        if is_file:
            frame = read_labels(source, "action", optional="person")
        else:
            labels = [word.strip() for word in source.split(",") if word.strip()]
            frame, source = pl.DataFrame({"action": labels}, schema={"action": pl.String}), "--allowed"
        codes = ActionIndex(model.actions).codes(frame["action"])
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            raise InvalidInput(
                f"action {frame['action'][int(unknown[0])]!r} of {source} is not one of the model's "
                f"{model.n_actions:,} actions ({len(unknown):,} unknown labels); give comma-separated labels of the "
                "model, or a file that holds them"
            )
        if "person" in frame.columns:
            self._table = frame.select("person", pl.Series("code", codes)).sort("code")
        else:
            self.common = np.unique(codes).astype(np.int64)
            if not len(self.common):
                raise InvalidInput(f"{source} allows no action; allow at least one, or leave it out to allow all")

    def sets_of(self, people: pl.Series) -> AllowedSets | None:
        """Return the personal sets of some people; None if the option has none."""
        if self._table is None:
            return None
        kind = people.dtype if people.dtype == self._table.schema["person"] else pl.String
        places = people.cast(kind).alias("person").to_frame().with_row_index("place")
        rows = self._table.with_columns(pl.col("person").cast(kind)).join(places, on="person", how="inner")
        rows = rows.sort("place", "code")
        starts = np.zeros(len(people) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows["place"].to_numpy(), minlength=len(people)), out=starts[1:])
        return AllowedSets(starts, rows["code"].to_numpy().astype(np.int64))
