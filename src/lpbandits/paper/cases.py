"""Finished cases of a reproduction on disk: kept as they end, and believed only when everything fits.

A case is a table (Parquet) and, written after it, a record (JSON) of what it is, with the table's hash. A table
without its record, or with that of other settings, another seed or version, or other content, is computed again.
"""

import hashlib
import io
from dataclasses import asdict
from pathlib import Path

import polars as pl

from lpbandits import __version__
from lpbandits.datasets.movielens import fingerprint_of
from lpbandits.errors import FileFormatError
from lpbandits.io.atomic import as_parquet, write_bytes, write_json
from lpbandits.io.json import MAX_BYTES, digest, read_bytes, read_json
from lpbandits.paper.spec import Case, Figure
from lpbandits.parallel import defer_signals
from lpbandits.typing import Json

FORMAT = "lpbandits-case"
VERSION = 1


def place_of(folder: Path, figure: Figure, case: Case, seed: int) -> Path:
    """Return where the table of a case is kept."""
    return folder / f"{figure.name}-{digest(_identity(figure, case, seed))[:16]}.parquet"


def keep(folder: Path, figure: Figure, case: Case, seed: int, table: pl.DataFrame, seconds: float) -> None:
    """Write a case's table, and then the record that vouches for it: an interrupt waits for both."""
    place = place_of(folder, figure, case, seed)
    data = as_parquet(table)
    content = {"sha256": hashlib.sha256(data).hexdigest(), "form": _form(table), "seconds": seconds}
    record = {**_identity(figure, case, seed), **content}
    with defer_signals():
        place.with_suffix(".json").unlink(missing_ok=True)  # the record of an older table
        write_bytes(place, data)
        write_json(place.with_suffix(".json"), record)


def kept(folder: Path, figure: Figure, case: Case, seed: int) -> pl.DataFrame | str | None:
    """Return the table of a case; None if there is none, and in words what is wrong with one not to be believed."""
    place = place_of(folder, figure, case, seed)
    try:
        return _believed(place, _identity(figure, case, seed))
    except FileNotFoundError:
        return None
    except (FileFormatError, OSError) as error:
        return f"{place.name} {error}"


def _believed(place: Path, wanted: Json) -> pl.DataFrame:
    data = read_bytes(place, MAX_BYTES)
    try:
        record = read_json(place.with_suffix(".json"))
    except FileFormatError:
        raise FileFormatError("has no record beside it, so it was not finished") from None
    if not isinstance(record, dict) or digest({key: record.get(key) for key in wanted}) != digest(wanted):
        raise FileFormatError("has the record of another case, seed or version")
    if hashlib.sha256(data).hexdigest() != record.get("sha256"):
        raise FileFormatError("is not the table that was written: its content does not match its record")
    try:
        table = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise FileFormatError("is not a table") from None
    if digest(_form(table)) != digest(record.get("form")):
        raise FileFormatError("is not such a table as was written: other columns or rows, or numbers that are none")
    return table


def _form(table: pl.DataFrame) -> Json:
    """Return what a table looks like: rows, columns with their types, and how many numbers of each are none."""
    odd = {
        name: int((table[name].is_nan() | table[name].is_infinite()).sum())
        for name, kind in table.schema.items()
        if kind.is_float()
    }
    return {"rows": len(table), "columns": {name: str(kind) for name, kind in table.schema.items()}, "odd": odd}


def _identity(figure: Figure, case: Case, seed: int) -> Json:
    """Return all that fixes a case's numbers: other data is another case."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **asdict(case),
        "figure_version": figure.version,
        "seed": seed,
        "data": None if figure.data is None else fingerprint_of(figure.data),
        "lpbandits": __version__,
    }
