"""Rollouts: all rounds of one policy with some people."""

import warnings

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput, LockInWarning, translate_errors
from lpbandits.kernels.choices import apply_exploration_floor, apply_exploration_floor_to_pair
from lpbandits.kernels.outcomes import People, duelled, rewarded
from lpbandits.limits import check_memory
from lpbandits.policies import Policy
from lpbandits.simulation.kernels import Offers, Trace, offer_once, offer_sets, rollout_of
from lpbandits.worlds import COMPARISONS, Population


@translate_errors("playing rounds")
def rollout(policy: Policy, people: Population, *, rounds: int, seed: int, first_person: int = 0) -> Trace:
    """Play `rounds` rounds with every person of a population; person i has the random stream `first_person` + i.

    >>> from lpbandits import LpbTS, SyntheticWorld
    >>> people = SyntheticWorld(states=2, actions=3).draw(people=1, seed=0)
    >>> rollout(LpbTS(people.model), people, rounds=4, seed=0).plays.shape
    (2, 4, 1)
    """
    if not isinstance(policy, Policy):
        raise validate.invalid("policy", "a policy such as LpbTS(model)", policy)
    if not isinstance(people, Population):
        raise validate.invalid("people", "a Population, such as world.draw(people=5, seed=0)", people)
    rounds, seed = validate.as_count(rounds, "rounds"), validate.as_seed(seed)
    first_person = validate.as_count(first_person, "first_person", low=0, high=2**62)
    if policy.model.n_actions != people.model.n_actions:
        raise InvalidInput(
            f"policy must have as many actions as the people, {people.model.n_actions}, got {policy.model.n_actions}"
        )
    if people.priors is not None and policy.model.n_states != people.model.n_states:
        raise InvalidInput(
            f"policy must have the {people.model.n_states} states of the people's priors, got {policy.model.n_states}"
        )
    check_rounds(policy, people, rounds)
    size = (44 if policy.feedback == "duels" else 28) * len(people) * rounds
    check_memory(f"a trace of {len(people):,} people × {rounds:,} rounds", "take fewer people or rounds", size)
    warn_of_lock_in(policy, people, rounds)
    return play(policy, people, rounds=rounds, seed=seed, first_person=first_person)


def play(policy: Policy, people: Population, *, rounds: int, seed: int, first_person: int = 0) -> Trace:
    """Play as `rollout` does, without validation."""
    count, k = len(people), policy.model.n_actions
    duels = policy.feedback == "duels"
    comparable = (
        np.array_equal(policy.model.orderings, people.model.orderings) and policy.model.tiers == people.model.tiers
    )
    belief = policy.new_belief(min(2 * rounds if duels else rounds, k))
    trace = Trace(
        plays=np.empty((count, rounds, 3 if duels else 1), dtype=np.int32),
        rewards=np.empty((count, rounds)),
        regret=np.empty((count, rounds)),
        weak=np.empty((count, rounds if duels else 0)),
        mass=np.empty((count, rounds)),
        active=np.empty((count, 3)),
    )
    once = people.without_replacement
    favourites = policy.model.ranks if once and policy.rule.top else np.zeros((0, 0))
    rollout = rollout_of(
        offer=offer_once if once else offer_sets,
        choose=policy.choose,
        apply_exploration_floor=apply_exploration_floor_to_pair if duels else apply_exploration_floor,
        outcome=duelled if duels else rewarded,
        tell=policy.tell,
    )
    rollout(
        policy.arrays(belief),
        policy.starts(people.priors if policy.evidence.latent else None),
        policy.start_own,
        People(
            people.means,
            people.truth if comparable else np.full(count, -1),
            *people.reward_sampler,
            COMPARISONS[people.comparison],
        ),
        Offers(
            people.offered,
            np.empty((1, 2, k), dtype=np.int64) if once else policy._offer_sets(people.offered),
            np.zeros(k if once else 0, dtype=np.int64),
            np.array(favourites, dtype=np.int32),
        ),
        once or people.offered.shape[1] > 1,
        policy.explore,
        seed,
        first_person,
        trace,
    )
    if not policy.evidence.probabilistic:
        trace.mass[:] = np.nan  # scores, not probabilities
    return trace


def warn_of_lock_in(policy: Policy, people: Population, rounds: int) -> None:
    """Warn if actions repeat and the policy's rule then stops learning."""
    if not (policy.rule.handles_repeats or people.without_replacement or rounds == 1):
        warnings.warn(
            f"the rule '{policy.rule.kind}' is for actions that each person receives at most once, but here actions "
            "repeat: it locks in on one good action; use a world without replacement (replay), or another policy",
            LockInWarning,
            stacklevel=4,
        )


def check_rounds(policy: Policy, people: Population, rounds: int) -> None:
    """Raise `InvalidInput` if people have fewer offered sets or actions than rounds, or if `explore` is too large."""
    fewest, most = people.set_sizes
    policy.check_floor(most)
    if 1 < people.offered.shape[1] < rounds:
        raise InvalidInput(
            f"rounds must be at most {people.offered.shape[1]}, the number of offered sets, got {rounds}; play "
            "fewer rounds, or offer one set for all rounds"
        )
    if not people.without_replacement:
        return
    if policy.feedback == "duels":
        raise InvalidInput("policy must learn from rewards where each action is offered once, got a policy for duels")
    if fewest < rounds:
        raise InvalidInput(
            f"rounds must be at most {fewest}, because each action is offered once and some person has only "
            f"{fewest} of them, got {rounds}; play fewer rounds (--rounds), or leave such people out (--least)"
        )
