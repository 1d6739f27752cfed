"""Claims that the synthetic figures check."""

from functools import partial

import numpy as np

from lpbandits.paper.claims.check import (
    FAILS,
    HOLDS,
    UNSETTLED,
    Check,
    Claim,
    Tables,
    above,
    below,
    comparable_to_mts,
    mean_se,
    means_text,
    negated,
    per_draw,
    values_of,
    verdict_of,
)
from lpbandits.paper.figures.sweeps import NARROW
from lpbandits.typing import FloatArray

SAME_SWEEPS = ("vary-both-same", "vary-states-same", "vary-gap-same", "vary-actions-same")


def _ends(tables: Tables, policy: str, scale: str, column: str = "regret") -> FloatArray:
    return per_draw(tables["regret-curves"], policy, column, kind="final", scale=scale)


def mts_wins_on_the_same_scale(tables: Tables) -> Claim:
    mts, lpb = _ends(tables, "mts", "same"), _ends(tables, "lpbts", "same")
    return below(
        "Same scale: mTS, which knows the means, loses less than lpbTS.", mts, lpb, means_text(mTS=mts, lpbTS=lpb)
    )


def lpbts_is_comparable(tables: Tables) -> Claim:
    titles = {"mTS": "mts", "lpbTS": "lpbts", "TS": "ts"}
    return comparable_to_mts("Same scale", {title: _ends(tables, name, "same") for title, name in titles.items()})


def mts_varies_less_on_the_same_scale(tables: Tables) -> Claim:
    mts, lpb = (_ends(tables, name, "same", "regret_sd") for name in ("mts", "lpbts"))
    claim = "Same scale: mTS varies less over people than lpbTS. (effect: difference of sd)"
    return below(claim, mts, lpb, means_text(sd_mTS=mts, sd_lpbTS=lpb))


def lpbts_beats_ts(tables: Tables, scale: str) -> Claim:
    lpb, ts, narrow = (_ends(tables, name, scale) for name in ("lpbts", "ts", NARROW))
    ratio, error = mean_se(lpb / ts)
    scales = "Different scales" if scale == "different" else "Same scale"
    claim = f"{scales}: knowing the orderings is vastly better than plain TS."
    verdict = verdict_of(ratio - 0.5, error)
    return Claim(
        claim + " (effect: lpbTS / TS; below a half counts)",
        verdict,
        ratio,
        error,
        means_text(lpbTS=lpb, TS_weak_prior=ts, TS_prior_N_0_1=narrow),
    )


def ts_prior_decides(tables: Tables) -> Claim:
    weak, narrow = _ends(tables, "ts", "same"), _ends(tables, NARROW, "same")
    effect, error = mean_se(narrow - weak)
    settled = error is not None and abs(effect) > 2 * error
    return Claim(
        "Beyond the paper: TS's result does not depend on its Gaussian prior. (effect: N(0, 1) − weak)",
        FAILS if settled else UNSETTLED,
        effect,
        error,
        means_text(weak_prior=weak, prior_N_0_1=narrow) + "; a narrow prior locks onto the first action tried",
    )


def mts_fails_on_different_scales(tables: Tables) -> Claim:
    mts, lpb = _ends(tables, "mts", "different"), _ends(tables, "lpbts", "different")
    return below("Different scales: lpbTS loses less than mTS.", lpb, mts, means_text(lpbTS=lpb, mTS=mts))


def lpbts_varies_less(tables: Tables) -> Claim:
    mts, lpb = (_ends(tables, name, "different", "regret_sd") for name in ("mts", "lpbts"))
    claim = "Different scales: lpbTS varies less over people than mTS. (effect: difference of sd)"
    return below(claim, lpb, mts, means_text(sd_lpbTS=lpb, sd_mTS=mts))


