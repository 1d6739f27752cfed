"""`decide_file`: decisions for all people of a file, read, decided and written in batches."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.decisions.allowed import ActionIndex, AllowedActions, read_labels
from lpbandits.decisions.batches import DecisionArrays, DecisionBatch
from lpbandits.decisions.choose_policy import Chosen
from lpbandits.decisions.decide import warn_of_repeats
from lpbandits.decisions.engine import Engine, decide_batches
from lpbandits.decisions.history_files import ROWS, HistoryFile, open_history, streams_of
from lpbandits.decisions.output import TableParts, decision_table
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.atomic import check_table_path
from lpbandits.io.compressed import temporary_folder
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Workers, executor_for
from lpbandits.progress import Progress
from lpbandits.text import pluralize
from lpbandits.typing import Json

SHOWN = 10
"""Number of decisions and of most frequent actions in a summary."""


@dataclass
class Summary:
    """Counts of the decisions for a file.

    `skipped` counts outcomes of unknown actions, and people of the history who are not in the list of people.
    """

    model: PreferenceModel
    policy: str
    why: str
    people: int = 0
    decided: int = 0
    without_history: int = 0
    nothing_left: int = 0
    skipped: dict[str, int] = field(default_factory=lambda: {"outcomes": 0, "people": 0})
    seconds: float = 0.0
    out: str | None = None
    first: pl.DataFrame | None = None
    _probabilities: tuple[float, int] = (0.0, 0)

    def __post_init__(self) -> None:
        self._action_counts = np.zeros(self.model.n_actions, dtype=np.int64)

    def add(self, batch: DecisionBatch, decisions: DecisionArrays, table: pl.DataFrame) -> None:
        """Add a batch."""
        actions = decisions.action[decisions.action >= 0]
        self.people += len(decisions.action)
        self.decided += len(actions)
        self.nothing_left += len(decisions.action) - len(actions)
        self.without_history += int((np.diff(batch.offsets) == 0).sum())
        self._action_counts += np.bincount(actions, minlength=self.model.n_actions)
        probabilities = decisions.numbers[:, 0][~np.isnan(decisions.numbers[:, 0])]
        total, count = self._probabilities
        self._probabilities = total + float(probabilities.sum()), count + len(probabilities)
        if self.first is None:
            self.first = table.head(SHOWN)
        elif len(self.first) < SHOWN:
            self.first = pl.concat([self.first, table.head(SHOWN - len(self.first))], how="vertical_relaxed")

    @property
    def mean_probability(self) -> float | None:
        """Mean probability of the chosen actions; None if none is known."""
        total, count = self._probabilities
        return total / count if count else None

    @property
    def chosen(self) -> list[Json]:
        """The most frequent actions."""
        most_frequent = np.argsort(-self._action_counts, kind="stable")[:SHOWN].tolist()
        return [
            {
                "action": self.model.actions[a],
                "name": self.model.name_of(a),
                "people": int(self._action_counts[a]),
                "share": int(self._action_counts[a]) / self.decided,
            }
            for a in most_frequent
            if self._action_counts[a]
        ]

    def to_dict(self) -> Json:
        """Return the summary as a JSON object."""
        counts = ("people", "decided", "policy", "why", "without_history", "nothing_left", "skipped")
        others = ("mean_probability", "chosen", "seconds", "out")
        return {name: getattr(self, name) for name in (*counts, *others)}


@translate_errors("deciding")
def decide_file(
    chosen: Chosen,
    history: str | Path,
    *,
    out: str | Path | None = None,
    columns: Mapping[str, str | None] | None = None,
    allowed: str | Path | None = None,
    exclude_seen: bool = False,
    people: str | Path | None = None,
    unknown: str = "error",
    seed: int = 0,
    jobs: int | Workers | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    rows: int = ROWS,
) -> Summary:
    """Decide for all people of a table of outcomes, as `decide` does, and write one row per person to `out`.

    People are in the order of their first row, followed by those of `people` (a table that limits the decisions to its
    people) without a history. About `rows` outcomes, and all outcomes of a person, are in memory at a time, and several
    times as many with `jobs`. The batch size does not change a decision or the order.
    """
    started = time.perf_counter()
    path = None if out is None else check_table_path(out, "--out")
    validate.as_choice(unknown, "unknown", ("error", "skip"))
    rows = validate.as_count(rows, "rows")
    model = chosen.policy.model
    limits = AllowedActions(model, allowed)
    exclude_seen, seed = validate.as_flag(exclude_seen, "exclude_seen"), validate.as_seed(seed)
    wanted = None if people is None else read_labels(people, "person")["person"]
    summary = Summary(model, chosen.name, chosen.why, out=None if path is None else str(path))
    repeated = done = 0
    with open_history(history, columns or {}, ActionIndex(model.actions)) as past, contextlib.ExitStack() as stack:
        parts = None if path is None else TableParts(stack.enter_context(temporary_folder()), max(rows, 2**16))
        executor = stack.enter_context(executor_for(jobs, threads=threads))
        engine = Engine(
            chosen.policy,
            common=limits.common,
            exclude_seen=exclude_seen,
            seed=seed,
            threads=executor.threads,
            noise=chosen.noise,
        )

        def report(_: int, outcomes: int) -> None:
            nonlocal done
            done += outcomes
            if progress is not None:
                progress("deciding", min(done, past.rows), max(past.rows, 1))

        batches = past.batches(rows) if wanted is None else _selected(past, wanted, rows, summary)
        batches = _with_known_actions(batches, past, model, unknown, summary)
        batches = (batch._replace(allowed=limits.sets_of(_labels(batch))) for batch in batches)
        for batch, decisions in decide_batches(executor, engine, batches, report):
            table = decision_table(_labels(batch), decisions, model)
            summary.add(batch, decisions, table)
            repeated += decisions.repeated
            if parts is not None:
                parts.add(table, batch.row_order)
        if parts is not None and path is not None:
            if not summary.people:
                parts.add(decision_table(pl.Series([], dtype=pl.String), DecisionArrays.empty(), model))
            parts.write(path, past.rows)
    warn_of_repeats(chosen.policy, repeated)
    summary.seconds = round(time.perf_counter() - started, 3)
    return summary


def _labels(batch: DecisionBatch) -> pl.Series:
    assert batch.people is not None  # noqa: S101 - batches of files have labels
    return batch.people


def _selected(past: HistoryFile, wanted: pl.Series, rows: int, summary: Summary) -> Iterator[DecisionBatch]:
    """Yield the wanted people of a history, then the wanted people without one."""
    if (wanted.dtype == pl.String) != past.text:
        past, wanted = past.with_text(), wanted.cast(pl.String)
    index = wanted.alias("person").to_frame().with_row_index("place")
    met = np.zeros(len(wanted), dtype=bool)
    for batch in past.batches(rows):
        labels = _labels(batch).alias("person").to_frame()
        place = labels.join(index, on="person", how="left", maintain_order="left")["place"]
        keep = place.is_not_null().to_numpy()
        summary.skipped["people"] += int((~keep).sum())
        met[place.drop_nulls().to_numpy()] = True
        yield batch if keep.all() else batch.select_people(keep)
    without_history = wanted.filter(pl.Series(~met))
    for start in range(0, len(without_history), rows):
        people = without_history.slice(start, rows)
        offsets = np.zeros(len(people) + 1, dtype=np.int64)
        yield DecisionBatch(offsets, np.empty(0, dtype=np.int32), np.empty(0), streams_of(people), people=people)


def _with_known_actions(
    batches: Iterator[DecisionBatch], past: HistoryFile, model: PreferenceModel, unknown: str, summary: Summary
) -> Iterator[DecisionBatch]:
    """Yield batches without the outcomes of unknown actions, which are an error or skipped."""
    for batch in batches:
        known = batch.action >= 0
        if not known.all():
            if unknown == "error":
                raise _unknown_actions(past, model)
            summary.skipped["outcomes"] += int((~known).sum())
            batch = batch.select_outcomes(known)  # noqa: PLW2901
        yield batch


def _unknown_actions(past: HistoryFile, model: PreferenceModel) -> InvalidInput:
    """Return the error for actions that are not in the model: the first, and the number of such rows."""
    first, count = None, 0
    for start in range(0, past.rows, ROWS):
        actions = past.table.slice(start, ROWS).select("action").collect().to_series()
        unknown = np.flatnonzero(past.actions.codes(actions) < 0)
        if len(unknown) and first is None:
            first = actions[int(unknown[0])]
        count += len(unknown)
    return InvalidInput(
        f"action {validate.short_repr(first)} of the history is not one of the model's {model.n_actions:,} actions "
        f"({pluralize(count, 'such row')}); correct them, or skip them with --unknown skip"
    )
