"""Rankings: a row per person with actions in order of preference, and what rating a place stands for."""

import polars as pl

from lpbandits.data.numbers import is_text
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources


def ranked(table: Table, person: int, others: list[int]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return one row per ranked action, with its place as rating, and how many rows have none.

    The columns of the table, beside the person's, are places, best first.
    """
    columns = table.columns(person=person, **{str(i): place for i, place in enumerate(others)})
    types = columns.collect_schema()
    labels = [_label(table, table.names[place], str(i), types[str(i)]) for i, place in enumerate(others)]
    rows = columns.select(pl.len()).collect(engine="streaming").item()
    check_resources(
        f"a table of {rows:,} rankings of {len(others):,} places",
        "give fewer people, or fewer places",
        size=64 * rows * len(others),
    )
    whole = columns.select("row", "blank", "person", *labels).collect(engine="streaming")
    parts = [
        whole.select("row", "blank", "person", action=pl.col(str(i)), rating=pl.lit(float(i + 1)))
        for i in range(len(others))
    ]
    long = pl.concat(parts).filter(pl.col("action").is_not_null()).sort("row", maintain_order=True)
    blank = int(whole["blank"].sum())
    return long, {"blank_lines": blank, "rows_without_ratings": rows - blank - long["row"].n_unique()}


def by_place(frame: pl.DataFrame, actions: int) -> pl.DataFrame:
    """Return ratings for ranks, such that higher is better: of k actions the first gets k, the last of all of them 1.

    What is tied shares the mean of its places. An action that a person did not rank has no rating.

    >>> ranks = pl.DataFrame({"person": [1, 1, 1, 2], "action": ["a", "b", "c", "b"], "rating": [1.0, 2.0, 2.0, 1.0]})
    >>> by_place(ranks, 3)["rating"].to_list()
    [3.0, 1.5, 1.5, 3.0]
    """
    return frame.with_columns(rating=actions + 1 - pl.col("rating").rank("average").over("person"))


def _label(table: Table, name: str, column: str, dtype: pl.DataType) -> pl.Expr:
    """Return a place's actions as text, null where there is none."""
    cell = pl.col(column)
    if dtype.is_float():
        cell = pl.when(cell.is_not_nan()).then(cell)
        whole = pl.when(cell == cell.round()).then(cell.cast(pl.Int64, strict=False).cast(pl.String))
        return whole.otherwise(cell.cast(pl.String)).alias(column)
    if dtype.is_integer() or dtype == pl.Null:
        return cell.cast(pl.String)
    if not is_text(dtype):
        raise InvalidInput(
            f"column {name!r} of {table.source.name} holds {dtype} values; in a table of rankings every column but the "
            "person's holds actions: leave the column out"
        )
    text = cell.cast(pl.String)
    return pl.when(text.str.strip_chars() != "").then(text).alias(column)
