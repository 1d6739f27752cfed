"""`Engine`: the decisions of one policy for batches of people."""

import collections
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from lpbandits.agent import Agent
from lpbandits.agent.explain import QUANTILE
from lpbandits.decisions.batches import NO_ACTIONS, AllowedSets, DecisionArrays, DecisionBatch
from lpbandits.decisions.kernels import deciding
from lpbandits.decisions.kernels.allowance import Allowed
from lpbandits.decisions.kernels.deciding import Forecasting, Outcomes, Output, deciding_of
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.parallel import Executor, Threads
from lpbandits.policies import Policy
from lpbandits.policies.base import zero_sd, zero_sd_one
from lpbandits.progress import Progress
from lpbandits.typing import FloatArray, IntArray

THREAD_PEOPLE = 2000
"""Minimum number of people per thread."""

PIECE = 100_000
"""Number of people decided at once; progress is reported after each piece."""

SLOW_PIECE = 1000
"""The same for rules without compiled probabilities, which take about a millisecond per person."""


class Engine:
    """A policy that decides for many people.

    Parameters
    ----------
    policy
        A policy that learns from rewards.
    common
        Indices of the actions that are allowed for all people, ascending; empty: all actions.
    exclude_seen
        Whether a person's tried actions are excluded.
    seed
        Random seed.
    threads
        Number of threads.
    noise
        Standard deviation of the next reward around its expectation, by default that of the policy or the model. 0:
        the policy's estimate for each person. Negative: included in the evidence's predictive sd. NaN: unknown.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        common: IntArray = NO_ACTIONS,
        exclude_seen: bool = False,
        seed: int = 0,
        threads: int = 1,
        noise: float | None = None,
    ) -> None:
        if policy.feedback != "rewards":
            raise NotSupported("policy learns from duels; give one that learns from rewards, such as LpbTS(model)")
        self.policy = policy
        self.common, self.exclude_seen, self.seed, self.threads = common, exclude_seen, seed, threads
        self.noise = default_noise(policy) if noise is None else noise
        model, top = policy.model, policy.rule.top
        mask = np.isin(model.orderings, common) if len(common) else np.ones(model.orderings.shape, dtype=bool)
        self._orders = model.orderings[mask].reshape(model.n_states, -1).astype(np.int32)
        self._ranks = np.array(model.ranks if top else np.zeros((0, 0)), dtype=np.int32, order="C")
        self._tops = policy.limited(common) if top else NO_ACTIONS
        self._means = np.zeros((0, 0)) if model.means is None else np.array(model.means)
        self._kernel = kernel_of(policy)
        self._python_probabilities = policy.rule.probability is None
        self.piece = SLOW_PIECE if self._python_probabilities else PIECE

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings only: workers load the compiled code from the cache."""
        settings = {name: getattr(self, name) for name in ("common", "exclude_seen", "seed", "threads", "noise")}
        return partial(Engine, **settings), (self.policy,)

    def check_rewards(self, rewards: FloatArray) -> None:
        """Raise if a reward is impossible in the policy's family, such as 2 for Bernoulli."""
        for reward in np.unique(rewards).tolist() if self.policy.rewards.family != "gaussian" else ():
            try:
                self.policy.rewards.check(reward)
            except InvalidInput as error:
                count = int((rewards == reward).sum())
                raise InvalidInput(f"{error} ({count:,} such rewards); use another family (--rewards)") from None

    def run(self, batch: DecisionBatch) -> DecisionArrays:
        """Decide for a batch of people."""
        policy, people = self.policy, len(batch.stream)
        k, m = policy.model.n_actions, policy.model.n_states
        types = (np.int64, np.int32, np.float64, np.int64)  # one type each for the compiler
        outcomes = Outcomes(
            *(np.require(array, type_, ["C", "W"]) for array, type_ in zip(batch[:4], types, strict=True))
        )
        starts, sets = batch.allowed or AllowedSets(NO_ACTIONS, NO_ACTIONS)
        decisions = DecisionArrays.empty(people)
        max_tried = max(min(int(np.diff(outcomes.offsets).max(initial=0)), k), 1)
        all_counters: list[IntArray] = []

        def run_part(low: int, high: int) -> None:
            belief = policy.new_belief(max_tried)
            counters = np.zeros(2, dtype=np.int64)
            all_counters.append(counters)
            scratch = np.zeros(k, dtype=np.int64), np.empty((2, k), dtype=np.int64)
            self._kernel(
                low,
                high,
                policy.arrays(belief),
                policy.start_states,
                policy.start_own,
                Allowed(self._orders, self.common, starts, sets, self.exclude_seen, self._ranks, self._tops, *scratch),
                outcomes,
                Forecasting(self._means, policy.model.prior, self.noise, QUANTILE, np.empty((2, max(k, m)))),
                Output(*decisions[:3], counters),
                policy.explore,
                self.seed,
            )

        run_part(0, min(people, 1))  # compiles before threads start
        all_counters.clear()
        with Threads(self.threads) as threads:
            threads.run(run_part, people, blocks=4, smallest=THREAD_PEOPLE)
        totals = np.array(all_counters).reshape(-1, 2)
        policy.check_floor(int(totals[:, deciding.MAX_ALLOWED].max(initial=0)))
        if self._python_probabilities:
            self._add_probabilities(batch, decisions)
        return decisions._replace(repeated=int(totals[:, deciding.REPEATED].sum()))

    def _add_probabilities(self, batch: DecisionBatch, decisions: DecisionArrays) -> None:
        """Write the probabilities of a rule that has no compiled ones, person by person."""
        policy = self.policy
        for p in np.flatnonzero(decisions.action >= 0).tolist():
            agent = Agent(policy, seed=0)
            past = slice(batch.offsets[p], batch.offsets[p + 1])
            for action, reward in zip(batch.action[past].tolist(), batch.reward[past].tolist(), strict=True):
                agent.tell(policy.model.actions[action], reward)
            allowed = self.common
            if batch.allowed is not None:
                allowed = batch.allowed.actions[batch.allowed.starts[p] : batch.allowed.starts[p + 1]]
            if self.exclude_seen and agent.rounds:
                allowed = np.setdiff1d(policy.allowed(allowed), batch.action[past])
            try:
                probabilities = policy.probabilities(agent.belief, allowed)
            except NotSupported:
                return
            decisions.numbers[p, deciding.PROBABILITY] = probabilities[decisions.action[p]]


