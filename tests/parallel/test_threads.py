"""`one_thread`: linear algebra has one thread, whichever thread of this process asks."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from lpbandits.parallel import one_thread


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_last_thread_to_leave_resets_the_limit() -> None:
    def enter(block: "AbstractContextManager[None]") -> None:
        block.__enter__()
        assert blas_threads() == {1}

    def leave(block: "AbstractContextManager[None]", n_threads: int) -> None:
        block.__exit__(None, None, None)
        assert blas_threads() == {n_threads}

    first, second, third = one_thread("blas"), one_thread("blas"), one_thread("blas")
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        one.submit(enter, first).result()
        two.submit(enter, second).result()
        one.submit(leave, first, 1).result()
        two.submit(leave, second, 2).result()
        two.submit(enter, third).result()
        one.submit(leave, third, 2).result()


def test_a_library_loaded_inside_the_block_has_one_thread() -> None:
    script = (
        "from lpbandits.parallel import one_thread\n"
        "from threadpoolctl import threadpool_info\n"
        "with one_thread('blas'):\n"
        "    import scipy.linalg\n"
        "    print({library['num_threads'] for library in threadpool_info() if library['user_api'] == 'blas'})\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    words = [sys.executable, "-c", script]
    assert subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout == "{1}\n"
