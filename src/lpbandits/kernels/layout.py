"""What the rows of a belief's arrays mean, and the places of a policy's settings.

A belief is what a policy knows of one person. It holds one *slot* per tried action, so its size and the cost of a
decision grow with the number of tried actions n, never with the number k of all actions.

    stats   5×n float   per slot: count, sum, spread; then two rows of scratch for the blocks of a fit
    order   (1+r)×n int row 0: the action of each slot; row 1+z: the slots in the order of state z, best first
    states  5×m float   per state: score, posterior, log prior, and two rows that belong to the evidence

A policy adds constant arrays:

    ranks     m×k int   place of each action in each state's ordering
    table     m×k float known mean rewards (0×0 where none are known)
    best      int       best action of each state, or the actions a policy is limited to
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
EXTRA = 3
EXTRA_TOO = 4
STATES_ROWS = 5

# places in settings
FAMILY = 0
NOISE = 1
WEIGHT = 2  # how many observations a guessed noise is worth
FIRST = 3  # 1: the first action is uniform
TOP = 4  # 1: only actions that are best in some state
PRIOR_MEAN = 5
PRIOR_SD = 6
LOG_HORIZON = 7
MARGIN = 8
SETTINGS = 9

# families of rewards
GAUSSIAN = 0
GAUSSIAN_UNKNOWN = 1
BERNOULLI = 2
POISSON = 3
