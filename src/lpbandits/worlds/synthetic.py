"""The paper's synthetic world."""

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.synthetic import descending_means, order_keys
from lpbandits.limits import affordable
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Json
from lpbandits.worlds.base import Population

LARGEST = 1e80
"""Of a setting: means are a few times the number of actions as large, and must stay within ±1e100."""


@dataclass(frozen=True, kw_only=True)
class SyntheticWorld:
    """Random distinct orderings, and Gaussian rewards whose means descend along them.

    Same scale: all people of a state share its means, the best drawn from U(base + Δk, base + Δk + 1), and mTS is told
    them exactly. Different scales: every person draws own means, the best from U(base + Δk, base + Δk + spread·k), and
    mTS is told their expectation. Each next action is lower by gap + U(0, jitter).

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

    >>> world = SyntheticWorld(states=2, actions=3, scale="different")
    >>> people = world.draw(people=2, seed=0)
    >>> people.means.shape, people.truth.tolist()
    ((4, 3), [0, 0, 1, 1])
    """

    states: int = 5
    actions: int = 10
    scale: str = "same"
    gap: float = 0.2
    jitter: float = 0.05
    noise: float = 1.0
    base: float | None = None
    spread: float = 0.4
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
        for name, value in clean.items():
            object.__setattr__(self, name, value)
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
            told, own = shared, shared[truth]
        else:
            width = self.spread * self.actions
            steps = (self.gap + self.jitter / 2.0) * np.arange(self.actions)
            told = np.empty((self.states, self.actions))
            np.put_along_axis(told, orderings, np.tile(floor + width / 2.0 - steps, (self.states, 1)), axis=1)
            own = self._means(orderings, truth, draw * len(truth), seed, floor, width)
        model = PreferenceModel(orderings, means=told)
        return Population(model, truth, np.ascontiguousarray(own), Rewards("gaussian", self.noise))

    def to_dict(self) -> Json:
        """Return the settings."""
        return {"world": self.name, **asdict(self)}

    def _check_size(self, people: int) -> None:
        """Refuse more orderings and people than there is memory for; finding distinct orderings would never end."""
        m, k = self.states, self.actions
        affordable(
            f"{m:,} states × {k:,} actions" + (f" with {people:,} people a state" if people else ""),
            "take fewer people, states or actions" if people else "take fewer states or actions",
            size=m * (300 + 60 * k) + m * people * (16 * k + 8),
        )

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
        descending_means(orderings, truth, ids, seed, low, width, self.gap, self.jitter, out)
        return out
