"""Columns of a wide table that are probably not ratings: ages, ids, times, yes or no among ratings."""

import re
from collections.abc import Collection, Iterable

import polars as pl

from lpbandits.data.columns.roles import shell_list, words_of
from lpbandits.errors import InvalidInput

FACTS = (
    "age|sex|gender|income|salary|zip|zipcode|postcode|postalcode|birthyear|yearofbirth|birthdate|dateofbirth|dob|"
    "timestamp|datetime|latitude|longitude"
)
"""Names of facts about a person or a row, as ids are: never actions, unless the user says so."""

DOUBTFUL = f"{FACTS}|time|date|day|month|year|weight|height|count|rank|place|position|index"
"""Names of numeric columns that are probably not actions: a table with one of them is not recognised as wide."""

TOPS = (10.0, 100.0)
"""Highest value of usual rating scales: up to 10 (stars, agreement), and up to 100 (sliders, percentages)."""

NEAR_TOP = 0.8
"""Columns of one scale reach similar values: half of them at least this share of the largest."""

HUGE = 100.0
"""Times, ids and amounts of money are this many times larger than ratings, or more."""

MIN_NUMBERED = 8
"""Minimum number of rows of a column that counts 1, 2, 3, … to be a row number."""

MIN_CELLS = 10
"""Minimum number of cells of a column on a smaller scale than the others, or of zeros and ones."""

SLIDERS = 50.0
"""Columns of small numbers are only odd by their size among columns that reach beyond this value."""

CENTRE = 0.4
"""Ratings of a disliked action have a long tail: their median is below this share of the largest."""

CENTRE_WITH_ZERO = 0.5
"""The same for columns with a 0, which disliked actions get."""

MOSTLY = 0.8
"""Share of the cells of a column of fractions that are fractions."""

SOME = 0.25
"""Share of the cells of a column outside the range of the others."""

GRIDS = (2.0, 10.0)
"""Ratings are usually whole, half or tenths: numbers that are whole if multiplied by 2 or 10."""


def named_like(column: str, names: str) -> bool:
    """Return whether a column has one of the names of a pattern, without case and punctuation.

    >>> named_like("Age (years)", FACTS), named_like("Sponge cake", FACTS)
    (True, False)
    """
    words = words_of(column)
    return words[-1:] == ["id"] or bool(re.fullmatch(names, "".join(words)))


