"""Advice: which policy to choose for a known number of rounds, from measured regret (docs/ladder.md)."""

from lpbandits import validate
from lpbandits.text import pluralize

REGRET: dict[int, dict[str, tuple[float, float]]] = {
    5: {"lpb-horizon": (0.80, 0.83), "lpb-ids": (1.0, 1.0), "popular": (0.87, 1.05), "lpbts": (1.16, 1.31)},
    10: {"lpb-horizon": (0.85, 0.89), "lpb-ids": (1.0, 1.0), "popular": (1.05, 1.60), "lpbts": (1.26, 1.47)},
    20: {"lpb-horizon": (0.86, 0.91), "lpb-ids": (1.0, 1.0), "popular": (1.34, 2.75), "lpbts": (1.35, 1.55)},
    30: {"lpb-horizon": (0.85, 0.92), "lpb-ids": (1.0, 1.0), "popular": (1.59, 3.88), "lpbts": (1.40, 1.59)},
    200: {"lpb-horizon": (0.80, 0.97), "lpb-ids": (1.0, 1.0), "popular": (4.85, 21.34), "lpbts": (1.58, 1.83)},
}
"""Mean regret relative to lpb-ids by number of rounds, on different scales with the true orderings.

The least and the largest of three sizes: 3 states and 6 actions, 5 and 10, 10 and 20.
"""

RECOMMENDED = {5: "lpb-horizon", 10: "lpb-horizon", 20: "lpb-horizon", 30: "lpb-horizon", 200: "lpb-ids"}
REASONS = {200: ", because the 99 % quantile of lpb-horizon is up to 1.6 times as high"}
FITTED_ROUNDS = 10
"""Up to this number of rounds, popularity can be best with few actions, or with orderings fitted to a log."""


def regret_in(rounds: int) -> tuple[int, dict[str, tuple[float, float]]]:
    """Return the measured number of rounds that is nearest in proportion, and the regret by policy.

    >>> regret_in(4)[0], regret_in(4)[1]["popular"]
    (5, (0.87, 1.05))
    """
    rounds = validate.as_count(rounds, "rounds")
    nearest = min(REGRET, key=lambda known: max(known / rounds, rounds / known))
    return nearest, REGRET[nearest]


def advice(rounds: int) -> str:
    """Return the recommended policy for this number of rounds, with the measured regret.

    >>> print(advice(30))
    For 30 rounds: lpb-horizon. Mean regret relative to lpb-ids, measured with 30 rounds on different scales and the
    true orderings: lpb-horizon 0.85 to 0.92, popular 1.59 to 3.88, lpbts 1.40 to 1.59. If only the decision after
    these rounds matters: lpb-ids.
    """
    measured, regret = regret_in(rounds)
    parts = [f"{name} {low:.2f} to {high:.2f}" for name, (low, high) in regret.items() if name != "lpb-ids"]
    exceptions = "With few actions, or few states and orderings fitted to a log, popular can be better."
    fitted = f" {exceptions}" if rounds <= FITTED_ROUNDS else ""
    return (
        f"For {pluralize(rounds, 'round')}: {RECOMMENDED[measured]}{REASONS.get(measured, '')}. Mean regret relative "
        f"to lpb-ids, measured with {measured} rounds on different scales and the true orderings: {', '.join(parts)}."
        f"{fitted} If only the decision after these rounds matters: lpb-ids."
    )
