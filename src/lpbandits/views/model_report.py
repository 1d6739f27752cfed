"""HTML report of a model: its states, its uncertainty, and the questions that separate states."""

from collections.abc import Iterator
from pathlib import Path

from lpbandits.inspection import contrasts, facts
from lpbandits.inspection import inspect as summary
from lpbandits.inspection.inspect import Inspection
from lpbandits.text import display
from lpbandits.views.charts import models as charts
from lpbandits.views.charts.base import Chart, deferred_validation
from lpbandits.views.folder import save_report
from lpbandits.views.page import Section, Table

PLACE_NOTE = (
    "The rank of the actions whose ranks differ most between states. The rating of one such action says little: it "
    "depends on the person's scale. Ask about a pair of actions instead, as above."
)


@deferred_validation
def save_inspection(seen: Inspection, folder: str | Path, *, source: str = "") -> Path:
    """Write charts (PNG and SVG) and an HTML report of a model; return the report's path.

    `source` is the name of the model.
    """
    versions = ", ".join(f"{display(name)} {display(number)}" for name, number in seen.fit.versions.items())
    return save_report(
        folder,
        title="A model of preference orderings",
        lead=f"{display(source)}: {seen.sizes}." if source else f"{seen.sizes}.",
        sections=sections(seen),
        foot=f"Fitted with {versions}." if versions else "",
    )


def sections(seen: Inspection) -> list[Section]:
    """Return the sections of the report of a model."""
    return list(_sections(seen))


def _sections(seen: Inspection) -> Iterator[Section]:
    if verdict := facts.verdict_lines(seen.evaluation):
        yield Section("Does it help people?", verdict)
    few = seen.first(charts.MAX_SHOWN)
    shares: dict[str, Chart] = {"shares": charts.share_chart(few)}
    if len(seen.states) > 1 and not seen.silence:
        shares["kendall"] = charts.kendall_chart(few)
    yield Section("States", _state_notes(seen), shares, [Table(*summary.state_table(seen))])
    if seen.fit.curve:
        chart = {"how-many-states": charts.curve_chart(seen)}
        yield Section("How many states?", [summary.CURVE_NOTE], chart, [Table(*summary.curve_table(seen.fit.curve))])
    if seen.fit.warnings:
        yield Section("Warnings of the fit", facts.warning_lines(seen.fit))
    if seen.contrasts.pairs:
        text = contrasts.pair_note(seen.contrasts, actions=seen.actions, largest=max(s.share for s in seen.states))
        yield Section(
            contrasts.ASK, [text], {"pairs": charts.pair_chart(few)}, [Table(*contrasts.pair_table(seen.contrasts))]
        )
    if seen.contrasts.traits:
        yield Section(contrasts.TRAITS, [contrasts.TRAIT_NOTE], tables=[Table(*contrasts.trait_table(seen.contrasts))])
    columns, rows = summary.place_table(seen)
    if rows:
        chart = {"places": charts.place_chart(seen.first(charts.MAX_DOT_STATES))}
        yield Section("How sure are the first places?", [summary.place_note(seen)], chart, [Table(columns, rows)])
    if seen.contrasts.disagreements:
        yield Section(charts.PLACES, [PLACE_NOTE], {"disagreements": charts.disagreement_chart(few)})
    if seen.taste is not None and seen.taste.directions:
        chart, table = {"tastes": charts.taste_chart(seen.taste)}, Table(*facts.taste_table(seen.taste))
        yield Section("Taste factors", [*facts.taste_lines(seen.taste), facts.TASTE_NOTE], chart, [table])
    elif seen.taste is not None:
        yield Section("Taste", facts.taste_lines(seen.taste))


def _state_notes(seen: Inspection) -> list[str]:
    text = [seen.silence or "Each state is an ordering of all actions, most preferred first."]
    text += [*facts.fit_lines(seen.fit), *facts.noise_line(seen.noise)]
    if any(s.certainty and s.top for s in seen.states):
        text.append(summary.PAIR_NOTE)
    if any(s.unknown for s in seen.states):
        text.append("Actions without comparisons in a state are unknown there and excluded from lists and distances.")
    if len(seen.states) > charts.MAX_SHOWN:
        text.append(f"Charts show the first {charts.MAX_SHOWN} states.")
    return text
