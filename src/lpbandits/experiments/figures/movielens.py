"""MovieLens: cumulative regret and standardised ratings, on both scales, with true and recovered orderings."""

from functools import partial

import numpy as np
import polars as pl

from lpbandits.experiments.charts import Chart, beside, dot_chart, regret_chart, stacked
from lpbandits.experiments.datasets import require
from lpbandits.experiments.movielens import NOISE, MovieLensTask
from lpbandits.experiments.spec import Case, Figure, Size
from lpbandits.policies import MTS, TS, LpbTS, Policy
from lpbandits.simulation import Curve, roll

PEOPLE = 100
RECOVERED = {"lpbts-recovered": "raw", "lpbts-recovered-cosine": "cosine"}
NAMES = {"lpbts-recovered": "lpbTS, recovered", "lpbts-recovered-cosine": "lpbTS, recovered scale-free"}


def _cases(size: Size, name: str, dataset: str) -> list[Case]:
    people = 20 if size.quick else PEOPLE
    common = {"dataset": dataset, "people": people, "rounds": size.rounds, "draws": min(size.draws, 3)}
    return [Case(name, scale, {"scale": scale, **common}) for scale in ("same", "different")]


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return curves and, as rows of kind "final", one row per policy and draw (of the split and of all else)."""
    del threads  # 100 people are one chunk
    s = case.settings
    totals: dict[str, list[np.ndarray]] = {}
    finals = []
    errors: dict[str, float] = {}
    for draw in range(s["draws"]):
        task = MovieLensTask.load(require(s["dataset"]), seed=seed + draw)
        people = task.population(s["scale"], people=s["people"], rounds=s["rounds"])
        policies: dict[str, Policy] = {"lpbts": LpbTS(people.model, noise=NOISE)}
        for name, clustering in RECOVERED.items():
            model, errors[name] = task.recovered(s["scale"], clustering=clustering)  # type: ignore[arg-type] # a scale
            policies[name] = LpbTS(model, noise=NOISE)
        policies["mts"] = MTS(people.model, noise=NOISE)
        policies["ts"] = TS(people.model, noise=NOISE)
        policies["ts-top"] = TS(people.model, noise=NOISE, top=True)
        centre, spread = people.means.mean(axis=1), people.means.std(axis=1)
        for name, policy in policies.items():
            trace = roll(policy, people, rounds=s["rounds"], seed=seed + draw)
            totals.setdefault(name, []).append(np.cumsum(trace.regret, axis=1))
            score = (trace.rewards.mean(axis=1) - centre) / spread
            regret = trace.regret.sum(axis=1)
            finals.append(
                {
                    "policy": name,
                    "draw": draw,
                    "regret": float(regret.mean()),
                    "regret_sd": float(regret.std(ddof=1)),
                    "regret_se": float(regret.std(ddof=1) / np.sqrt(len(regret))),
                    "z": float(score.mean()),
                    "z_se": float(score.std(ddof=1) / np.sqrt(len(score))),
                    "error": errors.get(name, 0.0 if name == "lpbts" else None),
                }
            )
    frames = [pl.DataFrame(finals).with_columns(kind=pl.lit("final"))]
    for name, parts in totals.items():
        curve = Curve.of(np.concatenate(parts), 1)
        frames.append(
            pl.DataFrame(
                {
                    "policy": [name] * s["rounds"],
                    "round": np.arange(1, s["rounds"] + 1),
                    "regret": curve.mean,
                    "regret_sd": curve.sd,
                    "regret_se": curve.se,
                    "kind": ["curve"] * s["rounds"],
                }
            )
        )
    return pl.concat(frames, how="diagonal").with_columns(scale=pl.lit(s["scale"]))


def _chart(table: pl.DataFrame) -> Chart:
    rows = []
    for scale, title in (("same", "Same scale"), ("different", "Different scales")):
        own = table.filter(pl.col("scale") == scale).with_columns(pl.col("policy").replace(NAMES))
        curves = own.filter(pl.col("kind") == "curve").with_columns(best_share=pl.lit(None, pl.Float64))
        latent = curves.filter(pl.col("policy") != "ts")
        ends = own.filter(pl.col("kind") == "final")
        rows.append(
            beside(
                regret_chart(latent, title=f"{title}: cumulative regret (TS is off the scale: {_ts(ends):.0f})"),
                _z_chart(ends, "Ratings received"),
                spacing=40,
            )
        )
    return stacked(*rows)


def _ts(ends: pl.DataFrame) -> float:
    return float(np.mean(ends.filter(pl.col("policy") == "ts")["regret"].to_numpy()))


def _z_chart(ends: pl.DataFrame, title: str) -> Chart:
    table = ends.group_by("policy", maintain_order=True).agg(
        value=pl.col("z").mean(), se=(pl.col("z_se") ** 2).sum().sqrt() / pl.len()
    )
    return dot_chart(table, x="mean rating, z-scored per person (± 2 se)", title=title)


FIGURES = [
    Figure(
        f"movielens-{dataset}",
        1,
        f"MovieLens {dataset.upper()}",
        f"cumulative regret and z-scored ratings on MovieLens {dataset.upper()}: true and recovered orderings",
        partial(_cases, name=f"movielens-{dataset}", dataset=dataset),
        _run,
        _chart,
        data=dataset,
    )
    for dataset in ("1m", "20m", "32m")
]
