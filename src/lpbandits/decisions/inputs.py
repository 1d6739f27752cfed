"""Tables that `decide_file` reads: outcomes in batches of people, people to decide for, and allowed actions."""

import contextlib
import functools
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.blocks import block_edges
from lpbandits.data.cleaning import all_integers, clean_rows, label_expr
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.columns.roles import find_columns, like, shell_list
from lpbandits.data.faults import SHOWN, label_faults
from lpbandits.data.sources import open_table
from lpbandits.data.spill import Codes
from lpbandits.data.tables import Table
from lpbandits.decisions.kernels.allowance import NO_ACTIONS, NO_PRIORS, DecisionBatch
from lpbandits.errors import InvalidInput, ScaleWarning, warn_caller
from lpbandits.model import PreferenceModel
from lpbandits.people.priors import Priors
from lpbandits.rng import addresses_of
from lpbandits.text import pluralize
from lpbandits.typing import IntArray, Label

OUTCOMES_PER_BATCH = 1_000_000
BATCHES_PER_PASS = 16
"""Batches whose outcomes are in memory at a time; each pass reads the table once."""


def action_codes(labels: tuple[Label, ...], dtype: pl.DataType) -> pl.Expr:
    """Return the index of each action of a column `action` of numbers or text, -1 for an unknown one.

    >>> frame = pl.DataFrame({"action": ["7", "jam", "tea"]})
    >>> frame.select(action_codes(("tea", 7), pl.String()))["action"].to_list()
    [1, -1, 0]
    >>> pl.DataFrame({"action": [7, 8]}).select(action_codes(("8", 7, "7"), pl.Int64()))["action"].to_list()
    [1, 0]
    """
    same_type = str if dtype == pl.String else int
    ranked = sorted(range(len(labels)), key=lambda i: isinstance(labels[i], same_type))
    # if the model has both 7 and "7", prefer the one of the column's type
    index = {str(labels[i]): i for i in ranked}
    known, codes = pl.Series(list(index), dtype=pl.String), pl.Series(list(index.values()), dtype=pl.Int32)
    return pl.col("action").cast(pl.String).replace_strict(known, codes, default=-1, return_dtype=pl.Int32)


def read_labels(path: str | Path, role: str, optional: str | None = None) -> pl.DataFrame:
    """Read the distinct labels of a role, and those of an `optional` role if the table has a column for it.

    Labels are whole numbers if all labels of the column are, otherwise text.
    """
    with open_table(path, ReadOptions(), narrow=True) as table, table.readable():
        names = [*table.names, *table.lacking]
        roles = [optional, role] if optional is not None and like(names, optional) else [role]
        return _distinct(table, table.columns(**find_columns(table, dict.fromkeys(roles))), roles)


def _distinct(table: Table, rows: pl.LazyFrame, roles: list[str]) -> pl.DataFrame:
    """Return the distinct labels of columns of a table, without blank rows; an invalid label raises."""
    frame = rows.filter(~pl.col("blank")).select(roles).collect()
    for name in roles:
        for what, test in label_faults(name, frame.schema[name]).items():
            if invalid := frame.select(test.sum()).item():
                raise InvalidInput(f"{table.name}: {what} in {pluralize(invalid, 'row')}; correct or remove them")
    tests = {name: all_integers(name, frame.schema[name], table) for name in roles}
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
        if os.path.isfile(source):  # noqa: PTH113 - False for a list of labels that is an invalid name; Path raises
            frame = read_labels(source, "action", optional="person")
        else:
            labels = [word.strip() for word in source.split(",") if word.strip()]
            frame, source = pl.DataFrame({"action": labels}, schema={"action": pl.String}), "--allowed"
        codes = frame.select(action_codes(model.actions, frame.schema["action"])).to_series().to_numpy()
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
                raise InvalidInput(f"{source} lists no action; list at least one, or leave it out to allow all")

    def sets_of(self, people: pl.Series) -> tuple[IntArray, IntArray]:
        """Return the personal sets of some people as offsets and actions; both are empty if there are none."""
        if self._table is None:
            return NO_ACTIONS, NO_ACTIONS
        kind = people.dtype if people.dtype == self._table.schema["person"] else pl.String
        places = people.cast(kind).alias("person").to_frame().with_row_index("place")
        rows = self._table.with_columns(pl.col("person").cast(kind)).join(places, on="person", how="inner")
        rows = rows.sort("place", "code")
        starts = np.searchsorted(rows["place"].to_numpy(), np.arange(len(people) + 1))
        return starts, rows["code"].to_numpy().astype(np.int64)


