"""`PreferenceModel`: actions, one preference ordering per latent state, and a prior over the states."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lpbandits import model_fields, validate
from lpbandits.errors import FileFormatError, InvalidInput, translate_errors
from lpbandits.io.atomic import write_text
from lpbandits.io.json import digest, frozen, read_json, thawed
from lpbandits.model_fields import frozen_array
from lpbandits.model_parts.covariates import CovariateModel
from lpbandits.notebook import Charted
from lpbandits.taste_model import TasteModel
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, IntArray, Json, Label

FORMAT = "lpbandits-model"
VERSIONS = {
    4: ("tiers", "rewards", "state_names", "reward_range", "lower_is_better", "covariates"),
    3: ("noise", "names", "popular"),
    2: ("errors", "taste"),
    1: (),
}
"""Versions of the file format, and the fields that each adds.

A model is written in the lowest version that has all its fields, so that equal models have equal hashes in every
release.
"""

FIELDS = (
    *("actions", "orderings", "prior", "means", "utilities", "errors", "taste", "noise", "names", "popular"),
    *("tiers", "rewards", "state_names", "reward_range", "lower_is_better", "covariates"),
)
"""Fields of a model besides its records, `provenance` and `evaluation`."""

NOT_IN_BELIEFS = ("names", "state_names", "covariates")
"""Fields that an evidence must not read, so that beliefs survive their change; a prior from covariates is in them."""

ALWAYS_STORED = ("means", "utilities")
"""Optional fields of version 1, which are stored even if they are None."""

EDGE = 1e-12
"""Utilities are clipped to [EDGE, 1 − EDGE] before their logit is taken."""


class PreferenceModel(Charted):
    """Possible preference orderings, one per latent state.

    Models are immutable, with read-only arrays and records. Two models are equal if their contents are.

    Parameters
    ----------
    orderings
        m×k: row z holds all actions, most preferred first, as indices 0..k-1 or as labels (text). Rows must differ. A
        nested list is a tier: a group of actions about whose order within the group nothing is known.
    actions
        Label (str or int) of each action; by default its index, or the labels of the first ordering.
    prior
        Probability of each state; uniform by default.
    means
        m×k mean rewards per state, for policies that know them (mTS). They must not increase along the ordering; within
        a tier they may have any order.
    utilities
        m×k utilities in [0, 1] from which a fit derived the orderings.
    errors
        m×k standard errors of the utilities' logits log(u / (1 − u)); a `Mixture` includes uncertain membership.
    taste
        `TasteModel` of the continuous variation of preferences between people, for the policy `taste`. It does not use
        the states.
    noise
        Standard deviation of a person's rewards around the `means` of their state, as estimated by a fit.
    names
        Display name of each action, such as a title; by default its label.
    popular
        One ordering of all actions by popularity over all people, for the policy `popular`.
    tiers
        Sizes of each state's tiers along its ordering, instead of nested lists in `orderings`.
    rewards
        Family of the rewards: "gaussian", "bernoulli" or "poisson". Policies use it unless they are told another.
    reward_range
        Lowest and highest reward, such as (1, 5); forecasts and their intervals stay within it.
    state_names
        Display name of each state.
    covariates
        `CovariateModel` of the state given what is known about a person; see `prior_for`.
    lower_is_better
        Low numbers are good, such as pain scores. A reward is then the negative of a user's number: `means` and
        `reward_range` are negatives. `Agent` and `decide` take and return the user's numbers.
    provenance
        How the model was made: any JSON object.
    evaluation
        Results of an evaluation on held-out people: any JSON object. The hash and `==` ignore it, so that saved
        agents stay valid.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> model.best_actions
    ('rest', 'drug B')
    >>> model.ranks[1].tolist()
    [2, 1, 0]
    >>> float(model.kendall[0, 1])
    1.0
    >>> tiered = PreferenceModel([["rest", ["drug A", "drug B"]], ["drug B", "drug A", "rest"]])
    >>> tiered.actions, tiered.tiers
    (('rest', 'drug A', 'drug B'), ((1, 2), (1, 1, 1)))
    >>> tiered.ranks[0].tolist(), tiered.mid_ranks[0].tolist()
    ([0, 1, 1], [0.0, 1.5, 1.5])
    """

    def __init__(
        self,
        orderings: Any,
        *,
        actions: Sequence[Label] | None = None,
        prior: Any = None,
        means: Any = None,
        utilities: Any = None,
        errors: Any = None,
        taste: TasteModel | None = None,
        noise: float | None = None,
        names: Sequence[str] | None = None,
        popular: Any = None,
        tiers: Any = None,
        rewards: str | None = None,
        reward_range: Sequence[float] | None = None,
        state_names: Sequence[str] | None = None,
        covariates: CovariateModel | None = None,
        lower_is_better: bool = False,
        provenance: Mapping[str, Any] | None = None,
        evaluation: Mapping[str, Any] | None = None,
    ) -> None:
        with translate_errors("making a model"):
            read = model_fields.read_orderings(orderings, actions, tiers)
            self.orderings: IntArray = frozen_array(read.rows)
            self.tiers = read.tiers
            m, k = self.orderings.shape
            self.actions: tuple[Label, ...] = validate.as_labels(read.labels or actions, k)
            self.prior: FloatArray = frozen_array(model_fields.as_prior(prior, m))
            self.means = model_fields.as_means(means, self.orderings, self.tiers)
            self.utilities = model_fields.as_utilities(utilities, (m, k))
            self.errors = model_fields.as_errors(errors, self.utilities, (m, k))
            self.taste: TasteModel | None = model_fields.as_taste(taste, k)
            self.noise = model_fields.as_noise(noise)
            self.names: tuple[str, ...] | None = model_fields.as_names(names, k)
            self.popular: IntArray | None = model_fields.as_popular(popular, k)
            self.rewards = model_fields.as_family(rewards)
            self.reward_range = model_fields.as_reward_range(reward_range)
            self.state_names = model_fields.as_names(state_names, m, name="state_names", of="states")
            self.covariates: CovariateModel | None = model_fields.as_covariates(covariates, m)
            self.lower_is_better = model_fields.as_lower_is_better(lower_is_better, self.rewards)
            self.provenance: Json = frozen({} if provenance is None else validate.as_json(provenance, "provenance"))
            self.evaluation: Json | None = None
            if evaluation is not None:
                self.evaluation = frozen(validate.as_json(evaluation, "evaluation"))
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_sealed", False):
            raise AttributeError(f"a model is immutable; use model.replace({name}=…)")
        super().__setattr__(name, value)

    def __setstate__(self, state: Json) -> None:
        """Restore a copied or pickled model; arrays become read-only again."""
        self.__dict__.update(state)
        for part in self.__dict__.values():
            if isinstance(part, np.ndarray):
                frozen_array(part)

    @property
    def n_states(self) -> int:
        """The number m of latent states."""
        return int(self.orderings.shape[0])

    @property
    def n_actions(self) -> int:
        """The number k of actions."""
        return int(self.orderings.shape[1])

    @cached_property
    def ranks(self) -> IntArray:
        """m×k: rank of each action in each state's ordering, 0 for the best (the paper's i_{a,z} − 1).

        The actions of a tier have the rank of its first action: the number of actions in better tiers.
        """
        ranks = np.argsort(self.orderings, axis=1)
        for z, sizes in enumerate(self.tiers or ()):
            ranks[z, self.orderings[z]] = np.repeat(np.cumsum(sizes) - sizes, sizes)
        return frozen_array(np.ascontiguousarray(ranks))

    @cached_property
    def mid_ranks(self) -> FloatArray:
        """m×k: mean rank of each action's tier, if its actions were ordered in any way; without tiers the `ranks`."""
        out = self.ranks.astype(np.float64)
        for z, sizes in enumerate(self.tiers or ()):
            out[z, self.orderings[z]] += (np.repeat(sizes, sizes) - 1) / 2.0
        return frozen_array(out)

    @property
    def best_actions(self) -> tuple[Label, ...]:
        """The label of each state's best action, state by state; with tiers, of all actions of its first tier.

        >>> PreferenceModel([[["tea", "jam"], "egg"], ["egg", ["tea", "jam"]]]).best_actions
        ('tea', 'jam', 'egg')
        """
        sizes = [1] * self.n_states if self.tiers is None else [row[0] for row in self.tiers]
        return tuple(self.actions[a] for row, n in zip(self.orderings, sizes, strict=True) for a in row[:n])

    @cached_property
    def logits(self) -> FloatArray | None:
        """m×k: logits log(u / (1 − u)) of the utilities; None without utilities."""
        from scipy.special import logit  # noqa: PLC0415 - heavy, and only for fitted models

        if self.utilities is None:
            return None
        return frozen_array(np.asarray(logit(np.clip(self.utilities, EDGE, 1.0 - EDGE))))

    @cached_property
    def kendall(self) -> FloatArray:
        """m×m: Kendall distance, the share of action pairs that two states order differently (1: reversed).

        A pair that one state orders and the other has in one tier counts half (Fagin et al. 2006).
        """
        from lpbandits.kernels.kendall import kendall_distances  # noqa: PLC0415 - compiled code on first use

        ranks, pairs = np.array(self.ranks), max(math.comb(self.n_actions, 2), 1)
        return frozen_array(kendall_distances(ranks, ranks, True) / (2.0 * pairs))

    @cached_property
    def index(self) -> dict[Label, int]:
        """Index of each label."""
        return {label: i for i, label in enumerate(self.actions)}

    def indices_of(self, labels: Iterable[Label]) -> IntArray:
        """Return the index of each label, -1 for unknown labels."""
        return np.array([self.index.get(label, -1) for label in labels], dtype=np.int64)

    def replace(self, **parts: Any) -> "PreferenceModel":
        """Return a copy with some fields replaced, such as `actions=…` or `names=…`.

        >>> PreferenceModel([[0, 1]]).replace(actions=["tea", "jam"]).best_actions
        ('tea',)
        """
        fields: dict[str, Any] = {name: getattr(self, name) for name in (*FIELDS, "provenance", "evaluation")}
        for name in parts:
            validate.as_choice(name, "the field", fields)
        return PreferenceModel(**fields | parts)

    def oriented(self, numbers: Any) -> Any:
        """Return rewards for a user's numbers, or the reverse: the negatives if lower is better.

        >>> PreferenceModel([[0, 1]], lower_is_better=True).oriented(7.5)
        -7.5
        """
        return 0.0 - numbers if self.lower_is_better else numbers

    def name_of(self, action: int) -> str:
        """Return the display name of an action, by index."""
        return str(self.actions[action]) if self.names is None else self.names[action]

    def state_name(self, state: int) -> str:
        """Return the display name of a state, by index."""
        return f"state {state}" if self.state_names is None else self.state_names[state]

    @cached_property
    def states_by_name(self) -> dict[str, int]:
        """Index of each state by its name, and by its index as text; -1 for a name that several states have."""
        return model_fields.states_by_name([self.state_name(z) for z in range(self.n_states)])

    def prior_for(self, covariates: Mapping[str, Any]) -> FloatArray:
        """Return the probability of each state of a person, given covariates such as {"age": 40, "sex": "f"}.

        Covariates that are left out, None or NaN are missing. The prior of the model is returned if all are, or if the
        fit found that the covariates do not help.

        >>> sex = CovariateModel(["sex"], ["text"], [["f", "m"]], [0], [1], [0, 0], [[1.0, 0, 0], [0, 1.0, 0]], 0.5)
        >>> PreferenceModel([[0, 1], [1, 0]], covariates=sex).prior_for({"sex": "f"}).round(3).tolist()
        [0.616, 0.384]
        """
        if self.covariates is None:
            raise InvalidInput("the model must have covariates; fit it with a table of people (lpb fit --people)")
        return frozen_array(self.covariates.prior_for(covariates, self.prior))

    def to_dict(self) -> Json:
        """Return a new JSON object with the format, version and content hash."""
        parts = {name: _plain(getattr(self, name)) for name in FIELDS}
        parts["lower_is_better"] = parts["lower_is_better"] or None
        parts = {name: part for name, part in parts.items() if part is not None or name in ALWAYS_STORED}
        version = max((v for v, names in VERSIONS.items() if set(names) & set(parts)), default=1)
        content = {"format": FORMAT, "version": version, **parts, "provenance": thawed(self.provenance)}
        evaluation = {} if self.evaluation is None else {"evaluation": thawed(self.evaluation)}
        return {**content, "sha256": digest(content), **evaluation}

    @classmethod
    def from_dict(cls, content: Any, *, source: str = "the model") -> "PreferenceModel":
        """Return the model that `to_dict` described; `source` is its name in error messages."""
        stored = dict(content) if isinstance(content, dict) else {}
        if not validate.is_exactly(stored.get("format"), FORMAT):
            got = validate.short_repr(stored.get("format"))
            raise FileFormatError(f"{source} is not a preference model: 'format' must be '{FORMAT}', got {got}")
        if not any(validate.is_exactly(stored.get("version"), known) for known in VERSIONS):
            got = validate.short_repr(stored.get("version"))
            raise FileFormatError(
                f"{source}: version must be from {min(VERSIONS)} to {max(VERSIONS)}, got {got}; use the version of "
                "lpbandits that wrote it"
            )
        missing = [key for key in ("actions", "orderings", "prior", "sha256") if key not in stored]
        if missing:
            raise FileFormatError(f"{source} is incomplete: '{missing[0]}' is missing")
        evaluation, sha256 = stored.pop("evaluation", None), stored.pop("sha256")
        try:
            if not validate.is_exactly(sha256, digest(stored)):
                raise FileFormatError("it was altered after it was saved: its content does not match its sha256")
            parts: Json = {name: stored.get(name) for name in (*FIELDS, "provenance")}
            parts["lower_is_better"] = stored.get("lower_is_better", False)
            for name, kind in (("taste", TasteModel), ("covariates", CovariateModel)):
                if parts[name] is not None:
                    parts[name] = kind.from_dict(parts[name])
            return cls(**parts, evaluation=evaluation)
        except (TypeError, ValueError) as error:  # values that are not JSON, or not valid
            raise FileFormatError(f"{source}: {error}") from None

    @translate_errors("saving a model")
    def save(self, path: str | Path) -> None:
        """Write the model to a readable JSON file."""
        lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in self.to_dict().items())
        write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")

    @classmethod
    @translate_errors("loading a model")
    def load(cls, path: str | Path) -> "PreferenceModel":
        """Read a model that `save` wrote."""
        return cls.from_dict(read_json(path), source=str(path))

    @cached_property
    def sha256(self) -> str:
        """Hash of the content, equal for equal models."""
        return str(self.to_dict()["sha256"])

    @cached_property
    def numbers_sha256(self) -> str:
        """Hash of the fields on which beliefs depend: not `NOT_IN_BELIEFS`, and no record such as the provenance."""
        return digest({name: _plain(getattr(self, name)) for name in FIELDS if name not in NOT_IN_BELIEFS})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreferenceModel) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in FIELDS[3:]}
        extras = [name for name, value in values.items() if value is not None and value is not False]
        known = f", with {', '.join(extras)}" if extras else ""
        sizes = f"{pluralize(self.n_states, 'state')}, {pluralize(self.n_actions, 'action')}"
        return f"<PreferenceModel: {sizes}{known}>"


def even_utilities(actions: int) -> FloatArray:
    """Return evenly spaced utilities for the ranks of an ordering, best first, with mean 0 and variance 1.

    >>> even_utilities(3).round(3).tolist()
    [1.225, 0.0, -1.225]
    """
    centred: FloatArray = (actions - 1) / 2.0 - np.arange(actions, dtype=np.float64)
    return centred / math.sqrt(max(actions**2 - 1, 1) / 12.0)


def as_model(value: Any, name: str = "model") -> PreferenceModel:
    """Return `value` if it is a model."""
    if not isinstance(value, PreferenceModel):
        raise validate.invalid(name, "a PreferenceModel, such as PreferenceModel([[0, 1], [1, 0]])", value)
    return value


def _plain(part: Any) -> Any:
    """Return a field of a model as a JSON value."""
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, tuple):
        return [_plain(inner) for inner in part]
    return part.to_dict() if isinstance(part, TasteModel | CovariateModel) else part
