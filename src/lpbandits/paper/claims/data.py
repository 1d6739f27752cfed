"""Claims about MovieLens and the recovery of orderings."""

from collections.abc import Callable
from functools import partial

import numpy as np

from lpbandits.paper.claims.check import ALIKE, COMPARABLE, Check, Claim, Tables, compare, judge
from lpbandits.paper.claims.curves import gap_closed
from lpbandits.paper.claims.numbers import both, means_text, per_draw
from lpbandits.paper.figures.movielens import NOTHING, RECOVERED, SHRUNK, TRUE
from lpbandits.paper.movielens import ENVIRONMENTS
from lpbandits.typing import FloatArray

DATASETS = ("1m", "20m", "32m")
RAW, FREE = RECOVERED
RIVALS = {"mts": "mTS", "ts-top": "TS on its top actions"}
WORDS = {name: environment.title.lower() for name, environment in ENVIRONMENTS.items()}
NEAR = 0.05
"""An error (1 − τ) is about as good as another if it exceeds it by less than this."""
LOW = 28.0
"""Maximum regret of lpb-ids with a recovered model."""


def _ends(tables: Tables, name: str, policy: str, level: str, environment: str, column: str = "regret") -> FloatArray:
    """Return one value per draw; recovered models are in the first draws only."""
    return per_draw(tables[name], policy, column, kind="final", level=level, environment=environment)


def comparable(tables: Tables, name: str, title: str) -> Claim:
    regret = {
        called: _ends(tables, name, policy, TRUE, "same") for policy, called in (("lpbts", "lpbTS"), ("mts", "mTS"))
    }
    regret["TS"] = _ends(tables, name, "ts", NOTHING, "same")
    claim = f"{title}, same scale: lpbTS is comparable to mTS."
    return compare(claim, {"": regret}, kind="ratio", below=COMPARABLE, note=gap_closed(*regret.values()))


def mts_is_worse(tables: Tables, name: str, title: str) -> Claim:
    lpb, mts, common = (_ends(tables, name, p, TRUE, "different") for p in ("lpbts", "mts", "mts-common"))
    claim = f"{title}, different scales: with the true model, mTS is worse than lpbTS."
    regret = {"expected means": {"lpbTS": lpb, "mTS": mts}, "common means": {"lpbTS": lpb, "mTS": common}}
    return compare(claim, regret, below=0)


def recovered_is_competitive(tables: Tables, name: str, title: str, environment: str) -> Claim:
    raw, free = (_ends(tables, name, "lpbts", level, environment) for level in RECOVERED)
    true, _ = both(_ends(tables, name, "lpbts", TRUE, environment), raw)
    plain, _ = both(_ends(tables, name, "ts", NOTHING, environment), raw)
    return compare(
        f"{title}, {WORDS[environment]}: recovered orderings are competitive with the true ones.",
        {"": {"recovered": raw, "true": true, "recovered scale-free": free, "plain TS": plain}},
        kind="ratio",
        measure="lpbTS, recovered / true",
        below=COMPARABLE,
        beyond=environment == "different-noisy",
    )


def recovered_is_biased(tables: Tables, name: str, title: str) -> Claim:
    same, plain, noisy = (_ends(tables, name, "lpbts", RAW, environment, "error") for environment in ENVIRONMENTS)
    return judge(
        f"{title}: recovered orderings are further from the true ones when ratings are on different scales.",
        {"no noise": plain / same, "noisy": noisy / same},
        kind="ratio",
        measure="error (1 − τ), different scales / same scale",
        above=1,
        detail=f"same scale {same.mean():.2f}, different {plain.mean():.2f}, noisy {noisy.mean():.2f}",
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
        + means_text({WORDS[environment]: ratio for environment, ratio in lost.items()}),
    )


def lpbts_leads(tables: Tables, name: str, title: str, environment: str, rival: str) -> Claim:
    """Compare lpbTS with a rival that has the same model."""
    titles = {"lpbts": "lpbTS", rival: RIVALS[rival]}
    regret = {
        level: {called: _ends(tables, name, policy, level, environment) for policy, called in titles.items()}
        for level in (TRUE, *RECOVERED)
    }
    claim = f"{title}, {WORDS[environment]}: with the same model, true or recovered, lpbTS loses less than"
    return compare(f"{claim} {RIVALS[rival]}.", regret, below=0, beyond=True)