@dataclass(frozen=True)
class History:
    """People to decide for, and the table of their outcomes."""

    people: pl.Series
    skipped: dict[str, int]
    """Number of skipped `outcomes` (of unknown actions) and of skipped `people` (not in the list of people)."""
    _counts: IntArray
    _actions: pl.DataFrame
    """Labels of the table, and their indices in the model."""
    _table: Table
    _rows: pl.LazyFrame
    layout: str = "long"
    person_column: str | None = None
    _best: int = 0
    """Reward of the first action of a ranking; 0 if the table has rewards."""

    def batches(
        self, allowed: AllowedActions, size: int = OUTCOMES_PER_BATCH, *, priors: Priors | None = None
    ) -> Iterator[DecisionBatch]:
        """Yield all people with all their outcomes, about `size` outcomes at a time."""
        sizes = np.maximum(self._counts, 1)
        for low, high in itertools.pairwise(block_edges(sizes, BATCHES_PER_PASS * size).tolist()):
            people, rows = self.people[low:high], self._rows
            if len(people) < len(self.people):
                rows = rows.join(people.to_frame().lazy(), on="person", how="semi", maintain_order="left")
            with self._table.readable():
                frame = rows.collect(engine="streaming")
            owner = Codes(people).of(frame["person"])
            action = self._actions["code"].to_numpy()[Codes(self._actions["action"]).of(frame["action"])]
            timed = ["time"] if "time" in frame.columns else []
            frame = frame.select("rating", *timed, owner=owner, action=action)
            if timed or not frame["owner"].is_sorted():
                frame = frame.sort("owner", *timed, maintain_order=True)
            if self._best:
                frame = frame.with_columns(rating=self._best + 1 - pl.col("rating").rank("average").over("owner"))
            offsets = np.searchsorted(frame["owner"].to_numpy(), np.arange(len(people) + 1, dtype=np.int32))
            stream = addresses_of(people.to_numpy() if people.dtype == pl.Int64 else people.to_list())
            reward = frame["rating"].cast(pl.Float64).fill_null(np.nan).to_numpy()
            batch = DecisionBatch(offsets, frame["action"].to_numpy(), reward, stream)
            for start, stop in itertools.pairwise(block_edges(sizes[low:high], size).tolist()):
                starts, sets = allowed.sets_of(people[start:stop])
                own = NO_PRIORS if priors is None else priors.of(people[start:stop])
                yield batch.part(start, stop)._replace(starts=starts, sets=sets, priors=own)


def _check_ranks(table: Table, model: PreferenceModel) -> None:
    """Warn of a history of ranks if the model was fitted to ratings, of whose scale and noise ranks are not.

    Raise if low numbers are good in the model.
    """
    if model.lower_is_better:
        raise InvalidInput(
            f"{table.name} holds ranks, but the model was fitted to ratings of which low ones are good; give a history "
            "of such ratings, or decide with a model fitted to rankings (lpb fit --layout rankings)"
        )
    if model.reward_range is not None and not model.provenance.get("ranks"):
        lowest, highest = model.reward_range
        warn_caller(
            f"{table.name} holds ranks, which are read as {model.n_actions}, {model.n_actions - 1}, …, but the model "
            f"was fitted to ratings from {lowest:g} to {highest:g}; probabilities and forecasts assume their noise, so "
            "better use a model fitted to rankings (lpb fit --layout rankings)",
            ScaleWarning,
        )


