"""The verdict of an evaluation: the best policy, and one sentence about it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lpbandits.evaluation.contestants import YARDSTICKS
from lpbandits.evaluation.results import Gain, Score, titled
from lpbandits.evaluation.splits import FOLDS, Combined
from lpbandits.evaluation.summary import differences
from lpbandits.statistics import half_width
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray

FAMILY_ERROR = 0.01
"""Family-wise error rate of the policies that were not selected on the development set, and of the other claims."""

RELEVANT_GAIN = 0.05
"""If the interval includes gains above this, the sentence states that there are too few people."""

MAX_WORSE = 2
"""Maximum number of policies below popularity that the sentence names."""

RECOMMENDERS = ("item-knn", "ease")


@dataclass(frozen=True, eq=False)
class Subject:
    """The policy that the verdict is about."""

    best: str
    """The policy that is significantly better than popularity, else "popular"."""
    name: str | None
    """The best policy, or else the one that most splits selected; None without policies."""
    label: str
    """Its title, or "the selected policy" if splits selected different ones."""
    people: FloatArray
    """Its score by person."""

    @classmethod
    def of(cls, people: Combined, policies: Mapping[str, Score]) -> "Subject":
        """Choose the best policy, by the selected one if possible.

        The selected policy must score above popularity on the development set and, by its 95 % interval, on the report
        set. Otherwise another policy may be best at a family-wise error rate of 1 %, since the selection on the small
        development set may be poor. If splits selected different policies, the selected policy is each split's own;
        the most frequent of those with a gain of their own is named.
        """
        popular = policies["popular"].people
        if people.candidate is None:
            return cls("popular", None, "", popular)
        mixed = len(people.candidates) > 1
        label = "the selected policy" if mixed else titled(people.candidate)
        gainers = [name for name, _ in people.candidates.most_common() if policies[name].vs_popularity.mean > 0.0]
        gain = Gain.of(differences(people.selected, popular), widen=people.widen)
        if people.promise > 0.0 and gain.sign > 0 and gainers:
            return cls(gainers[0], gainers[0], label, people.selected)
        gaps = {
            score.name: differences(score.people, popular)
            for score in policies.values()
            if score.kind == "policy" and score.name not in YARDSTICKS
        }
        level = 1.0 - 2 * FAMILY_ERROR / len(gaps)
        significant = {
            name: float(gap.mean())
            for name, gap in gaps.items()
            if gap.mean() > half_width(gap, level, widen=people.widen)
        }
        if significant:
            best = max(significant, key=lambda name: significant[name])
            return cls(best, best, titled(best), policies[best].people)
        return cls("popular", people.candidate, label, people.selected)

    def words(self, people: Combined) -> str:
        """Return the label for the sentence, with the numbers of splits that selected each policy.

        >>> from collections import Counter
        >>> subject = Subject("popular", "taste", "taste", np.zeros(3))
        >>> subject.words(Combined(np.arange(3), np.ones(3, int), {}, np.zeros(3), Counter(["taste"]), 0.0, 1.0, None))
        'taste (selected on the development set)'
        """
        if self.label != "the selected policy":
            return self.label + (" (selected on the development set)" if self.best == "popular" else "")
        counts = ", ".join(f"{titled(name)} in {count}" for name, count in people.candidates.most_common())
        return f"the policy selected on the development set ({counts} of {people.candidates.total()} splits)"


@dataclass(frozen=True)
class Claims:
    """What the sentence says beside the verdict: signs of differences, 0 unless clear for all of them together."""

    vs_popularity: Mapping[str, int]
    """Sign of the gain over popularity of recommenders and of the other policies."""
    vs_recommenders: Mapping[str, int]
    """Sign of the policy's gain over recommenders."""

    @classmethod
    def of(cls, name: str, people: FloatArray, policies: Mapping[str, Score], *, widen: float = 1.0) -> "Claims":
        """Test the differences of a policy, with these scores by person, at a family-wise error rate of 1 %."""
        popular = policies["popular"].people
        gaps = {
            ("popular", other): differences(score.people, popular)
            for other, score in policies.items()
            if other in RECOMMENDERS or (score.kind == "policy" and other not in (name, *YARDSTICKS))
        }
        gaps |= {
            (name, other): differences(people, policies[other].people) for other in RECOMMENDERS if other in policies
        }
        level = 1.0 - FAMILY_ERROR / max(len(gaps), 1)
        signs = {
            pair: int(np.sign(gap.mean())) if abs(gap.mean()) > half_width(gap, level, widen=widen) else 0
            for pair, gap in gaps.items()
        }
        return cls(*({other: sign for (one, other), sign in signs.items() if one == of} for of in ("popular", name)))


