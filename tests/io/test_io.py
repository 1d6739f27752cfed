"""Atomic writes, bounded reads, compressed files and the cache folder."""

import errno
import gzip
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.data.names import read_names
from lpbandits.errors import FileFormatError, InvalidInput, ResourceError, translate_errors
from lpbandits.io import atomic, compressed, paths
from lpbandits.io import json as json_io

SOURCES = Path(lpb.__file__).parent
MODEL = lpb.PreferenceModel([[0, 1], [1, 0]])
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fails(*_: Any, **__: Any) -> Any:
    raise FULL


def results() -> lpb.Results:
    return lpb.simulate(lpb.SyntheticWorld(states=2, actions=3), ["uniform"], people=2, rounds=3, threads=1)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


# writing


def test_a_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    before = os.umask(0o027)
    try:
        MODEL.save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    MODEL.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_links_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "model.json")
    MODEL.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert lpb.PreferenceModel.load(tmp_path / "model.json") == MODEL
    MODEL.save("/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    MODEL.save(pipe)
    assert json.loads(os.read(reader, 2**16)) == MODEL.to_dict()
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(("owner", "name"), [(os, "fsync"), (Path, "replace"), (Path, "chmod")])
def test_a_failed_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    path = tmp_path / "model.json"
    MODEL.save(path)
    old = path.read_bytes()
    monkeypatch.setattr(owner, name, fails)
    with pytest.raises(InvalidInput, match=r"model\.json: No space left on device"):
        lpb.PreferenceModel([[0, 1, 2]]).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda home: home, "Is a directory"),
        (lambda home: home / "no" / "model.json", "No such file or directory"),
        (lambda home: home / "file" / "model.json", "Not a directory"),
        (lambda home: home / ("x" * 300), "File name too long"),
    ],
)
def test_an_unwritable_path_raises(tmp_path: Path, make: Callable[[Path], Any], message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=f"cannot write .*({message})"):
        MODEL.save(make(tmp_path))


def test_a_manifest_lists_the_hash_of_every_file(tmp_path: Path) -> None:
    out = results().save(tmp_path / "out")
    files = json.loads((out / "manifest.json").read_text())["files"]
    assert files == {name: atomic.sha256(out / name) for name in ("curves.parquet", "people.parquet")}
    assert {file.name for file in out.iterdir()} == {"manifest.json", *files}


@pytest.mark.parametrize("failing", ["curves.parquet", "people.parquet", "manifest.json"])
def test_a_failed_folder_is_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    results().save(tmp_path)
    old = contents(tmp_path)
    plain = atomic.write_bytes

    def write(path: Any, content: bytes) -> None:
        if Path(path).name == failing:
            raise InvalidInput(f"cannot write {path}: No space left on device")
        plain(path, content)

    monkeypatch.setattr(atomic, "write_bytes", write)
    with pytest.raises(InvalidInput, match=rf"{tmp_path}/{failing}: No space left"):
        results().save(tmp_path)
    assert contents(tmp_path) == old


def test_an_interrupted_folder_has_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results().save(tmp_path)
    plain = Path.replace

    def replace(self: Path, target: Any) -> Path:
        if Path(target) == tmp_path / "people.parquet":
            raise KeyboardInterrupt
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        results().save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"curves.parquet", "people.parquet"}


def test_a_folder_has_a_manifest_only_without_the_files_it_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with atomic.atomic_folder(tmp_path, {}) as folder:
        (folder / "old.csv").touch()
    plain = Path.replace

    def replace(self: Path, target: Any) -> Path:
        assert Path(target).parent != tmp_path or not (tmp_path / "old.csv").exists()
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with atomic.atomic_folder(tmp_path, {}, replaces=["old.csv", "new.csv"]) as folder:
        (folder / "new.csv").touch()
    assert {file.name for file in tmp_path.iterdir()} == {"new.csv", "manifest.json"}


