"""Exports of a project of the decision service, which are read as a log: `lpb store export` writes them."""

from pathlib import Path
from typing import Any

from lpbandits.errors import FileFormatError
from lpbandits.io.atomic import MANIFEST, sha256
from lpbandits.io.compressed import extract, temporary_folder
from lpbandits.io.json import read_json
from lpbandits.typing import Json

EXPORT = "lpbandits-export"
"""Format of the manifest."""


def manifest_of(path: Path) -> Json | None:
    """Return the manifest of an export, a folder or a zip file; None of anything else."""
    if path.is_dir():
        return _checked(path / MANIFEST)
    if path.suffix.lower() != ".zip" or not path.is_file():
        return None
    with temporary_folder() as folder:
        return _checked(folder / MANIFEST) if extract(path, (MANIFEST,), folder) else None


def reading_of(path: Path) -> dict[str, Any]:
    """Return the fields of `ReadOptions` that suit an export; none for anything else.

    People receive actions repeatedly, so that repeated ratings are averaged.
    """
    manifest = manifest_of(path)
    return {} if manifest is None else {"duplicates": "mean", "lower_is_better": manifest["lower_is_better"] is True}


def ratings_in(folder: Path) -> Path | None:
    """Return the ratings in the folder of an export; None if it is another folder."""
    manifest = manifest_of(folder)
    if manifest is None:
        return None
    path = folder / f"ratings.{manifest['table_format']}"
    if not path.is_file() or sha256(path) != manifest["files"].get(path.name):
        raise FileFormatError(f"{path} is not the file that the manifest lists; export the project again")
    return path


def _checked(path: Path) -> Json | None:
    try:
        content = read_json(path)
    except FileFormatError:
        return None
    if not isinstance(content, dict) or content.get("format") != EXPORT:
        return None
    if content.get("version") != 1:
        raise FileFormatError(f"{path} is of version {content.get('version')!r}, the limit is 1; update lpbandits")
    if content.get("table_format") not in ("parquet", "csv") or not isinstance(content.get("files"), dict):
        raise FileFormatError(f"{path} is incomplete; export the project again")
    return {"lower_is_better": False, **content}
