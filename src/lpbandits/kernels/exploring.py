"""A floor for the chance of every allowed action: now and then any of them is played."""

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.random import EXPLORE, uniform
from lpbandits.typing import IntArray


@kernel
def apply_exploration_floor(
    play: int, explore: float, k: int, allowed: IntArray, seed: int, person: int, round_: int
) -> int:
    """Return each of N allowed actions (of all k where `allowed` is empty) with chance `explore`, else the play.

    An action that is played with chance p then has explore + (1 − N · explore) p. N · explore is at most 1.
    """
    return _wandered(play, explore, k, allowed, uniform(seed, person, round_, EXPLORE, 0))


@kernel
def wander_pair(
    play: tuple[int, int], explore: float, k: int, allowed: IntArray, seed: int, person: int, round_: int
) -> tuple[int, int]:
    """Do so for both actions of a pair, each by itself."""
    one = _wandered(play[0], explore, k, allowed, uniform(seed, person, round_, EXPLORE, 0))
    return one, _wandered(play[1], explore, k, allowed, uniform(seed, person, round_, EXPLORE, 1))


@kernel
def _wandered(play: int, explore: float, k: int, allowed: IntArray, u: float) -> int:
    size = k if len(allowed) == 0 else len(allowed)
    if u >= size * explore:
        return play
    i = min(int(u / explore), size - 1)
    return i if len(allowed) == 0 else allowed[i]
