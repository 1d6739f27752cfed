"""Notes on the terminal."""

import re
import warnings

import pytest
from rich.console import Console

from lpbandits.cli.screen import COMPILES, print_table, progress_bar
from lpbandits.errors import StalledWarning


def test_a_warning_is_printed_at_once_as_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("waiting"):
        warnings.warn("the scheduler at tcp://10.0.0.1:8786 has been silent", StalledWarning, stacklevel=1)
        assert capsys.readouterr().err == "note: the scheduler at tcp://10.0.0.1:8786 has been silent\n"
    with pytest.warns(StalledWarning):
        warnings.warn("the scheduler has been silent", StalledWarning, stacklevel=1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_is_told_that_the_first_run_compiles(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Console, "is_terminal", terminal)
    with progress_bar(note=COMPILES):
        pass
    assert (COMPILES in capsys.readouterr().err) == terminal


@pytest.mark.parametrize(("width", "shown"), [(200, ["a", "b", "c"]), (30, ["a", "c"]), (14, ["a"])])
def test_a_narrow_terminal_leaves_out_spare_columns(
    width: int, shown: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Console, "is_terminal", True)
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("", ["a", "b", "c"], [["x" * 12, "1" * 20, "2" * 9]], spare=["b", "c"])
    heading = re.sub("\x1b[^m]*m", "", capsys.readouterr().out).splitlines()[1]
    assert heading.split() == shown


@pytest.mark.parametrize("width", [40, 60, 80])
def test_words_and_numbers_are_not_broken(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Console, "is_terminal", True)
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [["popularity", "Mushroom noodles · Aubergine soup", "+0.089 [+0.054]"], ["ts", "Beef stew", "1.0"]]
    print_table("", ["policy", "dishes", "gain"], rows)
    text = re.sub("\x1b[^m]*m", "", capsys.readouterr().out)
    for word in ("popularity", "Mushroom", "Aubergine", "noodles", "+0.089 [+0.054]"):
        assert word in text
    assert max(map(len, text.splitlines())) <= width


def test_a_table_that_is_not_on_a_terminal_is_not_folded(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["policy", "knows"], [["lpbts", "many words " * 13]])
    assert len(capsys.readouterr().out.splitlines()) == 3
