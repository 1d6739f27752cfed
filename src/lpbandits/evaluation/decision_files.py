"""Decisions as tables."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from lpbandits.evaluation.batch import Found
from lpbandits.model import PreferenceModel
from lpbandits.typing import Int32Array, Label


def labels_as_series(name: str, labels: Sequence[Label]) -> pl.Series:
    """Return labels as a column: whole numbers if all of them are, and fit; otherwise text.

    >>> labels_as_series("person", [1, "ann"]).to_list()
    ['1', 'ann']
    """
    if all(isinstance(label, int) and abs(label) < 2**63 for label in labels):
        return pl.Series(name, labels, dtype=pl.Int64)
    return pl.Series(name, [str(label) for label in labels], dtype=pl.String)


def decision_table(people: pl.Series, found: Found, model: PreferenceModel) -> pl.DataFrame:
    """Return a row per person: action, chance, runner-up, expected reward and its interval; null where there is none."""
    labels = labels_as_series("action", model.actions)
    columns = {
        "person": people,
        "action": _named(labels, found.action),
        "probability": found.numbers[:, 0],
        "runner_up": _named(labels, found.runner_up),
        **dict(zip(("expected", "low", "high"), found.numbers[:, 1:].T, strict=True)),
    }
    if model.names is not None:
        names = pl.Series("name", model.names, dtype=pl.String)
        columns |= {"action_name": _named(names, found.action), "runner_up_name": _named(names, found.runner_up)}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def _named(labels: pl.Series, index: Int32Array) -> pl.Series:
    places = pl.Series(np.maximum(index, 0)).set(pl.Series(index < 0), None)
    return labels.gather(places)
