"""The policies: each is one file of this folder, whose `ENTRIES` register it by being there.

A latent policy is an *evidence* (how probable is each state) and a *rule* (which action to play); see `parts`.
"""

from importlib import import_module
from pkgutil import iter_modules

from lpbandits.policies.base import Evidence, Feedback, Rule
from lpbandits.policies.belief import Belief
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

_files = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
_entries = [entry for file in _files for entry in getattr(file, "ENTRIES", ())]
POLICIES.update({entry.name: entry for entry in sorted(_entries, key=lambda entry: entry.place)})
