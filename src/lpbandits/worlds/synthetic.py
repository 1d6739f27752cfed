"""The paper's synthetic world, and how its assumptions may break."""

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Json
from lpbandits.worlds.base import MAX_STUDENT_NOISE, TAILS, Population, with_noise
from lpbandits.worlds.gaps import GAPS, expected_descent
from lpbandits.worlds.kernels import descending_means, order_keys, swap_neighbours
from lpbandits.worlds.misspecified import mistold

LARGEST = 1e80
"""Of a setting: means are a few times the number of actions as large, and must stay within ±1e100."""


@dataclass(frozen=True, kw_only=True)
class SyntheticWorld:
    """Random distinct orderings, and Gaussian rewards whose means descend along them.

    Same scale: all people of a state share its means, the best drawn from U(base + Δk, base + Δk + 1), and mTS is told
    them exactly. Different scales: every person draws own means, the best from U(base + Δk, base + Δk + spread·k), and
    mTS is told their expectation. Each next action is lower by gap + U(0, jitter). The last five settings break what
    the paper assumes; by default they do not.

    Parameters
    ----------
    states, actions
        The number m of latent states and k of actions.
    scale
        "same" or "different".
    gap, jitter, noise
        Δ, ε and σ of the paper.
    base
        C of the paper; by default 9 for the same scale and 6 for different scales.
    spread
        γ of the paper, for different scales.
    gaps
        How much lower each next action is: "paper"; "exponential", with mean 0.225; "cliff", 0.05 and once 2, in the
        middle; "steps", 1 with chance 0.2, else 0.02. For all but the first, `jitter` changes nothing and `gap` only
        the level of the best mean.
    swap
        The chance that two neighbours in a person's own ordering are swapped, in one pass from the best to the last.
        The person's state stays their state.
    model_error
        How far what policies are told of a state's ordering is from the people's: the expected 1 − τ (Kendall's), which
        is twice the share of pairs ordered differently; from 0 to below 1. The model then has utilities and errors.
    assumed_noise
        The noise that policies are told; by default the true one.
    noise_family
        "normal", or "student": noise with heavy tails (4 degrees of freedom) and the same standard deviation.

    >>> world = SyntheticWorld(states=2, actions=3, scale="different")
    >>> people = world.draw(people=2, seed=0)
    >>> people.means.shape, people.truth.tolist()
    ((4, 3), [0, 0, 1, 1])
    >>> misled = SyntheticWorld(states=2, actions=3, assumed_noise=0.5, noise=2.0).draw(people=2, seed=0)
    >>> misled.rewards.sd, misled.assumed_rewards.sd
    (2.0, 0.5)
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
    name: ClassVar[str] = "synthetic"

    def __post_init__(self) -> None:
        scale = validate.as_choice(self.scale, "scale", ("same", "different"))
        base = (9.0 if self.scale == "same" else 6.0) if self.base is None else self.base
        clean: Json = {name: validate.as_count(getattr(self, name), name) for name in ("states", "actions")}
        clean |= {
            name: validate.as_number(getattr(self, name), name, low=0, high=LARGEST)
            for name in ("gap", "jitter", "spread")
        }
        clean |= {"noise": Rewards("gaussian", self.noise).sd, "scale": scale}
        clean["base"] = validate.as_number(base, "base", low=-LARGEST, high=LARGEST)
        clean["gaps"] = validate.as_choice(self.gaps, "gaps", GAPS)
        clean["swap"] = validate.as_number(self.swap, "swap", low=0, high=1)
        clean["model_error"] = validate.as_number(self.model_error, "model_error", low=0, high=1)
        if self.assumed_noise is not None:
            clean["assumed_noise"] = with_noise(Rewards(), self.assumed_noise).sd
        clean["noise_family"] = validate.as_choice(self.noise_family, "noise_family", TAILS)
        for name, value in clean.items():
            object.__setattr__(self, name, value)
        self._check_broken()
        if self.actions <= 12 and self.states > math.factorial(self.actions):
            possible = math.factorial(self.actions)
            raise InvalidInput(
                f"states is {self.states} but {self.actions} actions have only {possible} orderings; use fewer states"
            )
        self._check_size(0)

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people per state, balanced, in the order of their states."""
        people, seed = validate.as_count(people, "people"), validate.as_seed(seed)
        draw = validate.as_count(draw, "draw", low=0)
        self._check_size(people)
        orderings = self._orderings(seed, draw)
        truth = np.repeat(np.arange(self.states), people)
        floor = float(self.base or 0.0) + self.gap * self.actions
        if self.scale == "same":
            shared = self._means(orderings, np.arange(self.states), draw * self.states, seed, floor, 1.0)
            along, own = np.take_along_axis(shared, orderings, axis=1), shared[truth]
        else:
            width = self.spread * self.actions
            descent = expected_descent(self.gaps, self.actions, gap=self.gap, jitter=self.jitter)
            along = np.tile(floor + width / 2.0 - descent, (self.states, 1))
            own = self._means(orderings, truth, draw * len(truth), seed, floor, width)
        if self.swap:
            ids = np.arange(draw * len(truth), (draw + 1) * len(truth))
            swap_neighbours(orderings, truth, ids, seed, self.swap, own)
        rewards = Rewards("gaussian", self.noise)
        return Population(
            self._told(orderings, along, seed, draw),
            truth,
            np.ascontiguousarray(own),
            rewards,
            assumed=None if self.assumed_noise is None else with_noise(rewards, self.assumed_noise),
            tails=self.noise_family,
        )

    def to_dict(self) -> Json:
        """Return the settings."""
        return {"world": self.name, **asdict(self)}

    def _check_size(self, people: int) -> None:
        """Refuse more orderings and people than there is memory for; finding distinct orderings would never end."""
        m, k = self.states, self.actions
        check_resources(
            f"{m:,} states × {k:,} actions" + (f" with {people:,} people a state" if people else ""),
            "take fewer people, states or actions" if people else "take fewer states or actions",
            size=m * (300 + (100 if self.model_error else 60) * k) + m * people * (16 * k + 8),
        )

    def _check_broken(self) -> None:
        """Refuse to break an assumption further than it goes."""
        if self.model_error == 1.0:
            raise InvalidInput("model_error is 1; it must be less than 1, where orderings say nothing of the people's")
        if self.model_error and self.actions == 1:
            raise InvalidInput(f"model_error is {self.model_error:g}, but 1 action has only one ordering; leave it out")
        if self.noise_family == "student":
            validate.as_number(self.noise, "noise with Student's tails", high=MAX_STUDENT_NOISE)

    def _told(self, orderings: IntArray, along: FloatArray, seed: int, draw: int) -> PreferenceModel:
        """Return the model that policies are told, whose means descend `along` the orderings they are told."""
        utilities = errors = None
        if self.model_error:
            orderings, utilities, errors = mistold(orderings, self.model_error, seed=seed, draw=draw)
        means = np.empty(along.shape)
        np.put_along_axis(means, orderings, along, axis=1)
        return PreferenceModel(orderings, means=means, utilities=utilities, errors=errors)

    def _orderings(self, seed: int, draw: int) -> IntArray:
        """Return distinct uniform permutations: draw in turn, and pass over those that were there before."""
        rows: dict[bytes, IntArray] = {}
        keys = np.empty(self.actions)
        attempt = 0
        while len(rows) < self.states:
            order_keys(seed, draw, attempt, keys)
            row = np.argsort(keys, kind="stable").astype(np.int64)
            rows.setdefault(row.tobytes(), row)
            attempt += 1
        return np.array(list(rows.values()))

    def _means(
        self, orderings: IntArray, truth: IntArray, first_person: int, seed: int, low: float, width: float
    ) -> FloatArray:
        out = np.empty((len(truth), self.actions))
        ids = np.arange(first_person, first_person + len(truth))
        descending_means(orderings, truth, ids, seed, low, width, GAPS[self.gaps], self.gap, self.jitter, out)
        return out
