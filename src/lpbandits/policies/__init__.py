"""Policies: an evidence (how probable is each state) × a rule (which action to play), registered by name.

`base` defines the two interfaces, `Evidence` and `Rule`; `named` lists the named policies.
"""

from lpbandits.policies.base import Evidence, Feedback, Rule
from lpbandits.policies.belief import Belief
from lpbandits.policies.named import ENTRIES
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import POLICIES, Entry, Setting, entry_of, make_policy, policy_from_dict, title_of

__all__ = [
    "POLICIES",
    "Belief",
    "Entry",
    "Evidence",
    "Feedback",
    "Policy",
    "Rule",
    "Setting",
    "entry_of",
    "make_policy",
    "policy_from_dict",
    "title_of",
]

POLICIES.update({entry.name: entry for entry in sorted(ENTRIES, key=lambda entry: entry.place)})
