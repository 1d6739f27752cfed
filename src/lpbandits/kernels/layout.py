"""What the rows of a belief mean, and the places of a policy's settings.

A belief is what a policy knows of one person: two arrays and the number n of tried actions. It holds one *slot* per
tried action, so its size and the cost of a decision grow with n, never with the number k of all actions.

    numbers  12×w float  rows COUNT to BLOCK_SUM per slot, SCORE to EXTRA_TOO per state, and the policy's settings
    order    (1+r)×w int row 0: the action of each slot; row 1+z: the slots in the order of state z, best first

A policy adds constant arrays (its settings travel with the belief: every array argument costs a call 0.05 µs):

    ranks     m×k int    place of each action in each state's ordering
    table     m×k float  known mean rewards (0×0 where none are known)
"""

# rows per slot
COUNT = 0
SUM = 1
SPREAD = 2  # Σ (reward − mean)²
BLOCK_COUNT = 3  # scratch: the blocks of the latest fit
BLOCK_SUM = 4

# rows per state
SCORE = 5  # log evidence plus log prior, up to a constant common to all states
POSTERIOR = 6
LOG_PRIOR = 7
BEST = 8  # the state's best action
EXTRA = 9  # two rows that belong to the evidence
EXTRA_TOO = 10

# the row of settings, and their places in it
SETTINGS = 11
ROWS = 12
FAMILY = 0
NOISE = 1
WEIGHT = 2  # how many observations a guessed noise is worth
FIRST = 3  # 1: the first action is uniform
PRIOR_MEAN = 4
PRIOR_SD = 5
LOG_HORIZON = 6
MARGIN = 7
PLACES = 8

# families of rewards
GAUSSIAN = 0
GAUSSIAN_UNKNOWN = 1
BERNOULLI = 2
POISSON = 3
