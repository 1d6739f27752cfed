"""How often stops at 95 % are right, and how many people stop, with true models and with models fitted to logs.

`make study-stopping` runs both: some minutes of one core. `python -m tests.studies.stopping --draws 10 --logs 1` is a
short run.

True models: a world is a size (3 states and 6 actions, 5 and 10, 10 and 20) and a scale. Its people have the paper's
gaps, `steps` or `cliff`, in equal parts, because P(best) is not told which gaps a person has; more rows follow for each
of them. Standard errors are those over draws of the orderings.

Fitted models: logs of 300 or 1,500 people who rated every action once, with noise 0.5 or 1; then new people. People of
a log are right or wrong together, so standard errors are those over logs.
"""

import argparse
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

import lpbandits as lpb
from lpbandits.policies import Setting, make_policy
from lpbandits.policies.assumed import assumed_rewards
from lpbandits.simulation.rollout import play
from lpbandits.simulation.stopping import stop_people
from lpbandits.typing import FloatArray
from lpbandits.worlds import Population

Size = tuple[int, int]
SIZES = (3, 6), (5, 10), (10, 20)
SCALES = "different", "same"
GAPS = "paper", "steps", "cliff"
POLICIES = "lpbts", "lpb-ids", "lpb-horizon"
LOGS = (300, 0.5), (300, 1.0), (1500, 0.5), (1500, 1.0)
"""People of a log, and the noise of their ratings."""
ROUNDS = 30


class Cell(NamedTuple):
    """Per draw or log: the numbers of people, of those who stopped, and of those who were right."""

    people: FloatArray
    stopped: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, draw: FloatArray, rounds: FloatArray, right: FloatArray) -> "Cell":
        """Count the people of each draw; `rounds` and `right` are the columns of `simulate(stop=…)`."""
        index = draw.astype(np.int64)
        parts = (rounds >= 0, rounds > 0, right == 1)
        return cls(*(np.bincount(index, part).astype(np.float64) for part in parts))

    @classmethod
    def joined(cls, cells: Iterable["Cell"]) -> "Cell":
        """Return the cell of several runs, whose draws stay apart."""
        return cls(*map(np.concatenate, zip(*cells, strict=True)))

    @property
    def share(self) -> float:
        """Share of people who stopped."""
        return float(self.stopped.sum() / self.people.sum())

    def rate(self) -> tuple[float, float]:
        """Return the share of stops that are right, and its standard error over draws or logs."""
        total = max(self.stopped.sum(), 1)
        rate = self.right.sum() / total
        return float(rate), float(np.sqrt(np.sum((self.right - rate * self.stopped) ** 2)) / total)

    def __str__(self) -> str:
        if not self.stopped.any():
            return "no stops".ljust(20)
        rate, error = self.rate()
        return f"{rate:.3f} ± {error:.3f} ({self.share:.2f})"


def true_cells(seed: int, *, draws: int, people: int, level: float = 0.95) -> dict[tuple[Size, str, str, str], Cell]:
    """Return a cell for each size, scale, gaps and policy, with about this many people per draw."""
    out = {}
    for states, actions in SIZES:
        for scale in SCALES:
            for gaps in GAPS:
                world = lpb.SyntheticWorld(states=states, actions=actions, scale=scale, gaps=gaps)
                each = max(round(people / states), 1)
                results = lpb.simulate(
                    world, POLICIES, people=each, rounds=ROUNDS, draws=draws, seed=seed, stop=level, threads=1
                )
                for name in POLICIES:
                    columns = results[name].people
                    cell = Cell.of(columns["draw"], columns["stop_round"], columns["stop_right"])
                    out[(states, actions), scale, gaps, name] = cell
    return out


