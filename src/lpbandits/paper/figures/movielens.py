"""MovieLens: cumulative regret and standardized ratings, on both scales, with true and recovered models."""

from functools import lru_cache, partial

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data import Ratings
from lpbandits.datasets.movielens import fingerprint_of, require
from lpbandits.fit.methods.clusters import Scale
from lpbandits.model import PreferenceModel
from lpbandits.paper.figures.sweeps import points
from lpbandits.paper.movielens import ENVIRONMENTS, NOISE, Environment, Genres, MovieLensTask, read_log
from lpbandits.paper.spec import Figure, Size
from lpbandits.policies import Policy
from lpbandits.policies.baselines import TS, Popular
from lpbandits.policies.latent import MTS, LpbIDS, LpbTS, LpbUtility
from lpbandits.rewards import Rewards
from lpbandits.simulation import Trace, rollout
from lpbandits.statistics import t_multiplier
from lpbandits.text import pluralize
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.policies import dot_chart, round_chart, top_of
from lpbandits.worlds import Population

PEOPLE = 100
MAX_DRAWS = 10_000
RECOVERED_DRAWS = 8
"""Number of draws with recovered models, which take most of the time."""
TRUE, NOTHING = "true model", "no model"
"""Levels of information with the true model, and without a model."""
RECOVERED: dict[str, Scale] = {"recovered, raw": "raw", "recovered, scale-free": "cosine"}
"""Levels with a model recovered from logs, and the scale on which people are clustered."""
SHRUNK = "recovered, shrunk"
"""Level with a scale-free recovered model whose utilities are shrunk over states (beyond the paper)."""
LEVELS = (TRUE, *RECOVERED, SHRUNK)
"""Levels with a panel in the chart."""


def _plan(size: Size, draws: int, dataset: str) -> dict[str, Json]:
    """Return a case per draw: a new split of the people and new random numbers."""
    validate.as_count(draws, "draws", high=MAX_DRAWS)
    common = {"dataset": dataset, "people": 20 if size.quick else PEOPLE, "rounds": size.rounds}
    return {f"draw {draw}": {"draw": draw, "recovered": draw < RECOVERED_DRAWS, **common} for draw in range(draws)}


def _run(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    """Return curves (kind "curve") and final values (kind "final") of every policy and level of information."""
    dataset, draw, rounds = (settings[name] for name in ("dataset", "draw", "rounds"))
    derived = int(np.random.SeedSequence([seed, draw]).generate_state(1)[0])
    task = MovieLensTask.of(*_log(dataset, fingerprint_of(dataset)), seed=derived, threads=threads)
    offered = task.offered(settings["people"], rounds)
    frames = []
    for name, environment in ENVIRONMENTS.items():
        people = task.population(environment, offered)
        models, errors = _models(task, people, environment, recovered=settings["recovered"], threads=threads)
        for (policy, level), built in policies_for(models, task, environment).items():
            trace = rollout(built, people, rounds=rounds, seed=derived)
            named = {"environment": name, "policy": policy, "level": level, "draw": draw}
            labels = {key: pl.lit(value) for key, value in named.items()}
            totals = np.cumsum(trace.regret, axis=1)
            sd = totals.std(axis=0, ddof=1)
            curve = {"round": np.arange(1, rounds + 1), "regret": totals.mean(axis=0), "regret_sd": sd}
            for kind, values in (("final", {"error": errors.get(level), **ends_of(trace, people)}), ("curve", curve)):
                frames.append(pl.DataFrame({"kind": kind, **values}).with_columns(**labels))
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


def _chart(table: pl.DataFrame) -> Chart:
    """Return a row of regret panels per environment with a panel per model, then the ratings."""
    named = table.with_columns(pl.col("policy").replace({"mts-common": "mTS, common means"}))
    draws = {level: pluralize(named.filter(level=level)["draw"].n_unique(), "draw") for level in LEVELS}
    regret = [
        panel
        for name, environment in ENVIRONMENTS.items()
        for panel in _regret(named.filter(environment=name), environment.title, draws)
    ]
    return grid([*regret, *_ratings(named.filter(kind="final"), draws)], columns=len(LEVELS))


def _regret(table: pl.DataFrame, title: str, draws: dict[str, str]) -> list[Chart]:
    """Return a panel per model with the same y axis; TS without a model is only in the subtitle."""
    with_model = table.filter(pl.col("kind") == "curve", pl.col("level") != NOTHING)
    curves = points(with_model, "regret", "level", "policy", "round")
    curves = curves.rename({"y": "regret", "sd": "regret_sd", "se": "regret_se"})
    plain = float(np.mean(table.filter(kind="final", level=NOTHING)["regret"].to_numpy()))
    top = top_of(curves)
    off = ", off the chart" if plain > top else ""
    return [
        round_chart(
            curves.filter(level=level),
            title=f"{title}: {level}",
            subtitle=f"{draws[level]}; TS without a model: {plain:.0f}{off}",
            limit=top,
            width=250,
            height=210,
        )
        for level in LEVELS
    ]


def _ratings(table: pl.DataFrame, draws: dict[str, str]) -> list[Chart]:
    """Return a panel of mean ratings per environment with the same x axis; TS without a model is in the subtitle."""
    scores = _intervals(table)
    plain = dict(scores.filter(level=NOTHING).select("environment", "value").rows())
    groups = {level: f"{level}, {draws[level]}" for level in LEVELS}
    shown = scores.filter(pl.col("level") != NOTHING).with_columns(group=pl.col("level").replace(groups))
    return [
        dot_chart(
            pl.concat(shown.filter(environment=name, level=level) for level in LEVELS),
            x="mean rating, z-scored per person",
            title=f"{environment.title}: ratings",
            subtitle=f"bars: 95 % intervals, Student's t; TS without a model: {plain[name]:.2f}".replace("-", "−"),
            ends=(float(np.min(shown["low"].to_numpy())), float(np.max(shown["high"].to_numpy()))),
            width=250,
        )
        for name, environment in ENVIRONMENTS.items()
    ]


def _intervals(ends: pl.DataFrame) -> pl.DataFrame:
    """Return mean ratings and their 95 % intervals by Student's t over draws; a single draw has width 0."""
    groups = ends.group_by("environment", "level", "policy", maintain_order=True)
    scores = groups.agg(value=pl.col("z").mean(), error=pl.col("z").std() / pl.len().sqrt(), draws=pl.len())
    factor = pl.Series([t_multiplier(draws) for draws in scores["draws"]])
    away = (pl.col("error") * factor).fill_nan(0.0).fill_null(0.0)
    return scores.with_columns(low=pl.col("value") - away, high=pl.col("value") + away)


FIGURES = [
    Figure(
        name=f"movielens-{dataset}",
        version=3,
        title=f"MovieLens {dataset.upper()}",
        shows=f"cumulative regret and z-scored ratings on MovieLens {dataset.upper()}: true and recovered models",
        plan=partial(_plan, dataset=dataset),
        run=_run,
        chart=_chart,
        draws=28,
        data=dataset,
    )
    for dataset in ("1m", "20m", "32m")
]
