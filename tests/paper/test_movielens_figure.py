"""The MovieLens figures: who is given which model, what is measured, and what the table holds."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lpbandits.data import Ratings
from lpbandits.model import PreferenceModel
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures import movielens as module
from lpbandits.paper.figures.movielens import NOTHING, RECOVERED, SHRUNK, TRUE, ends_of, over_draws, policies_for
from lpbandits.paper.movielens import ENVIRONMENTS, NOISE, Environment, MovieLensTask, read_log
from lpbandits.paper.spec import FULL, QUICK, Case
from lpbandits.policies import Policy
from lpbandits.policies.baselines import TS, Popular
from lpbandits.policies.evidences import KnownMeans, Refit, Standing, Tally, Utility
from lpbandits.policies.latent import MTS, LpbIDS, LpbTS, LpbUtility
from lpbandits.policies.rules import BestExpected, InformationDirected, Popularity, Sample, Thompson
from lpbandits.rewards import Rewards
from lpbandits.simulation import Trace, rollout
from lpbandits.worlds import Population
from tests.movielens_log import write_log

RAW, FREE = "recovered, raw", "recovered, scale-free"
LEVELS = (TRUE, RAW, FREE, SHRUNK)
PLAYED = ("mts", "lpb-utility", "lpb-ids", "lpbts", "popular", "ts-top")
PEOPLE, ROUNDS, RUN_SEED, DRAW = 12, 9, 5, 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("ml")).folder


@pytest.fixture(scope="module")
def task(folder: Path) -> MovieLensTask:
    """The task of the case that is run: its seed is made of the run's seed and the draw."""
    seed = int(np.random.SeedSequence([RUN_SEED, DRAW]).generate_state(1)[0])
    return MovieLensTask.of(*read_log(folder), seed=seed)


@pytest.fixture(scope="module")
def table(folder: Path) -> pl.DataFrame:
    figure = FIGURES["movielens-20m"]
    case = Case(
        figure.name, "draw 2", {"draw": DRAW, "recovered": True, "dataset": "20m", "people": PEOPLE, "rounds": ROUNDS}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "require", {"20m": folder}.__getitem__)
        patch.setattr(module, "fingerprint_of", {"20m": "content"}.__getitem__)
        return figure.run(case, RUN_SEED, 1)


@pytest.mark.parametrize("dataset", ["1m", "20m", "32m"])
def test_a_draw_is_100_people_of_200_rounds(dataset: str) -> None:
    figure = FIGURES[f"movielens-{dataset}"]
    assert figure.data == dataset
    cases = figure.cases(FULL)
    common = {"dataset": dataset, "people": 100, "rounds": 200}
    assert [case.settings for case in cases] == [
        {"draw": draw, "recovered": draw < 8, **common} for draw in range(figure.draws)
    ]
    assert len({case.name for case in cases}) == figure.draws >= 3  # fewer settle no claim
    assert [case.settings["people"] for case in figure.cases(QUICK)] == [20, 20]
    assert figure.check is not None
    figure.check(cases[0])


def _models(task: MovieLensTask) -> dict[str, PreferenceModel]:
    return {level: PreferenceModel(task.model.orderings, means=task.means) for level in LEVELS}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_policy_has_the_model_of_its_level(task: MovieLensTask, name: str) -> None:
    models = _models(task)
    made = policies_for(models, task, ENVIRONMENTS[name])
    wanted = {(policy, level) for policy in PLAYED for level in LEVELS} | {("ts", NOTHING)}
    if name != "same":
        wanted.add(("mts-common", TRUE))
        assert made["mts-common", TRUE].model is task.model
    assert set(made) == wanted
    assert len(wanted) <= module.POLICIES
    for (policy, level), one in made.items():
        if policy not in {"ts", "mts-common"}:
            assert one.model is models[level]
        _check_parts(policy, one)


