"""Regret and active constraints against the noise of rewards."""

from lpbandits.paper.figures.sweeps import sweep

FIGURES = [
    sweep(
        "vary-noise",
        title="More noise, different scales",
        shows="regret and active constraints for σ = 0.5 to 5, k = 20, m = 10",
        parameter="noise",
        label="noise σ",
        values=[{"states": 10, "actions": 20, "noise": noise} for noise in (0.5, 1.0, 2.0, 5.0)],
        scale="different",
    )
]
