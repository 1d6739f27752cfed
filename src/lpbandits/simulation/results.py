"""Results of a simulation: curves, people, and their files."""

import functools
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lpbandits.errors import check_fork, translate_errors
from lpbandits.io.atomic import atomic_folder, write_table
from lpbandits.io.frames import to_pandas
from lpbandits.io.json import finite_or_none
from lpbandits.io.paths import as_path
from lpbandits.notebook import Charted
from lpbandits.simulation.kernels import Trace
from lpbandits.simulation.stopping import stop_summary
from lpbandits.simulation.sums import Accumulator, Distribution, Moments
from lpbandits.statistics import Difference
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Json
from lpbandits.validate import as_choice

FORMAT = "lpbandits-simulation"
VERSION = 2


@dataclass(frozen=True, repr=False)
class Curve:
    """Mean, standard deviation, standard error and quantiles over people, at each round.

    With several draws, the standard error is that of the mean over draws, because people of one draw share their
    orderings and are not independent. Quantiles of very large runs have a relative error of up to one per cent
    (`lpbandits.simulation.sums`).
    """

    mean: FloatArray
    sd: FloatArray
    se: FloatArray
    p05: FloatArray
    p50: FloatArray
    p95: FloatArray

    @classmethod
    def of(cls, draws: Sequence[Moments], distribution: Distribution) -> "Curve":
        """Combine the moments of each draw and the distribution over all people."""
        total = functools.reduce(Moments.merge, draws)
        se = total.sd / np.sqrt(total.count)
        if len(draws) > 1:
            se = np.std([moments.mean for moments in draws], axis=0, ddof=1) / np.sqrt(len(draws))
        return cls(total.mean, total.sd, se, *distribution.quantiles())

    def last(self) -> dict[str, float | None]:
        """Return the values at the last round; None for statistics that are undefined for one person."""
        return {name: finite_or_none(float(getattr(self, name)[-1])) for name in self.__dataclass_fields__}

    def __repr__(self) -> str:
        return f"<Curve: {pluralize(len(self.mean), 'round')}, ends at {self.mean[-1]:.4g} ± {self.se[-1]:.2g}>"


@dataclass(frozen=True, repr=False)
class PolicyResult:
    """Results of one policy.

    Attributes
    ----------
    regret
        Cumulative regret at each round; for duels the strong regret, summed over both actions of a pair.
    weak
        Cumulative weak regret, that of the better action of a pair; None for rewards.
    reward
        Mean reward at each round; for duels the mean of both actions' mean rewards.
    best_share
        Share of people who received their best allowed action at each round; for duels, as both actions.
    true_state
        Mean posterior probability of the true state after each round; NaN without latent states.
    people
        Columns with one entry per person: draw, state (-1: unknown), regret, mean reward, best_share, true_state, and
        the active order constraints at the end (mean over all states, the true state, mean over the others; NaN for
        evidence without constraints); for duels also the weak regret; with `stop` also stop_round and stop_right.
    trace
        All rounds of all people, if `simulate` kept traces.
    """

    regret: Curve
    weak: Curve | None
    reward: FloatArray
    best_share: FloatArray
    true_state: FloatArray
    people: dict[str, FloatArray]
    trace: Trace | None = None

    @classmethod
    def of(cls, sums: Accumulator) -> "PolicyResult":
        """Build from the sums over all tasks."""
        regrets, moments = sums.regrets.items(), sums.moments
        curves = {name: Curve.of(list(moments[name].values()), distribution) for name, distribution in regrets}
        return cls(
            regret=curves["regret"],
            weak=curves.get("weak_regret"),
            **{name: moments[name][0].mean for name in ("reward", "best_share", "true_state")},
            people={name: np.concatenate(parts) for name, parts in sums.people.items()},
            trace=Trace(*map(np.concatenate, zip(*sums.traces, strict=True))) if sums.traces else None,
        )

    @property
    def stop(self) -> Json | None:
        """With `simulate(stop=…)`: the "share" of people who stopped, and their mean "rounds" and share "right".

        `right` is the share whose action had the largest mean; the promise of a stop at 0.95 is that it is about
        0.95. Values are None for policies without P(best), and if no person stopped. None without `stop`.
        """
        people = self.people
        return stop_summary(people["stop_round"], people["stop_right"]) if "stop_round" in people else None

    def __repr__(self) -> str:
        people = pluralize(len(self.people["regret"]), "person", "people")
        return f"<{type(self).__name__}: {people}, regret {self.regret!r}>"

    def to_dict(self) -> Json:
        """Return the summary as a JSON object; null for values that the policy does not have."""
        mean = {name: finite_or_none(float(values.mean())) for name, values in self.people.items()}
        weak = {} if self.weak is None else {"weak_regret": self.weak.last()}
        stop = {} if self.stop is None else {"stop": self.stop}
        return {
            "regret": self.regret.last(),
            **weak,
            "curve": self.regret.mean.tolist(),
            "reward": mean["reward"],
            "best_share": mean["best_share"],
            "true_state": mean["true_state"],
            "active": {part: mean[f"active_{part}"] for part in ("all", "true", "other")},
            **stop,
        }


