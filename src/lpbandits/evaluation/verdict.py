"""The verdict of an evaluation as one sentence."""

from collections.abc import Mapping

from lpbandits.evaluation.results import Gain, Score, titled
from lpbandits.text import pluralize

RELEVANT_GAIN = 0.1
"""A gain above this would justify more people, if the interval does not rule it out."""

MAX_LOSERS = 2
"""Maximum number of policies below popularity that the sentence names."""


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
    """Return the verdict: about the `best` policy, or about the candidate if popularity is best.

    `against` holds the gain of that policy over the others; `unseen` is whether the people are known to be held out.

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
    losers = _losers(candidate, policies)
    if best != "popular":
        gain = policies[best].vs_popularity
        parts = [f"{titled(best)} gains {gain} over popularity {within}", *_versus_references(against), *losers]
        return f"{where}, {'; '.join(parts)}."
    ahead = [
        f"{titled(name)} gains {policies[name].vs_popularity}"
        for name in ("item-knn", "ease")
        if name in policies and policies[name].vs_popularity.sign > 0
    ]
    what = "no policy beats popularity, but a recommender does" if ahead else "nothing beats popularity"
    parts = [_not_better(candidate, policies[candidate].vs_popularity, within), *ahead, *losers]
    return f"{where}, {what}: {'; '.join(parts)}."


def _not_better(candidate: str, gain: Gain, within: str) -> str:
    """Return the result of the selected policy, and whether a relevant gain is ruled out."""
    who = f"{titled(candidate)} (selected on the development set)"
    if gain.mean == gain.low == gain.high == 0.0:
        return f"{who} gives each person the same score as popularity"
    text = f"{who} scores {gain.signed} {within}"
    if gain.sign > 0:
        return f"{text}, but did not beat popularity on the development set"
    high = gain.high if gain.high is not None else float("inf")
    return f"{text}, with too few people to rule out a gain of {high:.2f}" if high > RELEVANT_GAIN else text


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


def _losers(candidate: str, policies: Mapping[str, Score]) -> list[str]:
    """Return the policies that are significantly below popularity, lpbTS first."""
    lost = [
        score
        for name, score in policies.items()
        if score.kind == "policy" and score.vs_popularity.sign < 0 and name not in ("random", candidate)
    ]
    lost.sort(key=lambda score: (score.name != "lpbts", score.vs_popularity.mean))
    return [f"{titled(score.name)} loses {-score.vs_popularity.mean:.3f}" for score in lost[:MAX_LOSERS]]
