"""HTML report of a model: its states, its uncertainty, and the questions that separate states."""

from collections.abc import Iterator
from pathlib import Path

from lpbandits.inspection.facts import TASTE_RULE, fit_lines, noise_line, taste_lines, taste_table, warning_lines
from lpbandits.inspection.inspect import (
    CURVE_RULE,
    PAIR_RULE,
    Inspection,
    curve_table,
    place_rule,
    place_table,
    state_table,
)
from lpbandits.inspection.tables import ASK, TRAIT_RULE, TRAITS, pair_rule, pair_table, trait_table
from lpbandits.text import display, pluralize
from lpbandits.views.charts.base import Chart, deferred_validation
from lpbandits.views.charts.models import (
    DOTS,
    MOST,
    PLACES,
    curve_chart,
    disagreement_chart,
    kendall_chart,
    place_chart,
    share_chart,
)
from lpbandits.views.charts.pairs import pair_chart, taste_chart
from lpbandits.views.folder import save_report
from lpbandits.views.page import Section, Table

PLACE_NOTE = (
    "The rank of the actions whose ranks differ most between states. The rating of one such action says little: it "
    "depends on the person's scale. Ask about a pair of actions instead, as above."
)


@deferred_validation
def save_inspection(seen: Inspection, folder: str | Path, *, source: str) -> Path:
    """Write charts (PNG and SVG) and an HTML report of a model; return the report's path."""
    sizes = [pluralize(len(seen.states), "state"), pluralize(seen.actions, "action")]
    if seen.fit.people is not None:
        sizes.append(f"fitted to {pluralize(seen.fit.people, 'person', 'people')}")
    versions = ", ".join(f"{display(name)} {display(number)}" for name, number in seen.fit.versions.items())
    return save_report(
        folder,
        title="A model of preference orderings",
        lead=f"{display(source)}: {', '.join(sizes)}.",
        sections=list(_sections(seen)),
        foot=f"Fitted with {versions}." if versions else "",
    )


def _sections(seen: Inspection) -> Iterator[Section]:
    if seen.verdict.lines():
        yield Section("Does it help people?", seen.verdict.lines())
    few = seen.first(MOST)
    shares: dict[str, Chart] = {"shares": share_chart(few)}
    if len(seen.states) > 1 and not seen.silence:
        shares["kendall"] = kendall_chart(few)
    yield Section("States", _state_notes(seen), shares, [Table(*state_table(seen))])
    if seen.fit.warnings:
        yield Section("Warnings of the fit", warning_lines(seen.fit))
    if seen.contrasts.pairs:
        text = pair_rule(seen.contrasts, actions=seen.actions, largest=max(s.share for s in seen.states))
        yield Section(ASK, [text], {"pairs": pair_chart(few)}, [Table(*pair_table(seen.contrasts))])
    if seen.contrasts.traits:
        yield Section(TRAITS, [TRAIT_RULE], tables=[Table(*trait_table(seen.contrasts))])
    columns, rows = place_table(seen)
    if rows:
        chart = {"places": place_chart(seen.first(DOTS))}
        yield Section("How sure are the first places?", [place_rule(seen)], chart, [Table(columns, rows)])
    if seen.contrasts.disagreements:
        yield Section(PLACES, [PLACE_NOTE], {"disagreements": disagreement_chart(few)})
    if seen.taste is not None and seen.taste.directions:
        chart, table = {"tastes": taste_chart(seen.taste)}, Table(*taste_table(seen.taste))
        yield Section("Taste factors", [*taste_lines(seen.taste), TASTE_RULE], chart, [table])
    elif seen.taste is not None:
        yield Section("Taste", taste_lines(seen.taste))
    if seen.fit.curve:
        chart = {"how-many-states": curve_chart(seen)}
        yield Section("How many states?", [CURVE_RULE], chart, [Table(*curve_table(seen.fit.curve))])


def _state_notes(seen: Inspection) -> list[str]:
    text = [seen.silence or "Each state is an ordering of all actions, most preferred first."]
    text += [*fit_lines(seen.fit), *noise_line(seen.noise)]
    if any(s.certainty and s.top for s in seen.states):
        text.append(PAIR_RULE)
    if any(s.unknown for s in seen.states):
        text.append("Actions without comparisons in a state are unknown there and excluded from lists and distances.")
    if len(seen.states) > MOST:
        text.append(f"Charts show the first {MOST} states.")
    return text