def sentence(
    best: str,
    subject: str,
    gain: Gain,
    claims: Claims,
    policies: Mapping[str, Score],
    against: Mapping[str, Gain],
    *,
    where: str,
    rounds: int,
) -> str:
    """Return the verdict on the subject (empty without policies), with its gain over popularity.

    `against` holds its gains over the other contestants; `where` names the people.

    >>> gain, against = Gain(0.059, 0.044, 0.073), {"item-knn": Gain(0.0, -0.01, 0.01)}
    >>> claims = Claims({}, {"item-knn": 0})
    >>> sentence("taste", "taste", gain, claims, {}, against, where="On 600 people", rounds=20)
    'On 600 people, taste gains 0.059 [0.044, 0.073] over popularity in 20 rounds; it does not clearly differ ...
    """
    within = f"in {pluralize(rounds, 'round')}"
    if not subject:
        return f"{where}, no policy was evaluated; name one (--policies taste)."
    worse = _worse(claims, policies)
    if best != "popular":
        parts = [f"{subject} gains {gain:.3f} over popularity {within}", *_versus_recommenders(claims, against), *worse]
        return f"{where}, {'; '.join(parts)}."
    ahead = [
        f"{titled(name)} gains {policies[name].vs_popularity:.3f}"
        for name in RECOMMENDERS
        if claims.vs_popularity.get(name, 0) > 0
    ]
    if gain.sign > 0 or any(score.kind == "policy" and score.vs_popularity.sign > 0 for score in policies.values()):
        what = "no policy is chosen over popularity" + (", but a recommender beats it" if ahead else "")
    else:
        what = "no policy is clearly better than popularity" + (", but a recommender is" if ahead else "")
        if gain.sign < 0:
            end = f"{what}: {'; '.join(ahead)}" if ahead else what
            return f"{where}, {'; '.join([_not_better(subject, gain, within), *worse, end])}."
    return f"{where}, {what}: {'; '.join([_not_better(subject, gain, within), *ahead, *worse])}."


def people_of(people: int, log_people: int, *, unseen: bool, splits: int) -> str:
    """Name the report people: "On 52 held-out people (of 150)".

    `unseen` is whether the people are known to be held out.

    >>> people_of(60, 60, unseen=True, splits=6)
    'On 60 people (of 60), each held out in 2 of 6 splits'
    """
    prefix = "held-out " if unseen and splits == 1 else ""
    where = f"On {pluralize(people, f'{prefix}person', f'{prefix}people')} (of {log_people:,})"
    if splits == 1:
        return where
    return f"{where}, each {'held out' if unseen else 'replayed'} in {splits // FOLDS} of {splits} splits"


def _not_better(subject: str, gain: Gain, within: str) -> str:
    """Return the result of the selected policy, and whether a relevant gain is ruled out."""
    if gain.mean == gain.low == gain.high == 0.0:
        return f"{subject} gives each person the same score as popularity"
    if gain.sign < 0 and gain.low is not None and gain.high is not None:
        return f"{subject} scores {Gain(-gain.mean, -gain.high, -gain.low):.3f} below popularity {within}"
    text = f"{subject} scores {gain:+.3f} {within}"
    if gain.sign > 0:
        return f"{text}, but did not beat popularity on the development set"
    if gain.high is None:
        return f"{text}, with too few people for an interval"
    return f"{text}, with too few people to rule out a gain of {gain.high:.2f}" if gain.high > RELEVANT_GAIN else text


def _versus_recommenders(claims: Claims, against: Mapping[str, Gain]) -> list[str]:
    verbs = {1: "beats", 0: "does not clearly differ from", -1: "is behind"}
    names: dict[int, list[str]] = {}
    for name, sign in claims.vs_recommenders.items():
        amount = "" if sign == 0 else f" by {abs(against[name].mean):.3f}"
        names.setdefault(sign, []).append(titled(name) + amount)
    parts = [f"{verbs[sign]} {' and '.join(names[sign])}" for sign in verbs if sign in names]
    return ["it " + " and ".join(parts)] if parts else []


def _worse(claims: Claims, policies: Mapping[str, Score]) -> list[str]:
    """Return the policies that are clearly worse than popularity, lpbTS first."""
    worse = [policies[name] for name, sign in claims.vs_popularity.items() if sign < 0 and name not in RECOMMENDERS]
    worse.sort(key=lambda score: (score.name != "lpbts", score.vs_popularity.mean))
    return [f"{titled(one.name)} scores {-one.vs_popularity.mean:.3f} below popularity" for one in worse[:MAX_WORSE]]
