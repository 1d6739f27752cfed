"""Decisions for all people of a file: read, decided and written some at a time."""

import collections
import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.decisions.allowed import Allowed, Coder, read_labels
from lpbandits.decisions.choose_policy import Chosen
from lpbandits.decisions.decide import warn_of_again
from lpbandits.decisions.engine import PIECE, Batch, Block, Found, decided
from lpbandits.decisions.history_files import ROWS, HistoryFile, Some, open_history
from lpbandits.decisions.output import Pieces, decision_table
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.atomic import check_table_path
from lpbandits.io.compressed import temporary_folder
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Executor, Workers, executor_for
from lpbandits.progress import Progress
from lpbandits.rng import addresses_of
from lpbandits.text import pluralize
from lpbandits.typing import BoolArray, Int32Array, IntArray, Json

FIRST = 10
"""Decisions, and most chosen actions, that are kept to be shown."""


@dataclass
class Summary:
    """What was decided: how many people, and how many of them without a history, or with nothing left to have.

    `skipped` counts outcomes of actions that the model does not have, and people of the history who were not asked for.
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
    _chances: tuple[float, int] = (0.0, 0)

    def __post_init__(self) -> None:
        self._chosen = np.zeros(self.model.n_actions, dtype=np.int64)

    def add(self, outcomes: IntArray, found: Found, table: pl.DataFrame) -> None:
        """Count some people in."""
        mine = found.action[found.action >= 0]
        self.people += len(found.action)
        self.decided += len(mine)
        self.nothing_left += len(found.action) - len(mine)
        self.without_history += int((outcomes == 0).sum())
        self._chosen += np.bincount(mine, minlength=self.model.n_actions)
        told = found.numbers[:, 0][~np.isnan(found.numbers[:, 0])]
        self._chances = self._chances[0] + float(told.sum()), self._chances[1] + len(told)
        if self.first is None:
            self.first = table.head(FIRST)
        elif len(self.first) < FIRST:
            self.first = pl.concat([self.first, table.head(FIRST - len(self.first))], how="vertical_relaxed")

    @property
    def mean_probability(self) -> float | None:
        """The mean chance of what was chosen; None where no chance is known."""
        total, count = self._chances
        return total / count if count else None

    @property
    def chosen(self) -> list[Json]:
        """The actions that were chosen most."""
        most = np.argsort(-self._chosen, kind="stable")[:FIRST].tolist()
        return [
            {
                "action": self.model.actions[a],
                "name": self.model.name_of(a),
                "people": int(self._chosen[a]),
                "share": int(self._chosen[a]) / self.decided,
            }
            for a in most
            if self._chosen[a]
        ]

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        names = ("people", "decided", "policy", "why", "without_history", "nothing_left", "skipped")
        numbers = ("mean_probability", "chosen", "seconds", "out")
        return {name: getattr(self, name) for name in (*names, *numbers)}


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
    """Decide for all people of a table of outcomes; write a row for each to `out`.

    People come in the order in which they first occur, then those of `people` (a table: for these alone) who have no
    history. About so many `rows` are held at a time, and all of anybody's, and with `jobs` some times as many; it
    changes no decision and no order.
    """
    started = time.perf_counter()
    place = None if out is None else check_table_path(out, "--out")
    validate.as_choice(unknown, "unknown", ("error", "skip"))
    rows = validate.as_count(rows, "rows")
    model = chosen.policy.model
    limits = Allowed(model, allowed)
    settings: dict[str, Any] = {
        "exclude_seen": validate.as_flag(exclude_seen, "exclude_seen"),
        "seed": validate.as_seed(seed),
    }
    settings |= {"common": limits.common, "noise": chosen.noise}
    wanted = None if people is None else read_labels(people, "person")["person"]
    summary = Summary(model, chosen.name, chosen.why, out=None if place is None else str(place))
    with open_history(history, columns or {}) as past, contextlib.ExitStack() as open_:
        pieces = None if place is None else Pieces(open_.enter_context(temporary_folder()), max(rows, 2**16))
        given = _coded(_asked_for(past, wanted, rows, summary), past, model, unknown, summary)
        executor = open_.enter_context(executor_for(jobs, threads=threads))
        batch = Batch(chosen.policy, threads=executor.threads, **settings)
        told = functools.partial(_told, progress, max(past.rows, 1))
        again = 0
        for some, found in _found(executor, batch, given, limits, told):
            table = decision_table(some.people.alias("person"), found, model)
            summary.add(np.diff(some.offsets), found, table)
            if pieces is not None:
                pieces.add(table if some.first is None else table.with_columns(some.first.alias("first")))
            again += found.again
        if pieces is not None and place is not None:
            if not summary.people:
                pieces.add(decision_table(pl.Series("person", [], pl.String), Found.nothing(), model))
            pieces.write(place, past.rows)
    warn_of_again(chosen.policy, again)
    summary.seconds = round(time.perf_counter() - started, 3)
    return summary


def _found(
    executor: Executor,
    batch: Batch,
    given: Iterator[tuple[Some, Int32Array]],
    limits: Allowed,
    told: Callable[[int], None],
) -> Iterator[tuple[Some, Found]]:
    """Give people with what was decided for them, in order; those who wait for it are few."""
    sent: collections.deque[tuple[Some, list[int]]] = collections.deque()

    def jobs() -> Iterator[tuple[Batch, Block]]:
        for some, action in given:
            reward = some.reward.to_numpy()
            batch.check_rewards(reward)
            labels = some.people.to_numpy() if some.people.dtype == pl.Int64 else some.people.to_list()
            whole = Block(some.offsets, action, reward, addresses_of(labels), limits.of(some.people))
            blocks = list(whole.cut(batch.people))
            sent.append((some, [len(block.action) for block in blocks]))
            yield from ((batch, block) for block in blocks)

    results = executor.map(decided, jobs(), batch=batch.people < PIECE, max_ahead=2)
    parts: list[Found] = []
    done = 0
    for part in results:
        parts.append(part)
        some, rows = sent[0]
        done += rows[len(parts) - 1]
        told(done)
        if len(parts) == len(rows):
            yield some, Found.joined(parts)
            sent.popleft()
            parts = []


def _told(progress: Progress | None, rows: int, done: int) -> None:
    if progress is not None:
        progress("deciding", min(done, rows), rows)


def _asked_for(past: HistoryFile, wanted: pl.Series | None, rows: int, summary: Summary) -> Iterator[Some]:
    """Give the people of a history, or those of them that are wanted, and then who is wanted and has none."""
    if wanted is None:
        yield from past.people(rows)
        return
    if (wanted.dtype == pl.String) != past.text:
        past, wanted = past.with_text(), wanted.cast(pl.String)
    index = wanted.alias("person").to_frame().with_row_index("place")
    met = np.zeros(len(wanted), dtype=bool)
    for some in past.people(rows):
        mine = some.people.alias("person").to_frame().join(index, on="person", how="left", maintain_order="left")
        place = mine["place"]
        keep = place.is_not_null().to_numpy()
        summary.skipped["people"] += int((~keep).sum())
        met[place.drop_nulls().to_numpy()] = True
        yield some if keep.all() else _kept(some, keep)
    without = wanted.filter(pl.Series(~met))
    for start in range(0, len(without), rows):
        people = without.slice(start, rows)
        nothing = np.zeros(len(people) + 1, dtype=np.int64)
        yield Some(people, nothing, pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.Float64))


def _kept(some: Some, people: BoolArray) -> Some:
    """Return some of some people."""
    rows = pl.Series(np.repeat(people, np.diff(some.offsets)))
    offsets = np.concatenate([[0], np.cumsum(np.diff(some.offsets)[people])])
    mask = pl.Series(people)
    first = None if some.first is None else some.first.filter(mask)
    return Some(some.people.filter(mask), offsets, some.action.filter(rows), some.reward.filter(rows), first)


def _coded(
    given: Iterator[Some], past: HistoryFile, model: PreferenceModel, unknown: str, summary: Summary
) -> Iterator[tuple[Some, Int32Array]]:
    """Give people with their actions by index; actions that the model does not have are an error, or left out."""
    coder = Coder(model.actions)
    for some in given:
        codes = coder.codes(some.action)
        known = codes >= 0
        if known.all():
            yield some, codes
            continue
        if unknown == "error":
            raise _unknown(past, coder, model)
        summary.skipped["outcomes"] += int((~known).sum())
        before = np.concatenate([[0], np.cumsum(known)])
        yield some._replace(offsets=before[some.offsets], reward=some.reward.filter(pl.Series(known))), codes[known]


def _unknown(past: HistoryFile, coder: Coder, model: PreferenceModel) -> InvalidInput:
    """Return the error for actions that a model does not have: the first, and how many there are."""
    first, count = None, 0
    for start in range(0, past.rows, ROWS):
        actions = past.part(start, ROWS)["action"]
        odd = np.flatnonzero(coder.codes(actions) < 0)
        if len(odd) and first is None:
            first = actions[int(odd[0])]
        count += len(odd)
    return InvalidInput(
        f"action {validate.short_repr(first)} of the history is not among the model's {model.n_actions:,} actions "
        f"({pluralize(count, 'such row')} in all); correct them, or leave them out with --unknown skip"
    )
