"""Claims that MovieLens and the recovery figure check."""

from collections.abc import Callable
from functools import partial

import numpy as np

from lpbandits.paper.claims.check import COMPARABLE, Check, Claim, Tables, judge, means_text, per_draw
from lpbandits.paper.figures.movielens import NOTHING, RECOVERED, TRUE
from lpbandits.paper.movielens import ENVIRONMENTS
from lpbandits.typing import FloatArray

DATASETS = ("1m", "20m", "32m")
RAW, FREE = RECOVERED
NEAR = 0.05
"""An error (1 − τ) is about as good as another if it is less than this above it."""


def _ends(tables: Tables, name: str, policy: str, level: str, environment: str, column: str = "regret") -> FloatArray:
    """Return one number per draw; models are recovered in the first draws only."""
    return per_draw(tables[name], policy, column, kind="final", level=level, environment=environment)


def comparable(tables: Tables, name: str, title: str) -> Claim:
    lpb, mts = (_ends(tables, name, policy, TRUE, "same") for policy in ("lpbts", "mts"))
    ts = _ends(tables, name, "ts", NOTHING, "same")
    closed = float(((ts - lpb) / (ts - mts)).mean())
    ends = means_text({"mTS": mts, "lpbTS": lpb, "TS": ts})
    detail = f"{ends}: lpbTS closes {closed:.0%} of the gap from TS to mTS"
    claim = f"{title}, same scale: lpbTS is comparable to mTS."
    return judge(claim, lpb / mts, measure="lpbTS / mTS", below=COMPARABLE, detail=detail)


def mts_is_worse(tables: Tables, name: str, title: str, environment: str) -> Claim:
    lpb, mts, common = (_ends(tables, name, p, TRUE, environment) for p in ("lpbts", "mts", "mts-common"))
    named = ENVIRONMENTS[environment]
    claim = f"{title}, different scales{', no noise' if named.noise == 0 else ', noise of variance 0.5'}: mTS is worse."
    return judge(
        claim,
        {"told the expected means": lpb - mts, "told the common means": lpb - common},
        measure="lpbTS − mTS",
        below=0,
        detail=means_text({"lpbTS": lpb, "mTS told expected means": mts, "mTS told common means": common}),
        beyond=named.noise > 0,
    )


def recovered_is_competitive(tables: Tables, name: str, title: str, environment: str) -> Claim:
    raw, free = (_ends(tables, name, "lpbts", level, environment) for level in RECOVERED)
    true = _ends(tables, name, "lpbts", TRUE, environment)[: len(raw)]
    plain = _ends(tables, name, "ts", NOTHING, environment)
    return judge(
        f"{title}, {ENVIRONMENTS[environment].title.lower()}: recovered orderings are competitive with the true ones.",
        raw / true,
        measure="lpbTS, recovered / true",
        below=COMPARABLE,
        detail=means_text({"true": true, "recovered": raw, "recovered scale-free": free, "plain TS": plain}),
    )


def lpbts_leads_at_equal_information(tables: Tables, name: str, title: str, environment: str) -> Claim:
    gaps, words = {}, []
    for level in RECOVERED:
        lpb, top, mts = (_ends(tables, name, policy, level, environment) for policy in ("lpbts", "ts-top", "mts"))
        gaps[level] = lpb - top
        words.append(f"{level}: " + means_text({"lpbTS": lpb, "TS top actions": top, "mTS": mts}))
    where = ENVIRONMENTS[environment].title.lower()
    claim = f"{title}, {where}: with the same recovered model, lpbTS loses less than TS on its top actions."
    return judge(claim, gaps, measure="lpbTS − TS top actions", below=0, detail="; ".join(words), beyond=True)


def varying_scales_teach_better(tables: Tables, name: str, title: str) -> Claim:
    lost, wrong = {}, {}
    for environment in ("same", "different"):
        learned = _ends(tables, name, "lpbts", RAW, environment)
        lost[environment] = learned / _ends(tables, name, "lpbts", TRUE, environment)[: len(learned)]
        wrong[environment] = _ends(tables, name, "lpbts", RAW, environment, "error")
    return judge(
        f"{title}: a model learned from different scales is more robust than one from the same scale.",
        {
            "regret with it / with the true model": lost["different"] - lost["same"],
            "error of its orderings (1 − τ)": wrong["different"] - wrong["same"],
        },
        measure="different scales − same scale",
        below=0,
        detail=f"regret {lost['same'].mean():.1f} and {lost['different'].mean():.1f} times that of the true model, "
        f"error {wrong['same'].mean():.2f} and {wrong['different'].mean():.2f}",
    )


LOGS = [(log, scale) for log in ("complete", "incomplete") for scale in ("same", "different")]


def _error(tables: Tables, method: str, log: str, scale: str, people: int) -> FloatArray:
    table = tables["recovery"].filter(method=method, log=log, scale=scale, people=people)
    return table.sort("draw")["error"].to_numpy().astype(np.float64)


def recovery_improves(tables: Tables, method: str, called: str, *, beyond: bool = False) -> Claim:
    sizes = sorted(set(tables["recovery"]["people"].to_list()))
    falls, words = {}, []
    for log, scale in LOGS:
        first, last = (_error(tables, method, log, scale, n) for n in (sizes[0], sizes[-1]))
        falls[f"{log} logs, {scale} scale"] = last - first
        words.append(f"{log}, {scale} {first.mean():.2f} → {last.mean():.2f}")
    claim = f"The error of {called} falls as people grow."
    measure = f"error with {sizes[-1]} people − with {sizes[0]}"
    return judge(claim, falls, measure=measure, below=0, detail="; ".join(words), beyond=beyond)


def two_stage_against_em(tables: Tables) -> Claim:
    most = max(tables["recovery"]["people"].to_list())
    gaps = {}
    for log, scale in LOGS:
        ours, em = (_error(tables, method, log, scale, most) for method in ("two-stage", "em"))
        gaps[f"{log} logs, {scale} scale"] = ours - em
    claim = "Two-stage recovery, clustering raw ratings, is about as good as EM."
    detail = "; ".join(f"{where} {gap.mean():+.3f}" for where, gap in gaps.items())
    return judge(claim, gaps, measure=f"error − that of EM, {most} people", below=NEAR, detail=detail)


def _about(dataset: str) -> list[Check]:
    name = f"movielens-{dataset}"
    about = {"name": name, "title": f"MovieLens {dataset.upper()}"}
    checks: list[Callable[..., Claim]] = [comparable, partial(mts_is_worse, environment="different")]
    checks += [partial(recovered_is_competitive, environment=name) for name in ("same", "different")]
    checks += [varying_scales_teach_better, partial(mts_is_worse, environment="different-noisy")]
    checks += [partial(lpbts_leads_at_equal_information, environment=name) for name in ENVIRONMENTS]
    return [Check((name,), partial(check, **about)) for check in checks]


CHECKS = [
    *(check for dataset in DATASETS for check in _about(dataset)),
    Check(("recovery",), partial(recovery_improves, method="two-stage", called="two-stage recovery, raw ratings,")),
    Check(("recovery",), partial(recovery_improves, method="em", called="EM")),
    Check(("recovery",), two_stage_against_em),
    Check(
        ("recovery",),
        partial(recovery_improves, method="two-stage-cosine", called="two-stage recovery, scale-free,", beyond=True),
    ),
]
"""In the order of the paper."""
