"""Error of recovered orderings against the number of people: two-stage and EM, on both scales."""

import numpy as np
import polars as pl

from lpbandits.data import Ratings
from lpbandits.fit import Em, TwoStage, fit_states, match_orderings
from lpbandits.fit.estimator import Estimator
from lpbandits.limits import check_resources
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.typing import FloatArray
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.lines import line_chart
from lpbandits.worlds import SyntheticWorld

ACTIONS = 10
STATES = 5
LOGS = {"complete": ACTIONS, "incomplete": 6}
"""Number of random actions that each person rated."""
METHODS = {
    "two-stage": "two-stage, raw (the paper's)",
    "two-stage-cosine": "two-stage, scale-free",
    "em": "EM",
}


def _plan(size: Size, draws: int) -> list[Case]:
    sizes = (10, 100) if size.quick else (10, 40, 160)
    return [
        Case(
            "recovery",
            f"{log} logs, {scale} scale, {people} per state",
            {"log": log, "scale": scale, "people": people, "draws": draws},
        )
        for log in LOGS
        for scale in ("same", "different")
        for people in sizes
    ]


def _check(case: Case) -> int:
    people, draws = case.settings["people"], case.settings["draws"]
    work = draws * people * 10**6
    check_resources(f"{draws:,} draws of {people} people per state", "take fewer draws", operations=work)
    return int(work)


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    s = case.settings
    world = SyntheticWorld(states=STATES, actions=ACTIONS, scale=s["scale"])
    rows = []
    for draw in range(s["draws"]):
        people = world.draw(people=s["people"], seed=seed, draw=draw)
        log = _log(people.means, LOGS[s["log"]], np.random.default_rng([seed, draw, s["people"]]))
        estimators: dict[str, Estimator] = {
            "two-stage": TwoStage(scale="raw", shrink=False, seed=seed),
            "two-stage-cosine": TwoStage(scale="cosine", shrink=False, seed=seed),
            "em": Em(scale="raw", shrink=False, seed=seed),
        }
        for method, estimator in estimators.items():
            model = fit_states(log, estimator, states=STATES, heldout=0, taste=False, threads=threads).model
            matching = match_orderings(people.model, model)
            row = {"method": method, "log": s["log"], "scale": s["scale"], "people": s["people"] * STATES, "draw": draw}
            rows.append({**row, "error": matching.error, "top_overlap": matching.top_overlap})
    return pl.DataFrame(rows)


def _log(means: FloatArray, rated: int, rng: np.random.Generator) -> Ratings:
    """Return noisy ratings of `rated` random actions per person."""
    people, actions = means.shape
    action = np.argsort(rng.random((people, actions)), axis=1)[:, :rated].ravel()
    person = np.repeat(np.arange(people), rated)
    rating = means[person, action] + rng.standard_normal(len(action))
    return Ratings.from_codes(person, action, rating, people=tuple(range(people)), actions=tuple(range(actions)))


def _chart(table: pl.DataFrame) -> Chart:
    """Return a panel per log and scale, with common axes."""
    points = (
        table.group_by("log", "scale", "method", "people", maintain_order=True)
        .agg(y=pl.col("error").mean(), se=(pl.col("error").std() / pl.len().sqrt()).fill_null(0.0))
        .sort("people", maintain_order=True)
        .with_columns(x=pl.col("people").cast(pl.Float64), policy=pl.col("method").replace_strict(METHODS))
    )
    top = 1.05 * float((points["y"] + points["se"]).to_numpy().max())
    return grid([_panel(points, log, scale, top) for log in LOGS for scale in ("same", "different")], columns=2)


def _panel(points: pl.DataFrame, log: str, scale: str, top: float) -> Chart:
    return line_chart(
        points.filter(log=log, scale=scale).select("x", "policy", "y", "se"),
        x="people in the log (log scale)",
        y="1 − Kendall's τ",
        title=f"{scale.capitalize()} scale{'s' if scale == 'different' else ''}, {log} logs",
        subtitle="error of the orderings, lower is better; bars: standard error over draws",
        log=True,
        limit=top,
        height=240,
    )


FIGURES = [
    Figure(
        name="recovery",
        version=2,
        title="Recovering the orderings from logs",
        shows="error of the recovered orderings against the number of people, two-stage and EM, both scales",
        plan=_plan,
        run=_run,
        chart=_chart,
        draws=4,
        check=_check,
    )
]
