"""One person's record as an HTML page: what was tried, recommended and given, and what is probably best."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from lpbandits.agent import Agent, DecisionRecord, Explanation
from lpbandits.agent.record import Play, own_prior
from lpbandits.errors import translate_errors
from lpbandits.io.atomic import write_text
from lpbandits.simulation.results import versions
from lpbandits.text import display, pluralize, share_text, significant
from lpbandits.typing import Label
from lpbandits.views.agent_words import KINDS, Names, best_lines, chances_of_best, order_text, percent, reason
from lpbandits.views.charts.agents import MAX_ACTIONS, MAX_DOTS, outcome_chart
from lpbandits.views.folder import svg_of
from lpbandits.views.page import Picture, Section, Table, page

MAX_ROWS = 50
"""Maximum number of rows of a table."""
MAX_STATES = 5
"""Maximum number of states that are described."""
LEAST = 0.005
"""Lowest probability in the table of the best actions."""
CHART = "outcomes"


@translate_errors("writing a report")
def report(agent: Agent, path: str | Path | None) -> str:
    """Return one person's record as an HTML page that opens without a network, and write it to `path` if given.

    The page says in plain words what was tried and what came of it, what was recommended and given, which decisions
    have no outcome yet, what is probably best and how sure that is, and what the model concludes and why. Equal agents
    have equal pages.

    >>> from lpbandits import LpbTS, PreferenceModel
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbTS(model, noise=1.0), seed=7, person="alice")
    >>> agent.tell("drug B", 4.5); agent.tell("rest", 1.0)
    >>> "Probably drug B (86%)" in agent.report()
    True
    """
    about = _Person(copy.copy(agent))  # other threads may use the agent
    html = page(
        title=f"Record of {display(agent.person)}",
        lead=about.lead,
        sections=list(about.sections()),
        foot=f"Made by lpbandits {versions()['lpbandits']}.",
        drawings={CHART: about.picture()} if about.seen.tried else {},
    )
    if path is not None:
        write_text(path, html)
    return html


@dataclass(frozen=True)
class _Person:
    """An agent, and what the page says about it."""

    agent: Agent

    @cached_property
    def seen(self) -> Explanation:
        return self.agent.explain()

    @cached_property
    def names(self) -> Names:
        model = self.agent.policy.model
        return Names(model.index, [model.name_of(a) for a in range(model.n_actions)])

    @property
    def duels(self) -> bool:
        return self.agent.policy.feedback == "duels"

    @property
    def lead(self) -> str:
        told = pluralize(self.agent.rounds, "comparison" if self.duels else "outcome")
        first = f"{told} of {pluralize(len(self.seen.tried), 'action')}." if self.seen.tried else "No outcome yet."
        if not self.agent.pending:
            return f"{first} No decision waits for an outcome."
        return f"{first} {pluralize(len(self.agent.pending), 'decision waits', 'decisions wait')} for an outcome."

    def sections(self) -> Iterator[Section]:
        yield Section("What is probably best", list(best_lines(self.agent, self.seen, self.names)), tables=self._best())
        yield self._tried()
        records = self.agent.decisions
        if records:
            alone = self.agent.rounds - len(records) + len(self.agent.pending)
            note = ["The latest come first.", *self._cut(len(records))]
            if not self.duels:
                note.append("The chance of a recommendation is that of being recommended, not that of being best.")
            if alone:
                note.append(f"{pluralize(alone, 'outcome')} came without a decision of this program.")
            yield Section("What was recommended and given", note, tables=[self._decisions(records[::-1][:MAX_ROWS])])
        if self.agent.pending:
            yield self._pending()
        if self.seen.states:
            yield self._states()
        yield Section("Small print", self._small_print(), small=True)

    def _best(self) -> list[Table]:
        chances = [(label, p) for label, p in chances_of_best(self.agent).items() if p >= LEAST][:MAX_STATES]
        if not chances:
            return []
        rows = [[self.names.of(label), percent(p), self._average(label)] for label, p in chances]
        return [Table(["action", "chance of being best", "won so far" if self.duels else "average so far"], rows)]

    def _average(self, label: Label) -> str:
        n, mean = self.seen.tried.get(label, (0, 0.0))
        return "not tried" if not n else share_text(mean) if self.duels else significant(mean)

    def _tried(self) -> Section:
        heading = "What was tried, and what came of it"
        if not self.seen.tried:
            return Section(heading, ["Nothing yet."])
        if self.duels:
            rows = [[self.names.of(a), f"{n:,}", share_text(mean)] for a, (n, mean) in self._ranked()]
            table = Table(["action", "times compared", "won"], rows[:MAX_ROWS])
            return Section(heading, self._cut(len(rows)), {CHART: None}, [table])
        told: dict[Label, list[float]] = {}
        for label, reward in self.agent.outcomes:
            told.setdefault(label, []).append(reward)
        complete = not self.agent.log.missing
        columns = ["action", "times", "average", *(("range",) if complete else ())]
        rows = [
            [
                self.names.of(a),
                f"{n:,}",
                significant(mean),
                *((_range(told[a]),) if complete else ()),
            ]
            for a, (n, mean) in self._ranked()
        ]
        return Section(heading, self._cut(len(rows)), {CHART: None}, [Table(columns, rows[:MAX_ROWS])])

    def _ranked(self) -> list[tuple[Label, tuple[int, float]]]:
        return sorted(self.seen.tried.items(), key=lambda item: self.seen.rank_key(item[1][1]))

    def _cut(self, rows: int) -> list[str]:
        return [f"The table shows {MAX_ROWS} of {rows:,}."] if rows > MAX_ROWS else []

    def picture(self) -> Picture:
        """Draw the outcomes of the tried actions, or the shares of won comparisons."""
        ranked = self._ranked()[:MAX_ACTIONS]
        row = {label: i for i, (label, _) in enumerate(ranked)}
        dots = [] if self.duels else [(row[a], x) for a, x in self.agent.outcomes[-MAX_DOTS:] if a in row]
        names = [self.names.of(label) for label, _ in ranked]
        means = [mean for _, (_, mean) in ranked]
        wide, narrow = (
            svg_of(outcome_chart(names, means, dots, shares=self.duels, width=width, label=label))
            for width, label in ((460, 260), (190, 100))
        )
        text = "; ".join(f"{name}: average {significant(mean)}" for name, mean in zip(names, means, strict=True))
        return Picture(wide, narrow, text)

    def _decisions(self, records: list[DecisionRecord]) -> Table:
        rows = []
        for record in records:
            one, given, outcome = record.decision, "–", "waiting"
            if record.given is not None:
                same = {*_pair(record.given)} == {*_pair(one.action)}
                given = "the same" if same else self._play(record.given)
                won = isinstance(record.given, tuple)
                outcome = f"{self.names.of(_pair(record.given)[0])} won" if won else significant(record.reward)
            chance = [] if self.duels else ["–" if one.probability is None else percent(one.probability)]
            rows.append([str(one.asked + 1), self._play(one.action), *chance, given, outcome])
        return Table(["no.", "recommended", *([] if self.duels else ["its chance"]), "given", "outcome"], rows)

    def _play(self, play: Play) -> str:
        return " or ".join(map(self.names.of, _pair(play)))

    def _pending(self) -> Section:
        waiting = self.agent.pending
        rows = [[str(one.asked + 1), self._play(one.action), one.id] for one in waiting[::-1][:MAX_ROWS]]
        text = ["An outcome may come at any time. Report it with the id of its decision."]
        table = Table(["no.", "recommended", "id"], rows)
        return Section("Decisions that wait for an outcome", text + self._cut(len(waiting)), tables=[table])

    def _states(self) -> Section:
        model = self.agent.policy.model
        text = [
            "The model knows groups of people, from a log or from experts. Each group orders the actions in its own "
            "way. The outcomes so far say which groups this person may belong to."
        ]
        if len(self.seen.states) > MAX_STATES:
            text.append(f"The table shows the {MAX_STATES} most probable of {len(self.seen.states):,} groups.")
        if len(self.seen.tried) < 2:
            text.append("Fewer than two actions were tried, which says nothing about an order.")
        rows, evidence = [], self.agent.policy.evidence
        known = evidence.probabilistic
        first_prior = self.agent.prior
        for fit in self.seen.states[:MAX_STATES]:
            by_rank = groupby(model.orderings[fit.state].tolist(), key=model.ranks[fit.state].__getitem__)
            tiers = [[model.actions[a] for a in tier] for _, tier in by_rank]
            name, first = display(model.state_name(fit.state)), order_text(tiers, self.names)
            why = reason(tiers, self.seen, self.names, duels=self.duels)
            text.append(f"{name[:1].upper()}{name[1:]} prefers {first}. {why}".rstrip())
            now = percent(fit.probability) if known else "possible" if fit.probability else "excluded"
            rows.append([name, now, percent(float(first_prior[fit.state]))])
        if kind := KINDS.get(evidence.certainty, ""):
            text.append(f"The table has the probabilities of the groups. {kind}")
        return Section("What the model concludes, and why", text, tables=[Table(["group", "now", "at first"], rows)])

    def _small_print(self) -> list[str]:
        agent, policy = self.agent, self.agent.policy
        prior = own_prior(agent)
        return [
            "Every decision can be repeated from the numbers below and the outcomes.",
            f"Person {display(agent.person)}, seed {agent.seed}, {pluralize(agent.asked, 'ask')} so far.",
            f"Policy: {repr(policy).partition('(')[2][:-1]}.",  # a restored one has another class
            f"Hash of the policy's settings: {policy.sha256}.",
            f"Hash of the model: {policy.model.sha256}.",
            *([] if prior is None else [f"Prior of the person: {', '.join(map(repr, prior))}."]),
        ]


def _range(values: list[float]) -> str:
    low, high = significant(min(values)), significant(max(values))
    return low if low == high else f"{low} to {high}"


def _pair(play: Play | None) -> tuple[Label, ...]:
    return () if play is None else play if isinstance(play, tuple) else (play,)