def test_formulas_in_csv_are_escaped_on_request(tmp_path: Path) -> None:
    labels = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "a=1", "'x", "7"]
    table = pl.DataFrame({"person": labels, "low": [-1.5] * len(labels), "state": [-2] * len(labels)})
    escaped = table.with_columns(person=pl.Series([f"'{label}" for label in labels[:6]] + labels[6:]))
    for escape, name in [(False, "a.csv"), (True, "a.csv"), (True, "a.parquet")]:
        atomic.write_stream(tmp_path / name, table.lazy(), escape_formulas=escape)
        found = pl.read_csv(tmp_path / name) if name == "a.csv" else pl.read_parquet(tmp_path / name)
        assert found.equals(escaped if escape and name == "a.csv" else table)


def test_only_io_writes_files() -> None:
    calls = re.compile(r"\.(write|sink)_(text|bytes|parquet|csv)\([^)]|json\.dump\(|\.open\(.[wa]|np\.save|mkdtemp")
    writers = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if file.parent.name != "io"
        for line in file.read_text(encoding="utf-8").splitlines()
        if calls.search(line) and ">>>" not in line
    }
    # a download and the files of a log, both in temporary folders; an export through `atomic_file`; files that several
    # processes lock: the store, and the queue of the client
    service = {"service/export.py", "service/store/database.py", "client/queue.py"}
    assert writers == {"data/spill.py", "datasets/movielens.py", *service}


