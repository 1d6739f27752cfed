"""Bradley-Terry compared with choix, evalica and scikit-learn: time, error, and the result if an action never wins.

Each package gets the same comparisons in its input format, prepared before timing starts: a matrix, a list of all
comparisons, a list of pairs with weights, or a sparse design matrix with weights.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import Measured, Row, Table, Value, interleaved, processor_seconds, ratio, say
from benchmarks.peers import Missing, peer
from benchmarks.recovery import contest
from lpbandits.fit import fit_bradley_terry
from lpbandits.typing import FloatArray

OURS = "lpbandits"
SIZES = (20, 100, 1132)
GAMES = 20
LONGEST = 200_000
"""Maximum length of a list of comparisons; k = 1,132 would need 12.8 million."""
LONG = 2.0
"""Fits that take longer than this many seconds are timed once."""
LOSER = 7
GOALS = {100: {"scikit-learn": 1.0, "evalica newman": 1.0}, 1132: {"choix ilsr_pairwise_dense": 8.0}}
"""Minimum speed-up over other packages, by size."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairwise wins, in the input formats of the packages."""

    wins: FloatArray

    @property
    def k(self) -> int:
        return len(self.wins)

    @cached_property
    def listed(self) -> list[tuple[int, int]]:
        """Every comparison, as (winner, loser)."""
        winner, loser = np.nonzero(self.wins)
        times = self.wins[winner, loser].astype(np.int64)
        return list(zip(np.repeat(winner, times).tolist(), np.repeat(loser, times).tolist(), strict=True))

    @cached_property
    def weighted(self) -> tuple[list[int], list[int], list[float]]:
        """Winners, losers and counts of all pairs."""
        winner, loser = np.nonzero(self.wins)
        return winner.tolist(), loser.tolist(), self.wins[winner, loser].tolist()

    @cached_property
    def design(self) -> tuple[Any, FloatArray, FloatArray]:
        """Rows with +1 for the first action of a pair and -1 for the second, whether the first won, and counts."""
        winner, loser = np.nonzero(self.wins)
        rows = np.arange(len(winner))
        flipped = winner > loser
        sign = np.where(flipped, -1.0, 1.0)
        first, second = np.where(flipped, loser, winner), np.where(flipped, winner, loser)
        both = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))])
        places = (np.concatenate([rows, rows]), np.concatenate([first, second]))
        matrix = sparse.csr_matrix((both, places), shape=(len(rows), self.k))
        return matrix, (sign > 0).astype(np.float64), self.wins[winner, loser]


def ours(data: Comparisons) -> FloatArray:
    return fit_bradley_terry(data.wins).utilities


def choix_dense(data: Comparisons) -> FloatArray:
    return np.asarray(peer("choix").ilsr_pairwise_dense(data.wins))


def choix_listed(name: str, data: Comparisons, **settings: object) -> FloatArray:
    return np.asarray(getattr(peer("choix"), name)(data.k, data.listed, **settings))


def evalica_by(name: str, data: Comparisons) -> FloatArray:
    """Return the logarithms of evalica's scores."""
    evalica = peer("evalica")
    winner, loser, times = data.weighted
    found = getattr(evalica, name)(winner, loser, [evalica.Winner.X] * len(winner), weights=times)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(found.scores.sort_index().to_numpy(dtype=np.float64)))


def scikit_learn(data: Comparisons) -> FloatArray:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - heavy

    matrix, won, times = data.design
    fitted = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-6, max_iter=1000).fit(
        matrix, won, sample_weight=times
    )
    return np.asarray(fitted.coef_[0])


@dataclass(frozen=True)
class Fitter:
    """A fit, the precision of its prior (0: none), and whether its input is a list of all comparisons."""

    fit: Callable[[Comparisons], FloatArray]
    precision: float = 0.0
    listed: bool = False


FITTERS = {
    OURS: Fitter(ours, 1.0),
    "scikit-learn": Fitter(scikit_learn, 1.0),
    "choix opt_pairwise": Fitter(partial(choix_listed, "opt_pairwise", alpha=0.5), 1.0, listed=True),
    "choix ilsr_pairwise_dense": Fitter(choix_dense),
    "choix ilsr_pairwise": Fitter(partial(choix_listed, "ilsr_pairwise"), listed=True),
    "choix mm_pairwise": Fitter(partial(choix_listed, "mm_pairwise"), listed=True),
    "evalica bradley_terry": Fitter(partial(evalica_by, "bradley_terry")),
    "evalica newman": Fitter(partial(evalica_by, "newman")),
}


