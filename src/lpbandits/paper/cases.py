"""Store finished cases of a reproduction on disk, and load them if they match.

A case is a table (Parquet) and a record (JSON), written after it, of its settings and the table's hash. A table without
a record, or with the record of other settings, another seed, version or content, is computed again.
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
    """Return the path of a case's table."""
    return folder / f"{figure.name}-{digest(_identity(figure, case, seed))[:16]}.parquet"


def keep(folder: Path, figure: Figure, case: Case, seed: int, table: pl.DataFrame, seconds: float) -> None:
    """Write a case's table and its record; an interrupt waits for both."""
    place = place_of(folder, figure, case, seed)
    data = as_parquet(table)
    content = {"sha256": hashlib.sha256(data).hexdigest(), "form": _form(table), "seconds": seconds}
    record = {**_identity(figure, case, seed), **content}
    with defer_signals():
        place.with_suffix(".json").unlink(missing_ok=True)  # of an older table
        write_bytes(place, data)
        write_json(place.with_suffix(".json"), record)


def kept(folder: Path, figure: Figure, case: Case, seed: int) -> pl.DataFrame | str | None:
    """Return the table of a case, None if there is none, or a message if it does not match its record."""
    place = place_of(folder, figure, case, seed)
    try:
        return _checked(place, _identity(figure, case, seed))
    except FileNotFoundError:
        return None
    except (FileFormatError, OSError) as error:
        return f"{place.name} {error}"


def _checked(place: Path, identity: Json) -> pl.DataFrame:
    data = read_bytes(place, MAX_BYTES)
    try:
        record = read_json(place.with_suffix(".json"))
    except FileFormatError:
        raise FileFormatError("has no valid record, so it was not finished") from None
    if not isinstance(record, dict) or digest({key: record.get(key) for key in identity}) != digest(identity):
        raise FileFormatError("has the record of another case, seed or version")
    if hashlib.sha256(data).hexdigest() != record.get("sha256"):
        raise FileFormatError("does not match the hash in its record")
    try:
        table = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise FileFormatError("is not a Parquet table") from None
    if digest(_form(table)) != digest(record.get("form")):
        raise FileFormatError("does not match the form in its record: rows, columns or non-finite numbers differ")
    return table


def _form(table: pl.DataFrame) -> Json:
    """Return the form of a table: number of rows, column types, and number of non-finite values per column."""
    odd = {
        name: int((table[name].is_nan() | table[name].is_infinite()).sum())
        for name, kind in table.schema.items()
        if kind.is_float()
    }
    return {"rows": len(table), "columns": {name: str(kind) for name, kind in table.schema.items()}, "odd": odd}


def _identity(figure: Figure, case: Case, seed: int) -> Json:
    """Return everything that determines a case's numbers, including the hash of its data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **asdict(case),
        "figure_version": figure.version,
        "seed": seed,
        "data": None if figure.data is None else fingerprint_of(figure.data),
        "lpbandits": __version__,
    }
