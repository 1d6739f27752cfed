"""The report of a reproduction: the claims first, then every figure."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from lpbandits.experiments.claims import Claim
from lpbandits.experiments.report import Section, Table, write_report
from lpbandits.experiments.spec import Figure, Size
from lpbandits.simulation.results import versions

_READ = (
    "Hover over lines for numbers; click a line to single it out, click more to add them, double-click to see all. "
    "Bands are one standard deviation over people, bars one standard error over draws of the orderings."
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
            "Each sentence of the paper's results as a check on these runs. Effects carry one standard error.",
            _READ,
        ]
        sections.append(Section("Claims", text, [], [Table(["claim", "verdict", "effect", "in numbers"], rows)]))
    sections += [
        Section(figure.title, [f"{figure.shows[:1].upper()}{figure.shows[1:]}."], [figure.chart(tables[figure.name])])
        for figure in figures
    ]
    if skipped:
        sections.append(Section("Not run", [f"{name}: {why}." for name, why in skipped.items()]))
    made = ", ".join(f"{name} {number}" for name, number in versions().items())
    what = f"{size.people} people a state, {size.rounds} rounds, {size.draws} draws of the orderings, seed {seed}"
    return write_report(
        path,
        title="Latent Preference Bandits, reproduced",
        lead=f"The figures and claims of the paper, run again: {what}."
        + (" Quick run: fewer people." if size.quick else ""),
        sections=sections,
        foot=f"{made}. {seconds:.0f} s.",
    )