def _check_parts(policy: str, one: Policy) -> None:
    """All are told the noise, two as a guess; lpbTS starts uniformly, mTS from its prior; only ts-top is limited."""
    assert one.rewards.sd == NOISE
    assert one.rewards.noise_known == (policy not in {"lpb-utility", "lpb-ids"})
    evidences = {"lpbts": Refit, "popular": Standing, "mts": KnownMeans, "mts-common": KnownMeans}
    evidences |= {"ts": Tally, "ts-top": Tally, "lpb-utility": Utility, "lpb-ids": Utility}
    assert isinstance(one.evidence, evidences[policy])
    others = {"lpb-utility": BestExpected, "lpb-ids": InformationDirected, "popular": Popularity}
    if policy in others:
        assert isinstance(one.rule, others[policy])
    elif policy in {"ts", "ts-top"}:
        assert isinstance(one.rule, Thompson)
        assert one.rule.top == (policy == "ts-top")
        assert (one.rule.prior_mean, one.rule.prior_sd) == (0.0, 100.0)
    else:
        assert isinstance(one.rule, Sample)
        assert one.rule.first == ("uniform" if policy == "lpbts" else "prior")


def test_recovered_models_are_learned_from_the_environments_log(
    task: MovieLensTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dict(RECOVERED) == {RAW: "raw", FREE: "cosine"}
    asked: list[tuple[Ratings, Environment, tuple[str, bool]]] = []
    errors_of = {("raw", False): 0.25, ("cosine", False): 0.125, ("cosine", True): 0.0625}
    found = {how: PreferenceModel(task.model.orderings) for how in errors_of}

    def recovered(
        self: MovieLensTask,
        log: Ratings,
        environment: Environment,
        *,
        clustering: str,
        shrink: bool = False,
        threads: int,
    ) -> tuple[PreferenceModel, float]:
        assert self is task
        assert threads == 2
        asked.append((log, environment, (clustering, shrink)))
        return found[clustering, shrink], errors_of[clustering, shrink]

    monkeypatch.setattr(MovieLensTask, "recovered", recovered)
    for environment in ENVIRONMENTS.values():
        people = task.population(environment, task.offered(2, 2))
        models, errors = module._models(task, people, environment, recovered=True, threads=2)
        assert models[TRUE] is people.model
        assert models[RAW] is found["raw", False]
        assert models[FREE] is found["cosine", False]
        assert models[SHRUNK] is found["cosine", True]
        assert errors == {TRUE: 0.0, RAW: 0.25, FREE: 0.125, SHRUNK: 0.0625}
    assert [how for *_, how in asked] == [*errors_of] * 3
    for log, environment, _ in asked:
        np.testing.assert_array_equal(log.rating, task.log(environment).rating)


def test_the_table_has_every_policy_level_and_environment(table: pl.DataFrame) -> None:
    keys = ("environment", "policy", "level")
    ends, curves = (table.filter(kind=kind) for kind in ("final", "curve"))
    wanted = {(e, p, level) for e in ENVIRONMENTS for p in PLAYED for level in LEVELS}
    wanted |= {(e, "ts", NOTHING) for e in ENVIRONMENTS}
    wanted |= {(e, "mts-common", TRUE) for e in ("different", "different-noisy")}
    assert set(ends.select(keys).rows()) == set(curves.select(keys).rows()) == wanted
    assert ends.height == len(wanted)
    assert curves.height == ROUNDS * len(wanted)
    assert table["draw"].unique().to_list() == [DRAW]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_numbers_are_those_of_rounds_played_here(table: pl.DataFrame, task: MovieLensTask, name: str) -> None:
    environment = ENVIRONMENTS[name]
    offered = task.offered(PEOPLE, ROUNDS)
    people = task.population(environment, offered)
    log = task.log(environment)
    raw, raw_error = task.recovered(log, environment, clustering="raw")
    free, free_error = task.recovered(log, environment, clustering="cosine")
    models = {TRUE: (people.model, 0.0), RAW: (raw, raw_error), FREE: (free, free_error)}
    models[SHRUNK] = task.recovered(log, environment, clustering="cosine", shrink=True)
    made: dict[tuple[str, str], Policy] = {("ts", NOTHING): TS(task.model, noise=NOISE)}
    for level, (model, _) in models.items():
        made["lpbts", level] = LpbTS(model, noise=NOISE, first="uniform")
        made["mts", level] = MTS(model, noise=NOISE)
        made["ts-top", level] = TS(model, noise=NOISE, top=True)
        made["lpb-utility", level] = LpbUtility(model, noise=NOISE)
        made["lpb-ids", level] = LpbIDS(model, noise=NOISE)
        made["popular", level] = Popular(model)
    for (policy, level), one in made.items():
        trace = rollout(one, people, rounds=ROUNDS, seed=task.seed)
        rows = table.filter(environment=name, policy=policy, level=level)
        row = rows.filter(kind="final").row(0, named=True)
        own = _by_hand(trace, people)
        for key, value in own.items():
            np.testing.assert_allclose(row[key], value, rtol=1e-9, atol=1e-12, err_msg=f"{policy} {level} {key}")
        assert row["error"] == (models[level][1] if level in models else None)
        totals = np.cumsum(_lost(trace, people), axis=1)
        curve = rows.filter(kind="curve").sort("round")
        assert curve["round"].to_list() == list(range(1, ROUNDS + 1))
        np.testing.assert_allclose(curve["regret"], totals.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(curve["regret_sd"], totals.std(axis=0, ddof=1), atol=1e-12)


def _lost(trace: Trace, people: Population) -> Any:
    """The best offered mean minus the played one's, person by person and round by round."""
    plays = trace.plays[:, :, 0]
    lost = np.empty(plays.shape)
    for p in range(plays.shape[0]):
        for t in range(plays.shape[1]):
            choices = people.offered[p, t]
            assert plays[p, t] in choices
            lost[p, t] = people.means[p, choices].max() - people.means[p, plays[p, t]]
    return lost


def _by_hand(trace: Trace, people: Population) -> dict[str, float]:
    regret = _lost(trace, people).sum(axis=1)
    score = []
    for own, rewards in zip(people.means, trace.rewards, strict=True):
        mean = sum(own) / len(own)
        sd = np.sqrt(sum((own - mean) ** 2) / len(own))
        score.append((sum(rewards) / len(rewards) - mean) / sd)
    n = len(score)
    centre = sum(score) / n
    spread = np.sqrt(sum((x - centre) ** 2 for x in score) / (n - 1))
    loss = sum(regret) / n
    sd = np.sqrt(sum((x - loss) ** 2 for x in regret) / (n - 1))
    return {"regret": loss, "regret_sd": sd, "z": centre, "z_se": spread / np.sqrt(n)}


def test_ratings_are_standardised_by_the_persons_own_mean_and_sd() -> None:
    model = PreferenceModel([[0, 1]])
    people = Population(model, np.array([0, 0]), np.array([[5.0, 1.0], [4.0, 3.0]]), Rewards())
    trace = Trace(
        plays=np.zeros((2, 2, 1), dtype=np.int32),
        rewards=np.array([[5.0, 3.0], [4.0, 4.0]]),  # z: (4 − 3) / 2 = 0.5, and (4 − 3.5) / 0.5 = 1
        regret=np.array([[1.0, 2.0], [0.0, 1.0]]),
        weak=np.empty((2, 0)),
        mass=np.empty((2, 2)),
        active=np.empty((2, 3)),
    )
    ends = ends_of(trace, people)
    assert (ends["regret"], ends["z"]) == (2.0, 0.75)
    np.testing.assert_allclose([ends["regret_sd"], ends["z_se"]], [np.sqrt(2.0), 0.25])


def test_charts_have_the_error_over_draws_and_the_spread_over_people() -> None:
    rows = {"policy": ["a"] * 3, "regret": [1.0, 2.0, 6.0], "regret_sd": [3.0, 4.0, 5.0]}
    made = over_draws(pl.DataFrame(rows), "policy").row(0, named=True)
    np.testing.assert_allclose(made["regret"], 3.0)
    np.testing.assert_allclose(made["regret_sd"], np.sqrt((9 + 16 + 25) / 3))
    np.testing.assert_allclose(made["regret_se"], np.sqrt((4 + 1 + 9) / 2) / np.sqrt(3))


def test_another_draw_is_another_split(folder: Path, table: pl.DataFrame) -> None:
    figure = FIGURES["movielens-1m"]
    case = Case(
        figure.name, "draw 0", {"draw": 0, "recovered": True, "dataset": "1m", "people": PEOPLE, "rounds": ROUNDS}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "require", {"1m": folder}.__getitem__)
        patch.setattr(module, "fingerprint_of", {"1m": "content"}.__getitem__)
        other = figure.run(case, RUN_SEED, 1)
    assert other.columns == table.columns
    assert not other["regret"].equals(table["regret"])


def test_the_chart_shows_every_environment_with_both_errors(table: pl.DataFrame) -> None:
    moved = table.filter(pl.col("level") != RAW).with_columns(pl.col("regret", "z") + 1, draw=pl.lit(3))
    spec = FIGURES["movielens-1m"].chart(pl.concat([table, moved])).to_dict()
    titles = {" ".join(panel["title"]["text"]): " ".join(panel["title"]["subtitle"]) for panel in spec["concat"]}
    for environment in ENVIRONMENTS.values():
        for level in LEVELS:
            assert titles[f"{environment.title}: {level}"].startswith("1 draw; " if level == RAW else "2 draws; ")
        assert "95 % intervals, Student's t" in titles[f"{environment.title}: ratings"]
    assert all("TS without a model" in subtitle for subtitle in titles.values()), "it is off the chart, and said"
    rows = [row for data in spec["datasets"].values() for row in data]
    dots = [row for row in rows if "value" in row]
    assert len(dots) == table.filter(pl.col("policy") != "ts", kind="final").height
    assert {row["group"] for row in dots} == {
        *(f"{level}, 2 draws" for level in (TRUE, FREE, SHRUNK)),
        f"{RAW}, 1 draw",
    }
    for row in dots:  # two draws, 1 apart: the error is 0.5, and Student's t with one degree of freedom 12.706
        reach = 0.0 if row["level"] == RAW else 12.7062 * 0.5
        np.testing.assert_allclose([row["low"], row["high"]], [row["value"] - reach, row["value"] + reach], atol=1e-4)
    ends = [row for row in rows if "low" in row and "value" not in row]
    assert len(ends) == table.filter(~pl.col("level").is_in([RAW, NOTHING]), kind="final").height
    np.testing.assert_allclose([row["high"] - row["low"] for row in ends], 1.0)  # ± one error


def test_ratings_share_an_axis(table: pl.DataFrame) -> None:
    spec = FIGURES["movielens-1m"].chart(table).to_dict()
    ratings = [panel for panel in spec["concat"] if " ".join(panel["title"]["text"]).endswith(": ratings")]
    domains = {tuple(panel["layer"][0]["encoding"]["x"]["scale"]["domain"]) for panel in ratings}
    assert (len(ratings), len(domains)) == (3, 1)
    low, high = domains.pop()
    shown = table.filter(pl.col("level") != NOTHING, kind="final")["z"].to_numpy()
    assert low < shown.min() <= shown.max() < high


def test_models_are_recovered_in_the_first_draws_only(task: MovieLensTask) -> None:
    environment = ENVIRONMENTS["same"]
    people = task.population(environment, task.offered(2, 2))
    models, errors = module._models(task, people, environment, recovered=False, threads=1)
    assert list(models) == [TRUE]
    assert errors == {TRUE: 0.0}
