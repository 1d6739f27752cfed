"""Notes on the terminal."""

import warnings

import pytest

from lpbandits.cli.screen import progress_bar
from lpbandits.errors import StalledWarning


def test_a_warning_is_printed_at_once_as_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("waiting"):
        warnings.warn("the scheduler at tcp://10.0.0.1:8786 has been silent", StalledWarning, stacklevel=1)
        assert capsys.readouterr().err == "note: the scheduler at tcp://10.0.0.1:8786 has been silent\n"
    with pytest.warns(StalledWarning):
        warnings.warn("the scheduler has been silent", StalledWarning, stacklevel=1)
    assert capsys.readouterr().err == ""
