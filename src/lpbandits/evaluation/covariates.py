"""Whether covariates help: the selected policy is replayed with and without the priors that they give."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.data.tables import labels_as_series
from lpbandits.evaluation.contestants import Contest, Knowledge
from lpbandits.evaluation.replay import Replay, mean_scores
from lpbandits.evaluation.results import CovariateGain, Gain
from lpbandits.evaluation.splits import Result
from lpbandits.evaluation.summary import differences
from lpbandits.people.covariates import CovariateTable
from lpbandits.progress import Stopwatch
from lpbandits.typing import FloatArray, IntArray


def scores_with_covariates(
    contest: Contest,
    known: Knowledge,
    development: Mapping[str, float],
    replay: Replay,
    people: tuple[Ratings, CovariateTable],
) -> tuple[str, FloatArray] | None:
    """Replay the policy on states with the highest development score with the priors of a table's people.

    Return its name and its scores; None without such a policy.
    """
    names = [name for name in contest.on_states if name in development]
    if not names:
        return None
    name = max(names, key=development.__getitem__)
    log, table = people
    labels = labels_as_series("person", [log.people[n] for n in replay.person.tolist()])
    priors = table.priors(known.model).of(labels) if known.model.covariates is not None else None
    return name, contest.policy_scores([(name, known.model)], replay, Stopwatch(), priors=priors)[0]


def covariate_gain(results: Sequence[Result], person: IntArray, rounds: int, *, widen: float) -> CovariateGain:
    """Combine the splits; a person's difference is the mean over their splits."""
    total, times, names = np.zeros((2, len(person))), np.zeros(len(person)), Counter[str]()
    for result in results:
        if result.with_covariates is not None:
            name, scores = result.with_covariates
            rows = np.searchsorted(person, result.replay.person)
            for i, other in enumerate((name, "popular")):
                total[i, rows] += differences(mean_scores(scores), mean_scores(result.scores[other]))
            times[rows] += 1.0
            names[name] += 1
    if not names:
        return CovariateGain("", None, rounds)
    replayed = times > 0
    gain, vs_popularity = (Gain.of(one[replayed] / times[replayed], widen=widen) for one in total)
    return CovariateGain(names.most_common(1)[0][0], gain, rounds, vs_popularity)