def _unknown_actions(table: Table, actions: tuple[Label, ...], rows: pl.LazyFrame, layout: str) -> list[InvalidInput]:
    """Return the error for the rows of a history whose actions the model does not have, if there are any."""
    unknown = rows.filter(action_codes(actions, rows.collect_schema()["action"]) < 0)
    counts = unknown.group_by("action").agg(pl.len(), pl.col("row").min()).sort("row").collect(engine="streaming")
    if counts.is_empty():
        return []
    first, n_rows, column = counts["action"][0], int(counts["len"].sum()), ""
    if layout == "wide":
        names = shell_list(map(str, counts["action"].sort().head(SHOWN)))
        column = f", or leave out columns that are not actions (--ignore {names})"
    return [
        InvalidInput(
            f"{table.place(counts['row'][0])}: action {validate.short_repr(first)} of the history is not one of the "
            f"model's actions ({pluralize(n_rows, 'such row')}); correct them, or skip them (--unknown skip)"
            + column
            + validate.did_you_mean(first, actions)
        )
    ]


@contextlib.contextmanager
def open_history(
    path: str | Path,
    reading: Mapping[str, Any],
    model: PreferenceModel,
    *,
    wanted: pl.Series | None = None,
    skip_unknown: bool = False,
) -> Iterator[History]:
    """Check a table of outcomes and find its people, in the order of their first row.

    With `wanted`, only these people are included; those without outcomes come last. `reading` has fields of
    `ReadOptions`. A row without a reward is pending; the first action of a ranking has as many points as the model has
    actions, and the next one point less.
    """
    options, actions = ReadOptions(**reading), model.actions
    with open_table(path, options) as table:
        check = None if skip_unknown else functools.partial(_unknown_actions, table, actions)
        clean = clean_rows(table, options, known=frozenset(map(str, actions)), pending=True, check=check)
        if clean.ranks:
            _check_ranks(table, model)
        rows = clean.rows
        if wanted is None and clean.people is not None:  # a person may have a row without rewards
            with table.readable():
                wanted = _distinct(table, clean.people, ["person"])["person"]
        schema = rows.collect_schema()
        if wanted is not None and (wanted.dtype == pl.String) != (schema["person"] == pl.String):
            rows, wanted = rows.with_columns(pl.col("person").cast(pl.String)), wanted.cast(pl.String)
        code = action_codes(actions, schema["action"])
        counts = rows.group_by("person").agg(pl.len().cast(pl.Int64), pl.col("row").min())
        with table.readable():
            found, labels = pl.collect_all([counts, rows.select(pl.col("action").unique())], engine="streaming")
        found, labels = found.sort("row"), labels.with_columns(code=code)
        people = found
        if wanted is not None:
            given = wanted.alias("person").to_frame()
            people = found.join(given, on="person", how="semi", maintain_order="left")
            others = given.join(people, on="person", how="anti", maintain_order="left")
            people = pl.concat([people, others.with_columns(len=pl.lit(0, pl.Int64))], how="diagonal")
        skipped = {"outcomes": 0, "people": len(found) - people["row"].count()}
        if skipped["people"]:
            rows = rows.join(people.lazy(), on="person", how="semi", maintain_order="left")
        if (labels["code"] < 0).any():
            if check is not None:
                for error in check(rows, clean.layout):
                    raise error
            skipped["outcomes"] = rows.filter(code < 0).select(pl.len()).collect(engine="streaming").item()
            rows = rows.filter(code >= 0)
        best = len(actions) if clean.ranks else 0
        yield History(
            people["person"],
            skipped,
            people["len"].to_numpy(),
            labels,
            table,
            rows.drop("row"),
            clean.layout,
            clean.person_column,
            best,
        )
