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
    record = {**_identity(figure, case, seed), "sha256": hashlib.sha256(data).hexdigest(), "seconds": seconds}
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
    return pl.read_parquet(io.BytesIO(data))


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
