"""Latent preference bandits: personal decisions from preference orderings, in a handful of rounds.

    import lpbandits as lpb
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=7)
    action = agent.ask()
    agent.tell(action, 3.2)
    agent.posterior

Names are loaded when first used, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpbandits.agent import Agent as Agent
    from lpbandits.duels import DUEL_POLICIES as DUEL_POLICIES
    from lpbandits.duels import DoubleTS as DoubleTS
    from lpbandits.duels import DuellingWorld as DuellingWorld
    from lpbandits.duels import LpbDuel as LpbDuel
    from lpbandits.duels import LpbPaired as LpbPaired
    from lpbandits.duels import pair_up as pair_up
    from lpbandits.errors import FileFormatError as FileFormatError
    from lpbandits.errors import InvalidInput as InvalidInput
    from lpbandits.errors import LpbError as LpbError
    from lpbandits.errors import NotSupported as NotSupported
    from lpbandits.explain import Explanation as Explanation
    from lpbandits.fits import isotonic as isotonic
    from lpbandits.model import PreferenceModel as PreferenceModel
    from lpbandits.policies import MTS as MTS
    from lpbandits.policies import MUCB as MUCB
    from lpbandits.policies import POLICIES as POLICIES
    from lpbandits.policies import TS as TS
    from lpbandits.policies import UCB as UCB
    from lpbandits.policies import LpbTS as LpbTS
    from lpbandits.policies import Policy as Policy
    from lpbandits.policies import Setting as Setting
    from lpbandits.policies import Uniform as Uniform
    from lpbandits.policies.evidence import Consistency as Consistency
    from lpbandits.policies.evidence import Incremental as Incremental
    from lpbandits.policies.evidence import KnownMeans as KnownMeans
    from lpbandits.policies.evidence import Refit as Refit
    from lpbandits.policies.evidence import Tally as Tally
    from lpbandits.policies.rules import AnyAction as AnyAction
    from lpbandits.policies.rules import Optimism as Optimism
    from lpbandits.policies.rules import Sample as Sample
    from lpbandits.policies.rules import Thompson as Thompson
    from lpbandits.policies.rules import UpperBound as UpperBound
    from lpbandits.recovery import BradleyTerry as BradleyTerry
    from lpbandits.recovery import Ratings as Ratings
    from lpbandits.recovery import choose_states as choose_states
    from lpbandits.recovery import fit_bradley_terry as fit_bradley_terry
    from lpbandits.recovery import fit_states as fit_states
    from lpbandits.recovery import match_orderings as match_orderings
    from lpbandits.recovery import read_ratings as read_ratings
    from lpbandits.recovery import recover_em as recover_em
    from lpbandits.recovery import recover_two_stage as recover_two_stage
    from lpbandits.rewards import Rewards as Rewards
    from lpbandits.simulation import Results as Results
    from lpbandits.simulation import simulate as simulate
    from lpbandits.simulation import simulate_duels as simulate_duels
    from lpbandits.theory import LowerBound as LowerBound
    from lpbandits.theory import latent_bound as latent_bound
    from lpbandits.theory import lower_bound as lower_bound
    from lpbandits.theory import plain_bound as plain_bound
    from lpbandits.worlds import MeansWorld as MeansWorld
    from lpbandits.worlds import Population as Population
    from lpbandits.worlds import SyntheticWorld as SyntheticWorld

__version__ = "0.1.0"

_HOME = {
    "Agent": "agent",
    "FileFormatError": "errors",
    "InvalidInput": "errors",
    "LpbError": "errors",
    "NotSupported": "errors",
    "Explanation": "explain",
    "isotonic": "fits",
    "PreferenceModel": "model",
    "MTS": "policies",
    "MUCB": "policies",
    "POLICIES": "policies",
    "TS": "policies",
    "UCB": "policies",
    "LpbTS": "policies",
    "Policy": "policies",
    "Uniform": "policies",
    "Setting": "policies",
    "Consistency": "policies.evidence",
    "Incremental": "policies.evidence",
    "KnownMeans": "policies.evidence",
    "Refit": "policies.evidence",
    "Tally": "policies.evidence",
    "AnyAction": "policies.rules",
    "Optimism": "policies.rules",
    "Sample": "policies.rules",
    "Thompson": "policies.rules",
    "UpperBound": "policies.rules",
    "BradleyTerry": "recovery",
    "Ratings": "recovery",
    "choose_states": "recovery",
    "fit_bradley_terry": "recovery",
    "fit_states": "recovery",
    "match_orderings": "recovery",
    "read_ratings": "recovery",
    "recover_em": "recovery",
    "recover_two_stage": "recovery",
    "Rewards": "rewards",
    "Results": "simulation",
    "simulate": "simulation",
    "DUEL_POLICIES": "duels",
    "DoubleTS": "duels",
    "DuellingWorld": "duels",
    "LpbDuel": "duels",
    "LpbPaired": "duels",
    "pair_up": "duels",
    "simulate_duels": "simulation",
    "LowerBound": "theory",
    "lower_bound": "theory",
    "plain_bound": "theory",
    "latent_bound": "theory",
    "MeansWorld": "worlds",
    "Population": "worlds",
    "SyntheticWorld": "worlds",
}

__all__ = sorted([*_HOME, "__version__"])  # noqa: PLE0605 - sorted returns a list


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'lpbandits' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"lpbandits.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
