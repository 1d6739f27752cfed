"""The tables of named policies: how each is built, its title, what it knows, and what it assumes or does."""

from collections.abc import Callable

from lpbandits.policies.base import Feedback
from lpbandits.policies.baselines import TS, UCB, DoubleTS, Popular, Taste, Uniform
from lpbandits.policies.latent import MTS, MUCB, LpbDuel, LpbHorizon, LpbIDS, LpbOrderUcb, LpbPaired, LpbTS, LpbUtility
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import APPROXIMATE, MEANS, NOTHING, ORDERINGS, TASTES, TOP, Entry, Setting

_BUILDERS: dict[str, Callable[[Setting], Policy]] = {
    "lpbts": lambda s: LpbTS(s.model, rewards=s.rewards, first=s.first),
    "lpbts-incremental": lambda s: LpbTS(s.model, rewards=s.rewards.as_known, likelihood="incremental", first=s.first),
    "lpbts-marginal": lambda s: LpbTS(s.model, rewards=s.rewards, likelihood="marginal", first=s.first),
    "lpb-paired": lambda s: LpbPaired(s.model, rewards=s.rewards.as_known, first=s.first),
    "lpb-order-ucb": lambda s: LpbOrderUcb(s.model, rewards=s.rewards.as_known),
    "lpb-utility": lambda s: LpbUtility(s.model, rewards=s.guess),
    "lpb-ids": lambda s: LpbIDS(s.model, rewards=s.guess),
    "lpb-horizon": lambda s: LpbHorizon(s.model, rounds=s.rounds, rewards=s.guess),
    "mts": lambda s: MTS(s.model, rewards=s.rewards, first=s.first),
    "mucb": lambda s: MUCB(s.model, rewards=s.rewards.as_known, rounds=s.rounds),
    "ts": lambda s: TS(s.model, rewards=s.rewards.as_known),
    "ts-top": lambda s: TS(s.model, rewards=s.rewards.as_known, top=True),
    "ucb": lambda s: UCB(s.model, rewards=s.rewards.as_known),
    "ucb-top": lambda s: UCB(s.model, rewards=s.rewards.as_known, top=True),
    "taste": lambda s: Taste(s.model, rewards=s.rewards),
    "popular": lambda s: Popular(s.model, rewards=s.rewards),
    "uniform": lambda s: Uniform(s.model, rewards=s.rewards.as_known),
    "lpb-duel": lambda s: LpbDuel(s.model),
    "double-ts": lambda s: DoubleTS(s.model),
    "double-ts-top": lambda s: DoubleTS(s.model, top=True),
}

_DESCRIPTIONS: dict[Feedback, tuple[tuple[str, str, str, str], ...]] = {
    "rewards": (
        ("lpbts", "lpbTS", ORDERINGS, "a person's mean rewards follow one of the orderings, on any scale"),
        ("lpbts-incremental", "lpbTS, incremental", ORDERINGS, "as lpbts; a round adds the newest reward's likelihood"),
        ("lpbts-marginal", "lpbTS, marginal", ORDERINGS, "as lpbts; the exact posterior instead of a bound"),
        ("lpb-paired", "lpbTS, rewards paired", ORDERINGS, "as lpbts; only compares consecutive pairs of rewards"),
        (
            "lpb-order-ucb",
            "lpb-order-ucb",
            ORDERINGS,
            "as lpbts; drops orderings that bounds contradict, deterministic",
        ),
        ("lpb-utility", "lpb-utility", APPROXIMATE, "a person's means are close to a state's utilities, on any scale"),
        ("lpb-ids", "lpb-ids", APPROXIMATE, "as lpb-utility; tries actions that distinguish states"),
        ("lpb-horizon", "lpb-horizon", APPROXIMATE, "as lpb-utility; plans for a known number of rounds"),
        ("mts", "mTS", MEANS, "people of one state share the same means exactly"),
        ("mucb", "mUCB", MEANS, "as mts; plays the most optimistic action, deterministic"),
        ("ts", "TS", NOTHING, "every action has its own mean, with a weak normal prior"),
        ("ts-top", "TS, top actions", TOP, "as ts, among those actions"),
        ("ucb", "UCB", NOTHING, "every action has its own mean"),
        ("ucb-top", "UCB, top actions", TOP, "as ucb, among those actions"),
        ("taste", "taste", TASTES, "people's tastes vary as in the log, and each action is given once"),
        ("popular", "popular", ORDERINGS, "people hardly differ; learns nothing about a person"),
        ("uniform", "uniform", NOTHING, "nothing; plays at random"),
    ),
    "duels": (
        ("lpb-duel", "lpb-duel", ORDERINGS, "the action that a person's state prefers wins more often than not"),
        ("double-ts", "double TS", NOTHING, "every pair has its own win probability; some action beats most others"),
        ("double-ts-top", "double TS, top actions", TOP, "as double-ts, among those actions"),
    ),
}

ENTRIES = tuple(
    Entry(name, _BUILDERS[name], title, knows, assumes, feedback)
    for feedback, rows in _DESCRIPTIONS.items()
    for name, title, knows, assumes in rows
)
