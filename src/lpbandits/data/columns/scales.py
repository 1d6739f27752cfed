"""Columns of a wide table that are probably not ratings: ages, ids, times, yes or no among ratings."""

import re
import shlex
from collections.abc import Collection, Iterable

import polars as pl

from lpbandits.data.columns.roles import words_of
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

MIN_YES_NO = 10
"""Minimum number of cells of a column of zeros and ones among ratings that never are 0."""


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
    - or it has at least ten values, zeros and ones only, in a table of ratings of 1 and more.

    There must be at least two other columns, and at least half of all.

    >>> rows = [(n, "tea", 1 + n % 5) for n in range(6)] + [(n, "jam", 5) for n in range(6)]
    >>> rows += [(n, "years", 18 + 9 * n) for n in range(6)]
    >>> odd_columns(pl.DataFrame(rows, ["row", "action", "x"], orient="row"))
    {'years': '18 to 63'}
    """
    x = pl.col("x").cast(pl.Float64)
    magnitude = x.abs()
    stats = cells.group_by("action", maintain_order=True).agg(
        low=x.min(),
        high=x.max(),
        nearest=magnitude.min(),
        top=magnitude.max(),
        median=x.median().abs(),
        numbered=(x.diff().drop_nulls() == 1).all() & (pl.len() >= MIN_NUMBERED),
        yes_no=x.is_in([0.0, 1.0]).all() & (x.n_unique() == 2) & (pl.len() >= MIN_YES_NO),
    )
    tops = stats["top"].sort()
    usual = stats.filter(pl.col("top") <= 2 * tops[(len(tops) - 1) // 2]) if len(tops) else stats
    usual = usual.filter(~pl.col("yes_no") & ~pl.col("numbered"))
    if len(usual) < 2 or 2 * len(usual) < len(stats):
        return {}
    limit = float(usual["top"].max())  # type: ignore[arg-type] # a number
    scale = next((top for top in TOPS if limit <= top), None)
    far = pl.col("nearest") > HUGE * max(limit, 1.0)
    if scale is not None and 2 * (usual["top"] >= NEAR_TOP * limit).sum() >= len(usual):
        far |= (pl.col("nearest") > limit) & (pl.col("median") > 2 * limit) & (pl.col("top") > scale)
    numbered = pl.col("numbered") & (pl.col("top") > min(limit, TOPS[0]))
    never_zero = float(usual["low"].min()) >= 1 and limit >= 3  # type: ignore[arg-type] # a number
    odd = stats.filter(far | numbered | (pl.col("yes_no") & never_zero))
    spans = zip(odd["action"], odd["low"], odd["high"], strict=True)
    return {name: f"{low:.4g} to {high:.4g}" for name, low, high in spans}


def not_actions(table: str, columns: Iterable[str], why: str, actions: Collection[str]) -> InvalidInput:
    """Return the error for columns of a wide table that are probably not actions."""
    odd = list(columns)
    shown = ", ".join(map(repr, odd[:5])) + (f" and {len(odd) - 5:,} more" if len(odd) > 5 else "")
    kept = [name for name in actions if name not in odd]
    one = len(odd) == 1
    return InvalidInput(
        f"column{'' if one else 's'} {shown} of {table} {'is' if one else 'are'} probably not "
        f"{'an action' if one else 'actions'}: {why}; leave {'it' if one else 'them'} out with ignore=… "
        f"(--ignore {shlex.quote(','.join(odd))}), or name the columns of all actions with columns=… "
        f"(--columns {shlex.quote(','.join(kept[:2]))},…)"
    )
