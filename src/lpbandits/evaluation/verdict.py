"""The verdict of an evaluation: the best policy, and one sentence about it."""

from collections.abc import Mapping

import numpy as np

from lpbandits.evaluation.contestants import YARDSTICKS
from lpbandits.evaluation.results import Gain, Score, titled
from lpbandits.evaluation.summary import differences
from lpbandits.evaluation.tuning import Choice
from lpbandits.statistics import t_multiplier
from lpbandits.text import pluralize

FAMILY_ERROR = 0.01
"""Family-wise error rate of the policies that were not selected on the development set."""

RELEVANT_GAIN = 0.1
"""If the interval includes gains above this, the sentence states that there are too few people."""

MAX_WORSE = 2
"""Maximum number of policies below popularity that the sentence names."""


def best_of(choice: Choice, policies: Mapping[str, Score]) -> str:
    """Return the policy that is significantly better than popularity, else "popular".

    The selected policy must score above popularity on the development set and, by its 95 % interval, on the report
    set. Otherwise another policy is returned if it is better at a family-wise error rate of 1 %, since the selection on
    the small development set may be poor.
    """
    candidate = choice.candidate
    if candidate is None:
        return "popular"
    if choice.scores[candidate] > choice.scores["popular"] and policies[candidate].vs_popularity.sign > 0:
        return candidate
    popular = policies["popular"].people
    gaps = {
        score.name: differences(score.people, popular)
        for score in policies.values()
        if score.kind == "policy" and score.name not in YARDSTICKS
    }
    critical = t_multiplier(len(popular), 1.0 - 2 * FAMILY_ERROR / len(gaps))
    significant = {
        name: float(gap.mean())
        for name, gap in gaps.items()
        if len(popular) > 1 and gap.mean() > critical * gap.std(ddof=1) / np.sqrt(len(popular))
    }
    return max(significant, key=lambda name: significant[name], default="popular")


def sentence(
    best: str,
    candidate: str | None,
    policies: Mapping[str, Score],
    against: Mapping[str, Gain],
    *,
    unseen: bool = True,
    people: int,
    log_people: int,
    rounds: int,
) -> str:
    """Return the verdict on the `best` policy, or on the candidate if popularity is best.

    `against` holds the gains of that policy over the others; `unseen` is whether the people are known to be held out.

    >>> taste = Score("taste", "policy", {20: 0.8}, 0.01, Gain(0.059, 0.044, 0.073), [0.8], [])
    >>> against = {"item-knn": Gain(0.0, -0.01, 0.01)}
    >>> sentence("taste", "taste", {"taste": taste}, against, people=600, log_people=1589, rounds=20)
    'On 600 held-out people (of 1,589), taste gains 0.059 [0.044, 0.073] over popularity in 20 ...
    """
    prefix = "held-out " if unseen else ""
    where = f"On {pluralize(people, f'{prefix}person', f'{prefix}people')} (of {log_people:,})"
    within = f"in {pluralize(rounds, 'round')}"
    if candidate is None:
        return f"{where}, no policy was evaluated; name one (--policies taste)."
    worse = _worse(candidate, policies)
    if best != "popular":
        gain = policies[best].vs_popularity
        parts = [f"{titled(best)} gains {gain:.3f} over popularity {within}", *_versus_references(against), *worse]
        return f"{where}, {'; '.join(parts)}."
    ahead = [
        f"{titled(name)} gains {policies[name].vs_popularity:.3f}"
        for name in ("item-knn", "ease")
        if name in policies and policies[name].vs_popularity.sign > 0
    ]
    if any(score.kind == "policy" and score.vs_popularity.sign > 0 for score in policies.values()):
        what = "no policy is chosen over popularity" + (", but a recommender beats it" if ahead else "")
    else:
        what = "no policy beats popularity, but a recommender does" if ahead else "nothing beats popularity"
    parts = [_not_better(candidate, policies[candidate].vs_popularity, within), *ahead, *worse]
    return f"{where}, {what}: {'; '.join(parts)}."


def _not_better(candidate: str, gain: Gain, within: str) -> str:
    """Return the result of the selected policy, and whether a relevant gain is ruled out."""
    selected = f"{titled(candidate)} (selected on the development set)"
    if gain.mean == gain.low == gain.high == 0.0:
        return f"{selected} gives each person the same score as popularity"
    text = f"{selected} scores {gain:+.3f} {within}"
    if gain.sign > 0:
        return f"{text}, but did not beat popularity on the development set"
    if gain.high is None:
        return f"{text}, with too few people for an interval"
    return f"{text}, with too few people to rule out a gain of {gain.high:.2f}" if gain.high > RELEVANT_GAIN else text


def _versus_references(against: Mapping[str, Gain]) -> list[str]:
    verbs = {1: "beats", 0: "ties", -1: "is behind"}
    names: dict[int, list[str]] = {}
    for name in ("item-knn", "ease"):
        if name in against:
            sign = against[name].sign
            amount = "" if sign == 0 else f" by {abs(against[name].mean):.3f}"
            names.setdefault(sign, []).append(titled(name) + amount)
    parts = [f"{verbs[sign]} {' and '.join(names[sign])}" for sign in verbs if sign in names]
    return ["it " + " and ".join(parts)] if parts else []


def _worse(candidate: str, policies: Mapping[str, Score]) -> list[str]:
    """Return the policies that are significantly worse than popularity, lpbTS first."""
    worse = [
        score
        for name, score in policies.items()
        if score.kind == "policy" and score.vs_popularity.sign < 0 and name not in ("random", candidate)
    ]
    worse.sort(key=lambda score: (score.name != "lpbts", score.vs_popularity.mean))
    return [f"{titled(one.name)} scores {-one.vs_popularity.mean:.3f} below popularity" for one in worse[:MAX_WORSE]]
