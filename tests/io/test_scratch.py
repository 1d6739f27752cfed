"""Temporary folders: private, deleted on exit, and deleted by the next run if their owner was killed."""

import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from lpbandits.io.atomic import atomic_file, atomic_folder, write_text
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.scratch import UNFINISHED, owned_folder

WRITERS = {
    "temporary": "temporary_folder(Path(sys.argv[1]))",
    "file": "atomic_file(sys.argv[1] + '/model.json')",
    "folder": "atomic_folder(sys.argv[1], {})",
}
SCRIPT = """
import sys
from pathlib import Path
from lpbandits.io.atomic import atomic_file, atomic_folder
from lpbandits.io.compressed import temporary_folder
with {writer} as place:
    (place / "part" if place.is_dir() else place).write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def running(writer: str, parent: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that has written a part of a file to a temporary folder in `parent`."""
    command = [sys.executable, "-c", SCRIPT.format(writer=WRITERS[writer]), str(parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def unfinished(parent: Path) -> list[str]:
    return [path.name for path in parent.iterdir() if path.name.startswith(UNFINISHED)]


@pytest.mark.parametrize("writer", WRITERS)
def test_the_next_run_removes_folders_of_killed_processes_only(writer: str, tmp_path: Path) -> None:
    write_text(tmp_path / "model.json", "old")
    with running(writer, tmp_path) as process:
        (name,) = unfinished(tmp_path)
        assert f"-{process.pid}-" in name
        write_text(tmp_path / "other.json", "new")
        assert unfinished(tmp_path) == [name]  # its owner is alive
        process.kill()
        process.wait()
        assert unfinished(tmp_path) == [name]
    write_text(tmp_path / "other.json", "newer")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"model.json": "old", "other.json": "newer"}


def test_folders_of_other_machines_and_versions_are_kept(tmp_path: Path) -> None:
    names = [f"{UNFINISHED}00000000-1-0a", f"{UNFINISHED}0123456789abcdef", "lpbandits-0a"]
    for name in names:
        (tmp_path / name).mkdir()
    with owned_folder(tmp_path):
        pass
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_concurrent_owners_do_not_disturb_each_other(tmp_path: Path) -> None:
    def use(number: int) -> str:
        with owned_folder(tmp_path) as folder:
            (folder / "part").write_text(str(number))
            return (folder / "part").read_text()

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(use, range(500))) == list(map(str, range(500)))
    assert not list(tmp_path.iterdir())


def test_unfinished_files_cannot_be_read_by_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "model.json"
    path.touch(mode=0o600)
    with temporary_folder(tmp_path) as folder, atomic_file(path) as part, atomic_folder(tmp_path, {}) as staging:
        part.write_text("secret")
        for private in (folder, part.parent, staging):
            assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
