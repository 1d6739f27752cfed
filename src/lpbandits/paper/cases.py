"""Store finished cases of a reproduction on disk.

A case is a table (Parquet) and a record (JSON) of its settings and the table's hash. Both are named by the hash of
everything that determines the case's numbers. The record is written first: a table without a matching record is
damaged, and is computed again.
"""

import hashlib
import io
from dataclasses import asdict
from pathlib import Path

import polars as pl

from lpbandits import __version__
from lpbandits.errors import FileFormatError
from lpbandits.io.atomic import as_parquet, write_bytes, write_json
from lpbandits.io.json import digest, read_json
from lpbandits.paper.spec import Case, Figure
from lpbandits.typing import Json


def case_path(folder: Path, figure: Figure, case: Case, seed: int) -> Path:
    """Return the path of a case's table."""
    return folder / f"{figure.name}-{digest(_identity(figure, case, seed))[:16]}.parquet"


def store_case(folder: Path, figure: Figure, case: Case, seed: int, table: pl.DataFrame, seconds: float) -> None:
    """Write a case's record and its table."""
    path, data = case_path(folder, figure, case, seed), as_parquet(table)
    record = {**_identity(figure, case, seed), "sha256": hashlib.sha256(data).hexdigest(), "seconds": seconds}
    write_json(path.with_suffix(".json"), record)
    write_bytes(path, data)


def load_case(folder: Path, figure: Figure, case: Case, seed: int) -> pl.DataFrame | str | None:
    """Return the table of a case, None if there is none, or a message if it does not match its record."""
    path = case_path(folder, figure, case, seed)
    if not path.is_file():
        return None
    data = path.read_bytes()
    try:
        record = read_json(path.with_suffix(".json"))
    except FileFormatError:
        record = None
    if not isinstance(record, dict) or record.get("sha256") != hashlib.sha256(data).hexdigest():
        return f"{path.name} does not match the hash in its record"
    return pl.read_parquet(io.BytesIO(data))


def _identity(figure: Figure, case: Case, seed: int) -> Json:
    """Return everything that determines a case's numbers, including the hash of its data."""
    return {
        "format": "lpbandits-case",
        "version": 1,
        **asdict(case),
        "figure_version": figure.version,
        "seed": seed,
        "data": figure.data_hash,
        "lpbandits": __version__,
    }
