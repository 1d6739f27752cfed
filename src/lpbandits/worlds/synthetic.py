"""The paper's synthetic world, with options that violate its assumptions."""

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.limits import check_memory
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import set_frozen
from lpbandits.rewards import Rewards, as_noise
from lpbandits.typing import FloatArray, IntArray, Json
from lpbandits.worlds import kernels
from lpbandits.worlds.base import TAILS, Population
from lpbandits.worlds.misspecified import noisy_model

GAPS = {"paper": kernels.PAPER, "exponential": kernels.EXPONENTIAL, "cliff": kernels.CLIFF, "steps": kernels.STEPS}
"""Families of gaps between neighbouring actions, with their codes in the kernels."""

MAX_SETTING = 1e80
"""Maximum of gap, jitter, base and spread; means are larger by a few times k and must stay within ±1e100."""


@dataclass(frozen=True, kw_only=True)
class SyntheticWorld:
    """Random distinct orderings, and Gaussian rewards with means that decrease along them.

    Same scale: the people of a state share its means, with the best from U(base + Δk, base + Δk + 1), and mTS is given
    them. Different scales: each person has their own means, with the best from U(base + Δk, base + Δk + spread·k), and
    mTS is given their expectation. The mean of each next action is lower by gap + U(0, jitter). The options from `gaps`
    on violate the paper's assumptions.

    Parameters
    ----------
    states, actions
        Number m of latent states and k of actions.
    scale
        "same" or "different".
    gap, jitter, noise
        Δ, ε and σ of the paper.
    base
        C of the paper; by default 9 for the same scale and 6 for different scales.
    spread
        γ of the paper, for different scales.
    gaps
        Gaps between neighbouring actions: "paper"; "exponential" with mean 0.225; "cliff": 0.05, and 2 once, in the
        middle; "steps": 1 with probability 0.2, else 0.02. In the last three, `jitter` has no effect and `gap` only
        sets the level of the best mean.
    swap
        Probability that two neighbours in a person's ordering are swapped, in one pass from the best to the last.
        The person's state does not change.
    model_error
        Expected 1 − τ (twice the Kendall distance) between the model's orderings and the true ones, from 0 to below 1.
        If it is positive, the model has utilities with standard errors.
    assumed_noise
        Noise that policies assume; by default the true one.
    noise_family
        "normal", or "student": heavy-tailed noise (4 degrees of freedom) with the same standard deviation.
    tiers
        Size of the tiers of a state's ordering; the last may be smaller. Each person has an individual order within
        them, on the same scale too, and the model has the tiers.
    break_ties
        Give policies a random order within each tier instead of the tiers.

    Examples
    --------
    >>> world = SyntheticWorld(states=2, actions=3, scale="different")
    >>> people = world.draw(people=2, seed=0)
    >>> people.means.shape, people.truth.tolist()
    ((4, 3), [0, 0, 1, 1])
    >>> misled = SyntheticWorld(states=2, actions=3, assumed_noise=0.5, noise=2.0).draw(people=2, seed=0)
    >>> misled.rewards.sd, misled.assumed_rewards.sd
    (2.0, 0.5)
    >>> SyntheticWorld(states=2, actions=5, tiers=2).draw(people=1, seed=0).model.tiers
    ((2, 2, 1), (2, 2, 1))
    """

    states: int = 5
    actions: int = 10
    scale: str = "same"
    gap: float = 0.2
    jitter: float = 0.05
    noise: float = 1.0
    base: float | None = None
    spread: float = 0.4
    gaps: str = "paper"
    swap: float = 0.0
    model_error: float = 0.0
    assumed_noise: float | None = None
    noise_family: str = "normal"
    tiers: int | None = None
    break_ties: bool = False
    name: ClassVar[str] = "synthetic"

    def __post_init__(self) -> None:
        base = (9.0 if self.scale == "same" else 6.0) if self.base is None else self.base
        clean: Json = {
            "scale": validate.as_choice(self.scale, "scale", ("same", "different")),
            "noise": as_noise(self.noise),
            "base": validate.as_number(base, "base", low=-MAX_SETTING, high=MAX_SETTING),
            "gaps": validate.as_choice(self.gaps, "gaps", GAPS),
            "swap": validate.as_number(self.swap, "swap", low=0, high=1),
            "model_error": validate.as_number(self.model_error, "model_error", low=0),
            "noise_family": validate.as_choice(self.noise_family, "noise_family", TAILS),
            "break_ties": validate.as_flag(self.break_ties, "break_ties"),
        }
        for name in ("states", "actions"):
            clean[name] = validate.as_count(getattr(self, name), name)
        for name in ("gap", "jitter", "spread"):
            clean[name] = validate.as_number(getattr(self, name), name, low=0, high=MAX_SETTING)
        if self.assumed_noise is not None:
            clean["assumed_noise"] = as_noise(self.assumed_noise, "assumed_noise")
        if self.tiers is not None:
            clean["tiers"] = validate.as_count(self.tiers, "tiers", high=clean["actions"])
        set_frozen(self, **clean)
        if self.break_ties and self.tiers is None:
            raise validate.invalid("break_ties", "False without tiers", self.break_ties)
        if self.model_error and self.tiers is not None:
            raise validate.invalid("model_error", "0 with tiers", self.model_error)
        if self.model_error >= 1.0:
            raise validate.invalid("model_error", "less than 1", self.model_error)
        if self.model_error and self.actions == 1:
            raise validate.invalid("model_error", "0 with one action, which has one ordering", self.model_error)
        possible = possible_orderings(self.actions, self.tiers or 1, self.states)
        if self.states > possible:
            in_tiers = f" in tiers of {self.tiers}" if self.tiers else ""
            expected = f"at most {possible}, the number of orderings of {self.actions} actions{in_tiers}"
            raise validate.invalid("states", expected, self.states)

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people per state, sorted by state."""
        people, seed = validate.as_count(people, "people"), validate.as_seed(seed)
        draw = validate.as_count(draw, "draw", low=0)
        m, k = self.states, self.actions
        check_memory(
            f"{m:,} states × {k:,} actions with {people:,} people per state",
            "take fewer people, states or actions",
            m * (300 + (100 if self.model_error else 60) * k)
            + m * people * ((16 if self.tiers is None else 32) * k + 8),
        )
        orderings = self._orderings(seed, draw)
        truth = np.repeat(np.arange(self.states), people)
        ids = np.arange(draw * len(truth), (draw + 1) * len(truth))
        followed, row = orderings, truth  # the orderings that people follow, and the row of each person
        if self.tiers is not None:
            followed, row = np.empty((len(truth), k), dtype=np.int64), np.arange(len(truth))
            kernels.shuffle_tiers(orderings, truth, ids, seed, self.tiers, followed)
        floor = float(self.base or 0.0) + self.gap * self.actions
        if self.scale == "same":
            shared = self._means(orderings, np.arange(self.states), draw * self.states, seed, floor, 1.0)
            by_rank, means = np.take_along_axis(shared, orderings, axis=1), shared[truth]
            if self.tiers is not None:
                np.put_along_axis(means, followed, by_rank[truth], axis=1)
        else:
            width = self.spread * self.actions
            descent = expected_descent(self.gaps, self.actions, gap=self.gap, jitter=self.jitter)
            by_rank = np.tile(floor + width / 2.0 - descent, (self.states, 1))
            means = self._means(followed, row, draw * len(truth), seed, floor, width)
        if self.swap:
            kernels.swap_neighbours(followed, row, ids, seed, self.swap, means)
        utilities = errors = None
        if self.model_error:
            orderings, utilities, errors = noisy_model(orderings, self.model_error, seed=seed, draw=draw)
        sizes = None if self.tiers is None else tier_sizes(k, self.tiers)
        if sizes is not None:  # the expectation of a person's order within tiers
            starts = np.cumsum(sizes) - sizes
            by_rank = np.repeat(np.add.reduceat(by_rank, starts, axis=1) / sizes, sizes, axis=1)
        model_means = np.empty(by_rank.shape)
        np.put_along_axis(model_means, orderings, by_rank, axis=1)
        return Population(
            PreferenceModel(
                orderings,
                means=model_means,
                utilities=utilities,
                errors=errors,
                tiers=None if sizes is None or self.break_ties else [sizes.tolist()] * m,
            ),
            truth,
            np.ascontiguousarray(means),
            Rewards(noise=self.noise),
            assumed=None if self.assumed_noise is None else Rewards(noise=self.assumed_noise),
            tails=self.noise_family,
        )

    def to_dict(self) -> Json:
        """Return the settings."""
        return {"world": self.name, **asdict(self)}

    def _orderings(self, seed: int, draw: int) -> IntArray:
        """Return uniform permutations that are distinct, also if tiers are unordered: draw in turn, skip repeated."""
        rows: dict[bytes, IntArray] = {}
        tier = np.arange(self.actions) // (self.tiers or 1)
        keys = np.empty(self.actions)
        attempt = 0
        while len(rows) < self.states:
            kernels.order_keys(seed, draw, attempt, keys)
            row = np.argsort(keys, kind="stable").astype(np.int64)
            rows.setdefault(row[np.lexsort((row, tier))].tobytes(), row)
            attempt += 1
        return np.array(list(rows.values()))

    def _means(
        self, orderings: IntArray, truth: IntArray, first_person: int, seed: int, low: float, width: float
    ) -> FloatArray:
        out = np.empty((len(truth), self.actions))
        ids = np.arange(first_person, first_person + len(truth))
        kernels.descending_means(orderings, truth, ids, seed, low, width, GAPS[self.gaps], self.gap, self.jitter, out)
        return out


def tier_sizes(actions: int, size: int) -> IntArray:
    """Return the sizes of tiers of `size` actions, of which the last may be smaller.

    >>> tier_sizes(5, 2).tolist()
    [2, 2, 1]
    """
    return np.diff(np.append(np.arange(0, actions, size), actions))


def possible_orderings(actions: int, size: int, enough: int) -> int:
    """Return the number of orderings in tiers of `size` actions, or a smaller number above `enough`.

    >>> possible_orderings(4, 1, 100), possible_orderings(5, 2, 100)
    (24, 30)
    """
    possible, remaining = 1, actions
    while remaining > size and possible <= enough:
        # a binomial coefficient is at least its upper number
        possible *= remaining if remaining > enough else math.comb(remaining, size)
        remaining -= size
    return possible


def expected_descent(gaps: str, actions: int, *, gap: float, jitter: float) -> FloatArray:
    """Return the expected difference between the best mean and that of each rank.

    >>> expected_descent("cliff", 4, gap=0.2, jitter=0.05).tolist()
    [0.0, 0.05, 2.05, 2.1]
    """
    ranks = np.arange(actions, dtype=np.float64)
    if gaps == "cliff":
        return kernels.LEDGE * ranks + (kernels.CLIFF_GAP - kernels.LEDGE) * (ranks >= max(actions // 2, 1))
    chance = kernels.STEP_CHANCE
    mean = {
        "paper": gap + jitter / 2.0,
        "exponential": kernels.EXPONENTIAL_GAP,
        "steps": chance * kernels.STEP_GAP + (1.0 - chance) * kernels.LEVEL,
    }[gaps]
    return np.asarray(mean * ranks, dtype=np.float64)
