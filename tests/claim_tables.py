"""Synthetic tables of all figures on which every claim holds."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl

from lpbandits.paper.claims.check import Tables
from lpbandits.paper.claims.sweeps import SAME_SWEEPS
from lpbandits.paper.figures.ladder import FIGURES, LADDER
from lpbandits.paper.figures.looseness import BOUND, EXACT, GAP, ODDS, SIZES
from lpbandits.paper.figures.movielens import NOTHING, RECOVERED, SHRUNK, TRUE
from lpbandits.paper.spec import FULL

DRAWS = 6

Row = dict[str, Any]


def table(rows: Iterable[Row], draws: int = DRAWS, noise: float = 0.002, seed: int = 0) -> pl.DataFrame:
    """Repeat the rows per draw, with a common level per draw and independent noise.

    Recovered models are in the first draws only. Rows of kind "curve" must not affect a claim.
    """
    rng = np.random.default_rng(seed)
    out = []
    for row in rows:
        few = draws - 2 if row.get("level") in (*RECOVERED, SHRUNK) and draws > 4 else draws
        for draw in range(few):
            level = 1.0 if noise > 1 else 1.0 + 0.1 * draw
            common = {k: level if k in SHARED else 1.0 for k in MEASURES}
            noisy = {
                k: v * common[k] * math.exp(noise * rng.standard_normal()) for k, v in row.items() if k in MEASURES
            }
            out.append({**row, **noisy, "draw": draw})
            if "kind" in row:
                out.append({**row, **dict.fromkeys(noisy, 999.0), "draw": draw, "kind": "curve"})
    return pl.DataFrame(out)


SHARED = {"regret", "regret_q95", "regret_q99", "value"}
"""Columns that a draw changes for all policies alike."""
MEASURES = SHARED | {"regret_sd", "active_all", "true_state", "true_state_alone", "error"}


def curves() -> list[Row]:
    ends = {
        "same": {"lpbts": (18, 8), "mts": (15, 5), "ts": (60, 9), "ts-top": (45, 9), "ts-narrow": (90, 9)},
        "different": {"lpbts": (5, 8), "mts": (10, 50), "ts": (60, 9), "ts-top": (45, 9), "ts-narrow": (90, 9)},
    }
    for policies in ends.values():
        policies["lpbts-incremental"] = policies["lpbts"]
    return [
        {"kind": "final", "scale": scale, "policy": policy, "regret": mean, "regret_sd": sd}
        for scale, policies in ends.items()
        for policy, (mean, sd) in policies.items()
    ]


def sweep(xs: Iterable[float], **policies: Callable[[int, float], float]) -> list[Row]:
    """Return a row per value and policy; regret is a function of the value's index and the value."""
    named = {name.replace("_", "-"): regret for name, regret in policies.items()}
    return [
        {"x": float(x), "policy": name, "regret": regret(i, x), "active_all": 1.0 + i}
        for i, x in enumerate(xs)
        for name, regret in named.items()
    ]


def flat(level: float) -> Callable[[int, float], float]:
    return lambda _i, _x: level


def duels() -> list[Row]:
    shares = {"kind": "final", "true_state": 0.95, "true_state_alone": 0.99}
    return [
        {**shares, "comparison": comparison, "policy": policy, "regret": regret}
        for comparison in ("rewards", "bradley-terry")
        for policy, regret in (("lpb-duel", 50.0), ("double-ts", 300.0), ("double-ts-top", 100.0))
    ]


def recovery() -> list[Row]:
    return [
        {"method": method, "log": log, "scale": scale, "people": people, "error": error}
        for method in ("two-stage", "two-stage-cosine", "em")
        for log in ("complete", "incomplete")
        for scale in ("same", "different")
        for people, error in ((50, 0.4), (500, 0.2), (1600, 0.1))
    ]


def movielens() -> list[Row]:
    rows = []
    for environment, lpb, mts, learned, error in (
        ("same", 12.0, 14.0, 1.3, 0.3),
        ("different", 14.0, 20.0, 1.2, 0.5),
        ("different-noisy", 14.0, 20.0, 1.1, 0.6),
    ):
        regrets = {("lpbts", TRUE): lpb, ("mts", TRUE): mts, ("mts-common", TRUE): mts + 1, ("ts-top", TRUE): 30.0}
        regrets |= {
            (policy, level): learned * regrets[policy, TRUE]
            for level in RECOVERED
            for policy in ("lpbts", "mts", "ts-top")
        }
        regrets |= {("ts", NOTHING): 300.0, ("lpb-ids", SHRUNK): 8.0}
        for (policy, level), regret in regrets.items():
            row = {"kind": "final", "environment": environment, "policy": policy, "level": level, "regret": regret}
            rows.append({**row, "error": error if level in (*RECOVERED, SHRUNK) else 0.0})
    return rows


