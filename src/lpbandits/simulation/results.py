"""What a simulation found: curves, people, and the files a user keeps."""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray, IntArray, Json

FORMAT = "lpbandits-simulation"
VERSION = 1


@dataclass(frozen=True, repr=False)
class Curve:
    """A quantity at each round, over people: mean, standard deviation, standard error and quantiles.

    The standard error is that of the mean over people; with several draws of the orderings it is that of the mean over
    draws, because people of one draw share their orderings and are not independent.
    """

    mean: FloatArray
    sd: FloatArray
    se: FloatArray
    p05: FloatArray
    p50: FloatArray
    p95: FloatArray

    @classmethod
    def of(cls, values: FloatArray, draws: int) -> "Curve":
        """Summarise people × rounds, people of one draw next to each other."""
        people = len(values)
        sd = values.std(axis=0, ddof=1) if people > 1 else np.full(values.shape[1], np.nan)
        if draws > 1:
            per_draw = values.reshape(draws, people // draws, -1).mean(axis=1)
            se = per_draw.std(axis=0, ddof=1) / np.sqrt(draws)
        else:
            se = sd / np.sqrt(people)
        p05, p50, p95 = np.quantile(values, (0.05, 0.5, 0.95), axis=0)
        return cls(values.mean(axis=0), sd, se, p05, p50, p95)

    def last(self) -> dict[str, float | None]:
        """Return the summary at the last round; one person has no spread, which is None."""
        return {name: _or_none(float(getattr(self, name)[-1])) for name in self.__dataclass_fields__}

    def __repr__(self) -> str:
        return f"<Curve: {len(self.mean)} rounds, ends at {self.mean[-1]:.4g} ± {self.se[-1]:.2g}>"


@dataclass(frozen=True, repr=False)
class PolicyResult:
    """How one policy did.

    Attributes
    ----------
    regret
        Cumulative regret at each round.
    reward
        Mean reward at each round.
    best_share
        Share of people who got their best allowed action, at each round.
    true_state
        Mean posterior probability of the true state after each round; NaN without latent states.
    people
        One row per person: draw, state, regret, mean reward, best_share, true_state, and the active constraints at
        the end (mean over all states, the true state, mean over the others; NaN where no fit has constraints).
    """

    regret: Curve
    reward: FloatArray
    best_share: FloatArray
    true_state: FloatArray
    people: dict[str, FloatArray]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.people['regret'])} people, regret {self.regret!r}>"

    @classmethod
    def of(
        cls,
        *,
        rewards: FloatArray,
        regret: FloatArray,
        mass: FloatArray,
        active: FloatArray,
        truth: IntArray,
        draws: int,
    ) -> "PolicyResult":
        """Summarise arrays of people × rounds."""
        best = regret <= 0.0
        total = np.cumsum(regret, axis=1)
        people = {
            "draw": np.repeat(np.arange(draws), len(truth) // draws).astype(np.float64),
            "state": truth.astype(np.float64),
            "regret": total[:, -1].copy(),
            "reward": rewards.mean(axis=1),
            "best_share": best.mean(axis=1),
            "true_state": mass[:, -1].copy(),
            "active_all": active[:, 0],
            "active_true": active[:, 1],
            "active_other": active[:, 2],
        }
        return cls(Curve.of(total, draws), rewards.mean(axis=0), best.mean(axis=0), mass.mean(axis=0), people)

    def to_dict(self) -> Json:
        """Return the summary as a JSON object; null stands for what the policy does not have."""
        mean = {name: _or_none(float(values.mean())) for name, values in self.people.items()}
        return {
            "regret": self.regret.last(),
            "curve": self.regret.mean.tolist(),
            "reward": mean["reward"],
            "best_share": mean["best_share"],
            "true_state": mean["true_state"],
            "active": {part: mean[f"active_{part}"] for part in ("all", "true", "other")},
        }


@dataclass(frozen=True, repr=False)
class Results:
    """All policies of one simulation, on the same people with the same luck.

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
        return f"<Results after {self.settings['rounds']} rounds: mean regret {ends}>"

    def __getitem__(self, name: str) -> PolicyResult:
        try:
            return self.policies[name]
        except KeyError:
            raise InvalidInput(f"no policy {name!r} in these results; there are: {', '.join(self.policies)}") from None

    def difference(self, one: str, other: str) -> tuple[float, float]:
        """Return the mean of regret(one) − regret(other) at the end, paired by person, and its standard error."""
        gap = self[one].people["regret"] - self[other].people["regret"]
        draws = int(self.settings["draws"])
        units = gap.reshape(draws, -1).mean(axis=1) if draws > 1 else gap
        error = units.std(ddof=1) / np.sqrt(len(units)) if len(units) > 1 else np.nan
        return float(gap.mean()), float(error)

    def to_dict(self) -> Json:
        """Return the summary as the JSON object that `lpb simulate --json` prints."""
        return {
            "settings": self.settings,
            "policies": {name: result.to_dict() for name, result in self.policies.items()},
            "seconds": self.seconds,
        }

    def curves(self) -> pl.DataFrame:
        """Return a row per policy and round."""
        frames = []
        for name, result in self.policies.items():
            regret = result.regret
            frames.append(
                pl.DataFrame(
                    {
                        "policy": [name] * len(regret.mean),
                        "round": np.arange(1, len(regret.mean) + 1),
                        "regret": regret.mean,
                        "regret_sd": regret.sd,
                        "regret_se": regret.se,
                        "regret_p05": regret.p05,
                        "regret_p50": regret.p50,
                        "regret_p95": regret.p95,
                        "reward": result.reward,
                        "best_share": result.best_share,
                        "true_state": result.true_state,
                    }
                )
            )
        return pl.concat(frames)

    def people(self) -> pl.DataFrame:
        """Return a row per policy and person."""
        frames = []
        for name, result in self.policies.items():
            frame = pl.DataFrame(result.people).with_row_index("person")
            frame = frame.with_columns(pl.col("draw", "state").cast(pl.Int64), policy=pl.lit(name))
            frames.append(frame.select("policy", "person", pl.exclude("policy", "person")))
        return pl.concat(frames)

    def save(self, folder: str | Path) -> Path:
        """Write curves.parquet, people.parquet and manifest.json; return the folder."""
        out = validate.as_folder(folder)
        self.curves().write_parquet(out / "curves.parquet")
        self.people().write_parquet(out / "people.parquet")
        manifest = {"format": FORMAT, "version": VERSION, **self.to_dict(), "versions": versions()}
        (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        return out


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    names = ("lpbandits", "numpy", "scipy", "scikit-learn", "numba", "polars")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