def fitted(
    seed: int, *, states: int, actions: int, gaps: str, people: int, noise: float, newcomers: int = 60
) -> Population:
    """Return new people of a world, with the model of a log of others."""
    world = lpb.SyntheticWorld(states=states, actions=actions, scale="different", gaps=gaps, noise=noise)
    raters = people // states
    everybody = world.draw(people=raters + newcomers // states, seed=seed)
    rater = np.arange(len(everybody)) % (raters + newcomers // states) < raters
    means = everybody.means[rater]
    ratings = means + noise * np.random.default_rng([seed, 24]).normal(size=means.shape)
    person, action = np.indices(means.shape).reshape(2, -1)
    log = lpb.Ratings.from_arrays(person, action, ratings.ravel())
    model = lpb.fit_states(log, lpb.Mixture(), states=states, taste=False, heldout=0.0, threads=1).model
    columns = np.array(model.actions, dtype=np.int64)
    new = np.ascontiguousarray(everybody.means[~rater][:, columns])
    return Population(model, np.full(len(new), -1), new, lpb.Rewards(noise=noise), assumed=assumed_rewards(model))


def fitted_cells(seed: int, *, logs: int, level: float = 0.95) -> dict[tuple[Size, str, str], Cell]:
    """Return a cell for each size, gaps and policy."""
    parts: dict[tuple[Size, str, str], list[Cell]] = {}
    for states, actions in SIZES:
        for gaps in GAPS:
            for people, noise in LOGS:
                for i in range(logs):
                    new = fitted(seed + i, states=states, actions=actions, gaps=gaps, people=people, noise=noise)
                    for name in POLICIES:
                        policy = make_policy(name, Setting(new.model, new.assumed_rewards, ROUNDS))
                        trace = play(policy, new, rounds=ROUNDS, seed=seed)
                        rounds, right = stop_people(policy, new, trace, level=level, seed=seed, person=0)
                        cell = Cell.of(np.zeros(len(new)), rounds, right)
                        parts.setdefault(((states, actions), gaps, name), []).append(cell)
    return {key: Cell.joined(cells) for key, cells in parts.items()}


def main() -> None:
    """Print the cells of true models by world and by gaps, then those of fitted models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100, help="draws of the orderings; 0: no true models")
    parser.add_argument("--people", type=int, default=20, help="people of each draw")
    parser.add_argument("--logs", type=int, default=5, help="logs of each setting; 0: no fitted models")
    parser.add_argument("--seed", type=int, default=50505, help="seed of the worlds, and of the first log")
    parser.add_argument("--level", type=float, default=0.95)
    options = parser.parse_args()
    print("right ± standard error (share stopped), by policy:", ", ".join(POLICIES))  # noqa: T201
    if options.draws:
        show_true(true_cells(options.seed, draws=options.draws, people=options.people, level=options.level))
    if options.logs:
        show_fitted(fitted_cells(options.seed, logs=options.logs, level=options.level))


def show_true(cells: dict[tuple[Size, str, str, str], Cell]) -> None:
    """Print a row per world, and per size and gaps."""
    for size in SIZES:
        for scale in SCALES:
            show(f"{size} {scale}", [sum_of([cells[size, scale, gaps, name] for gaps in GAPS]) for name in POLICIES])
    for size in SIZES:
        for gaps in GAPS:
            show(f"{size} {gaps}", [sum_of([cells[size, scale, gaps, name] for scale in SCALES]) for name in POLICIES])


def show_fitted(cells: dict[tuple[Size, str, str], Cell]) -> None:
    """Print a row per size and gaps, and per gaps."""
    for size in SIZES:
        for gaps in GAPS:
            show(f"{size} {gaps}, fitted", [cells[size, gaps, name] for name in POLICIES])
    for gaps in GAPS:
        show(f"{gaps}, fitted", [Cell.joined(cells[size, gaps, name] for size in SIZES) for name in POLICIES])


def sum_of(cells: list[Cell]) -> Cell:
    """Return the cell of several runs with the same orderings: draw i is draw i of each."""
    return Cell(*(np.sum(parts, axis=0) for parts in zip(*cells, strict=True)))


def show(name: str, cells: list[Cell]) -> None:
    """Print a row of the table."""
    print(f"{name:28}", "   ".join(map(str, cells)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
