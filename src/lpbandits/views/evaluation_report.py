"""An evaluation in words, tables and charts: for a terminal, and as an HTML report."""

from pathlib import Path

from lpbandits.evaluation.results import Evaluation, titled
from lpbandits.simulation.results import versions
from lpbandits.text import display, pluralize
from lpbandits.views.charts.base import deferred_validation
from lpbandits.views.charts.evaluation import curve_chart, gain_chart, group_chart, people_chart
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import number

FORMAT = "lpbandits-evaluation"
VERSION = 1
REMARKS = {
    "item-knn": "no bandit, for reference",
    "ease": "no bandit, for reference",
    "ceiling": "taste, told all other ratings",
    "best-possible": "told all ratings",
}
GAIN = "gain over popularity [95 %]"
HOW_TO_READ = (
    "Each of these people was played again, by every policy alike: in each round a policy chose among the actions that "
    "the person really rated{once}, and was told the rating. Nobody of them was in a fit, nor had a say in what was "
    "chosen. A score is how far the mean rating of what a person got lies above the mean of all their ratings, in "
    "standard deviations of these, so that 0 is what a random choice gets and everybody counts alike. Intervals are "
    "paired bootstrap intervals over people."
)


def score_table(found: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Return the scores as columns and rows of text, highest last score first."""
    told = [t for t in next(iter(found.policies.values())).z if t <= found.rounds]
    columns = ["policy", *(f"after {t}" for t in told), "± se", GAIN, ""]
    rows = []
    for name, played in sorted(found.policies.items(), key=lambda item: -item[1].curve[-1]):
        scores = [f"{played.z[t]:.3f}" for t in told]
        gain = "" if name == "popular" else played.vs_popularity.signed
        remark = "← best" if name == found.best else REMARKS.get(name, "")
        rows.append([titled(name), *scores, number(played.se, 3), gain, remark])
    return columns, rows


def group_table(found: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Return what groups of people gain, as columns and rows of text."""
    rows = [[g.name, f"{g.people:,}", g.gain.signed, f"{g.worse:.0%}"] for g in found.groups]
    return ["people", "how many", GAIN, "worse off"], rows


def described(found: Evaluation) -> str:
    """Return who was fitted, who decided and who was replayed, in one line."""
    once = "each action once" if found.once else "actions may repeat"
    return (
        f"{pluralize(found.fitted_people, 'person', 'people')} fitted, {found.development_people:,} decided what was "
        f"chosen, {found.people:,} replayed for up to {pluralize(found.rounds, 'round')}, {once}"
    )


def losers(found: Evaluation) -> str:
    """Return who loses by the candidate, in a sentence."""
    who = titled(found.candidate or "popular")
    gap = found.gaps
    lost, gained = gap[gap < 0], float(gap[gap > 0].mean()) if (gap > 0).any() else 0.0
    if not len(lost):
        return f"Nobody would have been better off with popularity than with {who}."
    text = (
        f"{(gap < 0).mean():.0%} of the people would have been better off with popularity than with {who}, by "
        f"{-lost.mean():.2f} on average; {(gap > 0).mean():.0%} are better off, by {gained:.2f}."
    )
    worse = [group.name for group in found.groups[1:] if group.gain.sign < 0]
    text += f" As groups, these lose: {', '.join(worse)}." if worse else " No group of them loses as a whole."
    return text + " (Groups describe: with several of them one may lose, or gain, by chance.)"


@deferred_validation
def save_evaluation(found: Evaluation, folder: str | Path, *, source: str) -> Path:
    """Write tables, charts (PNG and SVG) and an HTML report of an evaluation; return the report's path."""
    once = ", each of them once" if found.once else ", again and again if it liked"
    sections = [
        Section(
            "Who does best?",
            [HOW_TO_READ.format(once=once)],
            {"gains": gain_chart(found), "rounds": curve_chart(found)},
            [Table(*score_table(found))],
        )
    ]
    if found.candidate is not None:
        charts = {"groups": group_chart(found), "people": people_chart(found)}
        sections.append(Section("Who gains, and who loses?", [losers(found)], charts, [Table(*group_table(found))]))
    sections.append(Section("What was chosen, and by whom", choices(found)))
    notes = [*found.warnings, *(f"{titled(name)} was left out: {why}" for name, why in found.left_out.items())]
    if notes:
        sections.append(Section("Notes", notes))
    return save_report(
        folder,
        title="Does it help these people?",
        lead=found.verdict,
        sections=sections,
        foot=f"{display(source)}: {described(found)}. {footer(sum(found.seconds.values()))}",
        tables={"people": found.table},
        manifest={"format": FORMAT, "version": VERSION, **found.to_dict(), "versions": versions()},
    )


def choices(found: Evaluation) -> list[str]:
    """Return what development people decided, in sentences."""
    chosen = found.chosen
    lines = [
        f"{pluralize(found.development_people, 'person', 'people')} who were not in the first fit decided everything "
        f"below; then they were fitted, too, and the {found.people:,} others were looked at once."
    ]
    settings = chosen["settings"]
    if settings is not None:
        tried = len(chosen["trials"])
        lines.append(
            f"States: {settings['states']}, found by {settings['method']} on the scale {settings['scale']} "
            f"({pluralize(tried, 'way')} of fitting tried)."
        )
    for name, (first, second) in chosen["constants"].items():
        lines.append(f"{titled(name)}: constants {first:g} and {second:g}.")
    if found.candidate is not None:
        scores = sorted(chosen["scores"].items(), key=lambda item: -item[1])
        ranked = ", ".join(f"{titled(name)} {score:.3f}" for name, score in scores)
        lines.append(f"Policy: {titled(found.candidate)}. Their scores: {ranked}.")
    return lines
