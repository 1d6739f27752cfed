"""Regret and active constraints when states and actions grow together."""

from lpbandits.paper.figures.sweeps import sweep

FIGURES = [
    sweep(
        "vary-both" if scale == "different" else "vary-both-same",
        title=f"States and actions grow together, {scale} scale{'s' if scale == 'different' else ''}",
        shows="regret and active constraints for k = m = 5 to 50",
        parameter="actions",
        label="actions k = states m",
        values=[{"states": k, "actions": k} for k in (5, 10, 20, 30, 40, 50)],
        scale=scale,
    )
    for scale in ("different", "same")
]
