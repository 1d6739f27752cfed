"""What an agent knows about one person, in plain words."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from lpbandits.agent import Agent
from lpbandits.agent.explain import Explanation
from lpbandits.policies import Policy
from lpbandits.policies.best import chances_of_best as p_best
from lpbandits.policies.rules import Sample
from lpbandits.text import display, pluralize, share_text, significant
from lpbandits.typing import Label

SURE = ((0.99, "Almost certainly"), (0.9, "Very probably"), (0.7, "Probably"), (0.505, "More likely than not"))
"""Lowest probability of each wording; one that is shown as 50% is not more likely than not."""
UNSURE = "Not clear yet; the first guess is"
KINDS = {
    "optimistic": "These are not calibrated: each group is judged by its best fit to the outcomes.",
    "exact": "These are exact if the model is right.",
    "approximate": "These are approximate.",
}
"""What the probabilities of the groups are, by the word of the evidence."""
MAX_LISTED = 5
"""Maximum number of actions listed of an ordering."""
MAX_COMPARED = 100
"""Maximum number of tried actions that are compared with an ordering."""


class Names:
    """Display names of a model's actions.

    >>> from lpbandits import PreferenceModel
    >>> names = Names(PreferenceModel([[0, 1]], actions=["a1", "a2"], names=["Tea", "Jam"]).index, ["Tea", "Jam"])
    >>> names.of("a2"), names.of("a9")
    ('Jam', 'a9')
    """

    def __init__(self, index: dict[Label, int], names: Sequence[str]) -> None:
        self._index, self._names = index, names

    def of(self, label: Label) -> str:
        """Return the name of an action; its label if the model does not have it."""
        at = self._index.get(label)
        return display(label if at is None else self._names[at])


def chances_of_best(agent: Agent) -> dict[Label, float]:
    """Return the actions that may be the best with their probabilities, highest first; empty without probable states.

    For rewards it is P(best), whatever the policy (see `Agent.best`); for duels, and for models with tiers, that of the
    states whose best action it is, and within a tier that its mean is the largest.

    >>> from lpbandits import LpbTS, PreferenceModel
    >>> chances_of_best(Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]], prior=[0.25, 0.75])), seed=1))
    {1: 0.75, 0: 0.25}
    """
    policy = agent.policy
    if not policy.evidence.latent:
        return {}
    if not has_p_best(policy):
        total = Sample().probabilities(policy, agent.belief, policy.indices(None))
    else:
        total = p_best(policy, agent.belief)
    order = np.argsort(-total, kind="stable")
    return {policy.model.actions[a]: float(total[a]) for a in order.tolist() if total[a] > 0}


def has_p_best(policy: Policy) -> bool:
    """Return whether P(best) of a policy with states is computed; duels and models with tiers have none."""
    return policy.feedback != "duels" and policy.model.tiers is None


def percent(probability: float) -> str:
    """Return a probability as a percentage that is 0% or 100% only if it is exactly that.

    >>> percent(0.9997), percent(0.5), percent(0.002), percent(1.0)
    ('>99%', '50%', '<1%', '100%')
    """
    return ">99%" if 0.99 < probability < 1.0 else share_text(probability)


def how_sure(probability: float, name: str) -> str:
    """Say how sure it is that an action is the best.

    >>> how_sure(0.93, "Tea"), how_sure(0.51, "Tea"), how_sure(0.5, "Tea")
    ('Very probably Tea (93%).', 'More likely than not Tea (51%).', 'Not clear yet; the first guess is Tea (50%).')
    """
    words = next((words for low, words in SURE if probability >= low), UNSURE)
    return f"{words} {name} ({percent(probability)})."


def best_lines(agent: Agent, seen: Explanation, names: Names) -> Iterator[str]:
    """Say what is probably best, how sure that is, and where the probability comes from."""
    chances = chances_of_best(agent)
    if chances:
        (first, p), *others = chances.items()
        yield how_sure(p, names.of(first))
        if others and others[0][1] >= 0.05:
            yield f"Next is {names.of(others[0][0])} ({percent(others[0][1])})."
        yield (
            "The percentage is the probability that no other action is better for this person on average, given the "
            "outcomes and the model's groups of people. It is not the probability that the action is recommended next."
        )
        if not has_p_best(agent.policy):
            kind = KINDS.get(agent.policy.evidence.certainty, "")
            yield f"It follows from the probabilities of the groups below. {kind}".rstrip()
    elif seen.forecasts:
        first, forecast = next(iter(seen.forecasts.items()))
        end = "lowest" if seen.lower_is_better else "highest"
        yield (
            f"The {end} outcome is expected of {names.of(first)}: about {significant(forecast.mean)}; in four of "
            f"five cases between {significant(forecast.low)} and {significant(forecast.high)}."
        )
    elif seen.tried:
        best = min(seen.tried, key=lambda label: seen.rank_key(seen.tried[label][1]))
        n, mean = seen.tried[best]
        yield (
            f"{names.of(best)} has the best average so far ({significant(mean)}, {pluralize(n, 'outcome')}). This "
            "policy uses only this person's outcomes, so a few of them say little."
        )
    else:
        yield "Nothing is known yet."


def order_text(tiers: Sequence[Sequence[Label]], names: Names) -> str:
    """List the first actions of a state's ordering, given as tiers.

    >>> order_text([["tea", "jam"], ["pie"]], Names({}, []))
    'tea or jam, pie'
    """
    left, listed = MAX_LISTED, []
    for tier in tiers:
        if shown := [names.of(label) for label in tier[:left]]:
            listed.append(" or ".join(shown))
            left -= len(shown)
    return ", ".join(listed) + ("" if sum(map(len, tiers)) <= MAX_LISTED else " and so on")


def reason(tiers: Sequence[Sequence[Label]], seen: Explanation, names: Names, *, duels: bool = False) -> str:
    """Say how the averages of the tried actions agree with an ordering; nothing if it orders no two of them.

    >>> seen = Explanation({"jam": (1, 4.0), "tea": (2, 1.0), "pie": (1, 0.5)}, ())
    >>> reason([["tea"], ["jam"], ["pie"]], seen, Names({}, []))
    '2 of 3 pairs of averages agree; against it: jam (4.00) did better than tea (1.00).'
    """
    tried = seen.tried
    tier_of = {label: i for i, tier in enumerate(tiers) for label in tier if label in tried}
    known = list(tier_of)[:MAX_COMPARED]
    pairs = [(upper, lower) for upper, lower in combinations(known, 2) if tier_of[upper] < tier_of[lower]]
    if not pairs:
        return ""
    what, number = ("shares of won comparisons", share_text) if duels else ("averages", significant)

    def told(label: Label) -> str:
        return f"{names.of(label)} ({number(tried[label][1])})"

    key = {label: seen.rank_key(tried[label][1]) for label in known}  # smaller for a better average
    gaps = [(key[upper] - key[lower], upper, lower) for upper, lower in pairs]
    against = [gap for gap in gaps if gap[0] > 0]
    if not against:
        return f"All {what} are in this order, from {told(known[0])} to {told(known[-1])}."
    _, upper, lower = max(against, key=lambda gap: gap[0])
    return (
        f"{len(pairs) - len(against)} of {pluralize(len(pairs), 'pair')} of {what} agree; against it: "
        f"{told(lower)} did better than {told(upper)}."
    )
