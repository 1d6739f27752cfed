"""Notes on the terminal."""

import warnings

import pytest
from rich.console import Console

from lpbandits.cli.screen import COMPILES, progress_bar
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
