"""Times of ratings: numbers, dates and ISO date-times as numbers that can be compared."""

import polars as pl

from lpbandits.data.columns.cells import clipped, is_text
from lpbandits.errors import InvalidInput

_DATE = r"^([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})"
_WITH_ZONE = ("%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%d %H:%M%:z")
_WITHOUT_ZONE = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")


def time_number(column: pl.Expr, dtype: pl.DataType, *, name: str, dates: bool) -> pl.Expr:
    """Return times as floats, null where a cell is empty or not a time; `dates`: text is not read as numbers.

    Dates and date-times become microseconds since 1970 in UTC. Without a time zone they are taken as UTC.

    >>> frame = pl.DataFrame({"t": ["2024-05-01T02:00+02:00", "2024-05-01", "1/5/24"]})
    >>> frame.select(time_number(pl.col("t"), pl.String(), name="t", dates=True)).to_series().to_list()
    [1714521600000000.0, 1714521600000000.0, None]
    """
    if dtype.is_numeric():
        number = column.cast(pl.Float64, strict=False)
        return pl.when(number.is_finite()).then(number)
    if dtype in (pl.Date, pl.Datetime):
        moment = column.cast(pl.Datetime("us")) if dtype == pl.Date else column.dt.cast_time_unit("us")
        return moment.dt.epoch("us").cast(pl.Float64)
    if dtype == pl.Null:
        return column.cast(pl.Float64)
    if not is_text(dtype):
        raise InvalidInput(f"the time column {name!r} must hold numbers, dates or text, got {dtype} values")
    text = clipped(column).str.strip_chars()
    if not dates:
        number = text.cast(pl.Float64, strict=False)
        return pl.when(number.is_finite()).then(number)
    text = text.str.replace(_DATE, "$1-$2-$3").str.replace(r"^(\S+)[Tt](\d)", "$1 $2")
    text = text.str.replace(r"(:\d.*?)\s*(?:[Zz]|UTC|GMT)$", "$1+00:00")
    text = text.str.replace(r"(:\d.*?)\s*([+-]\d{2}):?(\d{2})$", "$1$2:$3")
    zoned = (
        text.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False).dt.replace_time_zone(None)
        for form in _WITH_ZONE
    )
    plain = (text.str.to_datetime(form, time_unit="us", strict=False) for form in _WITHOUT_ZONE)
    day = text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    return pl.coalesce(*zoned, *plain, day).dt.epoch("us").cast(pl.Float64)
