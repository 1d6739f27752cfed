"""Shared fixtures of the paper's tests: a small MovieLens log, and the task of one draw."""

import numpy as np
import pytest

from lpbandits.paper.movielens import MovieLensTask, read_log
from tests.movielens_log import Log, write_log

RUN_SEED, DRAW = 5, 2


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return write_log(tmp_path_factory.mktemp("ml"))


@pytest.fixture(scope="session")
def task(log: Log) -> MovieLensTask:
    """Return the task of draw 2 of a run with seed 5."""
    seed = int(np.random.SeedSequence([RUN_SEED, DRAW]).generate_state(1)[0])
    return MovieLensTask.of(*read_log(log.folder), seed=seed)