def means_matter_little(tables: Tables, name: str, title: str) -> Claim:
    titles = {"mts-common": "common", "mts": "expected"}
    regret = {
        WORDS[environment]: {
            called: _ends(tables, name, policy, TRUE, environment) for policy, called in titles.items()
        }
        for environment in ("different", "different-noisy")
    }
    claim = f"{title}: with the common means, mTS loses about as much as with the expected means."
    return compare(claim, regret, kind="ratio", above=1 / ALIKE, below=ALIKE, beyond=True)


def shrunk_is_enough(tables: Tables, name: str, title: str) -> Claim:
    noisy = [key for key, environment in ENVIRONMENTS.items() if environment.noise]
    regret = {WORDS[key]: _ends(tables, name, "lpb-ids", SHRUNK, key) for key in noisy}
    claim = f"{title}: with the recovered model, shrunk, the regret of lpb-ids stays below {LOW:g}."
    return judge(claim, regret, measure="regret of lpb-ids", below=LOW, detail=means_text(regret), beyond=True)


def shrunk_beats_scale_free(tables: Tables, name: str, title: str) -> Claim:
    models = {"lpb-ids": SHRUNK, "lpbts": FREE}
    regret = {
        WORDS[key]: {policy: _ends(tables, name, policy, level, key) for policy, level in models.items()}
        for key in ENVIRONMENTS
    }
    claim = f"{title}: lpb-ids with the recovered model, shrunk, is below lpbTS with the scale-free one."
    return compare(claim, regret, measure="lpb-ids, shrunk − lpbTS, scale-free", below=0, beyond=True)


def _errors(tables: Tables, method: str, people: int) -> dict[str, FloatArray]:
    """Return the error of a method with a number of people per draw, by log and scale."""
    table = tables["recovery"].filter(method=method, people=people).sort("draw")
    return {
        f"{log} logs, {scale} scale": table.filter(log=log, scale=scale)["error"].to_numpy().astype(np.float64)
        for log in ("complete", "incomplete")
        for scale in ("same", "different")
    }


def recovery_improves(tables: Tables, method: str, called: str, *, beyond: bool = False) -> Claim:
    few, *_, many = sorted(set(tables["recovery"]["people"].to_list()))
    first, last = (_errors(tables, method, people) for people in (few, many))
    falls = {where: last[where] - first[where] for where in first}
    claim = f"The error of {called} falls as people grow."
    detail = "; ".join(f"{where} {first[where].mean():.2f} → {last[where].mean():.2f}" for where in first)
    measure = f"error with {many} people − with {few}"
    return judge(claim, falls, measure=measure, below=0, detail=detail, beyond=beyond)


def two_stage_against_em(tables: Tables) -> Claim:
    most = max(tables["recovery"]["people"].to_list())
    ours, em = (_errors(tables, method, most) for method in ("two-stage", "em"))
    gaps = {where: ours[where] - em[where] for where in ours}
    claim = "Two-stage recovery, clustering raw ratings, is about as good as EM."
    detail = "; ".join(f"{where} {gap.mean():+.3f}" for where, gap in gaps.items())
    return judge(claim, gaps, measure=f"error − that of EM, {most} people", below=NEAR, detail=detail)


_HEADLINES: list[Callable[..., Claim]] = [
    comparable,
    mts_is_worse,
    partial(recovered_is_competitive, environment="same"),
]
_OTHERS: list[Callable[..., Claim]] = [
    partial(recovered_is_competitive, environment="different"),
    recovered_is_biased,
    varying_scales_teach_better,
    partial(recovered_is_competitive, environment="different-noisy"),
    *(partial(lpbts_leads, environment=name, rival=rival) for name in ENVIRONMENTS for rival in RIVALS),
    means_matter_little,
    shrunk_is_enough,
    shrunk_beats_scale_free,
]
_RECOVERY = ("recovery",)
_SCALE_FREE = "two-stage recovery, scale-free,"

CHECKS = [
    *(
        Check(
            (f"movielens-{dataset}",),
            partial(check, name=f"movielens-{dataset}", title=f"MovieLens {dataset.upper()}"),
            headline=check in _HEADLINES,
        )
        for dataset in DATASETS
        for check in (*_HEADLINES, *_OTHERS)
    ),
    Check(_RECOVERY, partial(recovery_improves, method="two-stage", called="two-stage recovery, raw ratings,")),
    Check(_RECOVERY, partial(recovery_improves, method="em", called="EM")),
    Check(_RECOVERY, two_stage_against_em, headline=True),
    Check(_RECOVERY, partial(recovery_improves, method="two-stage-cosine", called=_SCALE_FREE, beyond=True)),
]
"""In the order of the paper."""
