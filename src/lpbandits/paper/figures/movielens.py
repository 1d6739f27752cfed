"""MovieLens: cumulative regret and standardised ratings, on both scales, with true and recovered orderings."""

from functools import partial

import numpy as np
import polars as pl

from lpbandits.limits import affordable
from lpbandits.paper.datasets import require
from lpbandits.paper.movielens import NOISE, OFFERED, MovieLensTask
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.policies import Policy
from lpbandits.policies.lpbts import LpbTS
from lpbandits.policies.mts import MTS
from lpbandits.policies.ts import TS
from lpbandits.recovery.cluster import Scale
from lpbandits.simulation import Trace, roll
from lpbandits.simulation.sums import Moments
from lpbandits.typing import FloatArray, Json
from lpbandits.views.charts import Chart, beside, dot_chart, regret_chart, stacked
from lpbandits.worlds import Population

PEOPLE = 100
POLICIES = 7
RECOVERED: dict[str, Scale] = {"lpbts-recovered": "raw", "lpbts-recovered-cosine": "cosine"}
NAMES = {
    "lpbts-recovered": "lpbTS, recovered",
    "lpbts-recovered-cosine": "lpbTS, recovered scale-free",
    "mts-common": "mTS, common means",
}


def _cases(size: Size, name: str, dataset: str) -> list[Case]:
    people = 20 if size.quick else PEOPLE
    common = {"dataset": dataset, "people": people, "rounds": size.rounds, "draws": size.draws}
    return [Case(name, scale, {"scale": scale, **common}) for scale in ("same", "different")]


def _check(case: Case) -> None:
    """Refuse what does not fit: every draw is fitted anew, and all its people's rounds are kept."""
    people, rounds, draws = (case.settings[name] for name in ("people", "rounds", "draws"))
    affordable(
        f"{draws:,} draws of {people} people × {rounds:,} rounds",
        "take fewer draws or rounds",
        size=people * rounds * (16 * OFFERED + 36 + 8 * POLICIES * draws),
        operations=draws * (10**9 + POLICIES * people * rounds * 100),
    )


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return curves and, as rows of kind "final", one row per policy and draw; a draw is a new split, and new luck."""
    del threads  # 100 people are one chunk
    s = case.settings
    totals: dict[str, list[FloatArray]] = {}
    finals: list[Json] = []
    for draw in range(s["draws"]):
        derived = int(np.random.SeedSequence([seed, draw]).generate_state(1)[0])
        task = MovieLensTask.load(require(s["dataset"]), seed=derived)
        people = task.population(s["scale"], people=s["people"], rounds=s["rounds"])
        policies, errors = _policies(task, people, s["scale"])
        for name, policy in policies.items():
            trace = roll(policy, people, rounds=s["rounds"], seed=derived)
            totals.setdefault(name, []).append(np.cumsum(trace.regret, axis=1))
            finals.append({"policy": name, "draw": draw, "error": errors.get(name), **_ends(trace, people)})
    frames = [pl.DataFrame(finals).with_columns(kind=pl.lit("final"))]
    frames += [_curve(name, np.concatenate(parts)) for name, parts in totals.items()]
    return pl.concat(frames, how="diagonal").with_columns(scale=pl.lit(s["scale"]))


def _policies(task: MovieLensTask, people: Population, scale: str) -> tuple[dict[str, Policy], dict[str, float]]:
    """Return the policies, and the errors (1 − Kendall's τ) of the orderings that lpbTS is told."""
    policies: dict[str, Policy] = {"lpbts": LpbTS(people.model, noise=NOISE, first="uniform")}
    errors = {"lpbts": 0.0}
    for name, clustering in RECOVERED.items():
        model, errors[name] = task.recovered(scale, clustering=clustering)
        policies[name] = LpbTS(model, noise=NOISE, first="uniform")
    policies["mts"] = MTS(people.model, noise=NOISE, first="uniform")
    if scale == "different":
        policies["mts-common"] = MTS(task.model, noise=NOISE, first="uniform")
    policies["ts"] = TS(people.model, noise=NOISE)
    policies["ts-top"] = TS(people.model, noise=NOISE, top=True)
    return policies, errors


def _ends(trace: Trace, people: Population) -> Json:
    """Return the end of a run: regret, and ratings standardised by each person's own mean ratings of all movies."""
    regret = trace.regret.sum(axis=1)
    score = (trace.rewards.mean(axis=1) - people.means.mean(axis=1)) / people.means.std(axis=1)
    return {
        "regret": float(regret.mean()),
        "regret_sd": float(regret.std(ddof=1)),
        "z": float(score.mean()),
        "z_se": float(score.std(ddof=1) / np.sqrt(len(score))),
    }


def _curve(name: str, totals: FloatArray) -> pl.DataFrame:
    curve = Moments.of(totals)
    rounds = len(curve.mean)
    columns = {"round": np.arange(1, rounds + 1), "regret": curve.mean, "regret_sd": curve.sd}
    columns["regret_se"] = curve.sd / np.sqrt(curve.count)
    return pl.DataFrame({"policy": [name] * rounds, **columns, "kind": ["curve"] * rounds})


def _chart(table: pl.DataFrame) -> Chart:
    panels = []
    for scale, title in (("same", "Same scale"), ("different", "Different scales")):
        rows = table.filter(pl.col("scale") == scale).with_columns(pl.col("policy").replace(NAMES))
        curves = rows.filter(pl.col("kind") == "curve").with_columns(best_share=pl.lit(None, pl.Float64))
        ends = rows.filter(pl.col("kind") == "final")
        left = regret_chart(curves, title=f"{title}: regret (square-root axis)", root=True)
        panels.append(beside(left, _z_chart(ends, f"{title}: ratings received"), spacing=40))
    return stacked(*panels)


def _z_chart(ends: pl.DataFrame, title: str) -> Chart:
    """Return the standardised ratings; the error is over people and over draws, whichever is larger."""
    over_people = (pl.col("z_se") ** 2).sum().sqrt() / pl.len()
    over_draws = (pl.col("z").std() / pl.len().sqrt()).fill_null(0.0)
    table = ends.group_by("policy", maintain_order=True).agg(
        value=pl.col("z").mean(), se=pl.max_horizontal(over_people, over_draws)
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
        check=_check,
    )
    for dataset in ("1m", "20m", "32m")
]
