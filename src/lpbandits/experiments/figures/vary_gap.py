"""Regret and active constraints against the gap between neighbours' means."""

from lpbandits.experiments.sweep import sweep

FIGURES = [
    sweep(
        "vary-gap" if scale == "different" else "vary-gap-same",
        title=f"Wider gaps, {scale} scale{'s' if scale == 'different' else ''}",
        shows="regret and active constraints for Δ = 0.1 to 1, k = 20, m = 10",
        parameter="gap",
        label="gap Δ",
        values=[{"states": 10, "actions": 20, "gap": gap} for gap in (0.1, 0.2, 0.5, 1.0)],
        scale=scale,
    )
    for scale in ("different", "same")
]
