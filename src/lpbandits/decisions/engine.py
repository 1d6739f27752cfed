"""`Batch`: one policy, asked for many people; arrays in, arrays out."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lpbandits.agent import Agent
from lpbandits.agent.explain import QUANTILE
from lpbandits.decisions.kernels import deciding
from lpbandits.decisions.kernels.deciding import deciding_of
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.parallel import Threads
from lpbandits.policies import Policy
from lpbandits.policies.base import zero_sd, zero_sd_one
from lpbandits.policies.plugins import bind_expectations
from lpbandits.typing import FloatArray, Int32Array, IntArray

BLOCK = 2000
"""People whom a thread decides for at once, at least."""

PIECE = 100_000
"""People who are decided for between two words of progress."""

SLOW = 1000
"""The same where their chances are worked out one by one, which takes about a millisecond each."""


class Personal(NamedTuple):
    """Sets of allowed actions of each person's own: those of person p stand at lists[starts[p]:starts[p + 1]]."""

    starts: IntArray
    lists: IntArray

    @classmethod
    def of(cls, sets: Sequence[IntArray]) -> "Personal":
        """Return given sets, each in rising order."""
        starts = np.zeros(len(sets) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in sets], out=starts[1:])
        return cls(starts, np.concatenate([np.empty(0, dtype=np.int64), *sets]))

    def part(self, people: slice) -> "Personal":
        """Return those of some people."""
        starts = self.starts[people.start : people.stop + 1]
        return Personal(starts - starts[0], self.lists[starts[0] : starts[-1]])


class Block(NamedTuple):
    """Some people to decide for: their outcomes stand at offsets[p] up to offsets[p + 1]."""

    offsets: IntArray
    action: Int32Array
    reward: FloatArray
    address: IntArray
    personal: Personal | None = None

    def cut(self, size: int) -> "Iterator[Block]":
        """Give so many people at a time; nobody is one block, too."""
        for start in range(0, max(len(self.address), 1), size):
            people = slice(start, min(start + size, len(self.address)))
            offsets = self.offsets[people.start : people.stop + 1]
            rows = slice(offsets[0], offsets[-1])
            sets = None if self.personal is None else self.personal.part(people)
            yield Block(offsets - offsets[0], self.action[rows], self.reward[rows], self.address[people], sets)


class Found(NamedTuple):
    """Decisions: action and runner-up by index (-1: none), and people × chance, expected reward, low and high.

    `again` is how many people got an action that they had.
    """

    action: Int32Array
    runner_up: Int32Array
    numbers: FloatArray
    again: int = 0

    @classmethod
    def nothing(cls) -> "Found":
        """Return no decisions."""
        return cls(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty((0, 4)))

    @classmethod
    def joined(cls, parts: "Sequence[Found]") -> "Found":
        """Return several as one."""
        actions, others, numbers, again = zip(*parts, strict=True)
        return cls(np.concatenate(actions), np.concatenate(others), np.concatenate(numbers), sum(again))


