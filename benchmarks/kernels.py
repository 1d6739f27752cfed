"""Instructions per decision of the compiled rollout, counted by callgrind: other load on the machine has no effect.

numba compiles for the machine it runs on, and valgrind does not support AVX-512. The code is therefore compiled
beforehand, natively, for one fixed processor; under valgrind it is loaded from numba's cache. The key of that cache is
the processor's name and features, and both must be set: otherwise numba detects the features again and compiles under
valgrind, which takes minutes. A valgrind client request switches counting on for the rollout only, so imports run at a
tenth of native speed instead of a fiftieth, and one process measures all sizes. The difference between two numbers of
people is the cost of one person.
"""

import ctypes
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.core import ROUNDS, population
from benchmarks.measure import Row

GOALS = {(5, 10): 2_000.0, (10, 20): 4_200.0, (50, 50): 22_000.0, (100, 20): 55_000.0}
FIXED = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0"}

DUMP, START, STOP = (0x43540000 + number for number in (0, 4, 5))  # valgrind/callgrind.h: 'C' 'T', then its enum
REQUEST = bytes.fromhex(  # valgrind/valgrind.h for x86-64, as a C function of a pointer to six numbers
    "4889f8"  # mov rax, rdi: address of the request
    "31d2"  # xor edx, edx: result outside valgrind
    "48c1c703 48c1c70d 48c1c73d 48c1c733"  # rol rdi by 3, 13, 61 and 51: no effect; valgrind's marker
    "4887db"  # xchg rbx, rbx: the request itself
    "4889d0 c3"  # mov rax, rdx; ret
)


def rows() -> list[Row]:
    """Count at four sizes, or print why this is not possible; takes up to a minute."""
    if shutil.which("valgrind") is None or platform.machine() not in ("x86_64", "AMD64"):
        print("kernels: not measured; this needs valgrind on x86-64", file=sys.stderr)
        return []
    here = [sys.executable, "-m", "benchmarks.kernels"]
    environment = {**os.environ, **FIXED}
    subprocess.run(here, env=environment, check=True)  # noqa: S603 - our own program: fill numba's cache
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        subprocess.run([*tool, *here], env=environment, check=True, capture_output=True)  # noqa: S603 - our own program
        counts = [_total(out.with_name(f"out.{number}")) for number in range(1, 2 * len(GOALS) + 1)]
    found = []
    for i, ((m, k), goal) in enumerate(GOALS.items()):
        each = (counts[2 * i + 1] - counts[2 * i]) / (m * ROUNDS)
        found.append(Row(f"instructions per decision, lpbTS, m={m} k={k}", each, goal, at_most=True, unit=""))
    return found


def _total(dump: Path) -> int:
    found = re.search(r"^totals: (\d+)", dump.read_text(), flags=re.MULTILINE)
    if found is None:
        raise SystemExit(
            f"kernels: {dump.name} of callgrind has no totals; this version of valgrind may have another format"
        )
    return int(found[1])


def inside() -> None:
    """Simulate one and two people per state at every size, with one dump each; without valgrind, fill the cache."""
    import lpbandits as lpb  # noqa: PLC0415 - after the environment is known
    from lpbandits.simulation import rollout  # noqa: PLC0415 - as above

    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(REQUEST)
    call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def request(code: int) -> None:
        held = (ctypes.c_long * 6)(code)
        call(ctypes.addressof(held))

    some = population(2, 3, 1)
    rollout(lpb.LpbTS(some.model), some, rounds=2, seed=0)  # loading machine code from the cache is not counted
    for m, k in GOALS:
        for people in (1, 2):
            some = population(m, k, people)
            policy = lpb.LpbTS(some.model)
            request(START)
            rollout(policy, some, rounds=ROUNDS, seed=0)
            request(STOP)
            request(DUMP)


if __name__ == "__main__":
    inside()
