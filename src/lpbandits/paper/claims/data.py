"""Claims about MovieLens and the recovery of orderings."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from lpbandits.paper.claims.check import ALIKE, COMPARABLE, Check, Claim, Tables, compare, judge
from lpbandits.paper.claims.curves import gap_closed
from lpbandits.paper.claims.numbers import both, means_text, per_draw
from lpbandits.paper.figures.movielens import NOTHING, RECOVERED, SHRUNK, TRUE
from lpbandits.paper.movielens import ENVIRONMENTS
from lpbandits.typing import FloatArray

RAW, FREE = RECOVERED
RIVALS = {"mts": "mTS", "ts-top": "TS on its top actions"}
WORDS = {name: environment.title.lower() for name, environment in ENVIRONMENTS.items()}
NEAR = 0.05
"""An error (1 − τ) is about as good as another if it exceeds it by less than this."""
LOW = 28.0
"""Maximum regret of lpb-ids with a recovered model."""


def movielens_claims(tables: Tables, dataset: str) -> Iterator[Claim]:
    """Judge the paper's claims about a dataset; recovered models are in its first draws only."""
    title = f"MovieLens {dataset.upper()}"
    ends = partial(per_draw, tables[f"movielens-{dataset}"], kind="final")
    lpbts, mts = (ends(policy, level=TRUE, environment="same") for policy in ("lpbts", "mts"))
    regret = {"lpbTS": lpbts, "mTS": mts, "TS": ends("ts", level=NOTHING, environment="same")}
    claim, note = f"{title}, same scale: lpbTS is comparable to mTS.", gap_closed(*regret.values())
    yield compare(claim, {"": regret}, kind="ratio", below=COMPARABLE, note=note, headline=True)
    lpbts, *others = (ends(p, level=TRUE, environment="different") for p in ("lpbts", "mts", "mts-common"))
    by_means = zip(("expected means", "common means"), others, strict=True)
    claim = f"{title}, different scales: with the true model, mTS is worse than lpbTS."
    yield compare(claim, {means: {"lpbTS": lpbts, "mTS": mts} for means, mts in by_means}, below=0, headline=True)
    ratios = {}
    for environment, words in WORDS.items():
        raw, free = (ends("lpbts", level=level, environment=environment) for level in RECOVERED)
        true, _ = both(ends("lpbts", level=TRUE, environment=environment), raw)
        plain, _ = both(ends("ts", level=NOTHING, environment=environment), raw)
        ratios[environment] = raw / true
        yield compare(
            f"{title}, {words}: recovered orderings are competitive with the true ones.",
            {"": {"recovered": raw, "true": true, "recovered scale-free": free, "plain TS": plain}},
            kind="ratio",
            measure="lpbTS, recovered / true",
            below=COMPARABLE,
            beyond=environment == "different-noisy",
            headline=environment == "same",
        )
    same, plain, noisy = (ends("lpbts", "error", level=RAW, environment=environment) for environment in ENVIRONMENTS)
    yield judge(
        f"{title}: recovered orderings are further from the true ones when ratings are on different scales.",
        {"no noise": plain / same, "noisy": noisy / same},
        kind="ratio",
        measure="error (1 − τ), different scales / same scale",
        above=1,
        detail=f"same scale {same.mean():.2f}, different {plain.mean():.2f}, noisy {noisy.mean():.2f}",
    )
    costs = {"noise on the same scale only": ratios["different"], "noise on both": ratios["different-noisy"]}
    yield judge(
        f"{title}: a model learned from different scales is more robust: it costs less than one from the same scale.",
        {where: cost / ratios["same"] for where, cost in costs.items()},
        kind="ratio",
        measure="recovered / true, different scales / same scale",
        below=1,
        detail="regret with the recovered model / with the true one: "
        + means_text({WORDS[environment]: ratio for environment, ratio in ratios.items()}),
    )


