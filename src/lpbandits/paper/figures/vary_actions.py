"""Regret and active constraints against the number of actions, at 10 states."""

from lpbandits.paper.figures.sweeps import sweep

FIGURES = [
    sweep(
        "vary-actions" if scale == "different" else "vary-actions-same",
        title=f"More actions, 10 states, {scale} scale{'s' if scale == 'different' else ''}",
        shows="regret and active constraints for k = 5 to 50 actions, m = 10",
        parameter="actions",
        label="actions k",
        values=[{"states": 10, "actions": k} for k in (5, 10, 20, 30, 40, 50)],
        scale=scale,
    )
    for scale in ("different", "same")
]
