"""`fit_covariates`: the probability of a person's state given what is known before the first outcome."""

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from lpbandits import validate
from lpbandits.data.columns.roles import words_of
from lpbandits.errors import InvalidInput
from lpbandits.model_parts.covariates import MAX_COEFFICIENT, MAX_FACTOR, CovariateModel, is_missing, n_features
from lpbandits.parallel import one_thread
from lpbandits.people.covariates import CovariateTable, labels_of
from lpbandits.people.tables import places_of
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, IntArray, Json

MIN_PEOPLE = 50
"""Minimum number of people with covariates; with fewer the shares are kept."""

MIN_LEVEL = 10
"""Minimum number of people of a level of text, and of known numbers of a column."""

MAX_LEVELS = 20
"""Maximum number of levels of a column, the most frequent ones."""

MOST_DISTINCT = 0.5
"""Distinct values per known value above which text, or whole numbers that are named or numbered as ids, are ids."""

MAX_ROWS = 200_000
"""Maximum number of people times states; of more people every n-th is used."""

FOLDS = 5
STRENGTHS = (0.003, 0.03, 0.3, 3.0)
"""Inverse strengths C of the regression's L2 penalty that are tried."""

FACTORS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, MAX_FACTOR])
"""Weights of the regression that are tried."""

MAX_STEPS, TOLERANCE = 10, 0.02
"""EM stops after this many steps, or when the mean total change of a person's probabilities is this small."""

CLEAR = 2.0
"""Number of standard errors by which covariates must improve the prediction of held-out people to be used."""


