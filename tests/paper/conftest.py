"""Shared by the paper's tests: a small MovieLens log, the task of one draw, and plainly built policies."""

import numpy as np
import pytest

from lpbandits.paper.movielens import MovieLensTask, read_log
from lpbandits.policies.baselines import TS
from lpbandits.policies.latent import MTS, LpbIDS, LpbTS, LpbUtility
from lpbandits.simulation.run import Build
from tests.movielens_log import Log, write_log

RUN_SEED, DRAW = 5, 2

PLAIN: dict[str, Build] = {
    "mts": lambda s: MTS(s.model, noise=s.rewards.sd, first="prior"),
    "lpb-utility": lambda s: LpbUtility(s.model, noise=s.rewards.sd),
    "lpb-ids": lambda s: LpbIDS(s.model, noise=s.rewards.sd),
    "lpbts-marginal": lambda s: LpbTS(s.model, noise=s.rewards.sd, likelihood="marginal", first="uniform"),
    "lpbts-incremental": lambda s: LpbTS(s.model, noise=s.rewards.sd, likelihood="incremental", first="uniform"),
    "lpbts": lambda s: LpbTS(s.model, noise=s.rewards.sd, first="uniform"),
    "ts": lambda s: TS(s.model, noise=s.rewards.sd, prior_sd=100.0),
    "ts-top": lambda s: TS(s.model, noise=s.rewards.sd, prior_sd=100.0, top=True),
    "ts-narrow": lambda s: TS(s.model, noise=s.rewards.sd, prior_sd=1.0),
}
"""Policies of the figures, built without the registry."""


def plain(*names: str) -> dict[str, Build]:
    return {name: PLAIN[name] for name in names}


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return write_log(tmp_path_factory.mktemp("ml"))


@pytest.fixture(scope="session")
def task(log: Log) -> MovieLensTask:
    """Return the task of draw 2 of a run with seed 5."""
    seed = int(np.random.SeedSequence([RUN_SEED, DRAW]).generate_state(1)[0])
    return MovieLensTask.of(*read_log(log.folder), seed=seed)