@dataclass(frozen=True, repr=False)
class Results(Charted):
    """Results of all policies of a simulation.

    >>> from lpbandits import SyntheticWorld, simulate
    >>> results = simulate(SyntheticWorld(states=2, actions=3), ["lpbts", "ts"], people=3, rounds=5)
    >>> results.curves().shape, results.people().height
    ((10, 11), 12)
    """

    settings: Json
    policies: Mapping[str, PolicyResult]
    seconds: float

    def __repr__(self) -> str:
        ends = ", ".join(f"{name} {result.regret.mean[-1]:.4g}" for name, result in self.policies.items())
        return f"<Results after {pluralize(self.settings['rounds'], 'round')}: mean regret {ends}>"

    def __getitem__(self, name: str) -> PolicyResult:
        return self.policies[as_choice(name, "policy", self.policies)]

    @property
    def duels(self) -> bool:
        """Whether the policies played duels."""
        return bool(self.settings["feedback"] == "duels")

    def difference(self, one: str, other: str) -> tuple[float, float]:
        """Return the mean of regret(one) − regret(other) at the last round, paired by person, and its se."""
        units = self._paired(one, other)
        error = units.std(ddof=1) / np.sqrt(len(units)) if len(units) > 1 else np.nan
        return float(units.mean()), float(error)

    def differences(self, reference: str | None = None) -> dict[str, Difference]:
        """Return, for each other policy, its regret − that of a reference (by default the first policy).

        Policies are compared on the same people and random numbers. With several draws, the 95 % interval is over
        draws; with one draw it is over its people only, and does not cover other orderings.

        >>> from lpbandits import SyntheticWorld, simulate
        >>> results = simulate(SyntheticWorld(states=2, actions=4), ["lpbts", "uniform"], people=9, rounds=50, draws=3)
        >>> results.differences()["uniform"].low > 0
        True
        """
        reference = next(iter(self.policies)) if reference is None else as_choice(reference, "policy", self.policies)
        return {name: Difference.of(self._paired(name, reference)) for name in self.policies if name != reference}

    def _paired(self, one: str, other: str) -> FloatArray:
        """Return regret(one) − regret(other) by draw; by person if there is one draw."""
        gap = self[one].people["regret"] - self[other].people["regret"]
        draws = int(self.settings["draws"])
        return np.asarray(gap.reshape(draws, -1).mean(axis=1)) if draws > 1 else gap

    def to_dict(self) -> Json:
        """Return the summary as the JSON object that `lpb simulate --json` prints."""
        return {
            "settings": self.settings,
            "policies": {name: result.to_dict() for name, result in self.policies.items()},
            "differences": {
                "reference": next(iter(self.policies)),
                "over": "draws" if self.settings["draws"] > 1 else "people",
                "regret": {name: asdict(gap) for name, gap in self.differences().items()},
            },
            "seconds": self.seconds,
        }

    def curves(self) -> pl.DataFrame:
        """Return a table with a row per policy and round; for duels also of weak regret."""
        check_fork()
        frames = []
        for name, result in self.policies.items():
            columns: dict[str, object] = {"policy": name, "round": np.arange(1, len(result.reward) + 1)}
            for title, curve in (("regret", result.regret), ("weak_regret", result.weak)):
                if curve is not None:
                    columns[title] = curve.mean
                    columns |= {f"{title}_{part}": getattr(curve, part) for part in ("sd", "se", "p05", "p50", "p95")}
            columns |= {part: getattr(result, part) for part in ("reward", "best_share", "true_state")}
            frames.append(pl.DataFrame(columns))
        return pl.concat(frames)

    def people(self) -> pl.DataFrame:
        """Return a table with a row per policy and person."""
        check_fork()
        frames = []
        for name, result in self.policies.items():
            frame = pl.DataFrame(result.people).with_row_index("person")
            frame = frame.with_columns(pl.col("draw", "state").cast(pl.Int64), policy=pl.lit(name))
            frames.append(frame.select("policy", "person", pl.exclude("policy", "person")))
        return pl.concat(frames)

    def to_pandas(self, table: str = "curves") -> Any:
        """Return the table "curves" or "people" as a pandas frame; pyarrow is not needed."""
        return to_pandas(self.tables()[as_choice(table, "table", ("curves", "people"))])

    @translate_errors("saving results")
    def save(self, folder: str | Path) -> Path:
        """Write curves.parquet, people.parquet and manifest.json; return the folder."""
        tables = self.tables()
        with atomic_folder(folder, self.manifest()) as place:
            for name, table in tables.items():
                write_table(place / f"{name}.parquet", table)
        return as_path(folder)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the saved tables by name."""
        return {"curves": self.curves(), "people": self.people()}

    def manifest(self) -> Json:
        """Return the manifest: the summary, and the versions of libraries."""
        return {"format": FORMAT, "version": VERSION, **self.to_dict(), "versions": versions()}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    names = ("lpbandits", "numpy", "scipy", "scikit-learn", "numba", "polars")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
