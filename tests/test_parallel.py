"""The one seam to more cores: order, interrupts, and who may use it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from lpbandits.parallel import each

ROOT = Path(__file__).parent.parent


def slow_square(x: int) -> int:
    time.sleep(0.02 * (x % 3))
    return x * x


def fails_at_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


@pytest.mark.parametrize("kind", ["threads", "processes"])
@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_jobs(kind: str, workers: int) -> None:
    jobs = ((x,) for x in range(12))
    assert list(each(slow_square, jobs, workers=workers, kind=kind)) == [x * x for x in range(12)]  # type: ignore[arg-type] # as declared


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_an_error_in_a_job_is_the_error(kind: str) -> None:
    with pytest.raises(ValueError, match="three"):
        list(each(fails_at_three, ((x,) for x in range(9)), workers=2, kind=kind))  # type: ignore[arg-type] # as declared
    assert list(each(slow_square, [(2,)], workers=2, kind=kind)) == [4]  # type: ignore[arg-type] # as declared


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_workers_and_says_so(number: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, time
            from pathlib import Path
            import lpbandits.cli as cli
            from lpbandits.parallel import each

            def endless(i):
                Path(sys.argv[1], f"worker-{os.getpid()}").touch()
                time.sleep(600)

            def command():
                try:
                    list(each(endless, [(i,) for i in range(4)], workers=2, kind="processes"))
                finally:
                    Path(sys.argv[1], "cleaned").touch()

            if __name__ == "__main__":
                cli.app = command
                cli.main()
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("worker-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    assert len(workers) == 2
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert error.strip().endswith("lpb: stopped")
    assert (tmp_path / "cleaned").exists()
    for worker in workers:
        assert not Path(f"/proc/{worker}").exists() or _is_dead(worker)


def _is_dead(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
