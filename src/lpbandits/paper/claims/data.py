"""Claims about MovieLens and the recovery of orderings."""

from collections.abc import Iterator
from functools import partial

import polars as pl

from lpbandits.paper.claims.check import ALIKE, COMPARABLE, Check, Claim, compare, judge
from lpbandits.paper.claims.curves import gap_closed
from lpbandits.paper.claims.numbers import both, by_policy, means_text, per_draw
from lpbandits.paper.figures.curves import SCALES
from lpbandits.paper.figures.movielens import FIGURES, NOTHING, RECOVERED, SHRUNK, TRUE
from lpbandits.paper.figures.recovery import LOGS
from lpbandits.paper.movielens import ENVIRONMENTS
from lpbandits.typing import FloatArray

RAW, FREE = RECOVERED
RIVALS = {"mts": "mTS", "ts-top": "TS on its top actions"}
WORDS = {name: environment.title.lower() for name, environment in ENVIRONMENTS.items()}
NEAR = 0.05
"""An error (1 − τ) is about as good as another if it is larger by less than this."""
LOW = 28.0
"""Maximum regret of lpb-ids with a recovered model."""


def movielens_claims(table: pl.DataFrame, title: str) -> Iterator[Claim]:
    """Judge the paper's claims about a dataset; recovered models are in its first draws only."""
    ends = partial(per_draw, table, kind="final")
    regret = by_policy(table, "lpbts", "mts", kind="final", level=TRUE, environment="same")
    regret["TS"] = ends("ts", level=NOTHING, environment="same")
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
        f"{title}: a model from different scales is more robust: it costs less regret than one from the same scale.",
        {where: cost / ratios["same"] for where, cost in costs.items()},
        kind="ratio",
        measure="recovered / true, different scales / same scale",
        below=1,
        detail="regret with the recovered model / with the true one: "
        + means_text({WORDS[environment]: ratio for environment, ratio in ratios.items()}),
    )


def claims_beyond(table: pl.DataFrame, title: str) -> Iterator[Claim]:
    """Judge further claims: policies with the same model, and a recovered model with shrunk utilities."""
    ends = partial(per_draw, table, kind="final")
    for environment, words in WORDS.items():
        final = table.filter(kind="final", environment=environment)
        for rival, name in RIVALS.items():
            levels = {level: by_policy(final, "lpbts", rival, level=level) for level in (TRUE, *RECOVERED)}
            claim = f"{title}, {words}: with the same model, true or recovered, lpbTS has less regret than {name}."
            yield compare(claim, levels, below=0, beyond=True)
    means = {
        WORDS[environment]: {
            name: ends(policy, level=TRUE, environment=environment)
            for policy, name in (("mts-common", "common"), ("mts", "expected"))
        }
        for environment in ("different", "different-noisy")
    }
    claim = f"{title}: with the common means, mTS has about the same regret as with the expected means."
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
    claim = f"{title}: lpb-ids with the recovered model, shrunk, has less regret than lpbTS with the scale-free one."
    yield compare(claim, pairs, measure="lpb-ids, shrunk − lpbTS, scale-free", below=0, beyond=True)


def recovery_claims(table: pl.DataFrame) -> Iterator[Claim]:
    few, *_, many = sorted(set(table["people"].to_list()))
    methods = table.rename({"method": "policy"})

    def errors(method: str, people: int) -> dict[str, FloatArray]:
        return {
            f"{log} logs, {scale} scale": per_draw(methods, method, "error", people=people, log=log, scale=scale)
            for log in LOGS
            for scale in SCALES
        }

    def improves(method: str, name: str, *, beyond: bool = False) -> Claim:
        first, last = (errors(method, people) for people in (few, many))
        falls = {where: last[where] - first[where] for where in first}
        detail = "; ".join(f"{where} {first[where].mean():.2f} → {last[where].mean():.2f}" for where in first)
        claim = f"The error of {name} decreases with the number of people."
        measure = f"error with {many} people − with {few}"
        return judge(claim, falls, measure=measure, below=0, detail=detail, beyond=beyond)

    yield improves("two-stage", "two-stage recovery (raw ratings)")
    yield improves("em", "EM")
    ours, em = (errors(method, many) for method in ("two-stage", "em"))
    gaps = {where: ours[where] - em[where] for where in ours}
    claim = "Two-stage recovery (raw ratings) is about as good as EM."
    detail = "; ".join(f"{where} {gap.mean():+.3f}" for where, gap in gaps.items())
    measure = f"error − that of EM, {many} people"
    yield judge(claim, gaps, measure=measure, below=NEAR, detail=detail, headline=True)
    yield improves("two-stage-cosine", "two-stage recovery (scale-free)", beyond=True)


CHECKS = [
    *(
        Check((figure.name,), partial(claims, title=figure.title))
        for figure in FIGURES
        for claims in (movielens_claims, claims_beyond)
    ),
    Check(("recovery",), recovery_claims),
]
