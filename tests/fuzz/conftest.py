"""Print the number of examples of each target at the end of `make fuzz`."""

from typing import Any

from hypothesis import settings

from tests.fuzz.test_fuzz import COUNTS, SECONDS


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if settings.get_current_profile_name() != "fuzz":
        return
    terminalreporter.write_line(f"{'target':15} {'examples':>9} {'accepted':>9} {'refused':>9} {'seconds':>9}")
    for name, counts in COUNTS.items():
        row = (name, counts.total(), counts["accepted"], counts["refused"], SECONDS[name])
        terminalreporter.write_line("{:15} {:9,} {:9,} {:9,} {:9.1f}".format(*row))
    total = sum(counts.total() for counts in COUNTS.values())
    terminalreporter.write_line(f"{total:,} examples in {sum(SECONDS.values()):.0f} s")
