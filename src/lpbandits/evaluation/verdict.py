"""The verdict in one plain sentence."""

from collections.abc import Mapping

from lpbandits.evaluation.results import Gain, Played, titled
from lpbandits.text import pluralize

OPEN = 0.1
"""A gain that would be worth more people, if it cannot be ruled out."""

MOST_LOSERS = 2
"""Policies that lose to popularity, of which the sentence speaks."""


def sentence(
    best: str,
    candidate: str | None,
    policies: Mapping[str, Played],
    against: Mapping[str, Gain],
    *,
    unseen: bool = True,
    people: int,
    log_people: int,
    rounds: int,
) -> str:
    """Return what was found, as one would tell it: of the `best`, or of the candidate if that is popularity.

    `against` is what the best, or else the candidate, gains over others; `unseen`: nobody of them was in a fit.

    >>> played = {"taste": Played("taste", "policy", {20: 0.8}, 0.01, Gain(0.059, 0.044, 0.073), [0.8], [])}
    >>> sentence("taste", "taste", played, {"item-knn": Gain(0.0, -0.01, 0.01)}, people=600, log_people=1589, rounds=20)
    'On 600 of your 1,589 people, whom no fit had seen, taste gains 0.059 [0.044, 0.073] over popularity in 20 ...
    """
    whom = f"On {people:,} of your {pluralize(log_people, 'person', 'people')}" + (", whom no fit had seen" * unseen)
    within = f"in {pluralize(rounds, 'round')}"
    if candidate is None:
        return f"{whom}, no policy was tried; name one (--policies taste)."
    losers = _losers(candidate, policies)
    if best != "popular":
        gain = policies[best].vs_popularity
        parts = [f"{titled(best)} gains {gain} over popularity {within}", *_beside(against), *losers]
        return f"{whom}, {'; '.join(parts)}."
    ahead = [
        f"{titled(name)} gains {policies[name].vs_popularity}"
        for name in ("item-knn", "ease")
        if name in policies and policies[name].vs_popularity.sign > 0
    ]
    what = "no policy beats popularity here, though a recommender does" if ahead else "nothing beats popularity here"
    told = [_not_better(candidate, policies[candidate].vs_popularity, within), *ahead, *losers]
    return f"{whom}, {what}: {'; '.join(told)}."


def _not_better(candidate: str, gain: Gain, within: str) -> str:
    """Return how the policy did that other people chose, and what cannot be ruled out."""
    who = f"{titled(candidate)}, which other people chose,"
    if gain.mean == gain.low == gain.high == 0.0:
        return f"{who} gives everybody the same"
    text = f"{who} is at {gain.signed} {within}"
    if gain.sign > 0:
        return f"{text}, but was not above it with those who chose"
    high = gain.high if gain.high is not None else float("inf")
    return f"{text}, too few people to rule out a gain of {high:.2f}" if high > OPEN else text


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