def decide_batches(
    executor: Executor, engine: Engine, batches: Iterable[DecisionBatch], n_people: int, progress: Progress | None
) -> Iterator[tuple[DecisionBatch, DecisionArrays]]:
    """Yield batches with their decisions, in order; only a few batches are in memory.

    `progress` is called after each piece with "deciding", the number of people decided for so far, and `n_people`.
    """
    pending: collections.deque[tuple[DecisionBatch, int]] = collections.deque()

    def tasks() -> Iterator[tuple[Engine, DecisionBatch]]:
        for batch in batches:
            engine.check_rewards(batch.reward)
            pieces = list(batch.pieces(engine.piece))
            pending.append((batch, len(pieces)))
            yield from ((engine, piece) for piece in pieces)

    parts: list[DecisionArrays] = []
    done = 0
    for part in executor.map(Engine.run, tasks(), max_ahead=2):
        parts.append(part)
        done += len(part.action)
        if progress is not None:
            progress("deciding", done, n_people)
        batch, n_pieces = pending[0]
        if len(parts) == n_pieces:
            yield batch, DecisionArrays.concatenate(parts)
            pending.popleft()
            parts = []


def default_noise(policy: Policy) -> float:
    """Return the default noise of the next reward, coded as in `Engine`.

    Unless the evidence is predictive, only Gaussian rewards have a noise: an 80 % interval of a reward of 0 or 1 has no
    meaning.
    """
    rewards, model_noise = policy.rewards, policy.model.noise
    if policy.evidence.predictive:
        return -1.0
    if rewards.family != "gaussian":
        return math.nan
    if not rewards.noise_known:
        return 0.0 if rewards.noise is not None else math.nan if model_noise is None else model_noise
    return rewards.sd


def kernel_of(policy: Policy) -> Callable[..., None]:
    """Return the loop over people, compiled around a policy."""
    evidence, rule = policy.evidence, policy.rule
    batchable = evidence.batchable and evidence.update_posterior is not None
    sd_of_one = zero_sd_one if evidence.predictive_sd is zero_sd else evidence.predictive_sd_one
    return deciding_of(
        deciding.record_only if batchable else policy.tell,
        evidence.update_posterior if batchable and evidence.update_posterior is not None else deciding.no_update,
        policy.choose,
        policy.probability or deciding.unknown_probability,
        rule.sampled_state or deciding.no_state,
        evidence.expected_reward or evidence.expected_rewards,
        evidence.expected_reward is not None,
        sd_of_one or evidence.predictive_sd,
        sd_of_one is not None,
    )
