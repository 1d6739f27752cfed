"""A way through the whole library with every kind of array that a user may have, and what the compiler made on it.

`python -m tests.guards.tour whole` prints, as JSON, the types for which Python called each kernel anew, and the kernels
that it did not call. What kernels call among themselves is not told: it depends on what an earlier process left behind;
`python -m tests.guards.tour loop` tells it of one policy.
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba.core.dispatcher
import numpy as np
import polars as pl

import lpbandits as lpb
from lpbandits.fit.bradley_terry import EXACT
from lpbandits.paper.movielens import MovieLensTask
from lpbandits.simulation import rollout
from lpbandits.simulation.bounds import bound_world
from lpbandits.simulation.sums import Distribution, to_bins
from tests.conftest import REWARDS, model_for
from tests.guards.kernels import kernels, name_of
from tests.logs import log_of

Kind = Callable[[Any], Any]
Dispatcher: Any = numba.core.dispatcher.Dispatcher  # its insides have no types


def narrow(a: Any) -> Any:
    """Return numbers in 32 bits, which hold the whole numbers and quarters that are used here."""
    return a.astype(np.int32 if a.dtype.kind == "i" else np.float32)


def read_only(a: Any) -> Any:
    out = a.copy()
    out.setflags(write=False)
    return out


KINDS: dict[str, Kind] = {
    "plain": np.copy,
    "list": lambda a: a.tolist(),
    "narrow": narrow,
    "read-only": read_only,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "Fortran": lambda a: np.array(a, order="F"),
    "swapped bytes": lambda a: a.astype(a.dtype.newbyteorder()),
}
"""The same numbers in every form in which they come."""


class Noted:
    """Notes, while it is entered, for which types Python calls each kernel anew."""

    def __init__(self) -> None:
        self.signatures: dict[str, list[str]] = {}

    def __enter__(self) -> "Noted":
        self._usual = Dispatcher._compile_for_args
        usual, notes = self._usual, self.signatures

        def noting(dispatcher: Any, *args: Any, **kws: Any) -> Any:
            types = ", ".join(str(dispatcher.typeof_pyval(value)) for value in args)
            notes.setdefault(name_of(dispatcher), []).append(types)
            return usual(dispatcher, *args, **kws)

        Dispatcher._compile_for_args = noting
        return self

    def __exit__(self, *_: object) -> None:
        Dispatcher._compile_for_args = self._usual


def models() -> Iterator[lpb.PreferenceModel]:
    """Make the same model of arrays of every kind, and read it from its file."""
    one = model_for(REWARDS["gaussian"], m=3, k=5)
    assert one.means is not None
    means, prior = np.round(4.0 * one.means) / 4.0, np.array([0.5, 0.25, 0.25])
    for kind in KINDS.values():
        yield lpb.PreferenceModel(kind(one.orderings), prior=kind(prior), means=kind(means), taste=one.taste)
    with tempfile.TemporaryDirectory() as folder:
        one.save(Path(folder, "model.json"))
        yield lpb.PreferenceModel.load(Path(folder, "model.json"))


def policies(model: lpb.PreferenceModel) -> Iterator[lpb.Policy]:
    for entry in lpb.policies.POLICIES.values():
        yield entry.build(lpb.policies.Setting(model, REWARDS["gaussian"], 6))


def play(policy: lpb.Policy) -> None:
    """Play with people of every kind of array: with and without offers, a floor, and actions given once."""
    model = policy.model
    k, truth = model.n_actions, np.array([0, 1, 2, 0])
    means = np.arange(4.0 * k).reshape(4, k) / 4.0
    every, some = np.empty((1, 1, 0), dtype=np.int64), np.tile(np.array([0, 2, 3]), (4, 3, 1))
    for kind in KINDS.values():
        for sets in (every, some):
            people = lpb.worlds.Population(model, kind(truth), kind(means), lpb.Rewards(), kind(sets))
            rollout(policy, people, rounds=3, seed=1)
            rollout(policy.exploring(0.1), people.cut(slice(1, 3)), rounds=2, seed=2**63 - 1, first_person=2**40)
        if policy.feedback == "rewards":
            rollout(
                policy,
                lpb.worlds.Population(model, kind(truth), kind(means), lpb.Rewards(), without_replacement=True),
                rounds=3,
                seed=1,
            )


def converse(policy: lpb.Policy) -> None:
    """Ask and tell an agent, with rewards of every type, and go on with what was saved."""
    agent = lpb.Agent(policy.exploring(0.05), seed=3)
    some: Any = np.array([1, 2], dtype=np.int32)
    rewards: list[Any] = [1, 2.5, np.float32(0.5), np.int64(2), True]
    for reward in rewards:
        if policy.feedback == "duels":
            one, other = agent.ask_pair([0, 1, 3])
            agent.tell_duel(*((one, other) if one != other else (0, 1)))
        else:
            agent.tell(agent.ask(some), reward)
    agent = lpb.Agent.from_json(agent.to_json())
    agent = lpb.Agent(agent.policy, belief=lpb.Belief.unpack(agent.policy, agent.belief.pack()), seed=4)
    if policy.feedback == "rewards":
        agent.ask()
        agent.probabilities()
    agent.explain()


def decisions(policy: lpb.Policy) -> None:
    """Decide for people whose histories come as arrays of every kind, and as a frame."""
    person, action, reward = np.array([7, 7, 9, 9, 9]), np.array([0, 1, 2, 0, 3]), np.array([1.0, 0.5, 2.0, 0.25, 4.0])
    for kind in KINDS.values():
        past = lpb.Histories.from_arrays(kind(person), kind(action), kind(reward), policy.model, people=[7, 8, 9])
        lpb.decide(policy, past, seed=1)
        whole = lpb.Histories(kind(past.offsets), kind(past.action), kind(past.reward), past.people, past.actions)
        lpb.decide(policy, whole, seed=1, exclude_seen=True, allowed=kind(np.array([0, 2, 4])))
        lpb.decide(policy.exploring(0.05), whole, seed=1, allowed={7: [0, 1], 8: [2], 9: [0, 4]})
    frame = pl.DataFrame({"person": person, "action": action, "rating": reward})
    lpb.decide(policy, lpb.read_ratings(frame))


def crowd() -> lpb.Ratings:
    """Return so many people that counts need four bytes."""
    person, action = np.divmod(np.arange(2 * 33_000), 2)
    return lpb.Ratings.from_codes(person, action, action + 1.0, people=tuple(range(33_000)), actions=(0, 1))


def fits() -> None:
    """Fit logs of every kind of array in every way, and use what was fitted."""
    log = log_of(90, 12, share=0.7, states=2, levels=5)
    for kind in KINDS.values():
        rows = kind(log.owner), kind(log.action.astype(np.int64)), kind(log.rating)
        for one in (
            lpb.Ratings.from_arrays(*rows),
            lpb.Ratings.from_codes(*rows, people=log.people, actions=log.actions),
            lpb.Ratings(kind(log.offsets), kind(log.action), kind(log.rating), log.people, log.actions),
        ):
            fitted = lpb.fit_states(one, lpb.TwoStage(), states=2, threads=1)
            lpb.states_of(fitted.model, one)
            lpb.simulate(lpb.ReplayWorld(fitted.model, one, least=4), ["lpbts", "taste"], people=3, rounds=2)
        lpb.fit.fit_bradley_terry(kind(np.arange(9).reshape(3, 3)))
        columns = {"person": one.owner, "action": one.action, "rating": one.rating}
        with lpb.spill_ratings(pl.DataFrame({name: kind(column) for name, column in columns.items()})) as parts:
            lpb.fit_states(parts, lpb.TwoStage(), states=2, threads=1)
    lpb.fit.fit_bradley_terry(np.ones((EXACT + 1, EXACT + 1)))
    few_of_many = log_of(120, 200, share=0.06, states=2, levels=5)  # whose pairs are gone through one by one
    lpb.fit_states(few_of_many, lpb.TwoStage(), states=1, threads=1)
    lpb.fit_states(log, lpb.Em(restarts=1), states=2, pairs_per_person=20)
    lpb.fit_states(crowd(), lpb.TwoStage(), states=1, taste=False)
    _ = fitted.model.kendall
    lpb.fit.match_orderings(
        fitted.model, lpb.fit_states(log, lpb.TwoStage(scale="raw"), states=2, pairs_per_person=20).model
    )


def the_rest() -> None:
    """Go where kernels are that no policy and no fit calls."""
    for kind in KINDS.values():
        lpb.isotonic(kind(np.array([1.0, 3.0, 2.0])))
        lpb.isotonic(kind(np.array([1, 3, 2])), weights=kind(np.array([1, 2, 1])))
    lpb.evaluate(log_of(60, 12, states=2, noise=0.5), states=2, rounds=3)
    nobody, genres = np.empty(0, dtype=np.int64), (("Drama",), ("Drama", "Crime"), ("Crime",))
    MovieLensTask(lpb.PreferenceModel([[0, 1, 2]]), np.zeros((1, 3)), nobody, nobody, genres, 1).offered(2, 2)
    for world in (
        lpb.SyntheticWorld(states=3, actions=4),
        lpb.SyntheticWorld(states=3, actions=4, scale="different", gaps="steps", swap=0.5, model_error=0.5),
    ):
        lpb.simulate(world, ["lpbts"], people=2, draws=2, rounds=3)
    bound_world(lpb.SyntheticWorld(states=3, actions=4), people=1)
    for rounds in (np.ones((2, 3)), np.ones((3, 2)).T):
        Distribution().add(to_bins(rounds))


def the_whole_way() -> dict[str, Any]:
    """Return for which types Python called each kernel, and which of those that stand alone nobody called."""
    with Noted() as noted:
        for model in models():
            for policy in policies(model):
                play(policy)
                converse(policy)
                if policy.feedback == "rewards":
                    decisions(policy)
        fits()
        the_rest()
    alone = {name: kernel for name, kernel in kernels().items() if not kernel.targetoptions.get("forceinline")}
    unmet = [name for name, kernel in alone.items() if not kernel.signatures]
    return {"met": noted.signatures, "alone": list(alone), "unmet": unmet}


def one_loop() -> dict[str, Any]:
    """Return for which types each kernel was compiled for one policy, if nothing was kept of an earlier process."""
    model = model_for(REWARDS["gaussian"], m=3, k=5)
    policy = lpb.LpbTS(model)
    rollout(policy, lpb.worlds.Population(model, [0], np.ones((1, 5)), lpb.Rewards()), rounds=2, seed=1)  # type: ignore[arg-type] # lists will do
    lpb.decide(policy, lpb.Histories.from_arrays([1], [0], [1.0], model))
    compiled = {name: [str(types) for types in kernel.signatures] for name, kernel in kernels().items()}
    return {name: types for name, types in compiled.items() if types}


def main() -> None:
    """Go the way that is named, and print what was compiled on it."""
    warnings.simplefilter("ignore")
    ways = {"whole": the_whole_way, "loop": one_loop}
    json.dump(ways[sys.argv[1]](), sys.stdout)


if __name__ == "__main__":
    main()
