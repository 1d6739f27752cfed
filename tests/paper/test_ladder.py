"""Figures of the ladder: worlds, policies, tables and ratios."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.ladder import LADDER, ratios_of
from lpbandits.paper.spec import FULL, QUICK
from lpbandits.policies import POLICIES
from lpbandits.simulation import simulate
from lpbandits.typing import Json
from lpbandits.views.charts.base import COLOURS
from lpbandits.worlds import SyntheticWorld
from tests.paper.conftest import plain

SIZES: dict[str, Json] = {f"m = {m}, k = {k}": {"states": m, "actions": k} for m, k in ((5, 10), (10, 20), (20, 20))}
SMALL, MIDDLE, _ = SIZES
FAMILIES = ("paper", "exponential", "cliff", "steps")
NAMES = ["mts", "lpb-utility", "lpb-horizon", "lpb-ids", "lpbts-marginal", "lpbts", "popular", "ts-top", "ts"]
LEARNING = ["mts", "lpb-utility", "lpb-ids", "lpbts", "ts-top", "ts"]


def at(size: str, parameter: str, values: tuple[Any, ...]) -> list[tuple[str, str, Json]]:
    named = [(value if isinstance(value, str) else f"{value:g}", value) for value in values]
    return [(size, name, {**SIZES[size], parameter: value}) for name, value in named]


WORLDS = {
    "ladder-rounds": [
        (row, f"{rounds}", world) for row, world in list(SIZES.items())[:2] for rounds in (5, 10, 20, 30, 200)
    ],
    "ladder-sizes": [("", name, world) for name, world in SIZES.items()],
    "ladder-gaps": [*at(SMALL, "gaps", FAMILIES), *at(MIDDLE, "gaps", FAMILIES)],
    "ladder-assumed-noise": at(MIDDLE, "assumed_noise", (0.25, 0.5, 1.0, 2.0, 4.0)),
    "ladder-swaps": at(MIDDLE, "swap", (0.0, 0.1, 0.3)),
    "ladder-errors": at(MIDDLE, "model_error", (0.0, 0.05, 0.1, 0.2, 0.4)),
    "ladder-tails": at(MIDDLE, "noise_family", ("normal", "student")),
}


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_violate_the_stated_assumption(name: str) -> None:
    cases = [case.settings for case in FIGURES[name].cases(FULL)]
    assert [(case["size"], case["setting"], case["world"]) for case in cases] == WORLDS[name]
    assert all(case["rounds"] == (int(case["setting"]) if name == "ladder-rounds" else 200) for case in cases)
    assert {case["draws"] for case in cases} == {FIGURES[name].draws}
    people = [case["people"] * case["world"]["states"] for case in cases]
    if name == "ladder-sizes":
        assert people == [250, 250, 240], "similar numbers of people per draw"
    else:
        assert {case["people"] for case in cases} == {50}
    more = {"ladder-sizes": ["lpbts-marginal"], "ladder-rounds": ["lpb-horizon", "popular"]}.get(name, [])
    assert all(case["policies"] == [*LEARNING, *more] for case in cases)
    assert [case.settings["setting"] for case in FIGURES[name].cases(QUICK)] == [case["setting"] for case in cases]


def test_policies_are_ordered_by_knowledge() -> None:
    assert [name for name in FIGURES if name.startswith("ladder")] == list(WORLDS)
    assert list(LADDER) == NAMES
    assert [POLICIES[name].rung for name in LADDER] == [1, 2, 2, 2, 3, 3, POLICIES["popular"].rung, 4, 5]
    assert len({COLOURS[name] for name in LADDER}) == len(LADDER)


@pytest.mark.parametrize(
    ("names", "world"),
    [
        ([*LEARNING, "lpbts-marginal"], {"states": 2, "actions": 3, "gaps": "cliff"}),
        (LEARNING, {"states": 2, "actions": 3, "assumed_noise": 0.5}),
    ],
)
def test_rows_are_means_and_quantiles_over_people(names: list[str], world: dict[str, Any]) -> None:
    run: Json = {"people": 4, "rounds": 6, "draws": 2}
    settings = {"world": world, "size": "a", "setting": "b", "policies": names, **run}
    table = FIGURES["ladder-gaps"].run(settings, 7, 1)
    policies = plain(*names)
    results = simulate(SyntheticWorld(scale="different", **world), policies, seed=7, **run)
    assert table.select("policy", "draw").rows() == [(name, draw) for name in policies for draw in range(2)]
    for row in table.iter_rows(named=True):
        people = results.policies[row["policy"]].people
        regret = people["regret"][people["draw"] == row["draw"]]
        assert (row["size"], row["setting"], row["people"]) == ("a", "b", len(regret))
        np.testing.assert_allclose(row["regret"], regret.mean())
        np.testing.assert_allclose([row["regret_q95"], row["regret_q99"]], np.quantile(regret, [0.95, 0.99]))


def example_table() -> pl.DataFrame:
    """Return two draws that differ tenfold; the regret of lpb-ids is half, then twice that of lpbTS."""
    rows = [
        {"size": "", "setting": setting, "policy": policy, "draw": draw, "regret": level * share[draw]}
        for setting in ("b", "a")
        for policy, share in (("lpb-ids", (0.5, 2.0)), ("lpbts", (1.0, 1.0)))
        for draw, level in enumerate((1.0, 10.0))
    ]
    return pl.DataFrame(rows).with_columns(regret_q95=2 * pl.col("regret"), regret_q99=3 * pl.col("regret"))


def test_ratios_are_paired_within_draws() -> None:
    ratios = ratios_of(example_table())
    assert ratios.height == 2 * 2 * 3
    ids = ratios.filter(policy="lpb-ids", setting="a", measure="regret").row(0, named=True)
    error = np.exp(np.log(2.0))  # the logarithms are ± log 2: their sd is √2 log 2, and the standard error log 2
    np.testing.assert_allclose([ids["value"], ids["low"], ids["high"]], [1.0, 1 / error, error])
    np.testing.assert_allclose(ratios.filter(policy="lpb-ids")["level"].unique().sort(), [10.25, 20.5, 30.75])
    np.testing.assert_allclose(ratios.filter(policy="lpbts")["value"], 1.0)


def test_draws_without_regret_are_dropped() -> None:
    none = pl.when(pl.col("draw") == 0, pl.col("policy") == "lpbts").then(0.0).otherwise("regret")
    ratios = ratios_of(example_table().with_columns(regret=none)).filter(policy="lpb-ids", measure="regret")
    np.testing.assert_allclose(ratios["value"], 2.0)
    np.testing.assert_allclose(ratios["low"], 2.0)


def test_panels_of_mean_and_quantiles_share_an_axis() -> None:
    spec = FIGURES["ladder-swaps"].chart(example_table()).to_dict()
    titles = [panel["title"]["text"] for panel in spec["concat"]]
    assert titles == [["Mean"], ["95 % quantile"], ["99 % quantile"]]
    assert spec["concat"][0]["title"]["subtitle"][0].startswith("lpbTS: 6, 6; ")
    scales = [panel["layer"][1]["encoding"]["y"]["scale"] for panel in spec["concat"]]
    assert all(scale == scales[0] for scale in scales)
    assert scales[0]["type"] == "log"
