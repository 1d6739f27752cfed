"""A log with known states, and helpers of the evaluation tests."""

from typing import Any

import numpy as np

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.evaluation.replay import Replay, play_recorded
from lpbandits.typing import FloatArray
from tests.logs import log_of

PLANTED = log_of(300, 20, states=3, noise=0.5, seed=1)
"""A log of three states with different orderings, and enough people for a single split."""


def policy_scores(replay: Replay, policy: lpb.Policy, *, seed: int) -> FloatArray:
    """Return the scores of a policy, people × rounds."""
    return replay.scores_of_games([play_recorded(*game) for game in replay.games(lambda _: [policy], seed=seed)], 1)[0]


def rows_of(log: Ratings) -> tuple[Any, Any, Any]:
    """Return the person, action and rating of each row of a log."""
    return np.array(log.people)[log.owner], np.array(log.actions)[log.action], log.rating.copy()
