"""Claims that the synthetic figures check."""

import numpy as np
import polars as pl

from lpbandits.experiments.claims import FAILS, HOLDS, Check, Claim, Tables, below, mean_se, numbers, per_draw
from lpbandits.experiments.sweep import NARROW
from lpbandits.typing import FloatArray

SAME_SWEEPS = ("vary-both-same", "vary-states-same", "vary-gap-same", "vary-actions-same")


def _ends(tables: Tables, policy: str, scale: str, column: str = "regret") -> FloatArray:
    return per_draw(tables["regret-curves"].filter(pl.col("kind") == "final"), policy, column, scale=scale)


def _ends_of(table: pl.DataFrame) -> tuple[float, float]:
    return float(np.min(table["x"].to_numpy())), float(np.max(table["x"].to_numpy()))


def mts_wins_on_the_same_scale(tables: Tables) -> Claim:
    mts, lpb = _ends(tables, "mts", "same"), _ends(tables, "lpbts", "same")
    return below(
        "Same scale: mTS, which knows the means, loses less than lpbTS.", mts, lpb, numbers(mTS=mts, lpbTS=lpb)
    )


def lpbts_is_comparable(tables: Tables) -> Claim:
    mts, lpb, ts = (_ends(tables, name, "same") for name in ("mts", "lpbts", "ts"))
    ratio, error = mean_se(lpb / mts)
    closed = float(((ts - lpb) / (ts - mts)).mean())
    verdict = (
        HOLDS if ratio < 1.5 else f'holds only if "comparable" means closing {closed:.0%} of the gap from TS to mTS'
    )
    claim = "Same scale: lpbTS is comparable to mTS. (effect: lpbTS / mTS)"
    return Claim(claim, verdict, ratio, error, numbers(mTS=mts, lpbTS=lpb, TS=ts))


def lpbts_beats_ts(tables: Tables) -> Claim:
    lpb = np.concatenate([_ends(tables, "lpbts", s) for s in ("same", "different")])
    ts = np.concatenate([_ends(tables, "ts", s) for s in ("same", "different")])
    narrow = np.concatenate([_ends(tables, NARROW, s) for s in ("same", "different")])
    claim = "Knowing the orderings is vastly better than plain TS, on both scales."
    return below(claim, lpb, ts, numbers(lpbTS=lpb, TS_weak_prior=ts, TS_prior_N_0_1=narrow))


def ts_prior_decides(tables: Tables) -> Claim:
    weak, narrow = _ends(tables, "ts", "same"), _ends(tables, NARROW, "same")
    effect, error = mean_se(narrow - weak)
    return Claim(
        "Beyond the paper: TS's result does not depend on its Gaussian prior. (effect: N(0, 1) − weak)",
        FAILS if abs(effect) > 2 * (error or 0.0) else HOLDS,
        effect,
        error,
        numbers(weak_prior=weak, prior_N_0_1=narrow) + "; a narrow prior locks onto the first action tried",
    )


def mts_fails_on_different_scales(tables: Tables) -> Claim:
    mts, lpb = _ends(tables, "mts", "different"), _ends(tables, "lpbts", "different")
    return below("Different scales: lpbTS loses less than mTS.", lpb, mts, numbers(lpbTS=lpb, mTS=mts))


def lpbts_varies_less(tables: Tables) -> Claim:
    mts, lpb = (_ends(tables, name, "different", "regret_sd") for name in ("mts", "lpbts"))
    claim = "Different scales: lpbTS varies less over people than mTS. (effect: difference of sd)"
    return below(claim, lpb, mts, numbers(sd_lpbTS=lpb, sd_mTS=mts))


def top_actions_are_poor(tables: Tables) -> Claim:
    table = tables["vary-states"]
    sizes = sorted(set(table["x"].to_list()))
    ratios = {m: float((per_draw(table, "lpbts", x=m) / per_draw(table, "ts-top", x=m)).mean()) for m in sizes}
    small = _ends(tables, "lpbts", "different") - _ends(tables, "ts-top", "different")
    effect, error = mean_se(small)
    good = [m for m, ratio in ratios.items() if ratio < 0.8]
    if effect < -2 * (error or 0.0) and len(good) == len(sizes):
        verdict = HOLDS
    else:
        verdict = f"holds only if there are many states: at k = 20 for m ≥ {min(good):g}" if good else FAILS
    listed = ", ".join(f"m={m:g}: {ratio:.2f}" for m, ratio in ratios.items())
    claim = "TS limited to the actions that are best in some state is poor. (effect: lpbTS − it, m = 5, k = 10)"
    return Claim(claim, verdict, effect, error, f"lpbTS / TS top actions at k=20: {listed}")