def top_actions_are_poor(tables: Tables) -> Claim:
    table = tables["vary-states"]
    sizes = values_of(table)
    ratios = {m: float((per_draw(table, "lpbts", x=m) / per_draw(table, "ts-top", x=m)).mean()) for m in sizes}
    small = _ends(tables, "lpbts", "different") - _ends(tables, "ts-top", "different")
    effect, error = mean_se(small)
    good = [m for m, ratio in ratios.items() if ratio < 0.8]
    if verdict_of(effect, error) == HOLDS and len(good) == len(sizes):
        verdict = HOLDS
    else:
        verdict = f"holds only if there are many states: at k = 20 for m ≥ {min(good):g}" if good else FAILS
    listed = ", ".join(f"m={m:g}: {ratio:.2f}" for m, ratio in ratios.items())
    claim = "TS limited to the actions that are best in some state is poor. (effect: lpbTS − it, m = 5, k = 10)"
    return Claim(claim, verdict, effect, error, f"lpbTS / TS top actions at k=20: {listed}")


def mts_grows_with_both(tables: Tables) -> Claim:
    table = tables["vary-both"]
    low, *_, high = values_of(table)
    small, large = per_draw(table, "mts", x=low), per_draw(table, "mts", x=high)
    claim = "Different scales, k = m: the regret of mTS grows with k."
    return above(claim, large, small, f"k={low:g}: {small.mean():.1f}, k={high:g}: {large.mean():.1f}")


def mts_stays_worse_at_a_fixed_interval(tables: Tables) -> Claim:
    table = tables["vary-states"]
    sizes = values_of(table)
    gaps = np.array([per_draw(table, "lpbts", x=m) - per_draw(table, "mts", x=m) for m in sizes])
    effect, error = mean_se(gaps.max(axis=0))
    listed = ", ".join(f"m={m:g}: {per_draw(table, 'mts', x=m).mean():.0f}" for m in sizes)
    claim = "With k = 20 fixed (so the interval too), mTS still loses more than lpbTS. (effect: least lead of lpbTS)"
    return Claim(claim, verdict_of(effect, error), effect, error, f"mTS {listed}")


def lpbts_is_constant_with_both(tables: Tables) -> Claim:
    table = tables["vary-both"]
    sizes = values_of(table)
    means = {k: float(per_draw(table, "lpbts", x=k).mean()) for k in sizes}
    ratio, error = mean_se(per_draw(table, "lpbts", x=sizes[-1]) / per_draw(table, "lpbts", x=sizes[0]))
    mts = float((per_draw(table, "mts", x=sizes[-1]) / per_draw(table, "mts", x=sizes[0])).mean())
    verdict = HOLDS if ratio < 1.25 else "holds only if seen beside mTS, which grows far more"
    if ratio > 0.8 * mts:
        verdict = FAILS
    listed = ", ".join(f"k={k:g}: {mean:.1f}" for k, mean in means.items())
    claim = "Different scales, k = m: the regret of lpbTS is fairly constant. (effect: largest k / smallest k)"
    return Claim(claim, verdict, ratio, error, f"{listed}; the same ratio for mTS is {mts:.1f}")


def _active_grows(tables: Tables, name: str, what: str, symbol: str) -> Claim:
    table = tables[name]
    values = values_of(table)
    active = {x: per_draw(table, "lpbts", "active_all", x=x) for x in values}
    peak = max(values, key=lambda x: active[x].mean())
    effect, error = mean_se(active[values[-1]] - active[values[0]])
    verdict = verdict_of(-effect, error)
    fall, fall_error = mean_se(active[peak] - active[values[-1]])
    rise, rise_error = mean_se(active[peak] - active[values[0]])
    if verdict_of(-fall, fall_error) == HOLDS and verdict_of(-rise, rise_error) == HOLDS:
        verdict = f"holds only if {symbol} ≤ {peak:g}: they fall after"
    listed = ", ".join(f"{symbol}={x:g}: {count.mean():.2f}" for x, count in active.items())
    claim = f"Active constraints of lpbTS grow {what}. (effect: largest − smallest {symbol})"
    return Claim(claim, verdict, effect, error, listed)


