"""Write all that a project recorded to tables: a folder or a zip file that `lpb fit` and `lpb evaluate` read."""

import contextlib
import json
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

import polars as pl
from sqlalchemy import Connection, Table, select

from lpbandits import __version__, validate
from lpbandits.data.exports import EXPORT
from lpbandits.io.atomic import MANIFEST, atomic_file, atomic_folder, sha256, write_json, write_part, write_stream
from lpbandits.io.compressed import temporary_folder
from lpbandits.progress import Progress
from lpbandits.service.configuration import Setup, Setups
from lpbandits.service.history import id_of_decision, id_of_outcome
from lpbandits.service.requests.base import time_text
from lpbandits.service.store import schema
from lpbandits.service.store.database import Store
from lpbandits.service.store.queries import IdRange, id_ranges, named_project, standing
from lpbandits.typing import Json

FORMATS = ("parquet", "csv")
TABLES = ("people", "starts", "decisions", "outcomes", "corrections", "deletions", "configurations", "ratings")
TIME = pl.Datetime("us", "UTC")
RECORDED = {"at": TIME, "by": pl.Int64}
"""When, and with which access key."""

Columns = dict[str, Any]
"""Types by column."""


class Exporter:
    """The tables of one project, a range of people at a time."""

    def __init__(self, sql: Connection, project: str | None) -> None:
        self.sql = sql
        self.project_id, self.project = named_project(sql, project)
        self._setups = Setups()
        table = schema.configurations
        query = select(table).where(table.c.project_id == self.project_id).order_by(table.c.version)
        self._versions = sql.execute(query).mappings().all()
        self.models = list(dict.fromkeys(row["model_sha256"] for row in self._versions if row["model_sha256"]))
        self._parsed = cache(json.loads)
        labels = {label for sha256 in self.models for label in self._setups.model(sql, sha256).actions}
        action = pl.Int64() if labels and all(isinstance(label, int) for label in labels) else pl.String()
        self.columns: dict[str, Columns] = {
            "people": {"person": pl.String, "holdout": pl.Boolean, "at": TIME},
            "starts": {"person": pl.String, "fact": pl.Int64, "prior": pl.String, "covariates": pl.String}
            | {"states": pl.String, **RECORDED},
            "decisions": {"decision": pl.String, "person": pl.String, "fact": pl.Int64, "recommended": action}
            | {"returned": action, "probability": pl.Float64, "probabilities": pl.String, "allowed": pl.String}
            | {"asked": pl.Int64, "schedule": pl.Int64, "holdout": pl.Boolean, "policy": pl.String}
            | {"model": pl.String, "seed": pl.Int64, "configuration": pl.Int64, "library": pl.String, **RECORDED},
            "outcomes": {"outcome": pl.String, "person": pl.String, "fact": pl.Int64, "decision": pl.String}
            | {"given": action, "reward": pl.Float64, "current_given": action, "current_reward": pl.Float64}
            | {"withdrawn": pl.Boolean, "occurred_at": TIME, **RECORDED},
            "corrections": {"outcome": pl.String, "person": pl.String, "fact": pl.Int64, "given": action}
            | {"reward": pl.Float64, "withdrawn": pl.Boolean, "reason": pl.String, **RECORDED},
            "deletions": {"person_id": pl.Int64, "decisions": pl.Int64, "outcomes": pl.Int64, "reason": pl.String}
            | RECORDED,
            "configurations": {"version": pl.Int64, "content": pl.String, "model": pl.String, "reason": pl.String}
            | {"deviation": pl.Boolean, **RECORDED},
            "ratings": {"person": pl.String, "action": action, "rating": pl.Float64, "time": TIME},
        }

    @property
    def lower_is_better(self) -> bool:
        """Whether low rewards are good for the latest model."""
        return bool(self.models) and self._setup(self._versions[-1]["version"]).model.lower_is_better

    def frame(self, name: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
        """Return rows as a table."""
        return pl.DataFrame(rows, schema=self.columns[name], orient="row", strict=False)

    def tables(self, within: IdRange) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the tables of a range of people."""
        rows = self.sql.execute(select(schema.people).where(within.of(schema.people.c.id)).order_by("id"))
        people = {row.id: row for row in rows}
        labels = {person_id: row.label for person_id, row in people.items()}
        yield "people", self.frame("people", [(row.label, row.holdout, row.at) for row in people.values()])
        starts = [
            (labels[row.person_id], row.n, row.prior, row.covariates, row.states, row.at, row.key_id)
            for row in self._rows(schema.starts, within)
        ]
        yield "starts", self.frame("starts", starts)
        decisions = []
        for row in self._rows(schema.decisions, within):
            setup, person = self._setup(row.version), people[row.person_id]
            decision = id_of_decision(row.person_id, row.asked)
            action = self._label(row.action)
            about = setup.configuration
            policy = about.holdout_policy if person.holdout else about.policy
            chance = None if row.positive is None else dict(json.loads(row.positive)).get(json.loads(row.action), 0.0)
            decisions.append(
                (
                    *(decision, person.label, row.n, action, self._label(row.returned or row.action), chance),
                    *(row.positive, row.allowed, row.asked, row.schedule, person.holdout, policy),
                    *(about.model_sha256, about.seed, row.version, row.library, row.at, row.key_id),
                )
            )
        yield "decisions", self.frame("decisions", decisions)
        outcomes, ratings = self._outcomes(within, labels)
        yield "outcomes", outcomes
        corrections = [
            (
                *(id_of_outcome(row.person_id, row.outcome), labels[row.person_id], row.n, self._label(row.action)),
                *(row.reward, row.reward is None, row.reason, row.at, row.key_id),
            )
            for row in self._rows(schema.corrections, within)
        ]
        yield "corrections", self.frame("corrections", corrections)
        yield "ratings", ratings

    def ratings(self, within: IdRange) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the ratings of a range of people: the outcomes in force that have a reward."""
        table = schema.people
        people = self.sql.execute(select(table.c.id, table.c.label).where(within.of(table.c.id)))
        yield "ratings", self._outcomes(within, dict(map(tuple, people)))[1]

    def deletions(self) -> pl.DataFrame:
        """Return who deleted people, and when."""
        table = schema.tombstones
        columns = (table.c[name] for name in ("person_id", "decisions", "outcomes", "reason", "at", "key_id"))
        query = select(*columns).where(table.c.project_id == self.project_id).order_by(table.c.person_id)
        return self.frame("deletions", [tuple(row) for row in self.sql.execute(query)])

    def configurations(self) -> pl.DataFrame:
        """Return all versions of the configuration."""
        names = ("version", "content", "model_sha256", "reason", "deviation", "at", "key_id")
        return self.frame("configurations", [tuple(row[name] for name in names) for row in self._versions])

    def _outcomes(self, within: IdRange, labels: dict[int, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the outcomes of a range of people, as reported and as they stand, and the ratings."""
        table, now = schema.outcomes, standing(within)
        query = select(table, now.action.label("now"), now.reward.label("worth"), now.withdrawn.label("withdrawn"))
        query = query.select_from(now.table).where(within.of(table.c.person_id)).order_by(table.c.person_id, table.c.n)
        outcomes, ratings = [], []
        for row in self.sql.execute(query):
            person, action = labels[row.person_id], self._label(row.now)
            decision = None if row.asked is None else id_of_decision(row.person_id, row.asked)
            outcomes.append(
                (
                    *(id_of_outcome(row.person_id, row.n), person, row.n, decision, self._label(row.action)),
                    *(row.reward, action, row.worth, bool(row.withdrawn), row.occurred_at, row.at, row.key_id),
                )
            )
            if row.worth is not None:
                ratings.append((person, action, row.worth, row.at if row.occurred_at is None else row.occurred_at))
        return self.frame("outcomes", outcomes), self.frame("ratings", ratings)

    def _rows(self, table: Table, within: IdRange) -> Any:
        where = within.of(table.c.person_id)
        return self.sql.execute(select(table).where(where).order_by(table.c.person_id, table.c.n))

    def _setup(self, version: int) -> Setup:
        return self._setups.get(self.sql, self.project_id, version)

    def _label(self, text: str | None) -> Any:
        """Return the label of an action; a project with labels that are text has text in all its tables."""
        label = None if text is None else self._parsed(text)
        is_text = self.columns["ratings"]["action"] == pl.String
        return str(label) if is_text and label is not None else label


def export_folder(
    store: Store,
    out: Path,
    *,
    project: str | None = None,
    table_format: str = "parquet",
    only_ratings: bool = False,
    progress: Progress | None = None,
) -> Json:
    """Write the tables of a project to a folder, as they are at one moment, and return the manifest."""
    names = [f"{name}.{suffix}" for name in TABLES for suffix in FORMATS]
    manifest: Json = {}
    with atomic_folder(out, manifest, replaces=names) as part:
        manifest |= _write(store, part, project, table_format, only_ratings, progress)
    return manifest


def export_zip(
    store: Store,
    target: Path | IO[bytes],
    *,
    project: str | None = None,
    table_format: str = "parquet",
    progress: Progress | None = None,
) -> Json:
    """Write the same files to a zip file, the manifest last."""
    with contextlib.ExitStack() as stack:
        inside = target.absolute().parent if isinstance(target, Path) else None
        folder = stack.enter_context(temporary_folder(inside))
        manifest = _write(store, folder, project, table_format, False, progress)
        files = [folder / f"{name}.{table_format}" for name in TABLES]
        manifest["files"] = {path.name: sha256(path) for path in files}
        write_json(folder / MANIFEST, manifest)
        if isinstance(target, Path):
            target = stack.enter_context(atomic_file(target)).open("wb")
            stack.enter_context(target)
        packed = zipfile.ZIP_STORED if table_format == "parquet" else zipfile.ZIP_DEFLATED  # Parquet is compressed
        with zipfile.ZipFile(target, "w", packed, strict_timestamps=False) as bundle:
            for path in (*files, folder / MANIFEST):
                bundle.write(path, path.name)
                path.unlink()
    return manifest


def _write(
    store: Store, folder: Path, project: str | None, table_format: str, only_ratings: bool, progress: Progress | None
) -> Json:
    """Write the tables of a project and return the manifest without the hashes of the files."""
    validate.as_choice(table_format, "format", FORMATS)
    counts: Counter[str] = Counter()
    with temporary_folder() as scratch, store.reading() as sql:
        exporter = Exporter(sql, project)
        parts: dict[str, list[Path]] = {name: [] for name in (("ratings",) if only_ratings else TABLES)}

        def add(name: str, table: pl.DataFrame) -> None:
            counts[name] += len(table)
            parts[name].append(scratch / f"{name}-{len(parts[name])}.parquet")
            write_part(parts[name][-1], table)

        ranges = id_ranges(sql, exporter.project_id)
        total = sum(n_people for _, n_people in ranges)
        done = 0
        for within, n_people in ranges:
            for name, table in exporter.ratings(within) if only_ratings else exporter.tables(within):
                add(name, table)
            done += n_people
            if progress is not None:
                progress("export", done, total)
        if not only_ratings:
            add("deletions", exporter.deletions())
            add("configurations", exporter.configurations())
        for name, paths in parts.items():
            write_stream(folder / f"{name}.{table_format}", pl.scan_parquet(paths))
            for path in paths:
                path.unlink()
        columns = {name: {column: str(kind) for column, kind in exporter.columns[name].items()} for name in parts}
        return {
            "format": EXPORT,
            "version": 1,
            "project": exporter.project,
            "table_format": table_format,
            "at": time_text(int(time.time() * 1e6)),
            "lpbandits": __version__,
            "counts": {name: counts[name] for name in parts},
            "columns": columns,
            "lower_is_better": exporter.lower_is_better,
            "models": exporter.models,
        }
