"""Faults in utilities that are known nearly, in information-directed choice, in floors and in learned noise."""

from tests.mutants.fault import Fault

UTILITY = ("tests/test_utility.py",)
EXPLORE = ("tests/test_explore.py",)
UTILITY_FILE = "policies/evidences/utility.py"
IDS_FILE = "policies/rules/ids.py"

POPULAR = ("tests/test_rules.py",)

FAULTS = [
    Fault(
        "popular: the model's own ordering is not read",
        "policies/evidences/standing.py",
        "if model.popular is not None:",
        "if False:",
        POPULAR,
    ),
    Fault(
        "popular: an ordering is taken for places",
        "policies/evidences/standing.py",
        "np.argsort(model.popular)[None, :]",
        "model.popular[None, :]",
        POPULAR,
    ),
    Fault(
        "popular: what stands lowest",
        "policies/rules/popular.py",
        "if b.table[0, action] < b.table[0, best]:",
        "if b.table[0, action] > b.table[0, best]:",
        POPULAR,
    ),
    Fault(
        "utility: errors are ignored",
        UTILITY_FILE,
        "np.minimum((errors**2).mean(axis=0), LARGEST_ERROR)",
        "0.0 * errors[0]",
        UTILITY,
    ),
    Fault("utility: no slack", UTILITY_FILE, "slack = self.slack * (10.0 /", "slack = 0.0 * (10.0 /", UTILITY),
    Fault("utility: a wide scale", UTILITY_FILE, "WIDTH = 0.5", "WIDTH = 5.0", UTILITY),
    Fault("utility: the guess does not fade", UTILITY_FILE, "(GUESS_WEIGHT + n - 1.0)", "GUESS_WEIGHT", UTILITY),
    Fault(
        "utility: a tried action is like an untried one",
        UTILITY_FILE,
        "(out[a] + c * b.slots[SUM, slot]) /",
        "out[a] * (1.0 + c * b.slots[COUNT, slot]) /",
        UTILITY,
    ),
    Fault(
        "utility: no isotonic share", UTILITY_FILE, "precision = 0.5 * share *", "precision = 0.0 * share *", UTILITY
    ),
    Fault(
        "utility: no determinant",
        UTILITY_FILE,
        "            b.states[SCORE, z] -= 0.5 * (1.0 - share) * np.log(b.own[XX, z])",
        "            b.states[SCORE, z] -= 0.0",
        UTILITY,
    ),
    Fault("utility: states are given up early", UTILITY_FILE, "HOPELESS = 10.0", "HOPELESS = 1.0", UTILITY),
    Fault(
        "information: the sign of the price",
        IDS_FILE,
        "2.0 * work[GAP, i] - price",
        "2.0 * work[GAP, i] + price",
        UTILITY,
    ),
    Fault(
        "information: never mixed",
        IDS_FILE,
        "share = (gap - price * learned) / more if more > 0.0 else 1.0",
        "share = 0.0",
        UTILITY,
    ),
    Fault(
        "information: doubts teach nothing",
        IDS_FILE,
        "p * (mean * mean + unsure * unsure)",
        "p * mean * mean",
        ("tests/test_rules.py",),
    ),
    Fault(
        "noise: a guess of 1 where there is none",
        "kernels/likelihood.py",
        "return squares / (count - 1.0)",
        "return 1.0",
        UTILITY,
    ),
    Fault("floor: half of it", "kernels/exploring.py", "u >= size * explore", "u >= 0.5 * size * explore", EXPLORE),
    Fault("floor: not in the simulator", "simulation/roll.py", "        policy.explore,\n", "        0.0,\n", EXPLORE),
    Fault(
        "floor: only among top actions",
        "policies/policy.py",
        "whole = self.allowed(allowed)",
        "whole = self.allowed(self.limited(allowed))",
        EXPLORE,
    ),
    Fault("floor: not saved", "policies/registry.py", 'content.get("explore", 0.0)', "0.0", EXPLORE),
]
