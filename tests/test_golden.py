"""Pin the results of whole commands across commits: fitted models, decisions, evaluations, simulations and claims.

`python -m tests.test_golden` writes the fixture. A commit that changes it says why and does nothing else.
"""

import contextlib
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from lpbandits.cli import app

FIXTURE = Path(__file__).parent / "fixtures" / "golden.json"
DIGITS = 8
"""Significant digits that are compared: the linear algebra of another processor changes later ones."""
SKIPPED = {"seconds", "space", "versions", "version", "sha256", "report", "out", "data_sha256"}
"""Fields that depend on the machine, the release or the labels."""

ARRAYS = ("orderings", "prior", "means", "utilities", "errors", "noise", "popular", "taste")

FIT = ["fit", "lpb-example/ratings.csv"]
RAW = ["--method", "two-stage", "--scale", "raw"]
TWO_STAGE = [*FIT, "--states", "4", "--method", "two-stage", "--names", "lpb-example/titles.csv"]
MODELS = {
    "two-stage": TWO_STAGE,
    "mixture": [*FIT, "--states", "4", "--no-taste"],
    "em": [*FIT, "--states", "3", "--method", "em", "--no-taste", "--restarts", "1"],
    "auto": [*FIT, "--states", "auto", "--max-states", "3", *RAW, "--no-taste", "--seed", "5"],
}
DECIDE = ["decide", "--model", "model.json", "lpb-example/newcomers.csv", "--out", "decisions.csv"]
DECISIONS = {
    "auto": ["--exclude-seen"],
    "lpbts": ["--policy", "lpbts", "--seed", "3"],
    "lpb-ids": ["--policy", "lpb-ids", "--explore", "0.01"],
    "lpbts-marginal": ["--policy", "lpbts-marginal", "--allowed", "dish-01,dish-02,dish-03"],
}
WORLD = ["--people", "3", "--draws", "2", "--rounds", "30", "--json"]
SIMULATIONS = {
    "same": ["--policies", "lpbts,lpb-ids,lpbts-marginal,mts,ts,ucb-top", *WORLD],
    "different": ["--scale", "different", "--gaps", "steps", "--policies", "lpbts-incremental,mucb,popular", *WORLD],
    "duels": ["--feedback", "duels", "--policies", "lpb-duel,double-ts", *WORLD],
}
CLAIMS = ["reproduce", "regret-curves", "vary-states", "--quick", "--people", "2", "--rounds", "30", "--jobs", "1"]


def run(*args: str) -> str:
    """Run one command in this process and return what it prints."""
    result = CliRunner().invoke(app, list(args), catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def numbers_in(value: Any) -> Iterator[str]:
    """Yield every number of a JSON value, without names, so that a renamed field changes nothing."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in SKIPPED:
                yield from numbers_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from numbers_in(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:.{DIGITS}g}"


def digest(value: Any, *, in_order: bool = False) -> str:
    """Return the hash of all numbers of a JSON value: as they stand, or sorted, so that fields may change places."""
    numbers = numbers_in(value) if in_order else sorted(numbers_in(value))
    return hashlib.sha256("\n".join(numbers).encode()).hexdigest()[:24]


def model_digests(path: Path) -> dict[str, str]:
    """Return one hash per array of a model file."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {name: digest(stored[name], in_order=name != "taste") for name in ARRAYS if name in stored}


def decision_digest(path: Path) -> str:
    table = pl.read_csv(path)
    labels = hashlib.sha256(json.dumps(table.select("person", "action", "runner_up").rows()).encode()).hexdigest()
    return labels[:12] + digest(table.select("probability", "expected", "low", "high").rows(), in_order=True)[:12]


def golden(case: str) -> Any:
    """Return the digests of one case; the working folder holds the example and, for decisions, its model."""
    kind, _, name = case.partition(" ")
    if kind == "fit":
        run(*MODELS[name], "--out", "fitted.json")
        return model_digests(Path("fitted.json"))
    if kind == "decide":
        run(*DECIDE, *DECISIONS[name])
        return decision_digest(Path("decisions.csv"))
    if kind == "simulate":
        return digest(json.loads(run("simulate", *SIMULATIONS[name])))
    if kind == "evaluate":
        return digest(json.loads(run("evaluate", "lpb-example/ratings.csv", "--states", "4", "--json"))["policies"])
    claims = json.loads(run(*CLAIMS, "--out", "claims", "--json"))["claims"]
    return sorted(digest(claim["parts"]) for claim in claims)


CASES = [
    *(f"fit {name}" for name in MODELS),
    *(f"decide {name}" for name in DECISIONS),
    *(f"simulate {name}" for name in SIMULATIONS),
    "evaluate",
    "claims",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Hold the example log and its two-stage model."""
    place = tmp_path_factory.mktemp("golden")
    with contextlib.chdir(place):
        run("data", "example")
        run(*TWO_STAGE, "--out", "model.json")
        yield place


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("case", CASES)
def test_results_equal_the_fixture(case: str) -> None:
    assert golden(case) == json.loads(FIXTURE.read_text(encoding="utf-8"))[case]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        run("data", "example")
        run(*TWO_STAGE, "--out", "model.json")
        found = {case: golden(case) for case in CASES}
    FIXTURE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(found)} cases\n")
