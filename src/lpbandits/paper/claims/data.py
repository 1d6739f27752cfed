"""Claims about MovieLens and the recovery of orderings."""

from collections.abc import Callable
from functools import partial

import numpy as np

from lpbandits.paper.claims.check import ALIKE, COMPARABLE, Check, Claim, Tables, judge
from lpbandits.paper.claims.numbers import both, means_text, per_draw
from lpbandits.paper.figures.movielens import NOTHING, RECOVERED, SHRUNK, TRUE
from lpbandits.paper.movielens import ENVIRONMENTS
from lpbandits.typing import FloatArray

DATASETS = ("1m", "20m", "32m")
RAW, FREE = RECOVERED
RIVALS = {"mts": "mTS", "ts-top": "TS on its top actions"}
NEAR = 0.05
"""An error (1 − τ) is about as good as another if it exceeds it by less than this."""
LOW = 28.0
"""Maximum regret of lpb-ids with a recovered model."""


def _ends(tables: Tables, name: str, policy: str, level: str, environment: str, column: str = "regret") -> FloatArray:
    """Return one value per draw; recovered models are in the first draws only."""
    return per_draw(tables[name], policy, column, kind="final", level=level, environment=environment)


def comparable(tables: Tables, name: str, title: str) -> Claim:
    lpb, mts = (_ends(tables, name, policy, TRUE, "same") for policy in ("lpbts", "mts"))
    ts = _ends(tables, name, "ts", NOTHING, "same")
    closed = float((ts.mean() - lpb.mean()) / (ts.mean() - mts.mean()))
    detail = means_text({"mTS": mts, "lpbTS": lpb, "TS": ts}) + f": lpbTS closes {closed:.0%} of the gap from TS to mTS"
    claim = f"{title}, same scale: lpbTS is comparable to mTS."
    return judge(claim, lpb / mts, kind="ratio", measure="lpbTS / mTS", below=COMPARABLE, detail=detail)


def mts_is_worse(tables: Tables, name: str, title: str) -> Claim:
    lpb, mts, common = (_ends(tables, name, p, TRUE, "different") for p in ("lpbts", "mts", "mts-common"))
    return judge(
        f"{title}, different scales: with the true model, mTS is worse than lpbTS.",
        {"expected means": lpb - mts, "common means": lpb - common},
        measure="lpbTS − mTS",
        below=0,
        detail=means_text({"lpbTS": lpb, "mTS with expected means": mts, "mTS with common means": common}),
    )


def recovered_is_competitive(tables: Tables, name: str, title: str, environment: str) -> Claim:
    raw, free = (_ends(tables, name, "lpbts", level, environment) for level in RECOVERED)
    true, _ = both(_ends(tables, name, "lpbts", TRUE, environment), raw)
    plain, _ = both(_ends(tables, name, "ts", NOTHING, environment), raw)
    return judge(
        f"{title}, {ENVIRONMENTS[environment].title.lower()}: recovered orderings are competitive with the true ones.",
        raw / true,
        kind="ratio",
        measure="lpbTS, recovered / true",
        below=COMPARABLE,
        detail=means_text({"true": true, "recovered": raw, "recovered scale-free": free, "plain TS": plain}),
        beyond=environment == "different-noisy",
    )


def recovered_is_biased(tables: Tables, name: str, title: str) -> Claim:
    same, *others = (_ends(tables, name, "lpbts", RAW, environment, "error") for environment in ENVIRONMENTS)
    return judge(
        f"{title}: recovered orderings are further from the true ones when ratings are on different scales.",
        {"no noise": others[0] / same, "noisy": others[1] / same},
        kind="ratio",
        measure="error (1 − τ), different scales / same scale",
        above=1,
        detail=f"same scale {same.mean():.2f}, different {others[0].mean():.2f}, noisy {others[1].mean():.2f}",
    )


def varying_scales_teach_better(tables: Tables, name: str, title: str) -> Claim:
    lost = {}
    for environment in ENVIRONMENTS:
        learned, true = both(*(_ends(tables, name, "lpbts", level, environment) for level in (RAW, TRUE)))
        lost[environment] = learned / true
    return judge(
        f"{title}: a model learned from different scales is more robust: it costs less than one from the same scale.",
        {
            "noise on the same scale only": lost["different"] / lost["same"],
            "noise on both": lost["different-noisy"] / lost["same"],
        },
        kind="ratio",
        measure="recovered / true, different scales / same scale",
        below=1,
        detail="regret with the recovered model / with the true one: "
        + ", ".join(f"{ENVIRONMENTS[key].title.lower()} {values.mean():.1f}" for key, values in lost.items()),
    )


