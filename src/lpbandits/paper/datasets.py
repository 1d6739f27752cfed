"""MovieLens datasets: where they are kept, how they get there, and their terms."""

import hashlib
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.parallel import Progress
from lpbandits.recovery import read_ratings

TERMS = (
    "MovieLens data is collected by GroupLens Research at the University of Minnesota, for research; commercial use "
    "needs their permission. {sharing} Cite: Harper and Konstan (2015), The MovieLens Datasets, ACM TiiS 5(4)."
)


@dataclass(frozen=True)
class Dataset:
    """A MovieLens dataset: its archive, its checksum, and its size after the paper's filter."""

    archive: str
    md5: str | None
    people: int | None = None
    actions: int | None = None
    ratings: int | None = None

    @property
    def terms(self) -> str:
        """What the user may do with it."""
        free = "It may be passed on under the same conditions."
        return TERMS.format(sharing=free if self.md5 is None else "It may not be passed on without their permission.")

    @property
    def address(self) -> str:
        """Where GroupLens offers the archive."""
        return f"https://files.grouplens.org/datasets/movielens/{self.archive}"


DATASETS = {
    "1m": Dataset("ml-1m.zip", "c4d9eecfca2ab87c1945afe126590906", 1_589, 1_132, 498_677),
    "20m": Dataset("ml-20m.zip", "cd245b17a1ae2cc31bb14903e1204af3", 26_826, 6_236, 11_905_303),
    "32m": Dataset("ml-32m.zip", "d472be332d4daa821edc399621853b57", 42_197, 8_777, 19_832_758),
    "latest-small": Dataset("ml-latest-small.zip", None),
}
"""The datasets by name."""

_RATINGS = ("ratings.csv", "ratings.csv.gz", "ratings.dat")
_MOVIES = ("movies.csv", "movies.dat")


def locate(name: str) -> Path | None:
    """Return the folder of a dataset that is here, or None: in LPB_DATA if that is set, else in the user's cache."""
    validate.as_choice(name, "dataset", DATASETS)
    folder = f"ml-{name}"
    given = os.environ.get("LPB_DATA")
    places = [Path(given) / folder] if given else []
    places.append(platformdirs.user_cache_path("lpbandits") / "movielens" / folder)
    return next((place for place in places if _is_whole(place)), None)


def require(name: str) -> Path:
    """Return the folder of a dataset, or say how to get it."""
    place = locate(name)
    if place is None:
        raise InvalidInput(
            f"MovieLens {name} is not here; run `lpb data movielens {name}`, or with your own copy "
            f"`lpb data movielens {name} --from {DATASETS[name].archive}`"
        )
    return place


def install(name: str, source: str | Path | None = None, *, progress: Progress | None = None) -> Path:
    """Put a dataset into the user's cache, from a zip or folder or by download, and return its folder."""
    validate.as_choice(name, "dataset", DATASETS)
    target = platformdirs.user_cache_path("lpbandits") / "movielens" / f"ml-{name}"
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(target.name + ".part")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    try:
        if source is None:
            archive = fresh / DATASETS[name].archive
            _download(name, archive, progress)
            _unpack(name, archive, fresh)
            archive.unlink()
        elif Path(source).is_dir():
            _copy(Path(source), fresh)
        else:
            _unpack(name, Path(source), fresh)
        if not _is_whole(fresh):
            raise InvalidInput(
                f"{source or 'the download'} is not MovieLens: it needs one of {', '.join(_RATINGS)} and one of "
                f"{', '.join(_MOVIES)}"
            )
        _check_size(name, fresh)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def _check_size(name: str, folder: Path) -> None:
    """Refuse another dataset under this one's name: the paper's filter must give the paper's sizes."""
    dataset = DATASETS[name]
    if dataset.people is None:
        return
    ratings = read_ratings(folder, min_person=200, min_action=200)
    found = (len(ratings.people), len(ratings.actions), len(ratings))
    if found != (dataset.people, dataset.actions, dataset.ratings):
        raise InvalidInput(
            f"this is not MovieLens {name}: after the paper's filter it has {found[0]:,} people, {found[1]:,} movies "
            f"and {found[2]:,} ratings instead of {dataset.people:,}, {dataset.actions:,} and {dataset.ratings:,}"
        )


def _is_whole(folder: Path) -> bool:
    return all(any((folder / name).is_file() for name in names) for names in (_RATINGS, _MOVIES))


def _copy(source: Path, target: Path) -> None:
    for name in (*_RATINGS, *_MOVIES):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def _unpack(name: str, archive: Path, target: Path) -> None:
    if not archive.is_file():
        raise InvalidInput(f"{archive} does not exist; give the downloaded {DATASETS[name].archive} or its folder")
    _check(name, archive)
    try:
        with zipfile.ZipFile(archive) as bundle:
            for member in bundle.namelist():
                plain = Path(member).name
                if plain in (*_RATINGS, *_MOVIES):
                    with bundle.open(member) as packed, (target / plain).open("wb") as out:
                        shutil.copyfileobj(packed, out)
    except zipfile.BadZipFile:
        raise InvalidInput(f"{archive} is not a whole zip file; download it again") from None


def _check(name: str, archive: Path) -> None:
    wanted = DATASETS[name].md5
    if wanted is None:
        return
    with archive.open("rb") as raw:
        found = hashlib.file_digest(raw, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != wanted:
        raise InvalidInput(
            f"{archive} has checksum {found}, but {DATASETS[name].archive} has {wanted}; download it again"
        )


def _download(name: str, target: Path, progress: Progress | None) -> None:
    dataset = DATASETS[name]
    try:
        with urllib.request.urlopen(dataset.address, timeout=30) as answer, target.open("wb") as out:  # noqa: S310
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
            f"cannot download {dataset.address} ({reason}); fetch {dataset.archive} elsewhere and run "
            f"`lpb data movielens {name} --from {dataset.archive}`"
        ) from None
