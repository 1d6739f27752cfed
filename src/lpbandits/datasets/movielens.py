"""MovieLens datasets: installation, location and terms."""

import functools
import hashlib
import os
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from lpbandits import validate
from lpbandits.data import read_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.atomic import MANIFEST, atomic_folder, sha256
from lpbandits.io.compressed import extract, temporary_folder
from lpbandits.io.json import digest, read_json
from lpbandits.io.paths import as_path, cache_path
from lpbandits.progress import Progress

FORMAT = "lpbandits-dataset"
VERSION = 1

TERMS = (
    "MovieLens data is collected by GroupLens Research at the University of Minnesota, for research; commercial use "
    "needs their permission. {sharing} Cite: Harper and Konstan (2015), The MovieLens Datasets, ACM TiiS 5(4)."
)


@dataclass(frozen=True)
class Dataset:
    """A MovieLens dataset: its archive, its checksums, and its people, movies and ratings after the paper's filter.

    `md5` is that of the archive, as published by GroupLens. `sha256` is that of the ratings (`Ratings.sha256`, after
    the paper's filter if the sizes are given), independent of the file format; None if it is unknown.
    """

    archive: str
    md5: str | None
    sha256: str | None = None
    sizes: tuple[int, int, int] | None = None

    @property
    def terms(self) -> str:
        """Terms of use."""
        free = "It may be passed on under the same conditions."
        return TERMS.format(sharing=free if self.md5 is None else "It may not be passed on without their permission.")


_SHA_1M = "f8b9da647119350345aceb957695258dd5c25ef0e590f85fa1a1cddbb8a24d20"
_SHA_SMALL = "a8b40fbecd4b9f2b161f6f899a51636c406931268951fcfe6772933647208820"  # the edition of September 2018

DATASETS = {
    "1m": Dataset("ml-1m.zip", "c4d9eecfca2ab87c1945afe126590906", _SHA_1M, (1_589, 1_132, 498_677)),
    "20m": Dataset("ml-20m.zip", "cd245b17a1ae2cc31bb14903e1204af3", None, (26_826, 6_236, 11_905_303)),
    "32m": Dataset("ml-32m.zip", "d472be332d4daa821edc399621853b57", None, (42_197, 8_777, 19_832_758)),
    "latest-small": Dataset("ml-latest-small.zip", None, _SHA_SMALL),
}
"""The datasets by name."""

_RATINGS = ("ratings.csv", "ratings.csv.gz", "ratings.dat")
_MOVIES = ("movies.csv", "movies.dat")
_FILES = (*_RATINGS, *_MOVIES)


def locate(name: str) -> Path | None:
    """Return the folder of an installed dataset, or None: in LPB_DATA if that is set, else in the user's cache.

    An unfinished installation in the cache has no manifest and is ignored.
    """
    validate.as_choice(name, "dataset", DATASETS)
    folder = f"ml-{name}"
    data = os.environ.get("LPB_DATA")
    if data and _is_complete(Path(data) / folder):
        return Path(data) / folder
    home = cache_path()
    place = None if home is None else home / "movielens" / folder
    return place if place is not None and _is_complete(place) and (place / MANIFEST).is_file() else None


def stored_checks(folder: Path) -> str:
    """Return which checks an installed dataset passed."""
    return str(read_json(folder / MANIFEST)["checked"])


def require(name: str) -> Path:
    """Return the folder of a dataset; raise with instructions if it is not installed."""
    place = locate(name)
    if place is None:
        raise InvalidInput(
            f"MovieLens {name} is not installed; run `lpb data movielens {name}`, or, from a file, "
            f"`lpb data movielens {name} --from {DATASETS[name].archive}`"
        )
    return place


def fingerprint_of(name: str) -> str:
    """Return a hash of a dataset's files."""
    place = require(name)
    files = [place / file for file in _FILES if (place / file).is_file()]
    return digest({file.name: _sha256_of(file, file.stat().st_mtime_ns, file.stat().st_size) for file in files})


@functools.cache
def _sha256_of(file: Path, changed: int, size: int) -> str:
    del changed, size  # keys of the cache
    return sha256(file)