def lpbts_leads(tables: Tables, name: str, title: str, environment: str, rival: str) -> Claim:
    """Compare lpbTS with a rival that has the same model."""
    gaps, words = {}, []
    for level in (TRUE, *RECOVERED):
        lpb, other = (_ends(tables, name, policy, level, environment) for policy in ("lpbts", rival))
        gaps[level] = lpb - other
        words.append(f"{level}: " + means_text({"lpbTS": lpb, RIVALS[rival]: other}))
    where = ENVIRONMENTS[environment].title.lower()
    claim = f"{title}, {where}: with the same model, true or recovered, lpbTS loses less than {RIVALS[rival]}."
    return judge(claim, gaps, measure=f"lpbTS − {RIVALS[rival]}", below=0, detail="; ".join(words), beyond=True)


def means_matter_little(tables: Tables, name: str, title: str) -> Claim:
    parts, words = {}, []
    for environment in ("different", "different-noisy"):
        mts, common = (_ends(tables, name, policy, TRUE, environment) for policy in ("mts", "mts-common"))
        where = ENVIRONMENTS[environment].title.lower()
        parts[where] = common / mts
        words.append(f"{where}: " + means_text({"expected": mts, "common": common}))
    return judge(
        f"{title}: with the common means, mTS loses about as much as with the expected means.",
        parts,
        kind="ratio",
        measure="common / expected",
        above=1 / ALIKE,
        below=ALIKE,
        detail="; ".join(words),
        beyond=True,
    )


def shrunk_is_enough(tables: Tables, name: str, title: str) -> Claim:
    noisy = {key: it for key, it in ENVIRONMENTS.items() if it.noise}
    regret = {it.title.lower(): _ends(tables, name, "lpb-ids", SHRUNK, key) for key, it in noisy.items()}
    return judge(
        f"{title}: with the recovered model, shrunk, the regret of lpb-ids stays below {LOW:g}.",
        regret,
        measure="regret of lpb-ids",
        below=LOW,
        detail=means_text(regret),
        beyond=True,
    )


def shrunk_beats_scale_free(tables: Tables, name: str, title: str) -> Claim:
    gaps, words = {}, []
    for key, environment in ENVIRONMENTS.items():
        ids, lpb = _ends(tables, name, "lpb-ids", SHRUNK, key), _ends(tables, name, "lpbts", FREE, key)
        where = environment.title.lower()
        gaps[where] = ids - lpb
        words.append(f"{where}: " + means_text({"lpb-ids": ids, "lpbTS": lpb}))
    return judge(
        f"{title}: lpb-ids with the recovered model, shrunk, is below lpbTS with the scale-free one.",
        gaps,
        measure="lpb-ids, shrunk − lpbTS, scale-free",
        below=0,
        detail="; ".join(words),
        beyond=True,
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
    figure = f"movielens-{dataset}"
    about = {"name": figure, "title": f"MovieLens {dataset.upper()}"}
    main: list[Callable[..., Claim]] = [comparable, mts_is_worse, partial(recovered_is_competitive, environment="same")]
    others: list[Callable[..., Claim]] = [
        partial(recovered_is_competitive, environment="different"),
        recovered_is_biased,
        varying_scales_teach_better,
        partial(recovered_is_competitive, environment="different-noisy"),
        *(partial(lpbts_leads, environment=name, rival=rival) for name in ENVIRONMENTS for rival in RIVALS),
        means_matter_little,
        shrunk_is_enough,
        shrunk_beats_scale_free,
    ]
    return [
        *(Check((figure,), partial(check, **about), headline=True) for check in main),
        *(Check((figure,), partial(check, **about)) for check in others),
    ]


CHECKS = [
    *(check for dataset in DATASETS for check in _about(dataset)),
    Check(("recovery",), partial(recovery_improves, method="two-stage", called="two-stage recovery, raw ratings,")),
    Check(("recovery",), partial(recovery_improves, method="em", called="EM")),
    Check(("recovery",), two_stage_against_em, headline=True),
    Check(
        ("recovery",),
        partial(recovery_improves, method="two-stage-cosine", called="two-stage recovery, scale-free,", beyond=True),
    ),
]
"""In the order of the paper."""