# reading JSON


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe{}", "not UTF-8"),
        ("[" * 100_000, "nested too deep"),
        ("[" + "9" * 5000 + "]", "thousands of digits"),
        ("[1e400]", "holds 1e400"),
        ("[NaN]", "holds NaN"),
        ("[-Infinity]", "holds -Infinity"),
        ('["\\ud800"]', "not UTF-8"),
        ('{"\\udfff": 1}', "not UTF-8"),
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "the key 'c' twice"),
        ("{" + ",".join(f'"k{i:07d}":0' for i in range(200_000)) + ',"z":1,"z":2}', "the key 'z' twice"),
        ("[1, 2", "not valid JSON"),
        ("", "not valid JSON"),
        (7, "got int"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_invalid_json_raises(text: Any, message: str) -> None:
    with pytest.raises(FileFormatError, match=f"it .*({message})"):
        json_io.parse_json(text, "it")


def test_json_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(FileFormatError, match="cannot read"):
            json_io.read_json(path)
    monkeypatch.setattr(json_io, "MAX_BYTES", 100)
    (tmp_path / "a.json").write_text(json.dumps(list(range(100))))
    for path in (tmp_path / "a.json", Path("/dev/zero")):
        with pytest.raises(FileFormatError, match="limit of 100 bytes"):
            json_io.read_json(path)


# reading tables


def log(rows: int = 100) -> str:
    return "user,item,rating\n" + "".join(f"{i // 10},{i % 10},{i % 5}\n" for i in range(rows))


def test_the_decompressed_size_is_limited(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.csv.gz"
    text = "user,item,rating,note\n" + "".join(f"{i},{i % 7},{i % 5},{'0' * 1_000_000}\n" for i in range(70))
    bomb.write_bytes(gzip.compress(text.encode(), 1))
    with pytest.raises(InvalidInput, match=r"bomb\.csv\.gz.*67,108,864 bytes.*--unpack-limit"):
        lpb.read_ratings(bomb)
    assert len(lpb.read_ratings(bomb, unpack_limit=10**9)) == 70
    with pytest.raises(InvalidInput, match=r"limit of 1,000 bytes"):
        lpb.read_ratings(bomb, unpack_limit=1000)
    bundle = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ml/ratings.csv", text)
    with pytest.raises(InvalidInput, match=r"bomb\.zip:ml/ratings\.csv.*67,108,864"):
        lpb.read_ratings(bundle)


def zipped(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ratings.csv", text)
    return buffer.getvalue()


ZIP = zipped(log())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.zip", ZIP[:-30], "cannot unpack"),
        ("a.zip", ZIP[:60] + b"\xff" + ZIP[61:], "cannot unpack"),
        ("a.zip", ZIP.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"), "is encrypted"),
        ("a.csv", b"\x28\xb5\x2f\xfdxxxxxxxx", "compressed with zstandard"),
        ("a.csv", b"BZh9xxxxxxxx", "compressed with bzip2"),
        ("a.csv", b"\x78\x9cxxxxxxxx", "compressed with zlib"),
        ("a.csv", b"PK\x03\x04xxxxxxxx", "compressed with zip"),
        ("u.data", "\t".join("1" * 20_000) + "\n", "columns.*10,000"),
        ("ratings.dat", "::".join("1" * 20_000) + "\n", "columns.*10,000"),
        ("a.csv", log() + "1,2," + "3" * 2**21, r"line 102: rating is '333"),
        ("a.csv", "a," * 2**17, "131,073 columns"),
        *(("a.csv", log() + f"99,1,{x}\n", r"a\.csv, line 102: rating.*1e\+100") for x in ("1e308", "-1e308", "1e101")),
    ],
    ids=range(14),
)
def test_invalid_tables_raise(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(tmp_path / name)


def test_a_full_disk_is_not_reported_as_a_damaged_file() -> None:
    with pytest.raises(InvalidInput, match=r"no space left for log\.csv in /.*TMPDIR"):
        compressed.copy(io.BytesIO(b"user,item,rating\n"), Path("/dev/full"), "log.csv", 100)


def test_corrupt_parquet_raises(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    buffer = io.BytesIO()
    pl.DataFrame({"user": range(100), "item": range(100), "rating": [1.0] * 100}).write_parquet(buffer)
    valid = buffer.getvalue()
    path = tmp_path / "a.parquet"
    for position in range(0, len(valid), 37):
        data = bytearray(valid)
        data[position] ^= 0xFF
        path.write_bytes(data)
        try:
            lpb.read_ratings(path)
        except InvalidInput as error:
            assert "a.parquet" in str(error)  # noqa: PT017 - most damage is noticed, some is not
    assert "panicked" not in capfd.readouterr().err


def test_names_with_an_overlong_field_raise(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text('id,name\n1,"' + "x" * 200_000 + '"\n')
    with pytest.raises(InvalidInput, match=r"names.csv.*field limit"):
        read_names(path)


# paths and errors of other libraries


def test_a_path_with_a_null_byte_raises(tmp_path: Path) -> None:
    for use in (json_io.read_json, MODEL.save, lpb.read_ratings, read_names, atomic.as_folder):
        with pytest.raises(InvalidInput, match=r"path .*null byte"):
            use(f"{tmp_path}/a\0b")


def test_without_a_home_there_is_no_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert paths.cache_path() is None


@pytest.mark.parametrize(
    "error", [MemoryError(), FULL, pl.exceptions.ComputeError("x"), pl.exceptions.PanicException("x")]
)
def test_system_errors_become_resource_errors(error: BaseException) -> None:
    with pytest.raises(ResourceError, match="counting: ") as caught, translate_errors("counting"):
        raise error
    assert caught.value.__cause__ is error


def test_programming_errors_are_not_translated() -> None:
    with pytest.raises(KeyError), translate_errors("counting"):
        raise KeyError("x")


def test_a_folder_in_place_of_a_file_raises_before_any_file_moves(tmp_path: Path) -> None:
    results().save(tmp_path)
    (tmp_path / "people.parquet").unlink()
    (tmp_path / "people.parquet").mkdir()
    old = contents(tmp_path)
    with pytest.raises(InvalidInput, match=r"people\.parquet.*it is a folder"):
        results().save(tmp_path)
    assert contents(tmp_path) == old


def test_names_keep_line_separators(tmp_path: Path) -> None:
    names = {"a0": "Heat\u2028Two", "a1": "x\ny", "a2": "z\x0bq"}
    text = "id,name\n" + "".join(f'{label},"{name}"\n' for label, name in names.items())
    (tmp_path / "names.csv").write_text(text, newline="")
    assert read_names(tmp_path / "names.csv") == names
    (tmp_path / "movies.dat").write_bytes("1::L\x85on::Drama\n".encode("latin-1"))
    assert read_names(tmp_path / "movies.dat") == {"1": "L\x85on"}
