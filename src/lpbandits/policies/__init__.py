"""The policies. A new one is one file, and one line here; the contract tests then cover it.

A latent policy is an *evidence* (how probable is each state) and a *rule* (which action to play); see `parts`.
"""

from lpbandits.policies import double_ts, lpb_duel, lpb_paired, lpbts, mts, mucb, ts, ucb, uniform
from lpbandits.policies.belief import Belief
from lpbandits.policies.double_ts import DoubleTS
from lpbandits.policies.lpb_duel import LpbDuel
from lpbandits.policies.lpb_paired import LpbPaired
from lpbandits.policies.lpbts import LpbTS
from lpbandits.policies.mts import MTS
from lpbandits.policies.mucb import MUCB
from lpbandits.policies.parts import Evidence, Feedback, Rule
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import POLICIES, Entry, Setting, entry_of, make_policy, policy_from_dict, title_of
from lpbandits.policies.ts import TS
from lpbandits.policies.ucb import UCB
from lpbandits.policies.uniform import Uniform

__all__ = [
    "MTS",
    "MUCB",
    "POLICIES",
    "TS",
    "UCB",
    "Belief",
    "DoubleTS",
    "Entry",
    "Evidence",
    "Feedback",
    "LpbDuel",
    "LpbPaired",
    "LpbTS",
    "Policy",
    "Rule",
    "Setting",
    "Uniform",
    "entry_of",
    "make_policy",
    "policy_from_dict",
    "title_of",
]

for _file in (lpbts, lpb_paired, mts, mucb, ts, ucb, uniform, lpb_duel, double_ts):
    POLICIES.update({entry.name: entry for entry in _file.ENTRIES})
