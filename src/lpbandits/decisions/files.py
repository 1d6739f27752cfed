"""`decide_file`: decisions for all people of a file, read, decided and written in batches."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.decisions.batches import DecisionArrays, DecisionBatch
from lpbandits.decisions.choose_policy import Chosen
from lpbandits.decisions.decide import warn_of_repeats
from lpbandits.decisions.engine import Engine, decide_batches
from lpbandits.decisions.inputs import OUTCOMES_PER_BATCH, AllowedActions, open_history, read_labels
from lpbandits.errors import translate_errors
from lpbandits.io.atomic import check_table_path, write_part, write_stream
from lpbandits.io.compressed import temporary_folder
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Workers, executor_for
from lpbandits.progress import Progress
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
    _probability_sum: float = 0.0
    _n_probabilities: int = 0

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
        self._probability_sum += float(probabilities.sum())
        self._n_probabilities += len(probabilities)
        self.first = pl.concat([*([] if self.first is None else [self.first]), table]).head(SHOWN)

    @property
    def mean_probability(self) -> float | None:
        """Mean probability of the chosen actions; None if none is known."""
        return self._probability_sum / self._n_probabilities if self._n_probabilities else None

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
    rows: int = OUTCOMES_PER_BATCH,
) -> Summary:
    """Decide for all people of a table of outcomes, as `decide` does, and write one row per person to `out`.

    People are in the order of their first row. With a table of `people`, only those are decided for; the ones without a
    history come last. People are decided for in batches of about `rows` outcomes; the outcomes of a person are never
    split. The outcomes of 16 batches are in memory at a time, and a larger history is read once per 16 batches. The
    batch size does not change a decision or the order.
    """
    started = time.perf_counter()
    path = None if out is None else check_table_path(out, "--out")
    skip_unknown = validate.as_choice(unknown, "unknown", ("error", "skip")) == "skip"
    rows = validate.as_count(rows, "rows")
    model = chosen.policy.model
    limits = AllowedActions(model, allowed)
    exclude_seen, seed = validate.as_flag(exclude_seen, "exclude_seen"), validate.as_seed(seed)
    wanted = None if people is None else read_labels(people, "person")["person"]
    summary = Summary(model, chosen.name, chosen.why, out=None if path is None else str(path))
    repeated = 0
    parts: list[Path] = []
    with contextlib.ExitStack() as stack:
        past = stack.enter_context(
            open_history(history, columns or {}, model.actions, wanted=wanted, skip_unknown=skip_unknown)
        )
        summary.skipped.update(past.skipped)
        folder = stack.enter_context(temporary_folder())
        executor = stack.enter_context(executor_for(jobs, threads=threads))
        engine = Engine(
            chosen.policy,
            common=limits.common,
            exclude_seen=exclude_seen,
            seed=seed,
            threads=executor.threads,
            noise=chosen.noise,
        )
        batches = (batch._replace(allowed=limits.sets_of(batch.people)) for batch in past.batches(rows))
        for batch, decisions in decide_batches(executor, engine, batches, len(past.people), progress):
            table = decisions.table(batch.people, model)
            summary.add(batch, decisions, table)
            repeated += decisions.repeated
            if path is not None:
                parts.append(folder / f"{len(parts)}.parquet")
                write_part(parts[-1], table)
        if path is not None:
            empty = DecisionArrays.empty().table(past.people.head(0), model).lazy()
            write_stream(path, pl.scan_parquet(parts) if parts else empty)
    warn_of_repeats(chosen.policy, repeated)
    summary.seconds = round(time.perf_counter() - started, 3)
    return summary
