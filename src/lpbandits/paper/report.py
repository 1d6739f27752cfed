"""The files of a reproduction: tables, figures, claims, and the report: the claims first, then every figure."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from lpbandits.paper.claims.check import Claim
from lpbandits.paper.spec import Figure, Size
from lpbandits.simulation.results import versions
from lpbandits.typing import Json
from lpbandits.views.report import Section, Table, made_with, save_report

_READ = (
    "Hover over a line for its numbers; click it to single it out, click others to add them, double-click to see "
    "all. Bands are one standard deviation over people; bars are one standard error over draws, unless the axis "
    "says otherwise."
)
_CHOICES = (
    "Everywhere: lpbTS is the refit form with a uniform first action and a uniform prior over states; TS has the "
    "weak prior N(0, 100²); rewards are Gaussian and their noise is known to all policies; policies meet the same "
    "people with the same luck. MovieLens: orderings and means come from half of the people, mTS is told the "
    "state's expected means on either scale (its best case; mTS with the common means is shown too), a reward has "
    "variance 0.5 on both scales, TS on the top actions plays the best offered action of some state, and ratings "
    "are standardised by the mean and sd of each person's true ratings of all movies."
)


def save_reproduction(
    folder: str | Path,
    figures: Sequence[Figure],
    tables: dict[str, pl.DataFrame],
    *,
    claims: Sequence[Claim],
    skipped: dict[str, str],
    size: Size,
    seed: int,
    seconds: float,
) -> Path:
    """Write every figure's table, chart and settings, the claims and the report; return the report's path."""
    documents: Json = {figure.name: _about(figure, size, seed) for figure in figures}
    documents["claims"] = [asdict(claim) for claim in claims]
    sections = [_claims(claims)] if claims else []
    for figure in figures:
        text = f"{figure.shows[:1].upper()}{figure.shows[1:]}. {_settings(figure, size)}"
        sections.append(Section(figure.title, [text], {figure.name: figure.chart(tables[figure.name])}))
    if skipped:
        sections.append(Section("Not run", [f"{name}: {why}." for name, why in skipped.items()]))
    return save_report(
        folder,
        title="Latent Preference Bandits, reproduced",
        lead=f"The figures and claims of the paper, run again with seed {seed}."
        + (" A quick run: fewer people, draws and settings." if size.quick else ""),
        sections=sections,
        foot=made_with(seconds),
        tables=tables,
        documents=documents,
    )


def _about(figure: Figure, size: Size, seed: int) -> Json:
    return {
        "figure": figure.name,
        "version": figure.version,
        "shows": figure.shows,
        "size": asdict(size),
        "seed": seed,
        "cases": [asdict(case) for case in figure.cases(size)],
        "versions": versions(),
    }


def _claims(claims: Sequence[Claim]) -> Section:
    text = [
        f"{_counted(claims)}. Each is a sentence of the paper's results, checked on these runs; an effect is given "
        "with its standard error over draws.",
        _READ,
        _CHOICES,
    ]
    rows = [[c.claim, c.verdict, c.effect_text, c.detail] for c in claims]
    return Section("Claims", text, tables=[Table(["claim", "verdict", "effect", "in numbers"], rows)])


def _counted(claims: Sequence[Claim]) -> str:
    kinds = {
        "hold": "holds",
        "hold only if …": "holds only",
        "do not hold": "does not",
        "are not settled": "not settled",
    }
    found = [next((k for k, start in reversed(kinds.items()) if c.verdict.startswith(start)), "hold") for c in claims]
    return f"{len(claims)} claims: " + ", ".join(f"{found.count(kind)} {kind}" for kind in kinds if kind in found)


def _settings(figure: Figure, size: Size) -> str:
    """Return what all cases of a figure share, and how many there are."""
    cases = figure.cases(size)
    common = {
        key: value
        for key, value in cases[0].settings.items()
        if not isinstance(value, dict | list) and all(case.settings.get(key) == value for case in cases)
    }
    shared = ", ".join(f"{key} {value}" for key, value in common.items())
    return f"{len(cases)} setting{'s' if len(cases) > 1 else ''}" + (f"; in all: {shared}." if shared else ".")
