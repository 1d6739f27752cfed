"""How often `lpb fit --states auto` finds the planted number of states.

`make study-states` chooses the number of states of 50 logs of each kind, with five orderings and with one: an hour of
one core. `python -m tests.studies.states --logs 5 --worlds "10 dense"` is a short run.

The logs are those of `tests.studies.recovery`: 500 people on scales of their own, utilities that are normal, and noise
of 1.15 times their spread.
"""

import argparse
from collections import Counter

from lpbandits.fit import choose_states
from tests.studies.recovery import WORLDS, planted

BALANCED = [world for world, settings in WORLDS.items() if not {"shares", "states"} & set(settings)]


def main() -> None:
    """Print one row per kind of log and number of orderings: how often each number of states was chosen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=50, help="logs of each world")
    parser.add_argument("--seed", type=int, default=6000, help="seed of the first log")
    parser.add_argument("--worlds", default=";".join(BALANCED), help="worlds, separated by semicolons")
    options = parser.parse_args()
    for world in options.worlds.split(";"):
        for states, near in ((5, {4, 5, 6}), (1, {1})):
            seeds = range(options.seed, options.seed + options.logs)
            logs = (planted(seed, **WORLDS[world] | {"states": states})[1] for seed in seeds)
            chosen = Counter(choose_states(log, threads=1).states for log in logs)
            right = sum(n for number, n in chosen.items() if number in near)
            counts = ", ".join(f"{number}: {n}" for number, n in sorted(chosen.items()))
            print(f"{world:24} true {states}   right {right} of {options.logs}   {counts}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