def odd_columns(cells: pl.DataFrame) -> dict[str, str]:
    """Return the columns on another scale than most, with what they hold.

    `cells` has the `row`, the `action` (the column) and the number `x` of each rating, in the order of the rows. Usual
    columns are those whose largest |x| is at most twice the median over all columns; M is the largest |x| in them. A
    column is odd if

    - all its values lie beyond ±M, its median beyond ±2M, and a value beyond 10 (100 if M > 10). This is not tested if
      M > 100 or fewer than half of the usual columns reach 0.8 M, as with counts and durations;
    - or all its values lie beyond ±100 M;
    - or it counts 1, 2, 3, … in at least 8 rows, beyond M or 10;
    - or it has at least ten values, zeros and ones only, in a table of positive ratings;
    - or it is on a smaller scale (see `_smaller`).

    There must be at least two other columns, and at least half of all.

    >>> rows = [(n, "tea", 1 + n % 5) for n in range(6)] + [(n, "jam", 5) for n in range(6)]
    >>> rows += [(n, "years", 18 + 9 * n) for n in range(6)]
    >>> odd_columns(pl.DataFrame(rows, ["row", "action", "x"], orient="row"))
    {'years': '18 to 63'}
    """
    x = pl.col("x").cast(pl.Float64)
    magnitude = x.abs()
    stats = cells.group_by("action", maintain_order=True).agg(
        n=pl.len(),
        low=x.min(),
        high=x.max(),
        nearest=magnitude.min(),
        top=magnitude.max(),
        median=x.median().abs(),
        numbered=(x.diff().drop_nulls() == 1).all() & (pl.len() >= MIN_NUMBERED),
        yes_no=x.is_in([0.0, 1.0]).all() & (x.n_unique() == 2) & (pl.len() >= MIN_CELLS),
    )
    tops = stats["top"].sort()
    usual = stats.filter(pl.col("top") <= 2 * tops[(len(tops) - 1) // 2]) if len(tops) else stats
    usual = usual.filter(~pl.col("yes_no") & ~pl.col("numbered"))
    if len(usual) < 2 or 2 * len(usual) < len(stats):
        return {}
    limit = float(usual["top"].max())  # type: ignore[arg-type] # a number
    scale = next((top for top in TOPS if limit <= top), None)
    shared = scale is not None and 2 * (usual["top"] >= NEAR_TOP * limit).sum() >= len(usual)
    far = pl.col("nearest") > HUGE * max(limit, 1.0)
    if shared:
        far |= (pl.col("nearest") > limit) & (pl.col("median") > 2 * limit) & (pl.col("top") > scale)
    numbered = pl.col("numbered") & (pl.col("top") > min(limit, TOPS[0]))
    never_zero = float(usual["low"].min()) > 0 and limit >= 3  # type: ignore[arg-type] # a number
    smaller = _smaller(cells.select("row", "action", x=x), stats, limit, shared=shared)
    odd = stats.filter(far | numbered | (pl.col("yes_no") & never_zero) | pl.col("action").is_in(smaller))
    spans = zip(odd["action"], odd["low"], odd["high"], strict=True)
    return {name: f"{low:.4g} to {high:.4g}" for name, low, high in spans}


def _smaller(cells: pl.DataFrame, stats: pl.DataFrame, limit: float, *, shared: bool) -> list[str]:
    """Return the columns on a smaller scale than most: 1 to 5, yes or no, or z-scores among values of 0 to 100.

    Only columns of at least ten values, two of them distinct, are compared. L is the median of their smallest values.
    A column is on a smaller scale if

    - at least 80 % of its values are fractions, where at least half of the columns hold whole and half numbers only (or
      tenths only, then fractions of these count), and 25 % of its values lie outside L to M, or all within ±1 if M is
      at least 3;
    - or its values lie within ±10, M is 50 to 100 and half of the usual columns reach 0.8 M (`shared`), some values are
      not multiples of 5, and its median is at least 0.4 of its largest (0.5 if it has a 0; of zeros and ones the mean
      at least 0.4), or 25 % are negative and L is not.

    Ranks, where no row has two equal values or one beyond their number, are not compared.
    """
    x = pl.col("x")
    enough = stats.filter(pl.col("n") >= MIN_CELLS)
    if len(enough) < 3 or _are_ranks(cells, limit, len(stats)):
        return []
    least = float(enough["low"].median())  # type: ignore[arg-type] # a number
    one = cells.join(enough.select("action"), on="action", how="semi").group_by("action", maintain_order=True)
    shares = one.agg(
        distinct=x.n_unique(),
        outside=((x < least) | (x > limit)).mean(),
        negative=(x < 0).mean(),
        mean=x.abs().mean(),
        fives=(x % 5 == 0).all(),
        **{f"off{grid}": (x * grid - (x * grid).round()).abs().gt(1e-6).mean() for grid in GRIDS},
    ).join(enough, on="action", maintain_order="left")
    off = next((shares[f"off{grid}"] for grid in GRIDS if 2 * (shares[f"off{grid}"] == 0).sum() >= len(shares)), None)
    top = pl.col("top")
    within_one = (top <= 1) & pl.lit(limit >= 3)
    small = pl.lit(False) if off is None else pl.lit(off >= MOSTLY) & ((pl.col("outside") >= SOME) | within_one)
    if shared and limit > SLIDERS:
        share = pl.when(pl.col("yes_no") | (pl.col("nearest") > 0)).then(CENTRE).otherwise(CENTRE_WITH_ZERO)
        centre = pl.when("yes_no").then("mean").otherwise("median") >= share * top
        signed = (pl.col("negative") >= SOME) & pl.lit(least >= 0)
        small |= (top <= TOPS[0]) & ~pl.col("fives") & (centre | signed)
    return shares.filter(small & (pl.col("distinct") > 1))["action"].to_list()


def _are_ranks(cells: pl.DataFrame, limit: float, n_columns: int) -> bool:
    """Return whether the values of each row are distinct, positive and at most their number of columns."""
    if limit > n_columns or not (cells["x"] >= 1).all():
        return False
    return not cells.select(pl.struct("row", "x").is_duplicated().any()).item()


def not_actions(table: str, columns: Iterable[str], why: str, actions: Collection[str]) -> InvalidInput:
    """Return the error for columns of a wide table that are probably not actions."""
    odd = list(columns)
    shown = ", ".join(map(repr, odd[:5])) + (f" and {len(odd) - 5:,} more" if len(odd) > 5 else "")
    kept = [name for name in actions if name not in odd]
    one = len(odd) == 1
    return InvalidInput(
        f"column{'' if one else 's'} {shown} of {table} {'is' if one else 'are'} probably not "
        f"{'an action' if one else 'actions'}: {why}; leave {'it' if one else 'them'} out with ignore=… "
        f"(--ignore {shell_list(odd)}), or name the columns of all actions with columns=… "
        f"(--columns {shell_list(kept[:2])},…)"
    )