def mts_grows_with_both(tables: Tables) -> Claim:
    table = tables["vary-both"]
    low, high = _ends_of(table)
    small, large = per_draw(table, "mts", x=low), per_draw(table, "mts", x=high)
    claim = "Different scales, k = m: the regret of mTS grows with k."
    one = below(claim, small, large, f"k={low:g}: {small.mean():.1f}, k={high:g}: {large.mean():.1f}")
    return Claim(one.claim, one.verdict, -one.effect, one.se, one.detail)


def lpbts_is_constant_with_both(tables: Tables) -> Claim:
    table = tables["vary-both"]
    sizes = sorted(set(table["x"].to_list()))
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
    values = sorted(set(table["x"].to_list()))
    active = {x: per_draw(table, "lpbts", "active_all", x=x) for x in values}
    peak = max(values, key=lambda x: active[x].mean())
    effect, error = mean_se(active[values[-1]] - active[values[0]])
    fall, fall_error = mean_se(active[peak] - active[values[-1]])
    if mean_se(active[peak] - active[values[0]])[0] <= 2 * (error or 0.0):
        verdict = FAILS
    elif peak < values[-1] and fall > 2 * (fall_error or 0.0):
        verdict = f"holds only if {symbol} ≤ {peak:g}: they fall after"
    else:
        verdict = HOLDS if effect > 2 * (error or 0.0) else FAILS
    listed = ", ".join(f"{symbol}={x:g}: {own.mean():.2f}" for x, own in active.items())
    claim = f"Active constraints of lpbTS grow {what}. (effect: largest − smallest {symbol})"
    return Claim(claim, verdict, effect, error, listed)


def regret_flattens(tables: Tables) -> Claim:
    table = tables["vary-states"]
    sizes = sorted(set(table["x"].to_list()))
    at = min(sizes, key=lambda m: abs(m - 20.0))
    shares = {}
    for policy, title in (("lpbts", "lpbTS"), ("mts", "mTS"), ("ts-top", "TS top actions")):
        first, middle, last = (per_draw(table, policy, x=x).mean() for x in (sizes[0], at, sizes[-1]))
        shares[title] = float((middle - first) / (last - first))
    effect = min(shares.values())
    late = [title for title, share in shares.items() if share < 0.8]
    verdict = (
        HOLDS
        if not late
        else f"holds only if some further rise is called flat: {', '.join(late)} still rise after m = k"
    )
    listed = ", ".join(f"{title} {share:.0%}" for title, share in shares.items())
    claim = (
        "With k = 20, regret rises with m until m = k and is flat after. (effect: least share of the rise before m = k)"
    )
    return Claim(claim, verdict, effect, None, f"share of the rise that is over at m = {at:g}: {listed}")


def gaps_hurt_mts(tables: Tables) -> Claim:
    table = tables["vary-gap"]
    low, high = _ends_of(table)
    mts = per_draw(table, "mts", x=high) - per_draw(table, "mts", x=low)
    effect, error = mean_se(mts)
    lpb = {x: float(per_draw(table, "lpbts", x=x).mean()) for x in sorted(set(table["x"].to_list()))}
    worst = max(lpb.values()) / min(lpb.values())
    grows = effect > 2 * (error or 0.0)
    verdict = (
        (HOLDS if worst < 1.5 else f"holds only if a factor of {worst:.1f} is stable for lpbTS") if grows else FAILS
    )
    listed = ", ".join(f"Δ={x:g}: {y:.1f}" for x, y in lpb.items())
    claim = "Wider gaps: lpbTS stays stably low while mTS gets worse. (effect: rise of mTS)"
    return Claim(claim, verdict, effect, error, f"lpbTS {listed}")