def claims_beyond(tables: Tables, dataset: str) -> Iterator[Claim]:
    """Judge further claims: policies with the same model, and a recovered model with shrunk utilities."""
    title = f"MovieLens {dataset.upper()}"
    ends = partial(per_draw, tables[f"movielens-{dataset}"], kind="final")
    for environment, words in WORDS.items():
        for rival, name in RIVALS.items():
            titles = {"lpbts": "lpbTS", rival: name}
            levels = {
                level: {titles[policy]: ends(policy, level=level, environment=environment) for policy in titles}
                for level in (TRUE, *RECOVERED)
            }
            claim = f"{title}, {words}: with the same model, true or recovered, lpbTS loses less than {name}."
            yield compare(claim, levels, below=0, beyond=True)
    means = {
        WORDS[environment]: {
            name: ends(policy, level=TRUE, environment=environment)
            for policy, name in (("mts-common", "common"), ("mts", "expected"))
        }
        for environment in ("different", "different-noisy")
    }
    claim = f"{title}: with the common means, mTS loses about as much as with the expected means."
    yield compare(claim, means, kind="ratio", above=1 / ALIKE, below=ALIKE, beyond=True)
    shrunk = {words: ends("lpb-ids", level=SHRUNK, environment=name) for name, words in WORDS.items()}
    noisy_only = {WORDS[name]: shrunk[WORDS[name]] for name, environment in ENVIRONMENTS.items() if environment.noise}
    claim = f"{title}: with the recovered model, shrunk, the regret of lpb-ids stays below {LOW:g}."
    detail = means_text(noisy_only)
    yield judge(claim, noisy_only, measure="regret of lpb-ids", below=LOW, detail=detail, beyond=True)
    pairs = {
        words: {"lpb-ids": shrunk[words], "lpbts": ends("lpbts", level=FREE, environment=name)}
        for name, words in WORDS.items()
    }
    claim = f"{title}: lpb-ids with the recovered model, shrunk, is below lpbTS with the scale-free one."
    yield compare(claim, pairs, measure="lpb-ids, shrunk − lpbTS, scale-free", below=0, beyond=True)


def recovery_claims(tables: Tables) -> Iterator[Claim]:
    table = tables["recovery"].sort("draw")
    few, *_, many = sorted(set(table["people"].to_list()))

    def errors(method: str, people: int) -> dict[str, FloatArray]:
        rows = table.filter(method=method, people=people)
        return {
            f"{log} logs, {scale} scale": rows.filter(log=log, scale=scale)["error"].to_numpy().astype(np.float64)
            for log in ("complete", "incomplete")
            for scale in ("same", "different")
        }

    def improves(method: str, name: str, *, beyond: bool = False) -> Claim:
        first, last = (errors(method, people) for people in (few, many))
        falls = {where: last[where] - first[where] for where in first}
        detail = "; ".join(f"{where} {first[where].mean():.2f} → {last[where].mean():.2f}" for where in first)
        claim, measure = f"The error of {name} falls as people grow.", f"error with {many} people − with {few}"
        return judge(claim, falls, measure=measure, below=0, detail=detail, beyond=beyond)

    yield improves("two-stage", "two-stage recovery, raw ratings,")
    yield improves("em", "EM")
    ours, em = (errors(method, many) for method in ("two-stage", "em"))
    gaps = {where: ours[where] - em[where] for where in ours}
    claim = "Two-stage recovery, clustering raw ratings, is about as good as EM."
    detail = "; ".join(f"{where} {gap.mean():+.3f}" for where, gap in gaps.items())
    measure = f"error − that of EM, {many} people"
    yield judge(claim, gaps, measure=measure, below=NEAR, detail=detail, headline=True)
    yield improves("two-stage-cosine", "two-stage recovery, scale-free,", beyond=True)


CHECKS = [
    *(
        Check((f"movielens-{dataset}",), partial(claims, dataset=dataset))
        for dataset in ("1m", "20m", "32m")
        for claims in (movielens_claims, claims_beyond)
    ),
    Check(("recovery",), recovery_claims),
]
