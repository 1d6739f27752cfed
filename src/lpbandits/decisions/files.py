"""`decide_file`: decisions for all people of a file, read, decided and written in batches."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.decisions.decide import decision_table, personal_priors
from lpbandits.decisions.engine import Engine
from lpbandits.decisions.inputs import OUTCOMES_PER_BATCH, AllowedActions, open_history
from lpbandits.decisions.kernels.deciding import Output
from lpbandits.errors import translate_errors
from lpbandits.io.atomic import check_table_path, write_part, write_stream
from lpbandits.io.compressed import temporary_folder
from lpbandits.parallel import Workers
from lpbandits.people.tables import read_people
from lpbandits.policies.choose import Chosen
from lpbandits.progress import Progress
from lpbandits.typing import Json

SHOWN = 10
"""Maximum number of decisions, and of most frequent actions, in a summary."""


@dataclass(frozen=True)
class Summary:
    """Counts of the decisions for a file."""

    people: int
    decided: int
    policy: str
    why: str
    without_history: int
    pending: int
    """Number of rows without an outcome: their actions count as given, not as evidence."""
    layout: str
    """Layout of the history: "long", "wide" or "rankings"."""
    person_column: str | None
    """Name of the column of the people of a wide history or rankings."""
    nothing_left: int
    skipped: dict[str, int]
    """Number of skipped `outcomes` (of unknown actions) and of skipped `people` (not in the list of people)."""
    with_prior: int
    """Number of people with a prior of their own."""
    unknown_priors: int
    """Number of people of the table of priors who are not decided for."""
    mean_probability: float | None
    """Mean probability of the chosen actions; None if none is known."""
    chosen: list[Json]
    """The most frequent actions."""
    seconds: float
    out: str | None
    first: pl.DataFrame
    """The first decisions."""

    def to_dict(self) -> Json:
        """Return the summary as a JSON object."""
        return {name: value for name, value in vars(self).items() if name != "first"}


@translate_errors("deciding")
def decide_file(
    chosen: Chosen,
    history: str | Path,
    *,
    out: str | Path | None = None,
    reading: Mapping[str, Any] | None = None,
    allowed: str | Path | None = None,
    exclude_seen: bool = False,
    people: str | Path | None = None,
    prior: str | Path | None = None,
    unknown: str = "error",
    escape_formulas: bool = False,
    seed: int = 0,
    jobs: int | Workers | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    rows: int = OUTCOMES_PER_BATCH,
) -> Summary:
    """Decide for all people of a table of outcomes, as `decide` does, and write one row per person to `out`.

    People are in the order of their first row. With a table of `people`, only those are decided for; the ones without a
    history come last; if that table has covariates of the model, these give the people's priors, unless the table
    `prior` does. People are decided for in batches of about `rows` outcomes; the outcomes of a person are never split.
    The outcomes of 16 batches are in memory at a time, and a larger history is read once per 16 batches. The batch size
    does not change a decision or the order. `reading` has fields of `ReadOptions`, such as the layout;
    `escape_formulas` is that of `write_stream`.
    """
    started = time.perf_counter()
    path = None if out is None else check_table_path(out, "--out")
    skip_unknown = validate.as_choice(unknown, "unknown", ("error", "skip")) == "skip"
    rows = validate.as_count(rows, "rows")
    model = chosen.policy.model
    limits = AllowedActions(model, allowed)
    exclude_seen, seed = validate.as_flag(exclude_seen, "exclude_seen"), validate.as_seed(seed)
    escape_formulas = validate.as_flag(escape_formulas, "escape_formulas")
    engine = Engine(chosen.policy, limits.common, exclude_seen, seed, chosen.noise)
    tables = {name: value for name, value in (reading or {}).items() if name in ("person", "decimal_comma")}
    wanted = None if people is None else read_people(people, person=tables.get("person"))
    uses_covariates = model.covariates is not None and model.covariates.factor > 0.0 and chosen.policy.evidence.latent
    known = personal_priors(chosen.policy, prior, people if uses_covariates else None, **tables)
    done, without_history, pending, probability_sum, n_probabilities = 0, 0, 0, 0.0, 0
    counts = np.zeros(model.n_actions, dtype=np.int64)
    with (
        open_history(history, reading or {}, model, wanted=wanted, skip_unknown=skip_unknown) as past,
        temporary_folder() as folder,
    ):
        first = empty = decision_table(past.people.head(0), Output.empty(0), model)
        parts: list[Path] = []
        batches = past.batches(limits, rows, priors=known)
        n_priors, unknown_priors = (0, 0) if known is None else known.counts(past.people)
        for batch, output in engine.map(batches, len(past.people), jobs=jobs, threads=threads, progress=progress):
            table = decision_table(past.people[done : done + len(output.action)], output, model)
            done += len(table)
            without_history += int((np.diff(batch.offsets) == 0).sum())
            pending += int(np.isnan(batch.reward).sum())
            counts += np.bincount(output.action[output.action >= 0], minlength=model.n_actions)
            probabilities = output.probability[~np.isnan(output.probability)]
            probability_sum += float(probabilities.sum())
            n_probabilities += len(probabilities)
            first = pl.concat([first, table]).head(SHOWN)
            if path is not None:
                parts.append(folder / f"{len(parts)}.parquet")
                write_part(parts[-1], table)
        if path is not None:
            decisions = pl.scan_parquet(parts) if parts else empty.lazy()
            write_stream(path, decisions, escape_formulas=escape_formulas)
    decided = int(counts.sum())
    return Summary(
        people=done,
        decided=decided,
        policy=chosen.name,
        why=chosen.why,
        without_history=without_history,
        pending=pending,
        layout=past.layout,
        person_column=past.person_column,
        nothing_left=done - decided,
        skipped=past.skipped,
        with_prior=n_priors,
        unknown_priors=unknown_priors,
        mean_probability=probability_sum / n_probabilities if n_probabilities else None,
        chosen=[
            {"action": model.actions[a], "name": model.name_of(a), "people": count, "share": count / decided}
            for a in np.argsort(-counts, kind="stable")[:SHOWN].tolist()
            if (count := int(counts[a]))
        ],
        seconds=round(time.perf_counter() - started, 3),
        out=None if path is None else str(path),
        first=first,
    )
