"""The files of a reproduction, and its report: in short, then every figure with its claims, then all in full."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl

from lpbandits.paper.claims.check import Claim
from lpbandits.paper.spec import Figure, Size
from lpbandits.simulation.results import versions
from lpbandits.typing import Json
from lpbandits.views.charts.base import deferred_validation
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import VERDICTS, Link, Remark, Section, Table

SOURCES = {"paper": "What the paper says", "beyond": "Beyond the paper"}

_STANDARD = (
    "A claim holds if the 95 % interval of its number (Student's t over draws of the orderings, policies paired within "
    "each draw) lies in the claim's range, and does not hold if it lies outside. A claim over several settings holds "
    "if each does; it fails if one does, whose interval is widened for their number. Shown is the setting that "
    "decides, with the interval that decides."
)
_READ = (
    "Hover over a line for its numbers; click it to single it out, click others to add them, double-click to see all. "
    "Bands are one standard deviation over people, bars one standard error over draws, unless a chart says otherwise; "
    "a dashed line lies over another, which shows in its gaps."
)
_CHOICES = (
    "Everywhere: lpbTS is the refit form with a uniform first action and a uniform prior over states; mTS starts from "
    "its prior, as published; TS has the weak prior N(0, 100²). Rewards are Gaussian and their noise is known to all "
    "policies, which meet the same people with the same luck, unless a figure of the ladder breaks that; lpb-utility "
    "and lpb-ids take the noise for a guess.",
    "MovieLens: policies are compared at equal information, that is, with the same model: the true one, or one "
    "recovered from logs, either from raw ratings, as the paper clusters, or scale-free. Orderings and means come from "
    "half of the people. Beyond the paper there is a recovered model whose utilities are shrunk over states, and "
    "policies that trust a model only nearly, which are told the noise as a guess. On the same scale a reward has "
    "noise of variance 0.5. On different scales the paper's words are read as no noise beyond the perturbation of the "
    "ratings; noise of variance 0.5 there is a variant. On different scales mTS is told the states' expected means; "
    "mTS with the common means is shown, too. TS on the top actions plays the best offered action of some state. "
    "Ratings are standardised by the mean and sd of each person's true ratings of all movies.",
)


@deferred_validation
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
    sections = [_short(claims)] if claims else []
    sections.append(Section("How to read the charts", [_READ]))
    for figure in figures:
        text = f"{figure.shows[:1].upper()}{figure.shows[1:]}. {_settings(figure, size)}".strip()
        chart = {figure.name: figure.chart(tables[figure.name])}
        beside = [_remark(claim) for claim in claims if claim.figures[:1] == (figure.name,)]
        sections.append(Section(figure.title, [text], chart, remarks=beside, anchor=figure.name))
    sections.append(Section("Choices", _CHOICES))
    if skipped:
        sections.append(Section("Not run", [f"{name}: {why}." for name, why in skipped.items()]))
    if claims:
        sections.append(_full(claims))
    return save_report(
        folder,
        title="Latent Preference Bandits, reproduced",
        lead=f"Figures and claims of the paper, and beyond it, run with seed {seed}."
        + (" A quick run: fewer people, draws and settings." if size.quick else ""),
        sections=sections,
        foot=footer(seconds),
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


def _short(claims: Sequence[Claim]) -> Section:
    """Return the summary: a row per headline claim with its mark and what was found, leading to its figure."""
    rows: list[list[str | Link]] = []
    for source, title in SOURCES.items():
        told = [claim for claim in _of(claims, source) if claim.headline or not any(other.headline for other in claims)]
        rows += [[title]] if told and source != "paper" else []
        rows += [[c.verdict, Link(c.claim, c.figures[0] if c.figures else ""), _found(c)] for c in told]
    columns = ["", SOURCES["paper"], "What we find: effect [interval]"]
    table = Table(columns, rows, summary=True, note=Link(_counted(claims), "all-claims"))
    return Section("In short", [_STANDARD], tables=[table], anchor="in-short")


def _remark(claim: Claim) -> Remark:
    """Return a claim as it stands beside its figure."""
    where = f" Decided by: {claim.where_text}." if claim.where_text else ""
    beyond = "Beyond the paper. " if claim.source == "beyond" else ""
    found = f"{claim.measure}: {claim.effect_text}"
    rule = f"{beyond}{claim.verdict[:1].upper()}{claim.verdict[1:]}: must be {claim.standard}.{where}"
    return Remark(claim.verdict, claim.claim, [found, rule, *([claim.detail] if claim.detail else [])])


def _full(claims: Sequence[Claim]) -> Section:
    """Return every claim with every setting that it is about."""
    columns = ["claim", "verdict", "measure", "must be", "setting", "effect [interval]", "draws"]
    rows: list[list[str | Link]] = []
    for source in SOURCES:
        for claim in _of(claims, source):
            first: list[str | Link] = [Link(claim.claim, claim.figures[0] if claim.figures else "")]
            for part in claim.parts:
                one = replace(claim, parts=(part,))
                rows.append(
                    [*first, part.verdict, claim.measure, claim.standard, part.where, one.effect_text, str(part.draws)]
                )
                first = [""]
    text = ["Every claim, in every setting that it is about; the first setting of a claim is the one that decides."]
    return Section("All claims in full", text, tables=[Table(columns, rows)], anchor="all-claims")


def _of(claims: Sequence[Claim], source: str) -> list[Claim]:
    return [claim for claim in claims if claim.source == source]


def _found(claim: Claim) -> str:
    """Return what was found; of several settings, in the one that decides."""
    where = f"; {claim.where_text}" if claim.where_text else ""
    return f"{claim.measure}: {claim.effect_text}{where}"


def _counted(claims: Sequence[Claim]) -> str:
    """Return how many claims have each verdict, which also says what the marks mean."""
    counts = Counter[str](claim.verdict for claim in claims)
    marks = [f"{mark} {verdict}: {counts[verdict]}" for verdict, (mark, _) in VERDICTS.items()]
    return f"Of all {len(claims)} claims, {', '.join(marks)}. See all claims in full."


def _settings(figure: Figure, size: Size) -> str:
    """Return how large a figure was run, in words: people, rounds and draws; nothing if it is not simulated."""
    cases = [case.settings for case in figure.cases(size)]
    said = {key: _values(cases, key) for key in ("people", "rounds", "draws", "repeats")}
    people, rounds, draws, repeats = said.values()
    if not people:
        return ""
    if figure.data:
        learned = sum(bool(case.get("recovered", True)) for case in cases)
        first = f", models recovered in the first {learned}" if learned < len(cases) else ""
        return f"{len(cases)} draws of {people} people, {rounds} rounds{first}."
    if repeats:
        return f"{people} people, each with orderings of their own, {rounds} rounds, {repeats} times."
    parts = [f"{people} people a state", f"{rounds} rounds" if rounds else "", f"{draws} draws of the orderings"]
    return ", ".join(filter(None, parts)) + "."


def _values(cases: Sequence[Json], key: str) -> str:
    """Return a setting's values in words: "10, 40 or 160"; empty if there are none."""
    values = [f"{value:,}" for value in sorted({case[key] for case in cases if key in case})]
    return " or ".join(filter(None, [", ".join(values[:-1]), *values[-1:]]))
