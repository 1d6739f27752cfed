"""What the rows of a belief's arrays mean, and the places of a policy's settings.

A belief is what a policy knows of one person. It holds one *slot* per tried action, so its size and the cost of a
decision grow with the number of tried actions n, never with the number k of all actions.

    stats   5×n float   per slot: count, sum, spread; then two rows of scratch for the blocks of a fit
    order   (1+r)×n int row 0: the action of each slot; row 1+z: the slots in the order of state z, best first
    states  6×m float   per state: score, posterior, log prior, best action, and two rows that belong to the evidence

A policy adds constant arrays:

    ranks     m×k int   place of each action in each state's ordering
    table     m×k float known mean rewards (0×0 where none are known)
    settings  float     the numbers below
"""

# rows of stats
COUNT = 0
SUM = 1
SPREAD = 2  # Σ (reward − mean)²
BLOCK_COUNT = 3
BLOCK_SUM = 4
STATS_ROWS = 5

# rows of states
SCORE = 0  # log evidence plus log prior, up to a constant common to all states
POSTERIOR = 1
LOG_PRIOR = 2
BEST = 3  # the state's best action
EXTRA = 4
EXTRA_TOO = 5
STATES_ROWS = 6

# places in settings
FAMILY = 0
NOISE = 1
WEIGHT = 2  # how many observations a guessed noise is worth
FIRST = 3  # 1: the first action is uniform
PRIOR_MEAN = 4
PRIOR_SD = 5
LOG_HORIZON = 6
MARGIN = 7
SETTINGS = 8

# families of rewards
GAUSSIAN = 0
GAUSSIAN_UNKNOWN = 1
BERNOULLI = 2
POISSON = 3
