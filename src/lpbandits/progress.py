"""Progress reports and the time spent per stage."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, the number of finished parts and their total."""


@dataclass
class Stopwatch:
    """Record the seconds spent per stage and report progress.

    >>> calls = []
    >>> watch = Stopwatch(lambda *call: calls.append(call))
    >>> with watch.part("count", 0, 2): pass
    >>> calls, list(watch.seconds)
    ([('count', 0, 2), ('count', 1, 2)], ['count'])
    """

    progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, stage: str, done: int = 0, total: int = 1) -> Iterator[None]:
        """Time one part of a stage; `done` of its `total` parts are finished."""
        start = time.perf_counter()
        if self.progress:
            self.progress(stage, done, total)
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
        if self.progress:
            self.progress(stage, done + 1, total)

    def skip_to_end(self, stage: str, total: int) -> None:
        """Report that a stage is complete, although not all its parts were needed."""
        if self.progress:
            self.progress(stage, total, total)
