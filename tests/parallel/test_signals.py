"""Interrupts: deferred where work must not stay half done; they end workers and leave one line."""

import os
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

from lpbandits.parallel import executor_for
from lpbandits.parallel.signals import defer_signals
from tests.parallel.processes import is_running, pids_in, started, until

pytestmark = pytest.mark.xdist_group("workers")

SCRIPT = """
    import sys, time
    from pathlib import Path
    import lpbandits.cli as cli
    from lpbandits.parallel import Workers, executor_for
    from tests.parallel.processes import leave_pid

    def endless(folder):
        leave_pid(folder)
        while True:
            time.sleep(0.01)

    def command():
        try:
            with executor_for(Workers(2, sys.argv[2])) as executor:
                list(executor.map(endless, [(sys.argv[1],)] * 4))
        finally:
            Path(sys.argv[1], "cleaned").touch()

    if __name__ == "__main__":
        cli.app = command
        cli.main()
"""


def hears_sigint() -> bool:
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command with endless jobs on two workers, which leave their process ids in a folder."""
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    path = tmp_path / "endless.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return path


def test_the_first_signal_is_deferred_and_the_second_is_not() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    done = []

    def interrupt(times: int) -> None:
        with defer_signals():
            for number in range(times):
                signal.raise_signal(signal.SIGINT)
                done.append(number)

    with pytest.raises(KeyboardInterrupt):
        interrupt(1)
    assert done == [0]
    with pytest.raises(KeyboardInterrupt):
        interrupt(2)
    assert done == [0, 0]


def test_workers_block_sigint_and_this_process_does_not() -> None:
    with executor_for(2) as executor:
        assert list(executor.map(hears_sigint, [()])) == [False]
    assert hears_sigint()


@pytest.mark.parametrize(("backend", "number"), [("processes", signal.SIGINT), ("dask", signal.SIGTERM)])
def test_an_interrupt_ends_the_workers_and_prints_one_line(
    backend: str, number: signal.Signals, script: Path, tmp_path: Path
) -> None:
    """A terminal sends Ctrl-C to all processes of the command, a service manager SIGTERM to one."""
    with started([str(script), str(tmp_path), backend], stderr=subprocess.PIPE, start_new_session=True) as process:
        until(lambda: len(pids_in(tmp_path)) == 2)
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (128 + number, "lpb: stopped\n")
    assert (tmp_path / "cleaned").exists()
    assert not any(map(is_running, pids_in(tmp_path)))


def test_workers_end_when_their_parent_is_killed(script: Path, tmp_path: Path) -> None:
    with started([str(script), str(tmp_path), "processes"], stderr=subprocess.DEVNULL):
        until(lambda: len(pids_in(tmp_path)) == 2)
        time.sleep(0.1)
    until(lambda: not any(map(is_running, pids_in(tmp_path))), seconds=20)
