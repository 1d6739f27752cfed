"""A floor for the probability of every allowed action."""

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.random import EXPLORE, uniform
from lpbandits.typing import IntArray


@kernel
def apply_exploration_floor(
    play: int, explore: float, k: int, allowed: IntArray, seed: int, person: int, round_: int
) -> int:
    """Return each of N allowed actions (all k if `allowed` is empty) with probability `explore`, else the play.

    An action with probability p then has explore + (1 − N · explore) p. N · explore is at most 1.
    """
    return _explored(play, explore, k, allowed, uniform(seed, person, round_, EXPLORE, 0))


@kernel
def apply_exploration_floor_to_pair(
    play: tuple[int, int], explore: float, k: int, allowed: IntArray, seed: int, person: int, round_: int
) -> tuple[int, int]:
    """Apply the floor to both actions of a pair independently."""
    one = _explored(play[0], explore, k, allowed, uniform(seed, person, round_, EXPLORE, 0))
    return one, _explored(play[1], explore, k, allowed, uniform(seed, person, round_, EXPLORE, 1))


@kernel
def _explored(play: int, explore: float, k: int, allowed: IntArray, u: float) -> int:
    size = k if len(allowed) == 0 else len(allowed)
    if u >= size * explore:
        return play
    i = min(int(u / explore), size - 1)
    return i if len(allowed) == 0 else allowed[i]