def optimum(wins: FloatArray, precision: float) -> FloatArray:
    """Return the maximum of the log-posterior, by Newton's method with a dense Hessian, up to rounding."""
    beta = np.zeros(len(wins))
    games = wins + wins.T
    for _ in range(100):
        chance = 1 / (1 + np.exp(beta[None, :] - beta[:, None]))
        slope = wins.sum(axis=1) - (games * chance).sum(axis=1) - precision * beta
        bends = games * chance * chance.T
        hessian = np.diag(bends.sum(axis=1) + precision) - bends
        step = np.linalg.solve(hessian + 1.0 / len(wins), slope)  # + 11ᵀ/k: the common shift has no curvature
        beta = beta + step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-10:
            break
    return np.asarray(beta - beta.mean())


def centred(utilities: FloatArray) -> FloatArray:
    return np.asarray(utilities - utilities.mean())


def planted(k: int, seed: int = 0) -> FloatArray:
    """Return the utilities that `contest` draws first."""
    return np.random.default_rng(seed).normal(0, 1, k)


def attempt(fitter: Fitter, data: Comparisons) -> FloatArray | str:
    """Return the result of a fit, or the reason why there is none."""
    if fitter.listed and data.wins.sum() > LONGEST:
        return f"not tried: a list of {data.wins.sum():,.0f} comparisons"
    try:
        with np.errstate(all="ignore"):
            return fitter.fit(data)
    except Missing as missing:
        return str(missing)
    except Exception as error:  # an error of another package is reported as its result
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def fits(k: int) -> tuple[dict[str, FloatArray], list[dict[str, Value]]]:
    """Measure the time and error of every package on one contest; return seconds and records."""
    data, truth = Comparisons(contest(k, GAMES)), centred(planted(k))
    best = {precision: optimum(data.wins, precision) for precision in (0.0, 1.0)}
    found: dict[str, FloatArray | str] = {}
    seconds: dict[str, FloatArray] = {}
    for name, fitter in FITTERS.items():
        took = processor_seconds(lambda: found.update({name: attempt(fitter, data)}))  # noqa: B023 - called at once
        if took > LONG and not isinstance(found[name], str):
            seconds[name] = np.array([took])
    again = [name for name in found if name not in seconds and not isinstance(found[name], str)]
    times = interleaved(*(partial(FITTERS[name].fit, data) for name in again), repeats=5)
    seconds |= dict(zip(again, times, strict=True))
    records: list[dict[str, Value]] = []
    for name, answer in found.items():
        record: dict[str, Value] = {"who": name, "k": k, "prior": FITTERS[name].precision > 0}
        if isinstance(answer, str):
            records.append({**record, "ms": None, "error": None, "from optimum": None, "missing": answer})
            continue
        away = centred(answer)
        records.append(
            {
                **record,
                "ms": 1e3 * float(seconds[name].min()),
                "error": float(np.sqrt(np.mean((away - truth) ** 2))),
                "from optimum": float(np.abs(away - best[FITTERS[name].precision]).max()),
                "missing": "",
            }
        )
    return seconds, records


def never_wins() -> list[dict[str, Value]]:
    """Fit 20 actions, one of which never won, and describe the results."""
    wins = contest(20, GAMES)
    wins[LOSER] = 0
    data, rest = Comparisons(wins), np.arange(20) != LOSER
    best = {
        1.0: optimum(wins, 1.0)[rest],
        0.0: optimum(wins[np.ix_(rest, rest)], 0.0),
    }  # without a prior: -∞, and these
    records: list[dict[str, Value]] = []
    for name, fitter in FITTERS.items():
        answer = attempt(fitter, data)
        record: dict[str, Value] = {"who": name, "utility": None, "others off": None, "outcome": ""}
        if isinstance(answer, str):
            records.append({**record, "outcome": answer})
            continue
        if not np.isfinite(answer).all():
            bad = "NaN" if np.isnan(answer).any() else "infinity"
            records.append({**record, "outcome": f"{bad} in {int((~np.isfinite(answer)).sum())} of 20 utilities"})
            continue
        lowest = float(answer[LOSER] - answer[rest].mean())
        off = float(np.abs(centred(answer[rest]) - centred(best[fitter.precision])).max())
        outcome = "all utilities equal, without a warning" if np.ptp(answer) < 1e-9 else "finite"
        records.append({**record, "utility": lowest, "others off": off, "outcome": outcome})
    return records


def measured() -> Measured:
    """Measure everything in this file."""
    rows: list[Row] = []
    records: list[dict[str, Value]] = []
    for k in SIZES:
        say(f"Bradley-Terry, k={k}")
        seconds, found = fits(k)
        records += found
        for name, goal in GOALS.get(k, {}).items():
            if name in seconds:
                rows.append(ratio(f"Bradley-Terry vs {name}, k={k}", seconds[name], seconds[OURS], goal))
        own = next(record for record in found if record["who"] == OURS)
        what = f"Bradley-Terry: largest distance of a utility from the optimum, k={k}"
        rows.append(Row(what, float(own["from optimum"] or 0.0), 1e-5, at_most=True, unit=""))
    say("Bradley-Terry, an action that never wins")
    return Measured(rows, [Table("bradley-terry", records), Table("bradley-terry-never", never_wins())])
