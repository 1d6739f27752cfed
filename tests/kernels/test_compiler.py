"""The cache of machine code is kept only where no other user can write."""

import os
from pathlib import Path

import pytest

from lpbandits.io import paths
from lpbandits.kernels import compiler

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="without users there is nothing to check")


def test_a_private_folder_is_created_for_the_user_alone(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)  # as /tmp: only its owner can replace a folder in it
    umask = os.umask(0)
    try:
        folder = paths.private_folder(shared / "cache" / "kernels")
    finally:
        os.umask(umask)
    assert folder == shared / "cache" / "kernels"
    assert [level.stat().st_mode & 0o777 for level in (folder, folder.parent)] == [0o700, 0o700]
    assert paths.private_folder(folder) == folder
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert paths.private_folder(link) == folder


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    assert paths.private_folder(folder) is None
    if not mode & 0o1000:
        assert paths.private_folder(folder / "kernels") is None  # they could replace it


def test_only_the_users_own_group_may_write(tmp_path: Path) -> None:
    groups = [os.getuid(), os.getuid() + 1]
    for group in groups:
        tmp_path.chmod(0o770)
        try:
            os.chown(tmp_path, -1, group)
        except PermissionError:
            pytest.skip("only root can give a folder to any group")
        assert (paths.private_folder(tmp_path) == tmp_path) == (group == os.getuid())


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert paths.private_folder(tmp_path) == tmp_path
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert paths.private_folder(tmp_path) is None
    assert paths.private_folder(tmp_path / "kernels") is None


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_machine_code_is_cached_only_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    tmp_path.chmod(mode)
    monkeypatch.setattr(compiler.config, "CACHE_DIR", str(tmp_path))
    folder = compiler.cache_folder.__wrapped__()
    assert folder == (tmp_path / next(tmp_path.iterdir()) if mode == 0o700 else None)
