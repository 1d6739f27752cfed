"""`decide`: the next action for many people, each by their own history."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpbandits import validate
from lpbandits.data.histories import Histories
from lpbandits.data.ratings import Ratings
from lpbandits.decisions.engine import Batch, Block, Found, Personal, decided
from lpbandits.errors import InvalidInput, LockInWarning, translate_errors
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Workers, executor_for
from lpbandits.policies import Policy
from lpbandits.progress import Progress
from lpbandits.rng import addresses_of
from lpbandits.typing import FloatArray, Int32Array, Label

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Decisions:
    """What `decide` chose for everybody.

    Attributes
    ----------
    people
        Their labels.
    action, runner_up
        By index, -1 where nothing was allowed: the action, and what it would have been were that one not allowed.
    probability
        The exact chance that the action had; NaN where the rule does not say.
    expected
        Its expected reward, over the states by their probability; NaN where nothing is known of the person yet.
    low, high
        Between what the next reward will lie in four cases of five, as far as the policy knows; NaN without a noise.
    model
        Whose actions they are.
    """

    people: tuple[Label, ...]
    action: Int32Array
    runner_up: Int32Array
    probability: FloatArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    model: PreferenceModel

    def table(self) -> "pl.DataFrame":
        """Return a row per person, actions by their labels, and by their names where the model has them.

        >>> from lpbandits import LpbTS
        >>> model = PreferenceModel([[0, 1], [1, 0]], actions=["tea", "jam"])
        >>> past = Histories.from_arrays(["ann", "ann"], ["tea", "jam"], [1, 4], model)
        >>> decide(LpbTS(model), past).table().select("person", "action", "runner_up").rows()
        [('ann', 'jam', 'tea')]
        """
        from lpbandits.data.tables import labels_as_series  # noqa: PLC0415
        from lpbandits.decisions.output import decision_table  # noqa: PLC0415 - polars

        numbers = np.column_stack([self.probability, self.expected, self.low, self.high])
        found = Found(self.action, self.runner_up, numbers)
        return decision_table(labels_as_series("person", self.people), found, self.model)

    def __len__(self) -> int:
        return len(self.people)

    def __repr__(self) -> str:
        return f"<Decisions: {int((self.action >= 0).sum()):,} of {len(self):,} people>"


@translate_errors("deciding")
def decide(
    policy: Policy,
    histories: Histories | Ratings,
    *,
    allowed: Sequence[Label] | Mapping[Label, Sequence[Label]] | None = None,
    exclude_seen: bool = False,
    seed: int = 0,
    jobs: int | Workers | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Decisions:
    """Return the next action for everybody: what an `Agent` of theirs that was told their history would answer.

    To the last bit that is `Agent(policy, seed=seed, person=label, asked=outcomes)`, with the number of outcomes in the
    history: so luck goes on as a history grows, and the same history gives the same action.

    Parameters
    ----------
    policy
        Any policy that learns from rewards, such as `LpbTS(model)`.
    histories
        What people did and how it went; `Ratings`, as `read_ratings` gives, are taken for histories too.
    allowed
        Actions that everybody may have, or a mapping from a person to theirs (who is not in it may have none); by
        default all.
    exclude_seen
        Whether what is in a person's history is not allowed.
    seed
        Of everybody's luck.
    jobs
        Processes to use, or `Workers(…)` for those of a cluster; by default this one, on its threads.
    threads
        Threads of a process; by default as many as there are cores for it. Neither changes a result.
    progress
        Called with (what, done, total) as people are decided for.

    >>> from lpbandits import LpbTS
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> past = Histories.from_arrays([1, 1, 2], ["rest", "drug B", "drug A"], [1.0, 3.0, 2.0], model, people=[1, 2, 3])
    >>> made = decide(LpbTS(model), past, seed=7)
    >>> [model.actions[a] for a in made.action], made.probability.round(2).tolist(), made.expected.round(2).tolist()
    (['drug B', 'drug B', 'rest'], [0.73, 0.5, 0.5], [2.73, 2.0, nan])
    """
    if not isinstance(policy, Policy):
        raise InvalidInput(f"policy is {validate.short_repr(policy)}; give a policy such as LpbTS(model)")
    past = _histories(histories, policy.model)
    if progress is not None and not callable(progress):
        raise InvalidInput(
            f"progress is {validate.short_repr(progress)}; give a function of (what, done, total), or nothing"
        )
    common, personal = _allowed(policy, allowed, past.people)
    settings: dict[str, Any] = {
        "exclude_seen": validate.as_flag(exclude_seen, "exclude_seen"),
        "seed": validate.as_seed(seed),
    }
    block = Block(past.offsets, past.action, past.reward, addresses_of(past.people), personal)
    found: list[Found] = []
    done = 0
    with executor_for(jobs, threads=threads) as executor:
        batch = Batch(policy, common=common, threads=executor.threads, **settings)
        batch.check_rewards(past.reward)
        for some in executor.map(decided, ((batch, part) for part in block.cut(batch.people))):
            found.append(some)
            done += len(some.action)
            if progress is not None:
                progress("deciding", done, len(past))
    warn_of_again(policy, sum(some.again for some in found))
    whole = Found.joined(found)
    chance, expected, low, high = whole.numbers.T.copy()
    return Decisions(past.people, whole.action, whole.runner_up, chance, expected, low, high, policy.model)


def warn_of_again(policy: Policy, again: int) -> None:
    """Warn of a rule that does not go on learning where actions repeat, if it gave so many people what they had."""
    rule = policy.rule
    if again and not rule.handles_repeats and not policy.explore:
        warnings.warn(
            f"the rule '{rule.kind}' plays again what {again:,} people had already, and may never leave it; give "
            "each action once: exclude_seen=True (--exclude-seen)",
            LockInWarning,
            stacklevel=4,
        )


def _histories(given: Any, model: PreferenceModel) -> Histories:
    if isinstance(given, Ratings):
        return Histories.from_ratings(given, model)
    if not isinstance(given, Histories):
        raise InvalidInput(
            f"histories is {validate.short_repr(given)}; give Histories.from_arrays(person, action, reward, model)"
        )
    if given.actions != model.actions:
        raise InvalidInput(
            f"the histories are of {len(given.actions)} actions, which are not the policy's {model.n_actions}, or not "
            "in their order; make them with its model"
        )
    return given


def _allowed(policy: Policy, allowed: Any, people: Sequence[Label]) -> tuple[Any, Personal | None]:
    if not isinstance(allowed, Mapping):
        return policy.indices(allowed), None
    sets = []
    for person in people:
        given = allowed.get(person)
        labels = [] if given is None else list(validate.as_list(given, "allowed", "actions"))
        sets.append(policy.indices(labels) if labels else np.empty(0, dtype=np.int64))
    return policy.indices(None), Personal.of(sets)
