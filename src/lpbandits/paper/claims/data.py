"""Claims that MovieLens and the recovery figure check."""

from functools import partial

import numpy as np
import polars as pl

from lpbandits.paper.claims.check import (
    COMPARABLE,
    FAILS,
    HOLDS,
    Check,
    Claim,
    Tables,
    below,
    comparable_to_mts,
    mean_se,
    means_text,
    per_draw,
)
from lpbandits.typing import FloatArray

DATASETS = ("1m", "20m", "32m")


def _ends(tables: Tables, name: str, policy: str, scale: str, column: str = "regret") -> FloatArray:
    return per_draw(tables[name], policy, column, kind="final", scale=scale)


def _all(tables: Tables, name: str, scale: str) -> dict[str, FloatArray]:
    policies = {"lpbTS": "lpbts", "recovered": "lpbts-recovered", "scale_free": "lpbts-recovered-cosine"}
    policies |= {"mTS": "mts", "TS_top_actions": "ts-top", "TS": "ts"}
    return {title: _ends(tables, name, policy, scale) for title, policy in policies.items()}


def comparable(tables: Tables, name: str, title: str) -> Claim:
    return comparable_to_mts(f"{title}, same scale", _all(tables, name, "same"))


def mts_is_worse(tables: Tables, name: str, title: str) -> Claim:
    ends = _all(tables, name, "different")
    ends["mTS_common_means"] = _ends(tables, name, "mts-common", "different")
    claim = f"{title}, different scales: lpbTS loses less than mTS, even one that is told the expected means."
    return below(claim, ends["lpbTS"], ends["mTS"], means_text(**ends))


def recovered_is_competitive(tables: Tables, name: str, title: str, scale: str) -> Claim:
    ends = _all(tables, name, scale)
    ratio, error = mean_se(ends["recovered"] / ends["lpbTS"])
    share = float((ends["recovered"] / ends["TS"]).mean())
    lost = bool(ends["recovered"].mean() > ends["TS_top_actions"].mean())
    verdict = f"holds only if seen beside TS: {ratio:.1f} times the true orderings, {share:.0%} of TS"
    if lost:
        verdict = f"does not hold: {ratio:.1f} times the true orderings, and above TS on the top actions"
    errors = {p: _ends(tables, name, p, scale, "error").mean() for p in ("lpbts-recovered", "lpbts-recovered-cosine")}
    scales = "different scales" if scale == "different" else "same scale"
    claim = f"{title}, {scales}: recovered orderings are competitive with the true ones. (effect: recovered / true)"
    listed = ", ".join(f"{e:.2f}" for e in errors.values())
    detail = f"{means_text(**ends)}; 1 − τ of the orderings: {listed} (raw, scale-free)"
    return Claim(claim, HOLDS if ratio < COMPARABLE else verdict, ratio, error, detail)


def varying_scales_teach_better(tables: Tables, name: str, title: str) -> Claim:
    same, different = (
        _ends(tables, name, "lpbts-recovered", scale) / _ends(tables, name, "lpbts", scale)
        for scale in ("same", "different")
    )
    claim = f"{title}: a model learned from different scales is more robust. (effect: change of recovered / true)"
    detail = f"recovered / true is {same.mean():.1f} on the same scale and {different.mean():.1f} on different scales"
    return below(claim, different, same, detail)


def _error(tables: Tables, method: str, log: str, scale: str, people: int) -> FloatArray:
    here = (pl.col("log") == log) & (pl.col("scale") == scale) & (pl.col("people") == people)
    table = tables["recovery"].filter((pl.col("method") == method) & here)
    return table.sort("draw")["error"].to_numpy().astype(np.float64)


def recovery_improves(tables: Tables) -> Claim:
    sizes = sorted(set(tables["recovery"]["people"].to_list()))
    words, falls = [], {}
    for log in ("complete", "incomplete"):
        for scale in ("same", "different"):
            for method in ("two-stage", "em"):
                first, last = (_error(tables, method, log, scale, n).mean() for n in (sizes[0], sizes[-1]))
                falls[log, scale, method] = float(first - last)
                words.append(f"{method}, {log}, {scale} {first:.2f} → {last:.2f}")
    stuck = [f"{method} ({log} logs, {scale})" for (log, scale, method), fall in falls.items() if fall < 0.05]
    claim = "The recovery error falls as people grow. (effect: least fall of both methods, all logs and scales)"
    verdict = HOLDS if not stuck else f"holds only if it is not {', nor '.join(stuck)}"
    return Claim(claim, verdict, min(falls.values()), None, "; ".join(words))


def two_stage_against_em(tables: Tables) -> Claim:
    most = max(tables["recovery"]["people"].to_list())
    gaps = {
        f"{log} logs, {scale} scale": _error(tables, "two-stage", log, scale, most)
        - _error(tables, "em", log, scale, most)
        for log in ("complete", "incomplete")
        for scale in ("same", "different")
    }
    effect, error = mean_se(np.concatenate(list(gaps.values())))
    words = "; ".join(f"{where} {gap.mean():+.3f}" for where, gap in gaps.items())
    good = [where for where, gap in gaps.items() if gap.mean() < 0.05]
    verdict = HOLDS if len(good) == len(gaps) else f"holds only if: {'; '.join(good)}" if good else FAILS
    claim = "Two-stage recovery compares favourably with EM. (effect: error of two-stage − error of EM, most people)"
    return Claim(claim, verdict, effect, error, words)


CHECKS = [
    *(
        Check(
            (f"movielens-{dataset}",), partial(check, name=f"movielens-{dataset}", title=f"MovieLens {dataset.upper()}")
        )
        for dataset in DATASETS
        for check in (
            comparable,
            mts_is_worse,
            partial(recovered_is_competitive, scale="same"),
            partial(recovered_is_competitive, scale="different"),
            varying_scales_teach_better,
        )
    ),
    Check(("recovery",), recovery_improves),
    Check(("recovery",), two_stage_against_em),
]
"""In the order of the paper."""