@translate_errors("installing a dataset")
def install(name: str, source: str | Path | None = None, *, progress: Progress | None = None) -> Path:
    """Install a dataset in the user's cache, from a zip file, a folder or by download; return its folder."""
    validate.as_choice(name, "dataset", DATASETS)
    home = cache_path()
    if home is None:
        raise InvalidInput("there is no home folder for the cache; set LPB_DATA to a folder with the data, or set HOME")
    target = home / "movielens" / f"ml-{name}"
    about = {"format": FORMAT, "version": VERSION, "name": name, "archive": DATASETS[name].archive}
    with temporary_folder() as folder, atomic_folder(target, about, replaces=_FILES) as staging:
        archive = _download(name, folder, progress) if source is None else as_path(source)
        if archive.is_dir():
            for file in filter(Path.is_file, (archive / name for name in _FILES)):
                shutil.copyfile(file, staging / file.name)
        else:
            _unpack(name, archive, staging)
        if not _is_complete(staging):
            raise InvalidInput(
                f"{source or 'the download'} is not MovieLens: it needs one of {', '.join(_RATINGS)} and one of "
                f"{', '.join(_MOVIES)}"
            )
        about["checked"] = verify(name, staging)
    return target


def verify(name: str, folder: Path) -> str:
    """Check the content of a dataset; return the checks it passed, as text.

    After the paper's filter, the data must have the paper's numbers of people, movies and ratings, and the known hash.
    Only `latest-small`, which changes over time, may differ.
    """
    dataset = DATASETS[name]
    least = 0 if dataset.sizes is None else 200
    ratings = read_ratings(folder, min_person=least, min_action=least)
    sizes = (len(ratings.people), len(ratings.actions), len(ratings))
    if dataset.sizes is not None and sizes != dataset.sizes:
        text = "{:,} people, {:,} movies and {:,} ratings"
        raise InvalidInput(
            f"this is not MovieLens {name}: after the paper's filter it must have {text.format(*dataset.sizes)}, got "
            f"{text.format(*sizes)}"
        )
    if dataset.sha256 is None:
        return f"the numbers of people, movies and ratings match; no SHA-256 to compare with {ratings.sha256} is known"
    if ratings.sha256 == dataset.sha256:
        return "the ratings have the known SHA-256"
    if dataset.sizes is not None:
        raise InvalidInput(
            f"the ratings of this MovieLens {name} have SHA-256 {ratings.sha256}, not {dataset.sha256}: they were "
            "modified; download it again"
        )
    return f"a different edition from the one this package was tested with (its ratings have SHA-256 {ratings.sha256})"


def _is_complete(folder: Path) -> bool:
    return all(any((folder / name).is_file() for name in names) for names in (_RATINGS, _MOVIES))


def _unpack(name: str, archive: Path, target: Path) -> None:
    if not archive.is_file():
        raise InvalidInput(f"{archive} does not exist; give the downloaded {DATASETS[name].archive} or its folder")
    expected = DATASETS[name].md5
    with archive.open("rb") as raw:
        checksum = hashlib.file_digest(raw, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if expected not in (None, checksum):
        raise InvalidInput(
            f"{archive} must have checksum {expected}, got {checksum}; download {DATASETS[name].archive} again"
        )
    extract(archive, _FILES, target)


def _download(name: str, folder: Path, progress: Progress | None) -> Path:
    dataset = DATASETS[name]
    target = folder / dataset.archive
    address = f"https://files.grouplens.org/datasets/movielens/{dataset.archive}"
    try:
        with urllib.request.urlopen(address, timeout=30) as answer, target.open("wb") as out:
            total = int(answer.headers.get("Content-Length") or 0)
            done = 0
            while chunk := answer.read(1 << 20):
                out.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress("downloading", done, max(total, done))
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise InvalidInput(
            f"cannot download {address} ({reason}); download {dataset.archive} on another machine and run "
            f"`lpb data movielens {name} --from {dataset.archive}`"
        ) from None
    return target