def regret_flattens(tables: Tables) -> Claim:
    table = tables["vary-states"]
    sizes = values_of(table)
    at = min(sizes, key=lambda m: abs(m - 20.0))
    words, late, rises = [], [], []
    for policy, title in (("lpbts", "lpbTS"), ("mts", "mTS"), ("ts-top", "TS top actions")):
        first, middle, last = (per_draw(table, policy, x=x) for x in (sizes[0], at, sizes[-1]))
        rises.append(verdict_of(*negated(mean_se(middle - first))) == HOLDS)
        share = float((middle - first).mean() / (last - first).mean())
        words.append(
            f"{title} {first.mean():.0f} → {middle.mean():.0f} → {last.mean():.0f} ({share:.0%} by m = {at:g})"
        )
        late += [title] if share < 0.8 else []
    if not all(rises):
        verdict = FAILS
    else:
        verdict = (
            HOLDS if not late else f"holds only if a further rise is called flat: {', '.join(late)} rise after m = k"
        )
    gain, error = mean_se(per_draw(table, "lpbts", x=sizes[-1]) - per_draw(table, "lpbts", x=at))
    claim = "With k = 20, regret rises with m until m = k and is flat after. (effect: rise of lpbTS after m = k)"
    return Claim(claim, verdict, gain, error, "; ".join(words))


def benefit_shrinks_with_states(tables: Tables) -> Claim:
    table = tables["vary-states"]
    low, *_, high = values_of(table)
    gain = {m: per_draw(table, "ts", x=m) / per_draw(table, "lpbts", x=m) for m in (low, high)}
    detail = f"TS / lpbTS is {gain[low].mean():.1f} at m={low:g} and {gain[high].mean():.1f} at m={high:g}"
    claim = "With k = 20, more states shrink the benefit over plain TS. (effect: change of TS / lpbTS)"
    return below(claim, gain[high], gain[low], detail)


def gaps_hurt_mts(tables: Tables) -> Claim:
    words, rises, spans = [], {}, []
    for name, width in (("vary-gap", "width 0.4 k, as printed"), ("vary-gap-wide", "width 2 Δ k")):
        table = tables[name]
        low, *_, high = values_of(table)
        rises[name] = mean_se(per_draw(table, "mts", x=high) - per_draw(table, "mts", x=low))
        for policy, title in (("mts", "mTS"), ("lpbts", "lpbTS")):
            ends = {x: per_draw(table, policy, x=x).mean() for x in values_of(table)}
            words.append(f"{title}, {width}: " + ", ".join(f"Δ={x:g} {y:.0f}" for x, y in ends.items()))
            spans += [max(ends.values()) / min(ends.values())] if policy == "lpbts" else []
    grows = {name: verdict_of(*negated(rise)) for name, rise in rises.items()}
    if grows["vary-gap"] == HOLDS:
        verdict = HOLDS
    elif grows["vary-gap-wide"] == HOLDS:
        verdict = f"holds only if people's levels spread with Δ, and a factor of {max(spans):.1f} is stable for lpbTS"
    else:
        verdict = FAILS
    effect, error = rises["vary-gap"]
    claim = "Wider gaps: lpbTS stays stably low while mTS gets worse. (effect: rise of mTS as printed)"
    return Claim(claim, verdict, effect, error, "; ".join(words))


def benefit_grows(tables: Tables) -> Claim:
    table = tables["vary-actions"]
    low, *_, high = values_of(table)
    gain = {x: per_draw(table, "ts", x=x) / per_draw(table, "lpbts", x=x) for x in (low, high)}
    detail = f"TS / lpbTS is {gain[low].mean():.1f} at k={low:g} and {gain[high].mean():.1f} at k={high:g} (m = 10)"
    claim = "The benefit over plain TS grows as actions outnumber states. (effect: change of TS / lpbTS)"
    return above(claim, gain[high], gain[low], detail)


