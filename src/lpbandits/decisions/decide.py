"""`decide`: the next action for many people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.histories import Histories
from lpbandits.data.ratings import Ratings
from lpbandits.data.tables import labels_as_series
from lpbandits.decisions.engine import Engine
from lpbandits.decisions.kernels.allowance import NO_ACTIONS, NO_PRIORS, DecisionBatch
from lpbandits.decisions.kernels.deciding import Output
from lpbandits.errors import InvalidInput, check_fork, translate_errors
from lpbandits.io.frames import to_pandas
from lpbandits.model import PreferenceModel
from lpbandits.notebook import Shown
from lpbandits.parallel import Workers
from lpbandits.people.covariates import covariate_priors
from lpbandits.people.priors import Priors
from lpbandits.policies import Policy
from lpbandits.policies.base import require_latent
from lpbandits.progress import Progress
from lpbandits.rng import addresses_of
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label


@dataclass(frozen=True, eq=False)
class Decisions(Shown):
    """The decisions of `decide`, as arrays with one entry per person.

    Attributes
    ----------
    people
        Labels of the people.
    action, runner_up
        Index of the action, and of the action that would be chosen if the first were not allowed; -1 if there is none.
    probability
        Exact probability with which the action was chosen; NaN if the rule does not provide it.
    expected
        Expected reward of the action, averaged over states; NaN if nothing is known about the person.
    low, high
        80 % prediction interval of the next reward; NaN if the noise is unknown. It and `expected` stay within the
        model's `reward_range`, extended to the person's mean rewards.
    model
        The model that the indices refer to.
    """

    people: tuple[Label, ...]
    action: Int32Array
    runner_up: Int32Array
    probability: FloatArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    model: PreferenceModel

    def table(self) -> pl.DataFrame:
        """Return one row per person, with labels of actions and, if the model has them, names.

        >>> from lpbandits import LpbTS
        >>> model = PreferenceModel([[0, 1], [1, 0]], actions=["tea", "jam"])
        >>> past = Histories.from_arrays(["ann", "ann"], ["tea", "jam"], [1, 4], model)
        >>> decide(LpbTS(model, noise=1.0), past).table().select("person", "action", "runner_up").rows()
        [('ann', 'jam', 'tea')]
        """
        return decision_table(labels_as_series("person", self.people), self, self.model)

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame; pyarrow is not needed."""
        return to_pandas(self.table())

    def __len__(self) -> int:
        return len(self.people)

    def __repr__(self) -> str:
        return f"<Decisions: {int((self.action >= 0).sum()):,} of {pluralize(len(self), 'person', 'people')}>"


