"""MovieLens: cumulative regret and standardized ratings, on both scales, with true and recovered models."""

from functools import lru_cache, partial

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data import Ratings
from lpbandits.datasets.movielens import fingerprint_of, require
from lpbandits.fit.clusters import Scale
from lpbandits.limits import check_resources
from lpbandits.model import PreferenceModel
from lpbandits.paper.movielens import ENVIRONMENTS, NOISE, OFFERED, Environment, Genres, MovieLensTask, read_log
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.policies import Policy
from lpbandits.policies.baselines import TS, Popular
from lpbandits.policies.latent import MTS, LpbIDS, LpbTS, LpbUtility
from lpbandits.rewards import Rewards
from lpbandits.simulation import Trace, rollout
from lpbandits.statistics import t_multiplier
from lpbandits.typing import FloatArray, Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.lines import regret_chart, top_of
from lpbandits.views.charts.spread import dot_chart
from lpbandits.worlds import Population

PEOPLE = 100
POLICIES = 26
MOST_DRAWS = 10_000
RECOVERED_DRAWS = 8
"""Number of draws with recovered models, which take most of the time."""
TRUE, NOTHING = "true model", "no model"
RECOVERED: dict[str, Scale] = {"recovered, raw": "raw", "recovered, scale-free": "cosine"}
"""Levels of information: the true model, a model recovered from logs (clustering of the scale), or none."""
SHRUNK = "recovered, shrunk"
"""A model recovered scale-free with utilities shrunk over states, beyond the paper."""
LEVELS = (TRUE, *RECOVERED, SHRUNK)
"""Levels with a panel in the chart."""


def _plan(size: Size, draws: int, name: str, dataset: str) -> list[Case]:
    """Return a case per draw: a new split of the people and new random numbers."""
    validate.as_count(draws, "draws", high=MOST_DRAWS)
    common = {"dataset": dataset, "people": 20 if size.quick else PEOPLE, "rounds": size.rounds}
    return [
        Case(name, f"draw {draw}", {"draw": draw, "recovered": draw < RECOVERED_DRAWS, **common})
        for draw in range(draws)
    ]


def _check(case: Case) -> int:
    """Reject a case that needs too much memory or time; return its approximate number of operations."""
    people, rounds = (int(case.settings[name]) for name in ("people", "rounds"))
    work = 10**9 + len(ENVIRONMENTS) * POLICIES * people * rounds * 100
    check_resources(
        f"{people} people × {rounds:,} rounds",
        "take fewer rounds",
        size=people * rounds * (16 * OFFERED + 36 + 8 * POLICIES),
        operations=work,
    )
    return work


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return curves (kind "curve") and final values (kind "final") of every policy and level of information."""
    s = case.settings
    derived = int(np.random.SeedSequence([seed, s["draw"]]).generate_state(1)[0])
    task = MovieLensTask.of(*_log(s["dataset"], fingerprint_of(s["dataset"])), seed=derived, threads=threads)
    offered = task.offered(s["people"], s["rounds"])
    frames = []
    for name, environment in ENVIRONMENTS.items():
        people = task.population(environment, offered)
        models, errors = _models(task, people, environment, recovered=s["recovered"], threads=threads)
        for (policy, level), built in policies_for(models, task, environment).items():
            trace = rollout(built, people, rounds=s["rounds"], seed=derived)
            labels = {"environment": name, "policy": policy, "level": level, "draw": s["draw"]}
            ends = pl.DataFrame({"kind": "final", "error": errors.get(level), **ends_of(trace, people)})
            both = (ends, _curve(trace).with_columns(kind=pl.lit("curve")))
            frames += [rows.with_columns(pl.lit(value).alias(key) for key, value in labels.items()) for rows in both]
    return pl.concat(frames, how="diagonal_relaxed")


@lru_cache(maxsize=1)
def _log(dataset: str, content: str) -> tuple[Ratings, Genres]:
    """Return a dataset after the paper's filter, read once per process and content."""
    del content
    return read_log(require(dataset))


def _models(
    task: MovieLensTask, people: Population, environment: Environment, *, recovered: bool, threads: int | None
) -> tuple[dict[str, PreferenceModel], dict[str, float]]:
    """Return the model of each level of information and the error (1 − Kendall's τ) of its orderings."""
    models, errors = {TRUE: people.model}, {TRUE: 0.0}
    if not recovered:
        return models, errors
    log = task.log(environment)
    for level, clustering in RECOVERED.items():
        models[level], errors[level] = task.recovered(log, environment, clustering=clustering, threads=threads)
    models[SHRUNK], errors[SHRUNK] = task.recovered(log, environment, clustering="cosine", shrink=True, threads=threads)
    return models, errors


def policies_for(
    models: dict[str, PreferenceModel], task: MovieLensTask, environment: Environment
) -> dict[tuple[str, str], Policy]:
    """Return the policies by name and level of information; mTS starts from its prior, as published.

    All assume the same noise; policies that learn the noise treat it as a guess.
    """
    out: dict[tuple[str, str], Policy] = {}
    guess = Rewards(noise=NOISE).as_guess
    for level, model in models.items():
        out["mts", level] = MTS(model, noise=NOISE)
        out["lpb-utility", level] = LpbUtility(model, rewards=guess)
        out["lpb-ids", level] = LpbIDS(model, rewards=guess)
        out["lpbts", level] = LpbTS(model, noise=NOISE, first="uniform")
        out["popular", level] = Popular(model, rewards=Rewards(noise=NOISE))
        out["ts-top", level] = TS(model, noise=NOISE, top=True)
    if environment.scale == "different":
        out["mts-common", TRUE] = MTS(task.model, noise=NOISE)
    out["ts", NOTHING] = TS(models[TRUE], noise=NOISE)
    return out


