"""HTML of objects in notebooks: a line about the object and small tables, without colours of their own."""

import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from lpbandits.agent import Agent, Decision, Explanation
from lpbandits.decisions.decide import Decisions
from lpbandits.evaluation.results import Evaluation
from lpbandits.fit.report import Fit
from lpbandits.inspection.contrasts import ASK, pair_table, percent
from lpbandits.inspection.inspect import Inspection, state_table
from lpbandits.kernels import layout
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief
from lpbandits.policies.best import Best
from lpbandits.simulation import Results
from lpbandits.text import display, pluralize, share_text, significant
from lpbandits.views.evaluation_report import describe, score_table
from lpbandits.views.page import Table, template
from lpbandits.views.tables import comparison, comparison_note, decision_headers, described

MAX_ROWS = 12
"""Maximum number of rows of a table."""

MAX_LISTED = 3
"""Maximum number of actions at the beginning of a listed ordering."""


@functools.singledispatch
def html(thing: object) -> str:
    """Return an object as HTML."""
    raise TypeError(f"{type(thing).__name__} has no HTML")


def _page(title: str, *parts: str | Table) -> str:
    """Return a title, and lines of text and tables below it."""
    tables = [part if isinstance(part, str) else _short(part) for part in parts if part]
    return template("notebook.html").render(title=title, parts=tables)


def _short(table: Table) -> Table:
    """Keep the first rows of a table, and count the others."""
    more = len(table.rows) - MAX_ROWS
    return table if more <= 0 else Table(table.columns, table.rows[:MAX_ROWS], note=f"and {more:,} more")


@html.register
def _(results: Results) -> str:
    return _page(described(results), Table(*comparison(results)), comparison_note(results))


@html.register
def _(evaluation: Evaluation) -> str:
    note = "Scores: 0 is a person's mean rating, 1 is one standard deviation above it."
    return _page(evaluation.verdict, describe(evaluation), Table(*score_table(evaluation)), note)


@html.register
def _(fit: Fit) -> str:
    report = fit.report
    title = f"{pluralize(report.states, 'state')} by {report.method}, fitted to {report.sizes}"
    score = report.heldout_log_likelihood
    held_out = (
        "" if score is None else f"Log-likelihood per comparison of held-out people: {score:.4f} (chance: -0.6931)"
    )
    return _page(title, _states(fit.model), held_out, *(f"Warning: {text}" for text in report.warnings[:MAX_ROWS]))


@html.register
def _(model: PreferenceModel) -> str:
    sizes = f"{pluralize(model.n_states, 'state')}, {pluralize(model.n_actions, 'action')}"
    noise = "" if model.noise is None else f"Noise of rewards: {model.noise:.3g}"
    verdict = (model.evaluation or {}).get("verdict")
    return _page(f"Preference model: {sizes}", verdict if isinstance(verdict, str) else "", _states(model), noise)


@html.register
def _(seen: Inspection) -> str:
    pairs = Table(*pair_table(seen.contrasts)) if seen.contrasts.pairs else ""
    return _page(
        f"Model: {seen.sizes}", Table(*state_table(seen)), seen.silence or "", *((ASK, pairs) if pairs else ())
    )


@html.register
def _(agent: Agent) -> str:
    policy = agent.policy
    outcomes = pluralize(agent.rounds, "duel" if policy.feedback == "duels" else "outcome")
    title = (
        f"{type(policy).__name__} for person {display(agent.person)}: {outcomes}, {pluralize(agent.asked, 'decision')}"
    )
    return _page(title, *_explained(agent.explain(), policy.model), repr(policy))


@html.register
def _(explanation: Explanation) -> str:
    return _page(repr(explanation)[1:-1], *_explained(explanation, None))


@html.register
def _(decision: Decision) -> str:
    chances = sorted(decision.positive or (), key=lambda one: -one[1])
    table = Table(["action", "P(played)"], [[display(label), percent(p)] for label, p in chances])
    about = (
        f"Person {display(decision.person)}, after {pluralize(decision.rounds, 'outcome')}, {display(decision.policy)}"
    )
    return _page(repr(decision)[1:-1], about, table if chances else "")


