"""What kernels work on: a policy's constants and one person's belief, as plain arrays named by what indexes them.

A belief holds one *slot* per tried action, so its size and the cost of a decision grow with the number n of tried
actions, never with the number k of all actions. Among kernels the arrays travel together as `Arrays`, which costs
nothing there; from Python they come as a frame of addresses (`kernels.doors`).
"""

from typing import NamedTuple

from lpbandits.typing import FloatArray, Int32Array, SlotArray


class Arrays(NamedTuple):
    """The arrays of one policy (`ranks` to `settings`) and of what it believes of one person (`slots` to `order`).

    ranks     m×k    place of each action in each state's ordering; without states 1×k, the actions' own order
    table     any    what the evidence knows beforehand, in a shape of its own: known means are m×k
    settings  3×any  numbers of the rewards, the evidence and the rule: rows REWARDS, EVIDENCE, RULE
    slots     3×room rows COUNT, SUM, SPREAD per tried action
    states    4×m    rows SCORE, POSTERIOR, LOG_PRIOR, BEST per state; 4×0 without states
    own       any    what belongs to the evidence alone, in a shape of its own
    order     any×room  row 0: the action of each slot; row 1+z: the slots in the order of state z, best first, where
                        the evidence keeps them in order (without states, row 1: in the order of the actions)
    work      any×any   scratch: rows BLOCK_COUNT and BLOCK_SUM for the latest fit; from row RULE_WORK on the rule's
                        while it chooses, and the evidence's while it is told
    """

    ranks: Int32Array
    table: FloatArray
    settings: FloatArray
    slots: FloatArray
    states: FloatArray
    own: FloatArray
    order: SlotArray
    work: FloatArray


# rows of slots
COUNT = 0
SUM = 1
SPREAD = 2  # Σ (reward − mean)², where the noise is unknown; else 0
SLOT_ROWS = 3

# rows of states; the last two never change
SCORE = 0  # what the posterior follows from; mostly log evidence plus log prior, up to a common constant
POSTERIOR = 1
LOG_PRIOR = 2
BEST = 3  # the state's best action
STATE_ROWS = 4

# rows of settings
REWARDS = 0
EVIDENCE = 1
RULE = 2

# places in the row REWARDS
FAMILY = 0
NOISE = 1  # 0 where there is not even a guess
GUESS_WEIGHT = 2  # how many observations a guessed noise is worth

# rows of work
BLOCK_COUNT = 0
BLOCK_SUM = 1
RULE_WORK = 2

# families of rewards
GAUSSIAN = 0
GAUSSIAN_UNKNOWN = 1
BERNOULLI = 2
POISSON = 3
STUDENT = 4  # only drawn: policies take such rewards for Gaussian ones
