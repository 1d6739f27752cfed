"""Regret and active constraints against the gap between neighbours' means.

The paper explains the rise of mTS by an interval of people's levels that grows with the gap, but prints a fixed width
γk. Both are run: as printed, and with the width 2Δk (equal at Δ = 0.2).
"""

from lpbandits.paper.figures.sweeps import sweep

GAPS = (0.1, 0.2, 0.5, 1.0)

FIGURES = [
    sweep(
        "vary-gap" if scale == "different" else "vary-gap-same",
        title=f"Wider gaps, {scale} scale{'s' if scale == 'different' else ''}",
        shows="regret and active constraints for Δ = 0.1 to 1, k = 20, m = 10",
        parameter="gap",
        label="gap Δ",
        values=[{"states": 10, "actions": 20, "gap": gap} for gap in GAPS],
        scale=scale,
    )
    for scale in ("different", "same")
]
FIGURES.append(
    sweep(
        "vary-gap-wide",
        title="Wider gaps, and levels that spread with them",
        shows="as vary-gap, with people's levels drawn from an interval of width 2Δk instead of 0.4k",
        parameter="gap",
        label="gap Δ",
        values=[{"states": 10, "actions": 20, "gap": gap, "spread": 2 * gap} for gap in GAPS],
        scale="different",
    )
)
