"""Regret and active constraints against the number of states, at 20 actions."""

from lpbandits.paper.figures.sweeps import sweep

FIGURES = [
    sweep(
        "vary-states" if scale == "different" else "vary-states-same",
        title=f"More states, 20 actions, {scale} scale{'s' if scale == 'different' else ''}",
        shows="regret and active constraints for m = 5 to 100 states, k = 20",
        parameter="states",
        label="states m",
        values=[{"states": m, "actions": 20} for m in (5, 10, 20, 50, 100)],
        scale=scale,
    )
    for scale in ("different", "same")
]
