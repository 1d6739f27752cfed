"""Kernel that draws the offered actions of a person and round."""

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.kernels.random import OFFER, below, uniform
from lpbandits.typing import IntArray


@jit_in_place
def diverse_sets(
    starts: IntArray,
    members: IntArray,
    owner_starts: IntArray,
    owners: IntArray,
    seed: int,
    first_person: int,
    out: IntArray,
    stamp: IntArray,
    left: IntArray,
    turn: IntArray,
) -> None:
    """Fill `out` (people × rounds × size) with sets of actions, drawn from the genres in turn.

    Genre g has actions members[starts[g]:starts[g+1]], action a has genres owners[owner_starts[a]:owner_starts[a+1]].
    Genres take turns in random order; in its turn, a genre gives a random action that is not yet chosen. Sets are in
    ascending order. `stamp` (per action, initially 0), `left` and `turn` (per genre) are scratch arrays.
    """
    people, rounds, size = out.shape
    genres = len(left)
    mark = 0
    for p in range(people):
        for t in range(rounds):
            mark += 1
            draw = 0
            for g in range(genres):
                left[g] = starts[g + 1] - starts[g]
                turn[g] = g
            for g in range(genres - 1, 0, -1):
                other = below(uniform(seed, first_person + p, t, OFFER, draw), g + 1)
                draw += 1
                turn[g], turn[other] = turn[other], turn[g]
            chosen = 0
            at = 0
            while chosen < size:
                g = turn[at % genres]
                at += 1
                if left[g] == 0:
                    continue
                action = -1
                while action < 0:
                    width = starts[g + 1] - starts[g]
                    candidate = members[starts[g] + below(uniform(seed, first_person + p, t, OFFER, draw), width)]
                    draw += 1
                    if stamp[candidate] != mark:
                        action = candidate
                stamp[action] = mark
                chosen += 1
                for i in range(owner_starts[action], owner_starts[action + 1]):
                    left[owners[i]] -= 1
            filled = 0
            for action in range(len(stamp)):
                if stamp[action] == mark:
                    out[p, t, filled] = action
                    filled += 1
