"""Error of recovered orderings against the number of people: two-stage and EM, on both scales."""

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from lpbandits.data import Ratings
from lpbandits.fit import Em, TwoStage, fit_states, match_orderings
from lpbandits.fit.methods.estimator import Estimator
from lpbandits.paper.figures.curves import SCALES
from lpbandits.paper.figures.sweeps import points
from lpbandits.paper.spec import Figure, Size
from lpbandits.typing import FloatArray, Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.policies import line_chart
from lpbandits.worlds import SyntheticWorld

ACTIONS = 10
STATES = 5
LOGS = {"complete": ACTIONS, "incomplete": 6}
"""Number of random actions that each person rated."""
METHODS: dict[str, tuple[str, Callable[..., Estimator]]] = {
    "two-stage": ("two-stage, raw (the paper's)", partial(TwoStage, scale="raw", shrink=False)),
    "two-stage-cosine": ("two-stage, scale-free", partial(TwoStage, scale="cosine", shrink=False)),
    "em": ("EM", partial(Em, scale="raw", shrink=False)),
}
"""Title and estimator of each method."""


def _plan(size: Size, draws: int) -> dict[str, Json]:
    return {
        f"{log} logs, {scale} scale, {people} per state": {"log": log, "scale": scale, "people": people, "draws": draws}
        for log in LOGS
        for scale in SCALES
        for people in ((10, 100) if size.quick else (10, 40, 160))
    }


def _run(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    log, scale, people = (settings[name] for name in ("log", "scale", "people"))
    world = SyntheticWorld(states=STATES, actions=ACTIONS, scale=scale)
    rows = []
    for draw in range(settings["draws"]):
        crowd = world.draw(people=people, seed=seed, draw=draw)
        ratings = _log(crowd.means, LOGS[log], np.random.default_rng([seed, draw, people]))
        for method, (_, estimator) in METHODS.items():
            model = fit_states(
                ratings, estimator(seed=seed), states=STATES, heldout=0, taste=False, threads=threads
            ).model
            matching = match_orderings(crowd.model, model)
            row = {"method": method, "log": log, "scale": scale, "people": people * STATES, "draw": draw}
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
    errors = points(table, "error", "log", "scale", "method", "people").with_columns(
        pl.col("se").fill_null(0.0),
        x=pl.col("people").cast(pl.Float64),
        policy=pl.col("method").replace_strict({name: title for name, (title, _) in METHODS.items()}),
    )
    top = 1.05 * float((errors["y"] + errors["se"]).to_numpy().max())
    panels = [
        line_chart(
            errors.filter(log=log, scale=scale).select("x", "policy", "y", "se"),
            x="people in the log (log scale)",
            y="1 − Kendall's τ",
            title=f"{title}, {log} logs",
            subtitle="error of the orderings, lower is better; bars: standard error over draws",
            log=True,
            limit=top,
            height=240,
        )
        for log in LOGS
        for scale, title in SCALES.items()
    ]
    return grid(panels)


FIGURES = [
    Figure(
        name="recovery",
        version=2,
        title="Recovery of the orderings from logs",
        shows="error of the recovered orderings against the number of people, two-stage and EM, both scales",
        plan=_plan,
        run=_run,
        chart=_chart,
        draws=4,
    )
]