def benefit_grows(tables: Tables) -> Claim:
    table = tables["vary-actions"]
    low, high = _ends_of(table)
    gain = {x: per_draw(table, "ts", x=x) / per_draw(table, "lpbts", x=x) for x in (low, high)}
    effect, error = mean_se(gain[high] - gain[low])
    detail = f"TS / lpbTS is {gain[low].mean():.1f} at k={low:g} and {gain[high].mean():.1f} at k={high:g} (m = 10)"
    claim = "The benefit over plain TS grows as actions outnumber states. (effect: change of TS / lpbTS)"
    return Claim(claim, HOLDS if effect > 2 * (error or 0.0) else FAILS, effect, error, detail)


def mts_wins_everywhere_on_the_same_scale(tables: Tables) -> Claim:
    wins, count, gaps = 0, 0, []
    for name in SAME_SWEEPS:
        for x in sorted(set(tables[name]["x"].to_list())):
            gap = (per_draw(tables[name], "mts", x=x) - per_draw(tables[name], "lpbts", x=x)).mean()
            wins += bool(gap < 0)
            count += 1
            gaps.append(gap)
    effect, error = mean_se(np.array(gaps))
    claim = "Same scale: mTS loses less than lpbTS in every setting. (effect: mean difference)"
    return Claim(claim, HOLDS if wins == count else FAILS, effect, error, f"in {wins} of {count} settings")


def refit_or_incremental(tables: Tables) -> Claim:
    ratios = {}
    for name in ("vary-both", "vary-states", "vary-actions"):
        for x in sorted(set(tables[name]["x"].to_list())):
            ours, theirs = (per_draw(tables[name], p, x=x).mean() for p in ("lpbts", "lpbts-incremental"))
            ratios[f"{name} {x:g}"] = float(ours / theirs)
    values = np.array(list(ratios.values()))
    effect, error = mean_se(values)
    least, most = min(ratios, key=lambda key: ratios[key]), max(ratios, key=lambda key: ratios[key])
    verdict = HOLDS if np.all(np.abs(values - 1) < 0.1) else "holds only if 10 % differences do not matter"
    claim = "Beyond the paper: its two forms of lpbTS, refit and incremental, lose about the same. (effect: mean ratio)"
    detail = f"refit / incremental from {ratios[least]:.2f} ({least}) to {ratios[most]:.2f} ({most})"
    return Claim(claim, verdict, effect, error, detail)


def one_draw_is_enough(tables: Tables) -> Claim:
    gaps = _ends(tables, "lpbts", "different") - _ends(tables, "ts-top", "different")
    lpb = _ends(tables, "lpbts", "different")
    effect = float(lpb.std(ddof=1)) if len(lpb) > 1 else 0.0
    both = bool(gaps.min() < 0 < gaps.max())
    verdict = "does not hold" if both else HOLDS
    claim = (
        "Beyond the paper: one draw of the orderings is enough to rank lpbTS and TS on top actions at m = 5, k = 10. "
    )
    detail = f"lpbTS − TS top actions by draw: {', '.join(f'{gap:.1f}' for gap in gaps)}"
    return Claim(claim + "(effect: sd of lpbTS over draws)", verdict, effect, None, detail)


_CURVES = ("regret-curves",)

CHECKS = [
    Check(_CURVES, mts_wins_on_the_same_scale),
    Check(_CURVES, lpbts_is_comparable),
    Check(_CURVES, lpbts_beats_ts),
    Check(("regret-curves", "vary-states"), top_actions_are_poor),
    Check(_CURVES, mts_fails_on_different_scales),
    Check(_CURVES, lpbts_varies_less),
    Check(("vary-both",), mts_grows_with_both),
    Check(("vary-both",), lpbts_is_constant_with_both),
    Check(("vary-both",), lambda tables: _active_grows(tables, "vary-both", "with k = m", "k")),
    Check(("vary-states",), regret_flattens),
    Check(("vary-gap",), gaps_hurt_mts),
    Check(("vary-actions",), lambda tables: _active_grows(tables, "vary-actions", "with k at m = 10", "k")),
    Check(("vary-actions",), benefit_grows),
    Check(("vary-noise",), lambda tables: _active_grows(tables, "vary-noise", "with the noise", "σ")),
    Check(SAME_SWEEPS, mts_wins_everywhere_on_the_same_scale),
    Check(_CURVES, ts_prior_decides),
    Check(("vary-both", "vary-states", "vary-actions"), refit_or_incremental),
    Check(_CURVES, one_draw_is_enough),
]
"""In the order of the paper."""