class Batch:
    """A policy that decides for many people, with what they may have.

    Parameters
    ----------
    policy
        One that learns from rewards.
    common
        What everybody may have, by index in rising order; empty: everything.
    exclude_seen
        Whether what a person tried is not allowed.
    noise
        The noise of a next reward about what is expected of it: by default what the policy knows, or the model says; 0
        is what the policy learns of each person, NaN is unknown.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        common: IntArray,
        exclude_seen: bool,
        seed: int,
        threads: int = 1,
        noise: float | None = None,
    ) -> None:
        if policy.feedback != "rewards":
            raise NotSupported(
                "this policy plays pairs of actions and learns from who wins; give one that learns from rewards, such "
                "as LpbTS(model)"
            )
        self.policy = policy
        self.common, self.exclude_seen, self.seed, self.threads = common, exclude_seen, seed, threads
        self.noise = noise_about(policy) if noise is None else noise
        model, top = policy.model, policy.rule.top
        may = np.isin(model.orderings, common) if len(common) else np.ones(model.orderings.shape, dtype=bool)
        orders = model.orderings[may].reshape(model.n_states, -1)
        self._constants = (
            policy.start_states,
            policy.start_own,
            orders.astype(np.int32),
            common,
        )
        self._prefer = np.array(model.ranks if top else np.zeros((0, 0)), dtype=np.int32, order="C")
        self._tops = policy.limited(common) if top else np.empty(0, dtype=np.int64)
        self._means = np.zeros((0, 0)) if model.means is None else np.array(model.means)
        self._kernel = kernel_of(policy)
        self._chances_by_python = policy.rule.probability is None

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to a worker as settings: what is compiled is found there."""
        settings = {name: getattr(self, name) for name in ("common", "exclude_seen", "seed", "threads", "noise")}
        return partial(Batch, **settings), (self.policy,)

    @property
    def people(self) -> int:
        """How many people are decided for at once, so that it takes about a second."""
        return SLOW if self._chances_by_python else PIECE

    def check_rewards(self, rewards: FloatArray) -> None:
        """Refuse a reward that the policy's family does not have."""
        family = self.policy.rewards.family
        odd = np.empty(0, dtype=np.int64)
        if family == "bernoulli":
            odd = np.flatnonzero((rewards != 0.0) & (rewards != 1.0))
        elif family == "poisson":
            odd = np.flatnonzero((rewards < 0.0) | (rewards != np.floor(rewards)))
        if len(odd):
            try:
                self.policy.rewards.check(float(rewards[odd[0]]))
            except InvalidInput as error:
                raise InvalidInput(
                    f"{error} ({len(odd):,} such rewards in all); use another family (--rewards)"
                ) from None

    def run(
        self,
        offsets: IntArray,
        action: Int32Array,
        reward: FloatArray,
        address: IntArray,
        personal: Personal | None = None,
    ) -> Found:
        """Return decisions for people whose outcomes stand at offsets[p] up to offsets[p + 1]."""
        people = len(address)
        policy = self.policy
        offsets, address = (
            np.require(one, np.int64, ["C", "W"]) for one in (offsets, address)
        )  # one type for the compiler
        action, reward = np.require(action, np.int32, ["C", "W"]), np.require(reward, np.float64, ["C", "W"])
        k, m = policy.model.n_actions, policy.model.n_states
        found = Found(np.empty(people, dtype=np.int32), np.empty(people, dtype=np.int32), np.empty((people, 4)))
        room = max(min(int(np.diff(offsets).max(initial=0)), k), 1)
        starts, lists = personal or Personal(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        notes: list[IntArray] = []

        def part(low: int, high: int) -> None:
            belief = policy.new_belief(room)
            seen = np.zeros(2, dtype=np.int64)
            notes.append(seen)
            self._kernel(
                low,
                high,
                *policy.arrays(belief),
                *self._constants,
                starts,
                lists,
                self.exclude_seen,
                self._prefer,
                self._tops,
                np.zeros(k, dtype=np.int64),
                np.empty((2, k), dtype=np.int64),
                np.empty((2, max(k, m))),
                self._means,
                policy.model.prior,
                self.noise,
                QUANTILE,
                policy.explore,
                self.seed,
                address,
                offsets,
                action,
                reward,
                *found[:3],
                seen,
            )

        part(0, min(people, 1))  # compiles, if that is still to be done, before threads start
        notes.clear()
        with Threads(self.threads) as threads:
            threads.run(part, people, blocks=4, smallest=BLOCK)
        seen = np.array(notes).reshape(-1, 2)
        policy.check_floor(int(seen[:, deciding.MOST_ALLOWED].max(initial=0)))
        if self._chances_by_python:
            self._add_chances(found, offsets, action, reward, personal)
        return found._replace(again=int(seen[:, deciding.AGAIN].sum()))

    def _add_chances(
        self, found: Found, offsets: IntArray, action: Int32Array, reward: FloatArray, personal: Personal | None
    ) -> None:
        """Write the chances of a rule that tells them to Python alone, person by person."""
        policy = self.policy
        labels = policy.model.actions
        for p in np.flatnonzero(found.action >= 0).tolist():
            agent = Agent(policy, seed=0)
            past = slice(offsets[p], offsets[p + 1])
            for a, value in zip(action[past].tolist(), reward[past].tolist(), strict=True):
                agent.tell(labels[a], value)
            try:
                chances = policy.probabilities(agent.belief, self.may_have(p, action[past], personal))
            except NotSupported:
                return
            found.numbers[p, deciding.CHANCE] = chances[found.action[p]]

    def may_have(self, p: int, tried: Int32Array, personal: Personal | None) -> IntArray:
        """Return what a person may have, by index in rising order; empty: everything."""
        mine = self.common if personal is None else personal.lists[personal.starts[p] : personal.starts[p + 1]]
        if self.exclude_seen and len(tried):
            mine = np.setdiff1d(mine if len(mine) else np.arange(self.policy.model.n_actions), tried)
        return mine


def noise_about(policy: Policy) -> float:
    """Return the noise of a next reward, as `Batch` takes it; negative where the evidence's doubt holds it already.

    Only Gaussian rewards have one: four of five cases are no interval of a 0 or 1.
    """
    rewards, told = policy.rewards, policy.model.noise
    if policy.evidence.predictive:
        return -1.0
    if rewards.family != "gaussian":
        return math.nan
    if not rewards.noise_known:
        return 0.0 if rewards.noise is not None else math.nan if told is None else told
    return rewards.sd


def kernel_of(policy: Policy) -> Callable[..., None]:
    """Return the loop over people, compiled around a policy."""
    evidence, rule = policy.evidence, policy.rule
    batchable = evidence.batchable and evidence.update_posterior is not None
    chance: Any = rule.probability
    if chance is not None and rule.needs_expectations:
        chance = bind_expectations(chance, evidence.expected_rewards, evidence.predictive_sd, evidence.sway)
    predictive_sd_one = zero_sd_one if evidence.predictive_sd is zero_sd else evidence.predictive_sd_one
    return deciding_of(
        deciding.recorded if batchable else policy.tell,
        evidence.update_posterior if batchable and evidence.update_posterior is not None else deciding.settled,
        policy.choose,
        chance or deciding.untold,
        rule.sampled_state or deciding.nobodys,
        evidence.expected_reward or evidence.expected_rewards,
        evidence.expected_reward is not None,
        predictive_sd_one or evidence.predictive_sd,
        predictive_sd_one is not None,
    )


def decided(batch: Batch, block: Block) -> Found:
    """Return decisions for some people, wherever that is done."""
    return batch.run(*block)
