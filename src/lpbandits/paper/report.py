"""The report of a reproduction: the claims first, then every figure."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from lpbandits.paper.claims.check import Claim
from lpbandits.paper.spec import Figure, Size
from lpbandits.simulation.results import versions
from lpbandits.views.report import Section, Table, write_report

_READ = (
    "Hover over lines for numbers; click a line to single it out, click more to add them, double-click to see "
    "all. Bands are one standard deviation over people; bars are one standard error over draws, where an axis "
    "says nothing else."
)
_CHOICES = (
    "Everywhere: lpbTS is the refit form with a uniform first action and a uniform prior over states; TS has the "
    "weak prior N(0, 100²); rewards are Gaussian and their noise is known to all policies; policies meet the same "
    "people with the same luck. MovieLens: orderings and means come from half of the people, mTS is told the "
    "state's expected means on either scale (its best case; with the common means it is also shown), a reward has "
    "variance 0.5 on both scales, TS on the top actions plays the best offered action of some state, and ratings "
    "are standardised by the mean and sd of each person's true ratings of all movies."
)


def write_paper_report(
    path: Path,
    figures: Sequence[Figure],
    tables: dict[str, pl.DataFrame],
    claims: Sequence[Claim],
    skipped: dict[str, str],
    size: Size,
    seed: int,
    seconds: float,
) -> Path:
    """Write the report and return its path."""
    sections = []
    if claims:
        rows = [[c.claim, c.verdict, c.effect_text, c.detail] for c in claims]
        text = [
            f"{_counted(claims)}. Each is a sentence of the paper's results as a check on these runs; effects carry "
            "one standard error over draws.",
            _READ,
            _CHOICES,
        ]
        sections.append(Section("Claims", text, [], [Table(["claim", "verdict", "effect", "in numbers"], rows)]))
    sections += [
        Section(
            figure.title, [f"{_upper(figure.shows)}. {_settings(figure, size)}"], [figure.chart(tables[figure.name])]
        )
        for figure in figures
    ]
    if skipped:
        sections.append(Section("Not run", [f"{name}: {why}." for name, why in skipped.items()]))
    made = ", ".join(f"{name} {number}" for name, number in versions().items())
    return write_report(
        path,
        title="Latent Preference Bandits, reproduced",
        lead=f"The figures and claims of the paper, run again with seed {seed}."
        + (" A quick run: fewer people, draws and settings." if size.quick else ""),
        sections=sections,
        foot=f"{made}. {seconds:.0f} s in this run.",
    )


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


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