def ends_of(trace: Trace, people: Population) -> Json:
    """Return final regret, and mean ratings standardized by each person's mean ratings of all movies."""
    regret = trace.regret.sum(axis=1)
    score = (trace.rewards.mean(axis=1) - people.means.mean(axis=1)) / people.means.std(axis=1)
    return {
        "regret": float(regret.mean()),
        "regret_sd": float(regret.std(ddof=1)),
        "z": float(score.mean()),
        "z_se": float(score.std(ddof=1) / np.sqrt(len(score))),
    }


def _curve(trace: Trace) -> pl.DataFrame:
    """Return mean and standard deviation over people of cumulative regret by round."""
    totals: FloatArray = np.cumsum(trace.regret, axis=1)
    rounds = np.arange(1, totals.shape[1] + 1)
    return pl.DataFrame({"round": rounds, "regret": totals.mean(axis=0), "regret_sd": totals.std(axis=0, ddof=1)})


def over_draws(table: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Return regret by group: mean over draws, standard deviation over people, standard error over draws."""
    return table.group_by(*by, maintain_order=True).agg(
        pl.col("regret").mean(),
        (pl.col("regret_sd") ** 2).mean().sqrt(),
        regret_se=pl.col("regret").std() / pl.len().sqrt(),
    )


def _chart(table: pl.DataFrame) -> Chart:
    """Return a row of regret panels per environment with a panel per model, then the ratings."""
    named = table.with_columns(pl.col("policy").replace({"mts-common": "mTS, common means"}))
    regret = [panel for name, it in ENVIRONMENTS.items() for panel in _regret(named.filter(environment=name), it.title)]
    return grid([*regret, *_ratings(named)], columns=len(LEVELS))


def _regret(table: pl.DataFrame, title: str) -> list[Chart]:
    """Return a panel per model with one y axis; TS without a model is only in the subtitle."""
    curves = over_draws(table.filter(pl.col("kind") == "curve", pl.col("level") != NOTHING), "level", "policy", "round")
    plain = float(np.mean(table.filter(kind="final", level=NOTHING)["regret"].to_numpy()))
    top = top_of(curves)
    off = ", off the chart" if plain > top else ""
    return [
        regret_chart(
            curves.filter(level=level),
            title=f"{title}: {level}",
            subtitle=f"{_draws(table.filter(level=level))}; TS without a model: {plain:.0f}{off}",
            limit=top,
            width=250,
            height=210,
        )
        for level in LEVELS
    ]


def _ratings(table: pl.DataFrame) -> list[Chart]:
    """Return a panel of mean ratings per environment with one x axis; TS without a model is only in the subtitle."""
    scores = _intervals(table.filter(kind="final"))
    shown = scores.filter(pl.col("level") != NOTHING)
    ends = (float(np.min(shown["low"].to_numpy())), float(np.max(shown["high"].to_numpy())))
    charts = []
    for name, environment in ENVIRONMENTS.items():
        plain = float(scores.filter(environment=name, level=NOTHING)["value"][0])
        grouped = [
            shown.filter(environment=name, level=level).with_columns(
                group=pl.format("{}, {}", "level", pl.lit(_draws(table.filter(level=level))))
            )
            for level in LEVELS
        ]
        charts.append(
            dot_chart(
                pl.concat(grouped),
                x="mean rating, z-scored per person",
                title=f"{environment.title}: ratings",
                subtitle=f"bars: 95 % intervals, Student's t; TS without a model: {plain:.2f}".replace("-", "−"),
                ends=ends,
                width=250,
            )
        )
    return charts


def _intervals(ends: pl.DataFrame) -> pl.DataFrame:
    """Return mean ratings and their 95 % intervals by Student's t over draws; a single draw has width 0."""
    groups = ends.group_by("environment", "level", "policy", maintain_order=True)
    scores = groups.agg(value=pl.col("z").mean(), error=pl.col("z").std() / pl.len().sqrt(), draws=pl.len())
    factor = pl.Series([t_multiplier(draws) for draws in scores["draws"]])
    away = (pl.col("error") * factor).fill_nan(0.0).fill_null(0.0)
    return scores.with_columns(low=pl.col("value") - away, high=pl.col("value") + away)


def _draws(table: pl.DataFrame) -> str:
    count = table["draw"].n_unique()
    return f"{count} draw{'s' if count != 1 else ''}"


FIGURES = [
    Figure(
        name=f"movielens-{dataset}",
        version=3,
        title=f"MovieLens {dataset.upper()}",
        shows=f"cumulative regret and z-scored ratings on MovieLens {dataset.upper()}: true and recovered models",
        plan=partial(_plan, name=f"movielens-{dataset}", dataset=dataset),
        run=_run,
        chart=_chart,
        draws=28,
        data=dataset,
        check=_check,
    )
    for dataset in ("1m", "20m", "32m")
]