class Column(NamedTuple):
    """A usable column: its kind, and its levels or its mean and standard deviation."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0


class Regression(NamedTuple):
    """Intercepts (m) and coefficients (m×features)."""

    intercepts: FloatArray
    coefficients: FloatArray

    def probabilities(self, x: FloatArray) -> FloatArray:
        """Return people × states."""
        logits = self.intercepts + x @ self.coefficients.T
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class CovariateReport:
    """Whether covariates predict the states of held-out people."""

    people: int
    """Number of people of the log who are in the table."""
    without: int
    """Number of people of the log who are not."""
    others: int
    """Number of people of the table who are not in the log."""
    columns: Sequence[str]
    left_out: Mapping[str, str]
    """Columns that are not used, and why."""
    rare: Mapping[str, int]
    """Number of people with an unlisted level, by column of text; it counts as missing."""
    gain: float | None
    """Mean gain in the log-likelihood of a person's ratings over the shares of the states (nats).

    The person is held out of the regression on covariates, not of the fit of the states.
    """
    standard_error: float | None
    factor: float
    summary: str

    def to_dict(self) -> Json:
        """Return the report as a JSON object."""
        return asdict(self)

    def warnings(self) -> Iterator[str]:
        """Yield warnings about columns that are not used, and about rare levels."""
        for name, why in self.left_out.items():
            yield f"column {name} is not used: {why}"
        for name, count in self.rare.items():
            yield (
                f"{name} counts as missing for {pluralize(count, 'person', 'people')}, whose levels fewer than "
                f"{MIN_LEVEL} people have or are not among the {MAX_LEVELS} most frequent; join rare levels"
            )


def fit_covariates(
    table: CovariateTable, people: Any, membership: FloatArray, shares: FloatArray, *, seed: int
) -> tuple[CovariateModel | None, CovariateReport]:
    """Fit p(state | covariates) to the probabilities of the states (people × states) of a log's people.

    The penalty of the regression and the weight of its prediction are those that predict held-out people best. The
    reported gain is cross-fitted: each fold is predicted with a penalty and a weight that the other folds chose.
    The states, and so `membership`, are those of the fit to everyone: only the regression is held out.
    Without a clear gain the weight is 0, so that every person has the shares.

    >>> import polars as pl
    >>> z = np.arange(400) % 2
    >>> table = CovariateTable.read(pl.DataFrame({"person": np.arange(400), "age": 40 + 9 * z + np.arange(400) % 3}))
    >>> model, report = fit_covariates(table, range(400), np.eye(2)[z], np.array([0.5, 0.5]), seed=0)
    >>> report.factor, model.prior_for({"age": 49}, np.array([0.5, 0.5])).round(2).tolist()
    (0.98, [0.02, 0.98])
    """
    places = places_of(labels_of(people), table.people)
    rows = np.flatnonzero(places >= 0)
    if not len(rows):
        first, other = (validate.short_repr(labels_of(some)[0]) for some in (people, table.people))
        raise InvalidInput(
            f"the table of people must have people of the log, got none of {len(places):,}; the log has {first}, the "
            f"table {other}: give the column of their labels as the person column"
        )
    columns, left_out = _usable(table, places[rows])
    counts = {"people": len(rows), "without": len(places) - len(rows), "others": len(table.people) - len(rows)}
    if not columns:
        return None, CovariateReport(
            **counts,
            columns=(),
            left_out=left_out,
            rare={},
            gain=None,
            standard_error=None,
            factor=0.0,
            summary="covariates are not used: the table has no usable column",
        )
    step = max(math.ceil(len(rows) * len(shares) / MAX_ROWS), 1)
    used = rows[::step]
    blank = _model(columns, shares, 0.0)
    values = {name: column[places[used]] for name, column in table.values.items()}
    x, known = blank.features(values, len(used))
    x, membership = np.asarray(x[known]), membership[used][known]
    strength, factor = STRENGTHS[0], 0.0
    gain, error, clear, fitted = None, None, False, None
    with one_thread("blas"):  # one order of sums; threads would be slower for such small matrices
        if len(x) >= MIN_PEOPLE and len(shares) > 1:
            strength, factor, gains = _choose(x, membership, shares, seed)
            gain, error = float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(len(gains)))
            clear = factor > 0.0 and gain > CLEAR * error
        if clear:
            fitted = _fit(x, membership, shares, strength)
    model = _model(columns, shares, factor if clear else 0.0, fitted)
    return model, CovariateReport(
        **counts,
        columns=model.columns,
        left_out=left_out,
        rare=_rare(columns, table, places[rows]),
        gain=gain,
        standard_error=error,
        factor=model.factor,
        summary=_summary(gain, error, len(x), len(shares), clear=clear),
    )


def _usable(table: CovariateTable, places: IntArray) -> tuple[list[Column], dict[str, str]]:
    """Return the usable columns of these rows, and why others are not used."""
    columns: list[Column] = []
    left_out = dict(table.left_out)
    for name, kind in table.kinds.items():
        values = table.values[name][places]
        if kind == "number":
            known = values[~np.isnan(values)]
            sd = float(known.std()) if len(known) else 0.0
            if _are_ids(name, table.values[name]):
                left_out[name] = "it holds distinct whole numbers, as ids are"
            elif len(known) < MIN_LEVEL:
                left_out[name] = f"fewer than {MIN_LEVEL} people have a value"
            elif not sd > 1e-9 * float(np.abs(known).max()):
                left_out[name] = "all its values are equal"
            else:
                columns.append(Column(name, kind, (), float(known.mean()), sd))
            continue
        counts = Counter[str](values[~is_missing(values)].tolist())
        frequent = sorted(counts, key=lambda level: (-counts[level], level))[:MAX_LEVELS]
        levels = tuple(level for level in frequent if counts[level] >= MIN_LEVEL)
        if len(counts) >= MIN_LEVEL and len(counts) > MOST_DISTINCT * counts.total():
            left_out[name] = "most of its values are distinct, as ids and names are"
        elif not levels:
            left_out[name] = f"no level is shared by {MIN_LEVEL} people"
        elif counts[levels[0]] == len(values):
            left_out[name] = "all its values are equal"
        else:
            columns.append(Column(name, kind, levels))
    return columns, left_out


def _are_ids(name: str, values: "np.ndarray[Any, Any]") -> bool:
    """Return whether a column of numbers holds ids: whole numbers, named so and mostly distinct, or consecutive.

    >>> _are_ids("visit ID", np.array([7.0, 31.0, 12.0])), _are_ids("row", np.arange(60.0))
    (True, True)
    """
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if not len(distinct) or np.any(distinct % 1):
        return False
    consecutive = len(distinct) == len(known) >= MIN_PEOPLE and float(np.ptp(distinct)) == len(known) - 1
    return consecutive or (words_of(name)[-1:] == ["id"] and len(distinct) > MOST_DISTINCT * len(known))


def _rare(columns: Sequence[Column], table: CovariateTable, places: IntArray) -> dict[str, int]:
    """Return the number of people with an unlisted level, by column of text that has such people."""
    rare = {}
    for column in columns:
        if column.kind == "text":
            texts = table.values[column.name][places]
            rare[column.name] = int((~is_missing(texts) & ~np.isin(texts, column.levels)).sum())
    return {name: count for name, count in rare.items() if count}


def _model(
    columns: Sequence[Column], shares: FloatArray, factor: float, regression: Regression | None = None
) -> CovariateModel:
    """Return the model of a regression, by default one without effects."""
    width = sum(n_features(column.kind, column.levels) for column in columns)
    m = len(shares)
    fitted = Regression(np.zeros(m), np.zeros((m, width))) if regression is None else regression
    names, kinds, levels, means, scales = zip(*columns, strict=True)
    return CovariateModel(names, kinds, levels, np.array(means), np.array(scales), *fitted, factor)


def _fit(x: FloatArray, membership: FloatArray, shares: FloatArray, strength: float) -> Regression:
    """Fit a multinomial logistic regression p to the states of people by EM.

    The probabilities ρ ∝ w L of a person's states combine the shares w and the likelihoods L of their ratings. With p
    in place of w they are ∝ ρ p / w. A regression on ρ alone underestimates effects if ratings leave states uncertain.
    Each person counts in each state by its probability. One more person with the shares keeps intercepts finite.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow, and only for fits with covariates
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    n, m = membership.shape
    rows, states = np.repeat(x, m, axis=0), np.tile(np.arange(m), n)
    classifier = LogisticRegression(C=strength, max_iter=300, warm_start=True)
    p = np.tile(shares, (n, 1))
    for _ in range(MAX_STEPS):
        target = membership / shares * p
        target /= target.sum(axis=1, keepdims=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(rows, states, sample_weight=(target + shares / n).ravel())
        coefficients, intercepts = classifier.coef_, classifier.intercept_
        if m == 2:  # one row: the log odds of the second state
            coefficients, intercepts = (np.vstack([-part, part]) / 2 for part in (coefficients, intercepts))
        fitted = Regression(np.clip(intercepts.ravel(), -MAX_COEFFICIENT, MAX_COEFFICIENT), coefficients)
        before, p = p, fitted.probabilities(x)
        if np.abs(p - before).sum() <= TOLERANCE * n:
            break
    return fitted


def _choose(x: FloatArray, membership: FloatArray, shares: FloatArray, seed: int) -> tuple[float, float, FloatArray]:
    """Return the penalty and the factor that predict held-out people best, and each person's cross-fitted gain.

    The gain of a person with probabilities ρ of the states, relative to the shares w, is log Σ_z ρ_z p_z / w_z: the
    log-likelihood ratio of their ratings under p and under w.
    """
    fold = np.random.default_rng([seed, 31]).permutation(len(x)) % FOLDS
    ratio = np.zeros((len(STRENGTHS), len(x)))
    for held_out in range(FOLDS):
        test = fold == held_out
        for i, strength in enumerate(STRENGTHS):
            p = _fit(x[~test], membership[~test], shares, strength).probabilities(x[test])
            ratio[i, test] = (membership[test] * p / shares).sum(axis=1)
    scores = np.log(1.0 + FACTORS[:, None] * (ratio[:, None, :] - 1.0))  # strengths × factors × people
    gains = np.zeros(len(x))
    for held_out in range(FOLDS):
        test = fold == held_out
        gains[test] = scores[(*_best(scores[:, :, ~test]), test)]
    i, j = _best(scores)
    return STRENGTHS[i], float(FACTORS[j]), gains


def _best(scores: FloatArray) -> tuple[int, int]:
    """Return the position of the largest mean over people, of equal ones the first."""
    i, j = np.unravel_index(int(scores.mean(axis=2).argmax()), scores.shape[:2])
    return int(i), int(j)


def _summary(gain: float | None, error: float | None, people: int, states: int, *, clear: bool) -> str:
    """Say in one sentence whether covariates help."""
    if gain is None:
        why = (
            "there is one state" if states == 1 else f"only {pluralize(people, 'person', 'people')} of the log have any"
        )
        return f"covariates are not used: {why}; everyone has the shares of the states as prior"
    amount = f"{round(gain, 2) + 0.0:.2f} ± {error:.2f} nats per person"
    if clear:
        return f"covariates help: they predict held-out people better than the shares by {amount}"
    return (
        f"covariates do not help: on held-out people they gain {amount}; everyone has the shares of the states as prior"
    )
