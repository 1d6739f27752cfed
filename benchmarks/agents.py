"""What a server does for the person of a request: build an `Agent`, restore one from packed bytes, pack its belief."""

import numpy as np

import lpbandits as lpb
from benchmarks.loops import scipy_fit
from benchmarks.measure import Measured, Row, Table, interleaved, ratio
from lpbandits.typing import FloatArray

STATES, ACTIONS, TOLD = 8, 50, 10
CALLS = 1000
SIZE = f"m={STATES} k={ACTIONS}, {TOLD} outcomes"
BUILD, RESTORE, PACK, AGAIN = "`Agent(…)`", "`Belief.unpack` + `Agent`", "`Belief.pack`", "`Agent(…)` and ten `tell`"
FITS = f"SciPy fits of the outcomes, {STATES} states"


def times() -> dict[str, FloatArray]:
    """Return seconds of one call, by what is called, and of the SciPy fits of the same outcomes."""
    rng = np.random.default_rng(0)
    orderings = np.array([rng.permutation(ACTIONS) for _ in range(STATES)])
    policy = lpb.LpbTS(lpb.PreferenceModel(orderings), noise=1.0)
    outcomes = list(zip(rng.permutation(ACTIONS)[:TOLD].tolist(), rng.normal(size=TOLD).tolist(), strict=True))

    def told() -> lpb.Agent:
        agent = lpb.Agent(policy, seed=1, person="ann")
        for action, reward in outcomes:
            agent.tell(action, reward)
        return agent

    belief = told().belief
    data = belief.pack()
    averages = np.full(ACTIONS, np.nan)
    averages[[action for action, _ in outcomes]] = [reward for _, reward in outcomes]
    sorted_ = [averages[row][~np.isnan(averages[row])] for row in orderings]
    found = interleaved(
        lambda: [lpb.Agent(policy, seed=1, person="ann") for _ in range(CALLS)],
        lambda: [lpb.Agent(policy, seed=1, belief=lpb.Belief.unpack(policy, data)) for _ in range(CALLS)],
        lambda: [belief.pack() for _ in range(CALLS)],
        lambda: [told() for _ in range(CALLS)],
        lambda: [scipy_fit(one, np.ones(TOLD)) for _ in range(CALLS) for one in sorted_],
    )
    return dict(zip((BUILD, RESTORE, PACK, AGAIN, FITS), found / CALLS, strict=True))


def measured() -> Measured:
    """Measure everything in this file."""
    found = times()
    one_fit = found[FITS] / STATES
    rows = [
        _microseconds(f"building an Agent, {SIZE}", found[BUILD], 8.0),
        _microseconds(f"Belief.unpack + Agent, {SIZE}", found[RESTORE], 30.0),
        ratio(f"building an Agent over one SciPy fit, {SIZE}", found[BUILD], one_fit, 1.0, at_most=True),
        ratio(f"Belief.unpack + Agent vs SciPy fits, {SIZE}", found[FITS], found[RESTORE], 2.5),
        ratio(f"Belief.pack over one SciPy fit, {SIZE}", found[PACK], one_fit, 0.3, at_most=True),
    ]
    return Measured(rows, [Table("agents", [{"what": what, "µs": _best(each)} for what, each in found.items()])])


def _best(each: FloatArray) -> float:
    """Return the minimum in microseconds."""
    return float(each.min()) * 1e6


def _microseconds(what: str, each: FloatArray, goal: float) -> Row:
    return Row(what, _best(each), goal, at_most=True, unit=" µs", spread=(_best(each), float(each.max()) * 1e6))