def looseness() -> list[Row]:
    values = [
        ("true state", 10.0, BOUND, 0.4),
        ("true state", 10.0, EXACT, 0.3),
        ("true state", 200.0, BOUND, 0.6),
        ("true state", 200.0, EXACT, 0.7),
        ("all rounds", 0.0, GAP, 2.0),
        ("all rounds", 0.0, ODDS, 1.5),
    ]
    return [
        {"measure": measure, "policy": policy, "x": x, "value": value, "size": f"m={m} k={k}"}
        for m, k in SIZES
        for measure, x, policy, value in values
    ]


def ladder() -> dict[str, list[Row]]:
    """Return tables of the ladder: less knowledge means more regret; mTS has most, and wrong orderings hurt lpbTS."""
    regrets = dict(zip(LADDER, (90.0, 14.0, 9.0, 10.0, 14.0, 20.0, 25.0, 30.0, 60.0), strict=True))
    rows: dict[str, list[Row]] = {}
    for figure in FIGURES:
        rows[figure.name] = [
            {"size": s["size"], "setting": s["setting"], "policy": policy}
            | _spread(figure.name, s["setting"], policy, regret)
            for s in (case.settings for case in figure.cases(FULL))
            for policy, regret in regrets.items()
            if policy in s["policies"]
        ]
    return rows


def _spread(figure: str, setting: str, policy: str, regret: float) -> dict[str, float]:
    """Return mean and quantiles of regret; half the noise raises the 99 % quantile, wrong orderings raise lpbTS."""
    mean = 2 * regret if (figure, setting, policy) == ("ladder-errors", "0.4", "lpbts") else regret
    last = 9 * regret if (figure, setting) == ("ladder-assumed-noise", "0.5") else 3 * regret
    return {"regret": mean, "regret_q95": 2 * regret, "regret_q99": last}


@functools.cache
def supporting_tables(draws: int = DRAWS, noise: float = 0.002) -> Tables:
    """Return tables on which every claim holds."""
    sizes, states, gaps = (5, 10, 20), (5, 10, 20, 50, 100), (0.1, 0.2, 0.5, 1.0)
    rising = [10.0, 15.0, 20.0, 20.0, 20.0]
    both = {"lpbts": flat(20.0), "mts": lambda i, _: (20.0, 100.0, 300.0)[i], "ts": flat(90.0)}
    rows = {
        "regret-curves": curves(),
        "vary-both": sweep(sizes, **both),
        "vary-states": sweep(
            states,
            lpbts=lambda i, _: rising[i],
            mts=lambda i, _: 5 * rising[i],
            ts_top=lambda i, _: 3 * rising[i],
            ts=lambda i, _: (10 - i) * rising[i],
        ),
        "vary-gap": sweep(gaps, lpbts=flat(20.0), mts=lambda i, _: 20.0 + 10 * i),
        "vary-gap-wide": sweep(gaps, lpbts=flat(20.0), mts=lambda i, _: 20.0 + 10 * i),
        "vary-actions": sweep(sizes, lpbts=flat(20.0), lpbts_incremental=flat(20.0), ts=lambda i, _: 60.0 + 20 * i),
        "vary-noise": sweep((0.5, 1, 2), lpbts=flat(20.0)),
        **{name: sweep(gaps if "gap" in name else sizes, lpbts=flat(20.0), mts=flat(10.0)) for name in SAME_SWEEPS},
        "bound-size": [
            {"x": float(x), "policy": kind, "value": value / (i + 1)}
            for i, x in enumerate(sizes)
            for kind, value in (("bound-preference", 5.0), ("lpbts", 8.0), ("ts", 30.0), ("bound-plain", 20.0))
        ],
        "duels": duels(),
        "pairing": [
            {"kind": "final", "policy": policy, "regret": regret}
            for policy, regret in (("lpbts", 20.0), ("lpb-paired", 60.0), ("lpb-duel", 40.0))
        ],
        "recovery": recovery(),
        "looseness": looseness(),
        **ladder(),
        "movielens-1m": movielens(),
    }
    return {name: table(content, draws, noise, seed=i) for i, (name, content) in enumerate(rows.items())}
