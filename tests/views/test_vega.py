"""Vega's scripts are put together once, and what is kept of them is not believed unless it is whole."""

from collections.abc import Callable
from pathlib import Path

import pytest
import vl_convert

from lpbandits.io import paths
from lpbandits.views.vega import scripts

MADE = "let all = 'für alle';\r\n"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[None]:
    """Return who put scripts together so far, in a cache folder of its own."""
    calls: list[None] = []

    def bundle(_: None) -> str:
        calls.append(None)
        return MADE

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setattr(paths, "cache_path", lambda: tmp_path / "cache")
    return calls


def test_scripts_are_put_together_once_for_each_version(
    made: list[None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [scripts(), scripts()] == [MADE, MADE]
    assert len(made) == 1
    monkeypatch.setattr("lpbandits.views.vega.version", lambda _: "99.0")
    assert scripts() == MADE
    assert len(made) == 2
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-3]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"all", b"bad")),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff\n\xff"),
    ],
    ids=["cut", "altered", "empty", "no text"],
)
def test_what_was_damaged_is_made_anew(damage: Callable[[Path], None], made: list[None], tmp_path: Path) -> None:
    scripts()
    damage(next((tmp_path / "cache").iterdir()))
    assert [scripts(), scripts()] == [MADE, MADE]
    assert len(made) == 2


def test_what_is_kept_where_nothing_can_be_written_is_read(made: list[None], monkeypatch: pytest.MonkeyPatch) -> None:
    scripts()
    monkeypatch.setattr(paths, "writable", lambda _: None)
    assert scripts() == MADE
    assert len(made) == 1


def test_where_nothing_can_be_kept_they_are_made(
    made: list[None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file")
    assert scripts() == MADE
    (tmp_path / "cache").unlink()
    monkeypatch.setattr("lpbandits.views.vega.version", lambda _: "99.0")
    (tmp_path / "cache" / "vega-99.0.sealed").mkdir(parents=True)
    assert scripts() == MADE
    monkeypatch.setattr(paths, "cache_path", lambda: None)
    assert scripts() == MADE
    assert len(made) == 3
