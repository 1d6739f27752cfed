"""Conformance of named algorithms: regret after 200 rounds against a reference table.

All runs have `first="uniform"` and 40 draws of the orderings. The tolerance is 3 standard errors of the difference plus
the table's rounding (0.5). The table's entries have two sources of error:

- Between people: plain TS at k = 20 does not depend on m, but reads 98, 97 and 99 with a standard deviation of 17, as
  about 250 people per entry give (17/√250 = 1.1). An independent TS in plain numpy gives 57.4 at k = 10 and 99.6 at
  k = 20, as ours does.
- Between draws: the regret of the top-action subset depends on the number of actions that are best in some state, which
  varies between draws (a standard deviation of 5 to 7, measured here). An entry is taken to have 10 draws.
"""

import numpy as np
import pytest

from lpbandits.simulation import simulate
from lpbandits.worlds import SyntheticWorld

TABLE_PEOPLE = 250
TABLE_DRAWS = 10
ROUNDING = 0.5
DRAWS = 40
INCREMENTAL = "lpbts-incremental"

TABLE: dict[tuple[int, int, str], dict[str, tuple[float, float]]] = {
    (5, 10, "same"): {"ts": (56, 15), "ts-top": (20, 12), "mts": (7, 8), "lpbts": (20, 12), INCREMENTAL: (19, 11)},
    (5, 10, "different"): {
        "ts": (57, 16),
        "ts-top": (23, 12),
        "mts": (59, 70),
        "lpbts": (20, 13),
        INCREMENTAL: (19, 12),
    },
    (10, 20, "different"): {"ts": (98, 16), "ts-top": (44, 17), "lpbts": (22, 9), INCREMENTAL: (23, 8)},
    (20, 20, "different"): {"ts": (97, 17), "ts-top": (70, 17), "lpbts": (27, 10), INCREMENTAL: (28, 9)},
    (50, 20, "different"): {"ts": (99, 17), "ts-top": (91, 18), "lpbts": (32, 10), INCREMENTAL: (34, 10)},
}
"""Mean and standard deviation of regret by (states, actions, scale) and policy."""
PEOPLE = {5: 25, 10: 10, 20: 5, 50: 2}
"""People per state, so that every row has 4,000 to 5,000 people."""


def tolerance(se: float, sd: float) -> float:
    """Return 3 standard errors of (ours − the table's) plus the rounding; `se` is ours, from between-draw spread."""
    between_draws = se * np.sqrt(DRAWS / TABLE_DRAWS)
    return float(3 * np.sqrt(se**2 + sd**2 / TABLE_PEOPLE + between_draws**2) + ROUNDING)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_regret_equals_the_table(row: tuple[int, int, str]) -> None:
    m, k, scale = row
    world = SyntheticWorld(states=m, actions=k, scale=scale)
    results = simulate(world, list(TABLE[row]), people=PEOPLE[m], draws=DRAWS, seed=0, first="uniform")
    for name, (listed, sd) in TABLE[row].items():
        mean, se = (float(part[-1]) for part in (results[name].regret.mean, results[name].regret.se))
        assert abs(mean - listed) <= tolerance(se, sd), f"{name}: {mean:.1f} ± {se:.1f}, in the table {listed}"
        # the standard deviation between people is also a property of the algorithm; the table's is rounded and noisy
        assert 0.6 * sd < results[name].regret.sd[-1] < 1.6 * sd, name