@translate_errors("deciding")
def decide(
    policy: Policy,
    histories: Histories | Ratings,
    *,
    allowed: Sequence[Label] | Mapping[Label, Sequence[Label]] | None = None,
    exclude_seen: bool = False,
    prior: Any = None,
    people: Any = None,
    seed: int = 0,
    jobs: int | Workers | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Decisions:
    """Return the next action for each person.

    Each decision equals, to the last bit, that of `Agent(policy, seed=seed, person=label, asked=n, prior=…)` after the
    n outcomes of the person's history, pending ones included. The same history gives the same action; a longer one uses
    new random draws.

    Parameters
    ----------
    policy
        A policy that learns from rewards, such as `LpbTS(model)`.
    histories
        The outcomes of each person; `Ratings` are accepted too.
    allowed
        Labels of the actions that are allowed for all people, or a mapping from a person to their allowed actions
        (people without an entry have none). By default all actions are allowed.
    exclude_seen
        Exclude the actions of a person's history, also those whose outcome is pending.
    prior
        Probability of each state by person, before the first outcome: a dict from a person to a prior of `Agent`, or a
        table (path or frame) with a person column and a column per state, or with person, state and probability.
    people
        Covariates by person: a table (path or frame) like that of `fit_states(people=…)`. The model's covariates give
        the prior. `prior` comes first; people in neither have the model's prior.
    seed
        Random seed.
    jobs
        Number of worker processes, or `Workers(…)` of a cluster; by default this process only.
    threads
        Threads per process, by default the available cores. Neither changes a result.
    progress
        Called with (stage, done, total), in people.

    Examples
    --------
    >>> from lpbandits import LpbTS
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> past = Histories.from_arrays([1, 1, 2], ["rest", "drug B", "drug A"], [1.0, 3.0, 2.0], model, people=[1, 2, 3])
    >>> decisions = decide(LpbTS(model, noise=1.0), past, seed=7)
    >>> [model.actions[a] for a in decisions.action]
    ['drug B', 'drug B', 'rest']
    >>> decisions.probability.round(2).tolist(), decisions.expected.round(2).tolist()
    ([0.73, 0.5, 0.5], [2.73, 2.0, nan])
    >>> decide(LpbTS(model, noise=1.0), past, seed=7, prior={3: [0.1, 0.9]}).probability.round(2).tolist()
    [0.73, 0.5, 0.9]
    """
    if not isinstance(policy, Policy):
        raise InvalidInput(f"policy must be a policy such as LpbTS(model), got {validate.short_repr(policy)}")
    validate.check_progress(progress)
    past = _as_histories(histories, policy.model)
    common, starts, sets = _allowed_actions(policy, allowed, past.people)
    engine = Engine(policy, common, validate.as_flag(exclude_seen, "exclude_seen"), validate.as_seed(seed))
    known = personal_priors(policy, prior, people)
    rows = NO_PRIORS if known is None else known.of(labels_as_series("person", past.people))
    batch = DecisionBatch(past.offsets, past.action, past.reward, addresses_of(past.people), starts, sets, rows)
    pieces = engine.map([batch], len(past), jobs=jobs, threads=threads, progress=progress)
    columns = zip(*(output[:6] for _, output in pieces), strict=True)
    action, runner_up, probability, expected, low, high = map(np.concatenate, columns)
    return Decisions(past.people, action, runner_up, probability, expected, low, high, policy.model)


def personal_priors(policy: Policy, prior: Any, people: Any, **reading: Any) -> Priors | None:
    """Return the priors of a table of priors, then of a table of covariates; None without tables.

    `reading` has `person`, the name of their person column if they have such a column, and `decimal_comma`.
    """
    known = None
    for name, source, read in (("people", people, covariate_priors), ("priors", prior, Priors.read)):
        if source is not None:
            require_latent(policy, f"a table of {name}")
            known = read(source, policy.model, **reading).over(known)
    return known


def decision_table(people: pl.Series, decisions: Decisions | Output, model: PreferenceModel) -> pl.DataFrame:
    """Return one row per person, null where there is no action or number."""
    check_fork()
    indices = pl.DataFrame({"action": decisions.action, "runner_up": decisions.runner_up})
    chosen, second = indices.select(pl.when(pl.all() >= 0).then(pl.all()))
    labels = labels_as_series("action", model.actions)
    columns = {
        "person": people,
        "action": labels.gather(chosen),
        "probability": decisions.probability,
        "runner_up": labels.gather(second),
        "expected": decisions.expected,
        "low": decisions.low,
        "high": decisions.high,
    }
    if model.names is not None:
        names = pl.Series("name", model.names, dtype=pl.String)
        columns |= {"action_name": names.gather(chosen), "runner_up_name": names.gather(second)}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def _as_histories(value: Any, model: PreferenceModel) -> Histories:
    if isinstance(value, Ratings):
        return Histories.from_ratings(value, model)
    if not isinstance(value, Histories):
        raise InvalidInput(
            f"histories must be Histories or Ratings, got {validate.short_repr(value)}; use "
            "Histories.from_arrays(person, action, reward, model)"
        )
    if value.actions != model.actions:
        raise InvalidInput(
            f"the {len(value.actions)} actions of the histories must be the policy's {model.n_actions} actions in the "
            "same order; build the histories with the policy's model"
        )
    return value


def _allowed_actions(policy: Policy, allowed: Any, people: Sequence[Label]) -> tuple[IntArray, IntArray, IntArray]:
    """Return the actions that are allowed for all people, and the personal sets as offsets and actions."""
    if not isinstance(allowed, Mapping):
        return policy.indices(allowed), NO_ACTIONS, NO_ACTIONS
    sets = []
    for person in people:
        value = allowed.get(person)
        labels = [] if value is None else list(validate.as_list(value, "allowed", "actions"))
        sets.append(policy.indices(labels) if labels else NO_ACTIONS)
    return NO_ACTIONS, np.cumsum([0, *map(len, sets)]), np.concatenate([NO_ACTIONS, *sets])
