"""MovieLens figures: models and policies, measures, tables and charts."""

import statistics
from typing import Any

import numpy as np
import polars as pl
import pytest

from lpbandits.data import Ratings
from lpbandits.fit.methods.clusters import Scale
from lpbandits.model import PreferenceModel
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures import movielens as module
from lpbandits.paper.figures.movielens import NOTHING, SHRUNK, TRUE
from lpbandits.paper.movielens import ENVIRONMENTS, NOISE, Environment, MovieLensTask
from lpbandits.paper.spec import FULL, QUICK
from lpbandits.policies import Policy
from lpbandits.policies.baselines import TS, Popular
from lpbandits.policies.latent import MTS, LpbIDS, LpbTS, LpbUtility
from lpbandits.simulation import Trace, rollout
from lpbandits.typing import FloatArray, Json
from lpbandits.views.charts.base import deferred_validation
from lpbandits.worlds import Population
from tests.movielens_log import Log
from tests.paper.conftest import DRAW, RUN_SEED

RAW, FREE = "recovered, raw", "recovered, scale-free"
LEVELS = (TRUE, RAW, FREE, SHRUNK)
PEOPLE, ROUNDS = 8, 6
HOW = {RAW: ("raw", False), FREE: ("cosine", False), SHRUNK: ("cosine", True)}
"""Clustering and shrinkage of each recovered model."""
Recoveries = dict[tuple[str, str, bool], tuple[PreferenceModel, float]]
"""Recovered models and their errors by environment, clustering and shrinkage."""


def run_draw(log: Log, draw: int, *, recovered: bool) -> pl.DataFrame:
    figure = FIGURES["movielens-20m"]
    settings = {"draw": draw, "recovered": recovered, "dataset": "20m", "people": PEOPLE, "rounds": ROUNDS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "require", {"20m": log.folder}.__getitem__)
        patch.setattr(module, "fingerprint_of", {"20m": "content"}.__getitem__)
        return figure.run(settings, RUN_SEED, 1)


@pytest.fixture(scope="module")
def recoveries() -> Recoveries:
    """Return the recovered models of the table, filled by `table`."""
    return {}


@pytest.fixture(scope="module")
def table(log: Log, recoveries: Recoveries) -> pl.DataFrame:
    original = MovieLensTask.recovered

    def recovered(
        self: MovieLensTask, log: Ratings, environment: Environment, *, clustering: Scale, **options: Any
    ) -> tuple[PreferenceModel, float]:
        np.testing.assert_array_equal(log.rating, self.log(environment).rating)
        result = original(self, log, environment, clustering=clustering, **options)
        recoveries[environment.title, clustering, options.get("shrink", False)] = result
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MovieLensTask, "recovered", recovered)
        return run_draw(log, DRAW, recovered=True)