@html.register
def _(best: Best) -> str:
    is_known = not math.isnan(best.expected)
    mean = (
        [significant(best.expected), f"{significant(best.low)} to {significant(best.high)}"] if is_known else ["", ""]
    )
    rows = [[display(best.action), percent(best.probability), *mean]]
    if best.runner_up is not None:
        rows.append([display(best.runner_up), percent(best.runner_up_probability), "", ""])
    about = f"Confidence of a stop now: {percent(best.confidence)}"
    return _page(f"Best: {display(best.action)}", Table(["action", "P(best)", "mean", "80% interval"], rows), about)


@html.register
def _(belief: Belief) -> str:
    n = belief.tried
    counts, sums = (belief.slots[row, :n] for row in (layout.COUNT, layout.SUM))
    tried = [
        [str(action), f"{count:.0f}", significant(total / count)]
        for action, count, total in zip(belief.actions.tolist(), counts.tolist(), sums.tolist(), strict=True)
    ]
    states = [[str(z), percent(float(p))] for z, p in enumerate(belief.states[layout.POSTERIOR].tolist())]
    posterior = Table(["state", "probability (by the evidence)"], states) if states else ""
    columns = ["action (index)", "count", "mean reward (negative if lower is better)"]
    return _page(
        repr(belief)[1:-1],
        Table(columns, tried) if n else "",
        posterior,
    )


@html.register
def _(decisions: Decisions) -> str:
    frame = decisions.table()
    rows = [
        [significant(cell) if cell is None or isinstance(cell, float) else display(cell) for cell in row]
        for row in frame.head(MAX_ROWS).rows()
    ]
    more = len(frame) - len(rows)
    columns = decision_headers(frame.columns)
    return _page(repr(decisions)[1:-1], Table(columns, rows, note=f"and {more:,} more" if more else ""))


def _states(model: PreferenceModel) -> Table:
    """Return the states with their shares and the two ends of their orderings."""
    columns = ["state", "share", "ordering"] + (["mean rewards"] if model.means is not None else [])
    rows = []
    for z in range(model.n_states):
        row = [display(model.state_name(z)), share_text(float(model.prior[z])), _ordering(model, z)]
        if model.means is not None:
            means = model.oriented(model.means[z])
            row.append(f"{means.min():.3g} to {means.max():.3g}")
        rows.append(row)
    return Table(columns, rows)


def _ordering(model: PreferenceModel, state: int) -> str:
    """Return the first actions of an ordering and the last: "tea > jam = egg > … > milk"; = joins a tier."""
    sizes = (1,) * model.n_actions if model.tiers is None else model.tiers[state]
    ends = np.cumsum(sizes).tolist()
    names = [display(model.name_of(a)) for a in model.orderings[state, : MAX_LISTED + 1].tolist()]
    text = names[0]
    for place, name in enumerate(names[1:MAX_LISTED], start=1):
        text += (" > " if place in ends else " = ") + name
    rest = model.n_actions - MAX_LISTED
    if rest <= 0:
        return text
    last = display(model.name_of(int(model.orderings[state, -1])))
    return f"{text} > … > {last}" if rest > 1 else f"{text}{' > ' if MAX_LISTED in ends else ' = '}{last}"


def _explained(explanation: Explanation, model: PreferenceModel | None) -> Iterable[str | Table]:
    """Yield the tried actions, and the states or the forecasts."""

    def name(label: object) -> str:
        return display(label if model is None else model.name_of(model.index[label]))  # type: ignore[index] # a label

    def state_name(z: int) -> str:
        return str(z) if model is None else display(model.state_name(z))

    if explanation.tried:
        tried: Sequence[Sequence[str]] = [
            [name(label), str(count), significant(mean)] for label, (count, mean) in explanation.tried.items()
        ]
        yield Table(["tried", "times", "mean"], tried)
    if explanation.states:
        end = "lowest" if explanation.lower_is_better else "highest"
        columns = ["state", f"probability ({explanation.certainty})", f"{end} expected rewards"]
        rows = []
        for state in explanation.states:
            best = sorted(state.means.items(), key=lambda one: explanation.rank_key(one[1]))[:MAX_LISTED]
            text = " · ".join(f"{name(label)} {significant(mean)}" for label, mean in best if not math.isnan(mean))
            rows.append([state_name(state.state), percent(state.probability), text])
        yield Table(columns, rows)
    if explanation.forecasts:
        columns = ["action", "expected reward", "80 % of rewards"]
        yield Table(
            columns,
            [
                [name(label), significant(one.mean), f"{significant(one.low)} to {significant(one.high)}"]
                for label, one in explanation.forecasts.items()
            ],
        )
