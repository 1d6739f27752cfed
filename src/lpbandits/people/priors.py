"""`Priors`: probabilities of the states by person, from a table, a dict or covariates."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from lpbandits.data.columns.cells import clipped, is_text, number
from lpbandits.data.columns.roles import words_of
from lpbandits.data.tables import labels_as_series
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.model import PreferenceModel
from lpbandits.model_fields import as_personal_prior, rescaled
from lpbandits.people.tables import PeopleTable, number_remedy, open_people, places_of
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray
from lpbandits.validate import as_label, short_repr

PROBABILITIES = ("probability", "prob", "p", "prior", "share")
"""Names of the column of probabilities in a table with one state per row."""

TOLERANCE = 0.005
"""Probabilities of a table may be rounded; they are then rescaled."""


@dataclass(frozen=True, eq=False)
class Priors:
    """Probabilities of the states by person. Other people have those of `others`, or the model's prior.

    >>> model = PreferenceModel([[0, 1], [1, 0]])
    >>> priors = Priors.read(pl.DataFrame({"person": ["ann"], "0": [0.9], "state 1": [0.1]}), model)
    >>> priors.of(pl.Series(["bo", "ann"])).tolist()
    [[0.5, 0.5], [0.9, 0.1]]
    """

    people: pl.Series
    rows: FloatArray
    """People × states."""
    default: FloatArray
    others: "Priors | None" = None

    @classmethod
    @translate_errors("reading priors")
    def read(
        cls, source: Any, model: PreferenceModel, *, person: str | None = None, decimal_comma: bool = False
    ) -> "Priors":
        """Read a dict of priors by person, or a table; `person` is as in `open_people`.

        A table has a column for each state, by index or name, or one state per row: person, state, probability.
        """
        if isinstance(source, Mapping):
            labels = [as_label(label, "a person of priors") for label in source]
            names, m = model.states_by_name, model.n_states
            rows = np.array([as_personal_prior(prior, names, m) for prior in source.values()])
            return cls(labels_as_series("person", labels), rows.reshape(-1, model.n_states), model.prior)
        with open_people(source, person=person) as table:
            states = [name for name in table.others if words_of(name)[:1] == ["state"] and len(words_of(name)) == 1]
            shares = [name for name in table.others if "".join(words_of(name)) in PROBABILITIES]
            if len(states) == 1 and len(shares) == 1:
                people, rows = _by_row(table, states[0], shares[0], model, decimal_comma=decimal_comma)
            else:
                people, rows = _by_column(table, model, decimal_comma=decimal_comma)
        return cls(people, rescaled(rows), model.prior)

    def over(self, others: "Priors | None") -> "Priors":
        """Return these priors, with those of `others` for people who are not among them."""
        return replace(self, others=others)

    def of(self, people: pl.Series) -> FloatArray:
        """Return people × states."""
        priors = np.tile(self.default, (len(people), 1)) if self.others is None else self.others.of(people)
        places = places_of(people, self.people)
        priors[places >= 0] = self.rows[places[places >= 0]]
        return priors

    def counts(self, people: pl.Series) -> tuple[int, int]:
        """Return how many of `people` have another prior than the model's, and how many people here are not among them.

        A person without any known covariate has the model's prior.
        """
        priors: Priors | None = self
        known = np.zeros(len(people), dtype=np.bool_)
        while priors is not None:
            places, informed = places_of(people, priors.people), (priors.rows != priors.default).any(axis=1)
            known[places >= 0] |= informed[places[places >= 0]]
            priors = priors.others
        return int(known.sum()), int((places_of(self.people, people) < 0).sum())


def _by_column(table: PeopleTable, model: PreferenceModel, *, decimal_comma: bool) -> tuple[pl.Series, FloatArray]:
    """Read a column per state."""
    columns: dict[int, str] = {}
    for name in table.others:
        state = model.states_by_name.get(name.strip())
        if state == -1 or state in columns:
            raise InvalidInput(f"column {name!r} of {table.name} is a state twice; name columns by the states' indices")
        if state is not None:
            columns[state] = name
    missing = [z for z in range(model.n_states) if z not in columns]
    if missing:
        raise InvalidInput(
            f"{table.name} must have a column for each of the {model.n_states} states, but "
            f"{model.state_name(missing[0])!r} has none; name columns by index (0 to {model.n_states - 1}) or name, or "
            "give person, state and probability"
        )
    chosen = {name: table.others[name] for name in columns.values()}
    frame = table.frame(chosen)
    table.check(frame, ~pl.col("person").is_first_distinct(), "the person is in an earlier row, too")
    values = []
    for state in range(model.n_states):
        key = str(chosen[columns[state]])
        value = _probability(frame, table, key, columns[state], decimal_comma=decimal_comma)
        values.append(value)
    rows = np.column_stack(values) if len(frame) else np.zeros((0, model.n_states))
    _check_sums(table, frame, rows)
    return frame["person"], rows


def _by_row(
    table: PeopleTable, state: str, share: str, model: PreferenceModel, *, decimal_comma: bool
) -> tuple[pl.Series, FloatArray]:
    """Read one state per row; states without a row have probability 0."""
    columns = {name: table.others[name] for name in (state, share)}
    frame = table.frame(columns)
    key = str(columns[state])
    names = pl.col(key).cast(pl.String).str.strip_chars().str.strip_suffix(".0")
    known = pl.Series(list(model.states_by_name), dtype=pl.String), pl.Series(list(model.states_by_name.values()))
    frame = frame.with_columns(names.replace_strict(*known, default=-1, return_dtype=pl.Int64).alias("z"))
    table.check(frame, pl.col("z") < 0, f"{state} is not the index or the name of one of the {model.n_states} states")
    table.check(
        frame, ~pl.struct("person", "z").is_first_distinct(), "the person has this state in an earlier row, too"
    )
    values = _probability(frame, table, str(columns[share]), share, decimal_comma=decimal_comma)
    first = frame.unique("person", keep="first", maintain_order=True)
    rows = np.zeros((len(first), model.n_states))
    rows[places_of(frame["person"], first["person"]), frame["z"].to_numpy()] = values
    _check_sums(table, first, rows)
    return first["person"], rows


def _probability(frame: pl.DataFrame, table: PeopleTable, key: str, name: str, *, decimal_comma: bool) -> FloatArray:
    """Return a column of probabilities or percentages, such as 50%, as probabilities."""
    dtype, cell = frame.schema[key], pl.col(key)
    value = number(cell, dtype, decimal_comma=decimal_comma)
    if is_text(dtype):
        text = clipped(cell).str.strip_chars()
        share = number(text.str.strip_suffix("%").str.strip_chars(), pl.String(), decimal_comma=decimal_comma) / 100.0
        value = pl.when(text.str.ends_with("%")).then(share).otherwise(value)
    wrong = ~value.is_between(0.0, 1.0).fill_null(False)
    first = frame.filter(wrong).select(key, value=value).head(1).rows()
    what, remedy = f"{name!r} must be a probability from 0 to 1 or a percentage", "correct or remove the row"
    if first:
        given, read = first[0]
        if given is not None:
            what += f", got {short_repr(given)}"
        remedy = number_remedy(given) or remedy
        if read is not None and 1.0 < read <= 100.0:
            remedy = f"write {read / 100.0:g} or {read:g}%"
    table.check(frame, wrong, what, remedy)
    column: FloatArray = frame.select(value=value)["value"].to_numpy().astype(np.float64)
    return column


def _check_sums(table: PeopleTable, frame: pl.DataFrame, rows: FloatArray) -> None:
    totals = rows.sum(axis=1)
    wrong = np.flatnonzero(np.abs(totals - 1.0) > TOLERANCE)
    if len(wrong):
        row, person, total = frame["row"][int(wrong[0])], frame["person"][int(wrong[0])], totals[wrong[0]]
        raise InvalidInput(
            f"{table.table.place(row)}: the probabilities of person {person!r} must sum to 1, got {total:.6g} "
            f"({pluralize(len(wrong), 'such person', 'such people')}); correct them"
        )
