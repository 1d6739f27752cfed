"""Report of a reproduction: claims in the summary, at their figures and in full; charts."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from lpbandits.paper.claims.check import Claim, judge
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.simplex import MODEL, region
from lpbandits.paper.report import _settings, save_reproduction
from lpbandits.paper.spec import FULL, QUICK, Size
from lpbandits.views.charts.base import deferred_validation
from lpbandits.views.page import VERDICTS

BELOW = np.array([-3.0, -2.5, -2.0, -2.5])
EVIL = "<script>alert('&')</script>"

Report = tuple[dict[str, str], list[Claim]]
"""The sections of the page by heading, and the claims."""


def claims() -> list[Claim]:
    """Return a claim of each verdict; the third has two settings, the fourth has markup, the last is no headline."""
    checked = [
        judge("A has less regret than B.", BELOW, measure="A − B", below=0, detail="A 1, B 3"),
        judge("B has less regret than A.", -BELOW, measure="B − A", below=0),
        judge("A is like B.", {"x = 1": BELOW + 2.5, "x = 2": BELOW}, measure="A / B", below=0),
        judge(f"Beyond {EVIL}.", BELOW, measure="C − D", below=0, beyond=True),
        judge("A is no headline.", BELOW, measure="E − F", below=0),
    ]
    figures = ("simplex", "simplex", "recovery", "recovery", "recovery")
    return [
        replace(claim, figures=(name,), headline=claim is not checked[-1])
        for claim, name in zip(checked, figures, strict=True)
    ]


def recovery_table() -> pl.DataFrame:
    """Return a table of the recovery figure: errors of every method, log and scale."""
    rows = [
        {"method": method, "log": log, "scale": scale, "people": people, "draw": draw, "error": error + 0.01 * draw}
        for log in ("complete", "incomplete")
        for scale, error in (("same", 0.2), ("different", 0.6))
        for method in ("two-stage", "two-stage-cosine", "em")
        for people in (50, 200)
        for draw in range(2)
    ]
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    figures = [FIGURES["simplex"], FIGURES["recovery"]]
    tables = {"simplex": figures[0].run({}, 0, 1), "recovery": recovery_table()}
    checked = claims()
    path = save_reproduction(
        tmp_path_factory.mktemp("report"),
        figures,
        tables,
        claims=checked,
        skipped={},
        size=Size(draws=2, quick=True),
        seed=0,
        seconds=1.0,
    )
    text = path.read_text()
    assert EVIL not in text
    parts = re.findall(r"<section.*?</section>", text.split("<script>", 1)[0], re.S)
    return {part.split("</h2>")[0].split("<h2>")[1]: html.unescape(part) for part in parts}, checked


def test_claims_are_in_the_summary_at_their_figure_and_in_full(report: Report) -> None:
    sections, checked = report
    first, *_, last = sections
    assert (first, last) == ("Summary", "All claims")
    for claim in checked:
        figure = FIGURES[claim.figures[0]]
        assert (f'<a href="#{figure.name}">{claim.claim}</a>' in sections[first]) == claim.headline
        assert f'id="{figure.name}"' in sections[figure.title]
        for words in (claim.claim, claim.effect_text, claim.standard):
            assert words in sections[figure.title]
        assert all(words in sections[last] for words in (claim.claim, *(part.where for part in claim.parts)))
    assert "A has less regret than B." not in sections[FIGURES["recovery"].title]


def test_summary_has_headline_claims_with_effect_and_symbol(report: Report) -> None:
    sections, checked = report
    short = sections["Summary"]
    headlines = [claim for claim in checked if claim.headline]
    assert short.count('<td class="mark">') == len(headlines) == len(checked) - 1
    for claim in headlines:
        (row,) = [row for row in short.split("<tr>") if claim.claim in row]
        mark, look = VERDICTS[claim.verdict]
        assert f'class="verdict {look}"' in row
        assert f">{mark}</span>" in row
        assert f"{claim.measure}: {claim.effect_text}" in row
    assert "; x = 1; holds in 1 of 2" in short
    assert '<a href="#all-claims">All 5 claims: ✓ holds 3, ✗ does not hold 1, ? not settled 1.</a>' in short
    assert 'id="all-claims"' in sections["All claims"]
    order = [short.index(words) for words in ("Claims of the paper", "A is like B.", "Beyond the paper", "Beyond <")]
    assert order == sorted(order)


@pytest.mark.parametrize("size", [FULL, QUICK])
def test_settings_are_described_without_internal_names(size: Size) -> None:
    described = {name: _settings(figure, size) for name, figure in FIGURES.items()}
    known = "draws of people rounds models recovered in the first per state orderings or each with new times"
    assert set(re.findall(r"[a-z_]+", " ".join(described.values()))) <= set(known.split())
    assert described.pop("simplex") == ""
    assert all(text.endswith(".") for text in described.values())
    if size == FULL:
        draws = FIGURES["duels"].draws
        assert described["duels"] == f"50 people per state, 500 rounds, {draws} draws of the orderings."
        assert described["recovery"].startswith("10, 40 or 160 people per state, ")
        learned = sum(case.settings["recovered"] for case in FIGURES["movielens-1m"].cases(FULL))
        draws = FIGURES["movielens-1m"].draws
        assert described["movielens-1m"] == (
            f"{draws} draws of 100 people, 200 rounds, models recovered in the first {learned}."
        )


def test_panels_of_the_recovery_figure_share_an_axis() -> None:
    spec = deferred_validation(FIGURES["recovery"].chart)(recovery_table()).to_dict()
    tops = set(re.findall(r'"domain": \[0.0, ([\d.]+)\]', json.dumps(spec)))
    assert (len(spec["concat"]), len(tops)) == (4, 1)


def test_regions_of_the_simplex_are_sixths() -> None:
    for ordering in MODEL.orderings:
        corners = region(ordering)
        np.testing.assert_allclose(corners.sum(axis=1), 1.0)
        assert np.all(np.diff(corners[:, ordering], axis=1) <= 0)
        np.testing.assert_allclose(abs(np.linalg.det(corners)), 1 / 6)  # a sixth of the simplex
