"""A tour of the library with every form of input array, to record what is compiled.

`python -m tests.guards.tour` prints, as JSON, the types for which one policy's loop compiles each kernel without a
cache, the types with which Python called each kernel, and the kernels that it never called.
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numba.core.dispatcher
import numpy as np
import polars as pl

import lpbandits as lpb
from lpbandits.fit.bradley_terry import MAX_EXACT_ACTIONS
from lpbandits.kernels.compiler import _Cache
from lpbandits.paper.movielens import MovieLensTask
from lpbandits.simulation import rollout
from lpbandits.simulation.bounds import bound_world
from tests.conftest import REWARDS, model_for
from tests.guards.kernels import kernels, name_of
from tests.logs import log_of

Form = Callable[[Any], Any]
Dispatcher: Any = numba.core.dispatcher.Dispatcher  # numba has no types
POLICIES = lpb.policies.POLICIES


def read_only(a: Any) -> Any:
    out = a.copy()
    out.setflags(write=False)
    return out


FORMS: dict[str, Form] = {
    "plain": np.copy,
    "list": lambda a: a.tolist(),
    "32 bits": lambda a: a.astype(np.int32 if a.dtype.kind == "i" else np.float32),  # exact for the numbers used here
    "read-only": read_only,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "Fortran": lambda a: np.array(a, order="F"),
    "swapped bytes": lambda a: a.astype(a.dtype.newbyteorder()),
}
"""The same numbers in every form that users pass."""

SOME = ("lpbts", "taste", "lpb-duel")
"""Policies that are tried with every form and in every way; the others only with plain arrays."""


@contextmanager
def recorded() -> Iterator[dict[str, list[str]]]:
    """Yield the types with which Python calls each kernel for the first time."""
    signatures: dict[str, list[str]] = {}
    compile_for = Dispatcher._compile_for_args

    def recording(dispatcher: Any, *args: Any, **kws: Any) -> Any:
        types = ", ".join(str(dispatcher.typeof_pyval(value)) for value in args)
        signatures.setdefault(name_of(dispatcher), []).append(types)
        return compile_for(dispatcher, *args, **kws)

    with patch.object(Dispatcher, "_compile_for_args", recording):
        yield signatures


def policies() -> Iterator[tuple[str, lpb.Policy, Form]]:
    """Yield policies over models in every form, with their name and the form."""
    plain = model_for(REWARDS["gaussian"], m=3, k=5)
    assert plain.means is not None
    means, prior = np.round(4.0 * plain.means) / 4.0, np.array([0.5, 0.25, 0.25])
    with tempfile.TemporaryDirectory() as folder:
        plain.save(Path(folder, "model.json"))
        models = [(lpb.PreferenceModel.load(Path(folder, "model.json")), FORMS["plain"])]
    for form in FORMS.values():
        model = lpb.PreferenceModel(form(plain.orderings), prior=form(prior), means=form(means), taste=plain.taste)
        models.append((model, form))
    for i, (model, form) in enumerate(models):
        for name in SOME if i else POLICIES:
            yield name, POLICIES[name].build(lpb.policies.Setting(model, REWARDS["gaussian"], 6)), form
    tiered = lpb.PreferenceModel(plain.orderings, tiers=[[2, 3]] * 3, means=means, taste=plain.taste)
    for name in SOME:
        yield name, POLICIES[name].build(lpb.policies.Setting(tiered, REWARDS["gaussian"], 6)), FORMS["plain"]


def play(policy: lpb.Policy, form: Form) -> None:
    """Simulate with and without offered sets, and with an exploration floor."""
    model = policy.model
    truth, means = form(np.array([0, 1, 2, 0])), form(np.arange(4.0 * model.n_actions).reshape(4, -1) / 4.0)
    for sets in (np.empty((1, 1, 0), dtype=np.int64), np.tile(np.array([0, 2, 3]), (4, 3, 1))):
        people = lpb.worlds.Population(model, truth, means, lpb.Rewards(), form(sets))
        rollout(policy, people, rounds=3, seed=1)
        rollout(policy.exploring(0.1), people.cut(slice(1, 3)), rounds=2, seed=2**63 - 1, first_person=2**40)


def converse(policy: lpb.Policy) -> None:
    """Ask and tell an agent with rewards of every type, save it and continue."""
    agent = lpb.Agent(policy.exploring(0.05), seed=3)
    allowed: Any = np.array([1, 2], dtype=np.int32)
    rewards: list[Any] = [1, 2.5, np.float32(0.5), np.int64(2), True]
    for reward in rewards:
        if policy.feedback == "duels":
            one, other = agent.ask_pair([0, 1, 3])
            agent.tell_duel(*((one, other) if one != other else (0, 1)))
        else:
            agent.tell(agent.ask(allowed), reward)
    agent = lpb.Agent.from_json(agent.to_json())
    agent = lpb.Agent(agent.policy, belief=lpb.Belief.unpack(agent.policy, agent.belief.pack()), seed=4)
    if policy.feedback == "rewards":
        agent.ask()
        agent.probabilities()
        if policy.evidence.latent and policy.model.tiers is None:
            agent.best(allowed)
    agent.explain()


def decide(policy: lpb.Policy, form: Form) -> None:
    """Simulate without replacement, and decide for people whose histories come as arrays and as a frame."""
    means = form(np.arange(4.0 * policy.model.n_actions).reshape(4, -1) / 4.0)
    people = lpb.worlds.Population(policy.model, np.array([0, 1, 2, 0]), means, lpb.Rewards(), without_replacement=True)
    rollout(policy, people, rounds=3, seed=1)
    person, action, reward = np.array([7, 7, 9, 9, 9]), np.array([0, 1, 2, 0, 3]), np.array([1.0, 0.5, 2.0, 0.25, 4.0])
    past = lpb.Histories.from_arrays(form(person), form(action), form(reward), policy.model, people=[7, 8, 9])
    lpb.decide(policy, past, seed=1)
    same = lpb.Histories(form(past.offsets), form(past.action), form(past.reward), past.people, past.actions)
    lpb.decide(policy, same, seed=1, exclude_seen=True, allowed=form(np.array([0, 2, 4])))
    lpb.decide(policy.exploring(0.05), same, seed=1, allowed={7: [0, 1], 8: [2], 9: [0, 4]})
    lpb.decide(policy, lpb.read_ratings(pl.DataFrame({"person": person, "action": action, "rating": reward})))


def fit() -> None:
    """Fit logs of every form with every estimator, and use the model."""
    log = log_of(90, 12, share=0.7, states=2, levels=5)
    labels: dict[str, Any] = {"people": log.people, "actions": log.actions}
    for i, form in enumerate(FORMS.values()):
        rows = form(log.owner), form(log.action.astype(np.int64)), form(log.rating)
        if i % 3 == 0:
            ratings = lpb.Ratings.from_arrays(*rows)
        elif i % 3 == 1:
            ratings = lpb.Ratings.from_codes(*rows, **labels)
        else:
            ratings = lpb.Ratings(form(log.offsets), form(log.action), form(log.rating), **labels)
        fitted = lpb.fit_states(ratings, lpb.TwoStage(restarts=1), states=2, threads=1)
        lpb.states_of(fitted.model, ratings)
        lpb.fit.fit_bradley_terry(form(np.arange(9).reshape(3, 3)))
    lpb.simulate(lpb.ReplayWorld(fitted.model, ratings, least=4), ["lpbts", "taste"], people=3, rounds=2)
    columns = {"person": log.owner, "action": log.action, "rating": log.rating}
    with lpb.spill_ratings(pl.DataFrame({name: read_only(column) for name, column in columns.items()})) as chunks:
        lpb.fit_states(chunks, lpb.TwoStage(), states=2, threads=1)
    lpb.fit.fit_bradley_terry(np.ones((MAX_EXACT_ACTIONS + 1, MAX_EXACT_ACTIONS + 1)))
    sparse = log_of(120, 200, share=0.06, states=2, levels=5)  # its pairs are counted one by one
    lpb.fit_states(sparse, lpb.TwoStage(), states=1, threads=1)
    lpb.fit_states(log, lpb.Em(restarts=1), states=2, pairs_per_person=20)
    lpb.fit_states(log, lpb.Mixture(restarts=1), states=2, pairs_per_person=20)
    lpb.fit_states(sparse, lpb.Mixture(restarts=2), states=2, threads=1)
    for actions in (4, 15):  # exact and approximate means over arrangements
        lpb.fit.choose_states(log_of(24, actions, share=1.0, states=2), candidates=[1, 2])
    person, action = np.divmod(np.arange(2 * 33_000), 2)  # counts need four bytes
    large = lpb.Ratings.from_codes(person, action, action + 1.0, people=tuple(range(33_000)), actions=(0, 1))
    lpb.fit_states(large, lpb.TwoStage(), states=1, taste=False)
    _ = fitted.model.kendall
    raw = lpb.fit_states(log, lpb.TwoStage(scale="raw"), states=2, pairs_per_person=20)
    lpb.fit.match_orderings(fitted.model, raw.model)


def call_others() -> None:
    """Call the kernels that no policy and no fit calls."""
    lpb.evaluate(log_of(60, 12, states=2, noise=0.5), states=2, rounds=3)
    no_people, genres = np.empty(0, dtype=np.int64), (("Drama",), ("Drama", "Crime"), ("Crime",))
    MovieLensTask(lpb.PreferenceModel([[0, 1, 2]]), np.zeros((1, 3)), no_people, no_people, genres, 1).offered(2, 2)
    for world in (
        lpb.SyntheticWorld(states=3, actions=4),
        lpb.SyntheticWorld(states=3, actions=4, scale="different", gaps="steps", swap=0.5, model_error=0.5),
        lpb.SyntheticWorld(states=3, actions=4, tiers=2),
    ):
        lpb.simulate(world, ["lpbts"], people=2, draws=2, rounds=3)
        lpb.simulate(world, ["lpbts"], people=2, rounds=3, stop=0.5)
    bound_world(lpb.SyntheticWorld(states=3, actions=4), people=1)


def compiled_by_a_loop() -> dict[str, list[str]]:
    """Return the types for which each kernel is compiled for one policy, if nothing is cached."""
    model = model_for(REWARDS["gaussian"], m=3, k=5)
    people = lpb.worlds.Population(model, np.array([0]), np.ones((1, 5)), lpb.Rewards())
    with patch.object(_Cache, "load_overload", return_value=None), patch.object(_Cache, "save_overload"):
        rollout(lpb.LpbTS(model), people, rounds=2, seed=1)
    compiled = {name: kernel.signatures for name, kernel in kernels().items()}
    return {name: [str(types) for types in signatures] for name, signatures in compiled.items() if signatures}


def tour() -> dict[str, Any]:
    """Return what is compiled, and the kernels that are compiled alone and uncalled."""
    with recorded() as called:
        loop = compiled_by_a_loop()
        for name, policy, form in policies():
            play(policy, form)
            converse(policy)
            if policy.feedback == "rewards" and name in SOME:
                decide(policy, form)
        fit()
        call_others()
    alone = {name: kernel for name, kernel in kernels().items() if not kernel.targetoptions.get("forceinline")}
    uncalled = [name for name, kernel in alone.items() if not kernel.signatures]
    return {"loop": loop, "called": called, "alone": list(alone), "uncalled": uncalled}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(tour(), sys.stdout)