def mts_wins_everywhere_on_the_same_scale(tables: Tables) -> Claim:
    gaps = np.array(
        [
            per_draw(tables[name], "mts", x=x) - per_draw(tables[name], "lpbts", x=x)
            for name in SAME_SWEEPS
            for x in values_of(tables[name])
        ]
    )
    wins = int((gaps.mean(axis=1) < 0).sum())
    effect, error = mean_se(gaps.mean(axis=0))
    verdict = (
        verdict_of(effect, error) if wins == len(gaps) else f"holds only if {wins} of {len(gaps)} settings will do"
    )
    claim = "Same scale: mTS loses less than lpbTS in every setting. (effect: mean difference)"
    return Claim(claim, verdict, effect, error, f"in {wins} of {len(gaps)} settings")


def refit_or_incremental(tables: Tables) -> Claim:
    ratios = {
        f"{name} {x:g}": per_draw(tables[name], "lpbts", x=x) / per_draw(tables[name], "lpbts-incremental", x=x)
        for name in ("vary-both", "vary-states", "vary-actions")
        for x in values_of(tables[name])
    }
    means = {where: float(ratio.mean()) for where, ratio in ratios.items()}
    effect, error = mean_se(np.array(list(ratios.values())).mean(axis=0))
    least, most = min(means, key=lambda key: means[key]), max(means, key=lambda key: means[key])
    small = all(abs(ratio - 1) < 0.1 for ratio in means.values())
    claim = "Beyond the paper: its two forms of lpbTS, refit and incremental, lose about the same. (effect: mean ratio)"
    detail = f"refit / incremental from {means[least]:.2f} ({least}) to {means[most]:.2f} ({most})"
    return Claim(claim, HOLDS if small else "holds only if 10 % do not matter", effect, error, detail)


def one_draw_is_enough(tables: Tables) -> Claim:
    gaps = _ends(tables, "lpbts", "different") - _ends(tables, "ts-top", "different")
    effect, error = mean_se(gaps)
    both = bool(gaps.min() < 0 < gaps.max())
    claim = "Beyond the paper: one draw of the orderings ranks lpbTS and TS on top actions at m = 5, k = 10."
    detail = f"lpbTS − TS top actions by draw: {', '.join(f'{gap:.1f}' for gap in gaps)}"
    verdict = UNSETTLED if error is None else FAILS if both else HOLDS
    return Claim(claim + " (effect: mean difference)", verdict, effect, error, detail)


_CURVES = ("regret-curves",)

CHECKS = [
    Check(_CURVES, mts_wins_on_the_same_scale),
    Check(_CURVES, lpbts_is_comparable),
    Check(_CURVES, mts_varies_less_on_the_same_scale),
    Check(_CURVES, partial(lpbts_beats_ts, scale="same")),
    Check(_CURVES, partial(lpbts_beats_ts, scale="different")),
    Check(("regret-curves", "vary-states"), top_actions_are_poor),
    Check(_CURVES, mts_fails_on_different_scales),
    Check(_CURVES, lpbts_varies_less),
    Check(("vary-both",), mts_grows_with_both),
    Check(("vary-both",), lpbts_is_constant_with_both),
    Check(("vary-both",), lambda tables: _active_grows(tables, "vary-both", "with k = m", "k")),
    Check(("vary-states",), regret_flattens),
    Check(("vary-states",), benefit_shrinks_with_states),
    Check(("vary-states",), mts_stays_worse_at_a_fixed_interval),
    Check(("vary-gap", "vary-gap-wide"), gaps_hurt_mts),
    Check(("vary-actions",), lambda tables: _active_grows(tables, "vary-actions", "with k at m = 10", "k")),
    Check(("vary-actions",), benefit_grows),
    Check(("vary-noise",), lambda tables: _active_grows(tables, "vary-noise", "with the noise", "σ")),
    Check(SAME_SWEEPS, mts_wins_everywhere_on_the_same_scale),
    Check(_CURVES, ts_prior_decides),
    Check(("vary-both", "vary-states", "vary-actions"), refit_or_incremental),
    Check(_CURVES, one_draw_is_enough),
]
"""In the order of the paper."""
