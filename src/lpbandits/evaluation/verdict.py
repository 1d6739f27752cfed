"""The verdict in one plain sentence."""

from collections.abc import Mapping

from lpbandits.evaluation.results import Gain, Played, titled
from lpbandits.recovery.report import counted

MOST_LOSERS = 2
"""Policies that lose to popularity, of which the sentence speaks."""


def sentence(
    candidate: str | None,
    policies: Mapping[str, Played],
    against: Mapping[str, Gain],
    *,
    promising: bool = True,
    unseen: bool = True,
    people: int,
    log_people: int,
    rounds: int,
) -> str:
    """Return what was found, as one would tell it; `promising`: the candidate did better on other people, too.

    `unseen`: it is known that nobody of them was in a fit.

    >>> played = {"taste": Played("taste", "policy", {20: 0.8}, 0.01, Gain(0.059, 0.044, 0.073), [0.8], [])}
    >>> sentence("taste", played, {"item-knn": Gain(0.0, -0.01, 0.01)}, people=600, log_people=1589, rounds=20)
    'On 600 of your 1,589 people, whom no fit had seen, taste gains 0.059 [0.044, 0.073] over popularity in 20 ...
    """
    whom = f"On {people:,} of your {counted(log_people, 'person', 'people')}" + (", whom no fit had seen" * unseen)
    within = f"in {counted(rounds, 'round')}"
    if candidate is None:
        return f"{whom}, no policy was tried; name one (--policies taste)."
    gain = policies[candidate].vs_popularity
    losers = _losers(candidate, policies)
    if promising and gain.sign > 0:
        parts = [f"{titled(candidate)} gains {gain} over popularity {within}", *_beside(against), *losers]
        return f"{whom}, {'; '.join(parts)}."
    change = f"gains {gain}" if gain.mean >= 0 else f"loses {_turned(gain)}"
    best = f"{titled(candidate)}, the best of the policies, {change} {within}"
    if gain.sign > 0:
        best += ", but nothing on the people by whom it was chosen"
    ahead = [
        f"{titled(name)} gains {policies[name].vs_popularity}"
        for name in ("item-knn", "ease")
        if name in policies and policies[name].vs_popularity.sign > 0
    ]
    what = "no policy beats popularity here, though a recommender does" if ahead else "nothing beats popularity here"
    return f"{whom}, {what}: {'; '.join([best, *ahead, *losers])}."


def _turned(gain: Gain) -> Gain:
    """Return a loss as a positive number."""
    return Gain(-gain.mean, None if gain.high is None else -gain.high, None if gain.low is None else -gain.low)


def _beside(against: Mapping[str, Gain]) -> list[str]:
    """Return how the candidate stands to the references."""
    words = {1: "beats {}", 0: "ties {}", -1: "stays behind {}"}
    found: dict[int, list[str]] = {}
    for name in ("item-knn", "ease"):
        if name in against:
            sign = against[name].sign
            amount = "" if sign == 0 else f" by {abs(against[name].mean):.3f}"
            found.setdefault(sign, []).append(titled(name) + amount)
    said = [words[sign].format(" and ".join(found[sign])) for sign in (1, 0, -1) if sign in found]
    return ["it " + " and ".join(said)] if said else []


def _losers(candidate: str, policies: Mapping[str, Played]) -> list[str]:
    """Return the policies of which it is sure that they lose to popularity, the paper's own first."""
    lost = [
        played
        for name, played in policies.items()
        if played.kind == "policy" and played.vs_popularity.sign < 0 and name not in ("random", candidate)
    ]
    lost.sort(key=lambda played: (played.name != "lpbts", played.vs_popularity.mean))
    return [f"{titled(played.name)} loses {-played.vs_popularity.mean:.3f}" for played in lost[:MOST_LOSERS]]
