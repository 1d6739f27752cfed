"""The arrays of kernels: a policy's constants and one person's belief; constants name their rows and columns.

A belief holds one *slot* per tried action, so its size and the cost of a decision grow with the number n of tried
actions, never with the number k of all actions. They are passed together as `Arrays`.
"""

from typing import NamedTuple

from lpbandits.typing import FloatArray, Int32Array, SlotArray


class Arrays(NamedTuple):
    """The arrays of one policy (`ranks` to `settings`) and of its belief about one person (`slots` to `work`).

    ranks     m×k    rank of each action in each state's ordering, smaller for a better one; without states 1×k, the
                     order of the actions. In a model with tiers twice the mid-rank, equal for the actions of a tier
    table     any    constants of the evidence, such as m×k known means
    settings  3×any  numbers of the rewards, the evidence and the rule: rows REWARDS, EVIDENCE, RULE
    slots     3×room rows COUNT, SUM, SPREAD per tried action
    states    4×m    rows SCORE, POSTERIOR, LOG_PRIOR, BEST per state; 4×0 without states
    own       any    the evidence's own statistics
    order     any×room  row 0: the action of each slot; row 1+z: the slots in the order of state z, best first, if the
                        evidence is `ordered` (without states, row 1: in the order of the actions). Within a tier they
                        are in the order of their mean rewards, largest first
    work      any×any   scratch: rows BLOCK_COUNT and BLOCK_SUM for the latest fit; from row RULE_WORK on the rule's
                        in `choose`, and the evidence's in `tell`
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
SPREAD = 2  # Σ (reward − mean)² if the noise is unknown, else 0
SLOT_ROWS = 3

# rows of states; the last two never change
SCORE = 0  # log-likelihood plus log prior, up to a common constant
POSTERIOR = 1
LOG_PRIOR = 2
BEST = 3  # the state's best action
STATE_ROWS = 4

# rows of settings
REWARDS, EVIDENCE, RULE = range(3)

# columns of the row REWARDS
FAMILY = 0
NOISE = 1  # 0 without a guess
GUESS_WEIGHT = 2  # weight of a guessed noise, in observations
TIERED = 3  # 1 if actions share a rank: the ordering of a state has tiers, and the evidence knows no order in them

# rows of work
BLOCK_COUNT, BLOCK_SUM, RULE_WORK = range(3)

# families of rewards; STUDENT is only simulated: policies treat such rewards as Gaussian
GAUSSIAN, GAUSSIAN_UNKNOWN, BERNOULLI, POISSON, STUDENT = range(5)
