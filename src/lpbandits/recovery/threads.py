"""A few threads for kernels that fill separate parts of an array without the GIL."""

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from joblib import cpu_count

from lpbandits import validate


class Threads:
    """Runs `kernel(low, high, *arrays)` over a range, in blocks.

    Every block writes its own part of the output and reads nothing another one writes, so the number of threads cannot
    change a result.

    >>> import numpy as np
    >>> def double(low, high, values): values[low:high] *= 2
    >>> values = np.arange(5)
    >>> with Threads(2) as threads: threads.run(double, 5, values)
    >>> values.tolist()
    [0, 2, 4, 6, 8]
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = validate.as_count(count, "threads") if count is not None else (cpu_count() or os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None

    def run(self, kernel: Callable[..., None], total: int, *arrays: Any, blocks: int = 1, smallest: int = 1) -> None:
        """Run the kernel over 0..total−1 in `blocks` parts per thread, each at least `smallest` long."""
        parts = max(min(self.count * blocks, total // smallest), 1)
        if self._pool is None or parts == 1:
            kernel(0, total, *arrays)
            return
        edges = [total * part // parts for part in range(parts + 1)]
        jobs = [self._pool.submit(kernel, low, high, *arrays) for low, high in itertools.pairwise(edges)]
        for job in jobs:
            job.result()

    def __enter__(self) -> "Threads":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
