"""`Engine`: the decisions of one policy for batches of people."""

import collections
import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from lpbandits.agent import Agent
from lpbandits.agent.explain import QUANTILE
from lpbandits.decisions.kernels.allowance import NO_ACTIONS, Allowed, DecisionBatch
from lpbandits.decisions.kernels.deciding import Forecasting, Output, kernel_of
from lpbandits.errors import InvalidInput, LockInWarning, NotSupported
from lpbandits.parallel import Threads, Workers, executor_for
from lpbandits.policies import Policy
from lpbandits.policies.calls import usual_range, warn_of_scale
from lpbandits.progress import Progress
from lpbandits.typing import FloatArray, IntArray

THREAD_PEOPLE = 2000
"""Minimum number of people per thread."""

PIECE = 100_000
"""Number of people decided at once; progress is reported after each piece."""

PRIOR_CELLS = 2_000_000
"""Maximum number of people times states decided at once if people have priors of their own."""

SLOW_PIECE = 1000
"""The same for rules without compiled probabilities, which take about a millisecond per person."""


@dataclass(frozen=True, eq=False)
class Engine:
    """A policy that learns from rewards and decides for many people."""

    policy: Policy
    common: IntArray = field(default_factory=lambda: NO_ACTIONS)
    """Indices of the actions that are allowed for all people, ascending; empty: all actions."""
    exclude_seen: bool = False
    """Whether a person's tried actions are excluded."""
    seed: int = 0
    noise: float | None = None
    """Standard deviation of the next reward, coded as in `Forecasting`; None: that of the policy or the model."""

    def __post_init__(self) -> None:
        if self.policy.feedback != "rewards":
            raise NotSupported("policy learns from duels; give one that learns from rewards, such as LpbTS(model)")
        kernel_of(self.policy)  # warns of uncompiled functions, which workers do not

    def map(
        self,
        batches: Iterable[DecisionBatch],
        n_people: int,
        *,
        jobs: int | Workers | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Iterator[tuple[DecisionBatch, Output]]:
        """Yield pieces of the batches with their decisions, in order; only a few are in memory.

        Rewards and forecasts are the user's numbers, of which low ones are good with `model.lower_is_better`.

        `progress` is called after each piece with "deciding", the number of people decided for so far, and `n_people`.
        At the end, warn of rewards on another scale than the model's log, and if a rule that locks in on an action gave
        people an action of their history.
        """
        rule = self.policy.rule
        size = SLOW_PIECE if self.policy.probability is None else PIECE
        sent: collections.deque[DecisionBatch] = collections.deque()
        done = repeated = strange = 0
        example = (math.nan, -1)
        usual = usual_range(self.policy.model)
        with executor_for(jobs, threads=threads) as executor:

            def tasks() -> Iterator[tuple[Engine, DecisionBatch, int]]:
                nonlocal strange, example
                for batch in batches:
                    check_rewards(self.policy, batch.reward)
                    batch = batch._replace(reward=self.policy.model.oriented(batch.reward))  # noqa: PLW2901 - one name
                    far = np.flatnonzero((batch.reward < usual[0]) | (batch.reward > usual[1]))
                    if len(far) and not strange:
                        example = float(batch.reward[far[0]]), int(batch.action[far[0]])
                    strange += len(far)
                    people = len(batch.stream)
                    step = min(size, max(PRIOR_CELLS // batch.priors.shape[1], 1)) if len(batch.priors) else size
                    for low in range(0, max(people, 1), step):
                        sent.append(batch.part(low, min(low + step, people)))
                        yield self, sent[-1], executor.threads

            for output in executor.map(Engine.run, tasks(), max_ahead=2):
                done += len(output.action)
                repeated += int(output.repeated.sum())
                if progress is not None:
                    progress("deciding", done, n_people)
                yield sent.popleft(), output
        if strange:
            warn_of_scale(self.policy.model, *example, strange, stacklevel=5)
        if repeated and not rule.handles_repeats and not self.policy.explore:
            warnings.warn(
                f"the rule '{rule.kind}' repeats an action of the history of {repeated:,} people and may never try "
                "another; give each action once: exclude_seen=True (--exclude-seen)",
                LockInWarning,
                stacklevel=5,
            )

    def run(self, batch: DecisionBatch, threads: int = 1) -> Output:
        """Decide for a batch of people."""
        policy, model, common, people = self.policy, self.policy.model, self.common, len(batch.stream)
        k, m = model.n_actions, model.n_states
        types = (
            np.int64,
            np.int32,
            np.float64,
            np.int64,
            np.int64,
            np.int64,
            np.float64,
        )  # one type each for the compiler
        batch = DecisionBatch(*(np.require(array, kind, ["C", "W"]) for array, kind in zip(batch, types, strict=True)))
        by_state = np.argsort(policy.ranks, axis=1) if policy.evidence.latent else model.orderings
        mask = np.isin(by_state, common) if len(common) else np.ones(by_state.shape, dtype=bool)
        orders = by_state[mask].reshape(m, -1).astype(np.int32)
        ranks = np.array(model.ranks if policy.rule.top else np.zeros((0, 0)), dtype=np.int32, order="C")
        tops = policy.limited(common) if policy.rule.top else NO_ACTIONS
        means = np.zeros((0, 0)) if model.means is None else np.array(model.means)
        noise = default_noise(policy) if self.noise is None else self.noise
        lowest, highest = model.reward_range or (-math.inf, math.inf)
        max_tried = max(min(int(np.diff(batch.offsets).max(initial=0)), k), 1)
        output = Output.empty(people)
        start_states = policy.starts(batch.priors if len(batch.priors) else None)
        kernel = kernel_of(policy)

        def run_part(low: int, high: int) -> None:
            scratch = np.zeros(k, dtype=np.int64), np.empty((2, k), dtype=np.int64)
            kernel(
                low,
                high,
                policy.arrays(policy.new_belief(max_tried)),
                start_states,
                policy.start_own,
                batch,
                Allowed(orders, common, self.exclude_seen, ranks, tops, *scratch),
                Forecasting(means, model.prior, noise, QUANTILE, lowest, highest, np.empty((2, max(k, m)))),
                output,
                policy.explore,
                self.seed,
            )

        run_part(0, min(people, 1))  # compiles before threads start
        with Threads(threads) as pool:
            pool.run(run_part, people, blocks=4, smallest=THREAD_PEOPLE)
        policy.check_floor(int(output.n_allowed.max(initial=0)))
        if policy.probability is None:
            self._add_probabilities(batch, output)
        if model.lower_is_better:
            expected, low, high = map(model.oriented, (output.expected, output.high, output.low))
            output = output._replace(expected=expected, low=low, high=high)
        return output

    def _add_probabilities(self, batch: DecisionBatch, output: Output) -> None:
        """Write the probabilities of a rule that has no compiled ones, person by person."""
        policy = self.policy
        for p in np.flatnonzero(output.action >= 0).tolist():
            agent = Agent(policy, seed=0, prior=batch.priors[p] if len(batch.priors) else None)
            past = slice(batch.offsets[p], batch.offsets[p + 1])
            for action, reward in zip(batch.action[past].tolist(), batch.reward[past].tolist(), strict=True):
                if not math.isnan(reward):
                    agent._add(action, reward)
            allowed = batch.sets[batch.starts[p] : batch.starts[p + 1]] if len(batch.starts) else self.common
            if self.exclude_seen and past.stop > past.start:
                allowed = np.setdiff1d(policy.allowed(allowed), batch.action[past])
            try:
                probabilities = policy._probabilities(agent.belief, allowed)
            except NotSupported:
                return
            output.probability[p] = probabilities[output.action[p]]


def check_rewards(policy: Policy, rewards: FloatArray) -> None:
    """Raise if a reward is impossible in the policy's family, such as 2 for Bernoulli."""
    for reward in np.unique(rewards[~np.isnan(rewards)]).tolist() if policy.rewards.family != "gaussian" else ():
        try:
            policy.rewards.check(reward)
        except InvalidInput as error:
            count = int((rewards == reward).sum())
            raise InvalidInput(f"{error} ({count:,} such rewards); use another family (--rewards)") from None


def default_noise(policy: Policy) -> float:
    """Return the default noise of the next reward, coded as in `Forecasting`.

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
