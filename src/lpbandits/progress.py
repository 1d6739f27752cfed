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

    >>> said = []
    >>> watch = Stopwatch(lambda *news: said.append(news))
    >>> with watch.part("count", 0, 2): pass
    >>> said, list(watch.seconds)
    ([('count', 0, 2), ('count', 1, 2)], ['count'])
    """

    progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, stage: str, done: int = 0, total: int = 1) -> Iterator[None]:
        """Time one part of a stage, of which `done` of `total` parts are over."""
        start = time.perf_counter()
        if self.progress:
            self.progress(stage, done, total)
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
        if self.progress:
            self.progress(stage, done + 1, total)

    def skip_to_end(self, stage: str, total: int) -> None:
        """Say that a stage ended before all its parts were needed."""
        if self.progress:
            self.progress(stage, total, total)
