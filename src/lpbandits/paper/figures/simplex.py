"""The illustration: what a bandit, a latent preference bandit and a latent bandit know of three means."""

import altair as alt
import numpy as np
import polars as pl

from lpbandits.model import PreferenceModel
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.views.charts import Chart
from lpbandits.views.model_report import STATE_COLOURS

MODEL = PreferenceModel([[0, 1, 2], [1, 2, 0], [2, 0, 1]], actions=["action 1", "action 2", "action 3"])
_STEPS = 60
_NOTHING = "any means"


def _plan(size: Size, draws: int) -> list[Case]:
    del size, draws
    return [Case("simplex", "illustration", {"steps": _STEPS})]


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return a grid over the simplex and, per problem, the state (if any) whose set of means each point lies in."""
    del seed, threads
    steps = case.settings["steps"]
    points = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]) / steps
    inside = np.full(len(points), -1)
    for z, ordering in enumerate(MODEL.orderings):
        inside[np.all(np.diff(points[:, ordering], axis=1) <= 0, axis=1)] = z
    centres = np.array([[0.55, 0.30, 0.15], [0.12, 0.58, 0.30], [0.28, 0.14, 0.58]])
    frames = [
        _frame("bandit: any means", points, np.full(len(points), -1)),
        _frame("latent preference bandit: known orderings", points, inside),
        _frame("latent bandit: known means", points, np.full(len(points), -2)),
        _frame("latent bandit: known means", centres, np.arange(3), known=True),
    ]
    return pl.concat(frames)


def _frame(problem: str, points: np.ndarray, state: np.ndarray, *, known: bool = False) -> pl.DataFrame:
    names = {-2: "impossible", -1: _NOTHING if problem.startswith("bandit") else "impossible"}
    return pl.DataFrame(
        {
            "problem": [problem] * len(points),
            "x": points[:, 1] + points[:, 2] / 2.0,
            "y": points[:, 2] * np.sqrt(3.0) / 2.0,
            "means": [names.get(int(z), f"state {int(z)}") for z in state],
            "known": [known] * len(points),
            "label": [", ".join(f"{v:.2f}" for v in row) for row in points],
        }
    )


def _chart(table: pl.DataFrame) -> Chart:
    domain = [_NOTHING, "impossible", "state 0", "state 1", "state 2"]
    colours = alt.Scale(domain=domain, range=["#b9c2cc", "#eef0f3", *STATE_COLOURS[:3]])
    panels = []
    for problem in table["problem"].unique(maintain_order=True):
        base = alt.Chart(table.filter(pl.col("problem") == problem)).encode(
            alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.05])),
            alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.05, 0.95])),
            alt.Color("means:N", scale=colours, legend=None),
            tooltip=["means", alt.Tooltip("label", title="mean of actions 1, 2, 3")],
        )
        grid = base.transform_filter("!datum.known").mark_square(size=22, opacity=1)
        dots = base.transform_filter("datum.known").mark_point(size=260, filled=True, opacity=1, stroke="white")
        corners = pl.DataFrame(
            {"x": [0.0, 1.0, 0.5], "y": [0.0, 0.0, np.sqrt(3.0) / 2], "name": list(MODEL.actions), "dy": [16, 16, -10]}
        )
        names = [
            alt.Chart(corners.filter(pl.col("dy") == dy))
            .mark_text(dy=dy, fontSize=12, color="#57606a")
            .encode(alt.X("x:Q"), alt.Y("y:Q"), text="name:N")
            for dy in (16, -10)
        ]
        panels.append(alt.layer(grid, dots, *names).properties(width=280, height=260, title=problem))
    return alt.hconcat(*panels, spacing=24)


FIGURES = [
    Figure(
        "simplex",
        1,
        "What is known before the first round",
        "the sets of means that each problem allows, for three actions with means that sum to one",
        _plan,
        _run,
        _chart,
    )
]
