"""Files and HTML report of a reproduction: a summary, each figure with its claims, and all claims."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from lpbandits.paper.claims.check import Claim
from lpbandits.paper.spec import Figure, Size
from lpbandits.simulation.results import versions
from lpbandits.typing import Json
from lpbandits.views.charts.base import deferred_validation
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import VERDICTS, Link, Remark, Section, Table

SOURCES = {"paper": "Claims of the paper", "beyond": "Beyond the paper"}

_STANDARD = (
    "A claim holds if the 95 % interval of its effect (Student's t over draws of the orderings, policies paired within "
    "each draw) lies inside the claim's range, and does not hold if it lies outside. A claim about several settings "
    "holds if it holds in each; it does not hold if it fails in one, with an interval widened for the number of "
    "settings (Bonferroni). The table shows the deciding setting with its interval."
)
_HOW_TO_READ = (
    "Hover over a line to see its numbers. Click a line to select it, click others to add them, and double-click to "
    "show all lines. Unless a chart states otherwise, bands are one standard deviation over people and bars are one "
    "standard error over draws. A dashed line covers another line."
)
_CHOICES = (
    "All figures: lpbTS is the refit form with a uniform first action and a uniform prior over states; mTS starts from "
    "its prior, as published; TS has the weak prior N(0, 100²). Rewards are Gaussian with known noise. All policies "
    "face the same people and the same random draws, unless a figure of the ladder changes that. lpb-utility and "
    "lpb-ids treat the noise as a guess.",
    "MovieLens: policies are compared with the same model: the true one, or one recovered from logs by clustering raw "
    "ratings (as in the paper) or scale-free ratings. Orderings and means come from half of the people. Beyond the "
    "paper there are a recovered model with utilities shrunk over states, and policies that trust a model only "
    "partially and treat the noise as a guess. On the same scale, rewards have noise of variance 0.5. On different "
    "scales, we read the paper as having no noise beyond the perturbation of the ratings; noise of variance 0.5 is a "
    "variant. On different scales, mTS knows the expected means of the states; mTS with the common means is shown too. "
    "TS on the top actions plays only offered actions that are best in some state. Ratings are standardized by the "
    "mean and standard deviation of each person's true ratings of all movies.",
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
    """Write the table, chart and settings of every figure, the claims and the report; return the report's path."""
    documents: Json = {"claims": [asdict(claim) for claim in claims]}
    sections = [_summary(claims)] if claims else []
    sections.append(Section("How to read the charts", [_HOW_TO_READ]))
    for figure in figures:
        documents[figure.name] = {
            "figure": figure.name,
            "version": figure.version,
            "shows": figure.shows,
            "size": asdict(size),
            "seed": seed,
            "cases": [asdict(case) for case in figure.cases(size)],
            "versions": versions(),
        }
        text = f"{figure.shows[:1].upper()}{figure.shows[1:]}. {_settings(figure, size)}".strip()
        chart = {figure.name: figure.chart(tables[figure.name])}
        remarks = [_remark(claim) for claim in claims if claim.figures[:1] == (figure.name,)]
        sections.append(Section(figure.title, [text], chart, remarks=remarks, anchor=figure.name))
    sections.append(Section("Choices", _CHOICES))
    if skipped:
        sections.append(Section("Not run", [f"{name}: {why}." for name, why in skipped.items()]))
    if claims:
        sections.append(_all_claims(claims))
    return save_report(
        folder,
        title="Latent Preference Bandits: reproduction",
        lead=f"Figures and claims of the paper and beyond it, with seed {seed}."
        + (" Quick run: fewer people, draws and settings." if size.quick else ""),
        sections=sections,
        foot=footer(seconds),
        tables=tables,
        documents=documents,
    )


def _summary(claims: Sequence[Claim]) -> Section:
    """Return the headline claims (all, if none is a headline), with links to their figures."""
    rows: list[list[str | Link]] = []
    any_headline = any(claim.headline for claim in claims)
    for source, title in SOURCES.items():
        chosen = [c for c in claims if c.source == source and (c.headline or not any_headline)]
        rows += [[title]] if chosen and source != "paper" else []
        for claim in chosen:
            where = f"; {claim.where_text}" if claim.where_text else ""
            rows.append([claim.verdict, _link(claim), f"{claim.measure}: {claim.effect_text}{where}"])
    counts = Counter[str](claim.verdict for claim in claims)
    marks = ", ".join(f"{mark} {verdict} {counts[verdict]}" for verdict, (mark, _) in VERDICTS.items())
    note = Link(f"All {len(claims)} claims: {marks}.", "all-claims")
    table = Table(["", SOURCES["paper"], "Effect [interval]"], rows, summary=True, note=note)
    return Section("Summary", [_STANDARD], tables=[table], anchor="summary")


def _remark(claim: Claim) -> Remark:
    """Return a claim as a remark on its figure."""
    beyond = "Beyond the paper. " if claim.source == "beyond" else ""
    where = f" Decided by: {claim.where_text}." if claim.where_text else ""
    standard = f"{beyond}{claim.verdict.capitalize()}. Required: {claim.standard}.{where}"
    return Remark(claim.verdict, claim.claim, [f"{claim.measure}: {claim.effect_text}", standard, claim.detail])


def _all_claims(claims: Sequence[Claim]) -> Section:
    """Return every claim with every setting."""
    columns = ["claim", "verdict", "measure", "must be", "setting", "effect [interval]", "draws"]
    rows: list[list[str | Link]] = []
    for claim in sorted(claims, key=lambda claim: list(SOURCES).index(claim.source)):
        first: str | Link = _link(claim)
        for part in claim.parts:
            cells = [part.verdict, claim.measure, claim.standard, part.where, part.effect_text, str(part.draws)]
            rows.append([first, *cells])
            first = ""
    text = ["Every claim in every setting. The first setting of a claim decides."]
    return Section("All claims", text, tables=[Table(columns, rows)], anchor="all-claims")


def _link(claim: Claim) -> Link:
    return Link(claim.claim, claim.figures[0] if claim.figures else "")


def _settings(figure: Figure, size: Size) -> str:
    """Describe the people, rounds and draws of a figure; empty if it is not simulated."""
    cases = [case.settings for case in figure.cases(size)]
    people, rounds, draws, repeats = (_values(cases, key) for key in ("people", "rounds", "draws", "repeats"))
    if not people:
        return ""
    if figure.data:
        learned = sum(bool(case.get("recovered", True)) for case in cases)
        first = f", models recovered in the first {learned}" if learned < len(cases) else ""
        return f"{len(cases)} draws of {people} people, {rounds} rounds{first}."
    if repeats:
        return f"{people} people, each with new orderings, {rounds} rounds, {repeats} times."
    parts = [f"{people} people per state", f"{rounds} rounds" if rounds else "", f"{draws} draws of the orderings"]
    return ", ".join(filter(None, parts)) + "."


def _values(cases: Sequence[Json], key: str) -> str:
    """Return the values of a setting as "10, 40 or 160"; empty if there are none."""
    values = [f"{value:,}" for value in sorted({case[key] for case in cases if key in case})]
    return " or ".join(filter(None, [", ".join(values[:-1]), *values[-1:]]))