@pytest.mark.parametrize("dataset", ["1m", "20m", "32m"])
def test_draws_have_100_people_and_200_rounds(dataset: str) -> None:
    figure = FIGURES[f"movielens-{dataset}"]
    assert figure.data == dataset
    cases = figure.cases(FULL)
    common = {"dataset": dataset, "people": 100, "rounds": 200}
    assert [case.settings for case in cases] == [
        {"draw": draw, "recovered": draw < 8, **common} for draw in range(figure.draws)
    ]
    assert len({case.name for case in cases}) == figure.draws >= 3
    assert [case.settings["people"] for case in figure.cases(QUICK)] == [20, 20]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_table_equals_rollouts(table: pl.DataFrame, recoveries: Recoveries, task: MovieLensTask, name: str) -> None:
    environment = ENVIRONMENTS[name]
    people = task.population(environment, task.offered(PEOPLE, ROUNDS))
    models = {TRUE: (people.model, 0.0)}
    models |= {level: recoveries[environment.title, *how] for level, how in HOW.items()}
    policies: dict[tuple[str, str], Policy] = {("ts", NOTHING): TS(task.model, noise=NOISE)}
    if name != "same":
        policies["mts-common", TRUE] = MTS(task.model, noise=NOISE, first="prior")
    for level, (model, _) in models.items():
        policies["lpbts", level] = LpbTS(model, noise=NOISE, first="uniform")
        policies["mts", level] = MTS(model, noise=NOISE)
        policies["ts-top", level] = TS(model, noise=NOISE, top=True)
        policies["lpb-utility", level] = LpbUtility(model, noise=NOISE)
        policies["lpb-ids", level] = LpbIDS(model, noise=NOISE)
        policies["popular", level] = Popular(model)
    assert set(table.filter(environment=name).select("policy", "level").rows()) == set(policies)
    for (policy, level), built in policies.items():
        trace = rollout(built, people, rounds=ROUNDS, seed=task.seed)
        rows = table.filter(environment=name, policy=policy, level=level)
        assert set(rows["draw"]) == {DRAW}
        (final,) = rows.filter(kind="final").iter_rows(named=True)
        for key, value in naive_ends(trace, people).items():
            np.testing.assert_allclose(final[key], value, rtol=1e-9, atol=1e-12, err_msg=f"{policy} {level} {key}")
        assert final["error"] == (models[level][1] if level in models else None)
        totals = np.cumsum(naive_regret(trace, people), axis=1)
        curve = rows.filter(kind="curve").sort("round")
        assert curve["round"].to_list() == list(range(1, ROUNDS + 1))
        np.testing.assert_allclose(curve["regret"], totals.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(curve["regret_sd"], totals.std(axis=0, ddof=1), atol=1e-12)


def naive_regret(trace: Trace, people: Population) -> FloatArray:
    """Return the best offered mean minus the played one, people × rounds."""
    plays = trace.plays[:, :, 0]
    regret = np.empty(plays.shape)
    for p, t in np.ndindex(*plays.shape):
        choices = people.offered[p, t]
        assert plays[p, t] in choices
        regret[p, t] = people.means[p, choices].max() - people.means[p, plays[p, t]]
    return regret


def naive_ends(trace: Trace, people: Population) -> dict[str, float]:
    regret = naive_regret(trace, people).sum(axis=1)
    scores = []
    for means, rewards in zip(people.means, trace.rewards, strict=True):
        mean = sum(means) / len(means)
        sd = np.sqrt(sum((means - mean) ** 2) / len(means))
        scores.append((sum(rewards) / len(rewards) - mean) / sd)
    error = statistics.stdev(scores) / np.sqrt(len(scores))
    ends = {"regret": regret.mean(), "regret_sd": statistics.stdev(regret), "z": np.mean(scores), "z_se": error}
    return {name: float(value) for name, value in ends.items()}


def test_draws_differ(log: Log, table: pl.DataFrame) -> None:
    other = run_draw(log, 0, recovered=False)
    assert other.columns == table.columns
    true = table.filter(level=TRUE)
    assert other.filter(level=TRUE).height == true.height
    assert not other.filter(level=TRUE)["regret"].equals(true["regret"])


@pytest.fixture(scope="module")
def spec(table: pl.DataFrame) -> Json:
    """Return the chart of two draws that differ by 1, the second without a raw model; TS has a regret of 344."""
    first = table.with_columns(regret=pl.when(level=NOTHING).then(343.5).otherwise("regret"))
    second = first.filter(pl.col("level") != RAW).with_columns(pl.col("regret", "z") + 1, draw=pl.lit(3))
    chart: Json = deferred_validation(FIGURES["movielens-1m"].chart)(pl.concat([first, second])).to_dict()
    return chart


def test_chart_shows_all_environments_with_both_errors(table: pl.DataFrame, spec: Json) -> None:
    titles = {" ".join(panel["title"]["text"]): " ".join(panel["title"]["subtitle"]) for panel in spec["concat"]}
    for environment in ENVIRONMENTS.values():
        for level in LEVELS:
            draws = "1 draw" if level == RAW else "2 draws"
            subtitle = f"{draws}; TS without a model: 344, off the chart"
            assert titles[f"{environment.title}: {level}"] == subtitle
        assert "95 % intervals, Student's t" in titles[f"{environment.title}: ratings"]
    assert all("TS without a model" in subtitle for subtitle in titles.values())
    rows = [row for data in spec["datasets"].values() for row in data]
    assert all(row.get("name") != "TS" for row in rows)
    dots = [row for row in rows if "value" in row]
    assert len(dots) == table.filter(pl.col("policy") != "ts", kind="final").height
    assert {row["group"] for row in dots} == {
        *(f"{level}, 2 draws" for level in (TRUE, FREE, SHRUNK)),
        f"{RAW}, 1 draw",
    }
    for row in dots:  # two draws, 1 apart: the error is 0.5, and Student's t with one degree of freedom 12.706
        reach = 0.0 if row["level"] == RAW else 12.7062 * 0.5
        np.testing.assert_allclose([row["low"], row["high"]], [row["value"] - reach, row["value"] + reach], atol=1e-4)
    ends = [row for row in rows if row.get("low") is not None and "value" not in row]
    assert len(ends) == table.filter(~pl.col("level").is_in([RAW, NOTHING]), kind="final").height
    np.testing.assert_allclose([row["high"] - row["low"] for row in ends], 1.0)  # ± one error


def test_panels_of_ratings_share_an_axis(table: pl.DataFrame, spec: Json) -> None:
    ratings = [panel for panel in spec["concat"] if " ".join(panel["title"]["text"]).endswith(": ratings")]
    domains = {tuple(panel["layer"][0]["encoding"]["x"]["scale"]["domain"]) for panel in ratings}
    assert (len(ratings), len(domains)) == (3, 1)
    low, high = domains.pop()
    shown = table.filter(pl.col("level") != NOTHING, kind="final")["z"].to_numpy()
    assert low < shown.min() <= shown.max() < high
