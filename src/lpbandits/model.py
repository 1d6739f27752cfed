"""`PreferenceModel`: what is known before a person's first decision."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput, translate_errors
from lpbandits.io.atomic import write_text
from lpbandits.io.json import digest, read_json
from lpbandits.limits import check_resources
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray, IntArray, Json, Label

T = TypeVar("T", bound="np.ndarray[Any, Any]")

FORMAT = "lpbandits-model"
VERSIONS = {3: ("noise", "names", "popular"), 2: ("errors", "taste"), 1: ()}
"""The versions of the format, and what each can say beyond those below it.

A model is written as the lowest that can say all of it: equal models keep equal hashes, whatever wrote them.
"""

LARGEST_ERROR = 100.0
"""Of a utility's logit."""

PARTS = ("actions", "prior", "means", "utilities", "errors", "taste", "noise", "names", "popular", "provenance")
"""What a model has beside its orderings."""

EDGE = 1e-12
"""Utilities nearer to 0 or 1 have no logit that means anything."""


class PreferenceModel:
    """The possible preference orderings: one per latent state, most preferred action first.

    Parameters
    ----------
    orderings
        m×k: row z names all actions 0..k-1, most preferred first. No two rows may be equal.
    actions
        A label (str or int) per action; by default its index.
    prior
        Probability of each state; uniform by default.
    means
        m×k mean rewards per state, for policies that know them (mTS). They must not rise along the state's ordering.
    utilities
        m×k strengths in [0, 1] from which a fitted model's orderings came.
    errors
        m×k: how uncertain the utilities are, as the standard deviation of each one's logit log(u / (1 − u)).
    taste
        How people's tastes vary beside the states, which the policy `taste` needs: a `TasteModel`, from a log.
    noise
        How far a person's rewards lie from their state's `means`, as a standard deviation: what a fit saw.
    names
        What to call each action before people, such as titles; by default its label.
    popular
        All actions, what everybody together likes most first: one ordering, for the policy `popular`.
    provenance
        How the model was made: any JSON object.
    evaluation
        What was found when policies were tried with it on people not in the fit: any JSON object. It is not part of
        what the model is: the hash and `==` leave it out, so that saved agents stay valid.

    A model is immutable; two are equal when their contents are.

    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> model.best_actions
    ('rest', 'drug B')
    >>> model.ranks[1].tolist()
    [2, 1, 0]
    >>> float(model.kendall[0, 1])
    1.0
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
        provenance: Mapping[str, Any] | None = None,
        evaluation: Mapping[str, Any] | None = None,
    ) -> None:
        with translate_errors("making a model"):
            self._fill(orderings, actions, prior, means, utilities, errors)
            k = self.n_actions
            self.taste: TasteModel | None = _as_taste(taste, k)
            self.noise: float | None = None if noise is None else as_noise(noise)
            self.names: tuple[str, ...] | None = None if names is None else _as_names(names, k)
            self.popular: IntArray | None = None if popular is None else _as_popular(popular, k)
            self.provenance: Json = {} if provenance is None else validate.as_json(provenance, "provenance")
            self.evaluation: Json | None = None if evaluation is None else validate.as_json(evaluation, "evaluation")
        self._sealed = True

    def _fill(self, orderings: Any, actions: Any, prior: Any, means: Any, utilities: Any, errors: Any) -> None:
        self.orderings: IntArray = _frozen(validate.as_orderings(orderings))
        m, k = self.orderings.shape
        self.actions: tuple[Label, ...] = validate.as_labels(actions, k)
        self.prior: FloatArray = _frozen(validate.as_prior(prior, m))
        self.means: FloatArray | None = None
        if means is not None:
            self.means = _frozen(validate.as_floats(means, "means", shape=(m, k), max_abs=validate.MAX_ABS_VALUE))
            validate.check_ordered(self.means, self.orderings)
        self.utilities: FloatArray | None = None
        if utilities is not None:
            self.utilities = _frozen(validate.as_floats(utilities, "utilities", shape=(m, k)))
            validate.check_unit(self.utilities)
        self.errors: FloatArray | None = None
        if errors is not None:
            self.errors = _frozen(validate.as_floats(errors, "errors", shape=(m, k), max_abs=LARGEST_ERROR))
            validate.check_errors(self.errors, self.utilities)

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_sealed", False):
            raise AttributeError(f"a model is immutable; make a new one to change its {name}")
        super().__setattr__(name, value)

    def __setstate__(self, state: Json) -> None:
        """Take in what was copied or pickled: arrays are sealed again, which both forget."""
        self.__dict__.update(state)
        for part in self.__dict__.values():
            if isinstance(part, np.ndarray):
                _frozen(part)

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
        """m×k: the place of each action in each state's ordering, 0 for the best (the paper's i_{a,z} − 1)."""
        return _frozen(np.ascontiguousarray(np.argsort(self.orderings, axis=1)))

    @property
    def best_actions(self) -> tuple[Label, ...]:
        """The label of each state's best action."""
        return tuple(self.actions[a] for a in self.orderings[:, 0])

    @cached_property
    def logits(self) -> FloatArray | None:
        """m×k: log(u / (1 − u)) of the utilities, on whose scale `errors` are; None without both."""
        from scipy.special import logit  # noqa: PLC0415 - heavy, and only fitted models have them

        if self.utilities is None or self.errors is None:
            return None
        return _frozen(np.asarray(logit(np.clip(self.utilities, EDGE, 1.0 - EDGE))))

    @cached_property
    def kendall(self) -> FloatArray:
        """m×m: the share of action pairs that two states order differently (0 equal, 1 reversed)."""
        from lpbandits.kernels.kendall import kendall_distances  # noqa: PLC0415 - compiled code only when asked for

        m, k = self.n_states, self.n_actions
        check_resources(
            f"distances between {m:,} states with {k:,} actions",
            "use a model of fewer states",
            size=16 * m * m,
            operations=3 * m * m * k * k.bit_length(),
        )
        pairs = max(self.n_actions * (self.n_actions - 1) // 2, 1)
        return _frozen(kendall_distances(np.array(self.orderings), np.array(self.ranks)) / pairs)

    @cached_property
    def index(self) -> dict[Label, int]:
        """From label to index."""
        return {label: i for i, label in enumerate(self.actions)}

    def indices_of(self, labels: Iterable[Label]) -> IntArray:
        """Return the index of each label, -1 for one that the model does not have."""
        return np.array([self.index.get(label, -1) for label in labels], dtype=np.int64)

    def replace(self, **parts: Any) -> "PreferenceModel":
        """Return the same model with other parts, such as `actions=…`, `names=…` or `evaluation=…`.

        >>> PreferenceModel([[0, 1]]).replace(actions=["tea", "jam"]).best_actions
        ('tea',)
        """
        given: dict[str, Any] = {name: getattr(self, name) for name in ("orderings", *PARTS, "evaluation")}
        unknown = [name for name in parts if name not in given]
        if unknown:
            near = validate.did_you_mean(unknown[0], given)
            raise InvalidInput(
                f"a model has no part {validate.short_repr(unknown[0])}; it has {', '.join(given)}{near}"
            )
        return PreferenceModel(**given | parts)

    def relabelled(self, actions: Sequence[Label]) -> "PreferenceModel":
        """Return the same model with other labels."""
        return self.replace(actions=actions)

    def name_of(self, action: int) -> str:
        """Return what to call an action, by index, before people."""
        return str(self.actions[action]) if self.names is None else self.names[action]

    def to_dict(self) -> Json:
        """Return the model as a JSON object, with its format, version and content hash."""
        extras = {name: part for name, part in self._extras().items() if part is not None}
        version = max((v for v, names in VERSIONS.items() if set(names) & set(extras)), default=1)
        content: Json = {
            "format": FORMAT,
            "version": version,
            "actions": list(self.actions),
            "orderings": self.orderings.tolist(),
            "prior": self.prior.tolist(),
            "means": None if self.means is None else self.means.tolist(),
            "utilities": None if self.utilities is None else self.utilities.tolist(),
            **extras,
            "provenance": self.provenance,
        }
        found: Json = {} if self.evaluation is None else {"evaluation": self.evaluation}
        return {**content, "sha256": digest(content), **found}

    def _extras(self) -> Json:
        return {
            "errors": None if self.errors is None else self.errors.tolist(),
            "taste": None if self.taste is None else self.taste.to_dict(),
            "noise": self.noise,
            "names": None if self.names is None else list(self.names),
            "popular": None if self.popular is None else self.popular.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Any, *, source: str = "the model") -> "PreferenceModel":
        """Return the model in a JSON object; `source` names it in errors."""
        if not isinstance(content, dict) or not validate.is_exactly(content.get("format"), FORMAT):
            raise FileFormatError(f"{source} is not a preference model: its 'format' is not '{FORMAT}'")
        if not any(validate.is_exactly(content.get("version"), known) for known in VERSIONS):
            raise FileFormatError(
                f"{source} has format version {validate.short_repr(content.get('version'))}; this lpbandits reads versions "
                f"{min(VERSIONS)} to {max(VERSIONS)}: install the lpbandits that wrote it"
            )
        missing = [key for key in ("actions", "orderings", "prior", "sha256") if key not in content]
        if missing:
            raise FileFormatError(f"{source} has no '{missing[0]}'; it is not a whole model")
        body = {key: value for key, value in content.items() if key not in ("sha256", "evaluation")}
        try:
            found = digest(body)
        except validate.CONVERSION_ERRORS:
            raise FileFormatError(f"{source} holds what JSON does not; give what to_dict returned") from None
        if not validate.is_exactly(content["sha256"], found):
            raise FileFormatError(f"{source} was altered after it was saved: its content does not match its sha256")
        try:
            parts = {name: body.get(name) for name in PARTS}
            if parts["taste"] is not None:
                parts["taste"] = TasteModel.from_dict(parts["taste"])
            return cls(body["orderings"], **parts, evaluation=content.get("evaluation"))
        except (InvalidInput, FileFormatError) as error:
            raise FileFormatError(f"{source}: {error}") from None

    @translate_errors("saving a model")
    def save(self, path: str | Path) -> None:
        """Write the model as one readable JSON file; a place that cannot be written to is an `InvalidInput`."""
        lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in self.to_dict().items())
        write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")

    @classmethod
    @translate_errors("loading a model")
    def load(cls, path: str | Path) -> "PreferenceModel":
        """Read a model that `save` wrote."""
        return cls.from_dict(read_json(path), source=str(path))

    @cached_property
    def sha256(self) -> str:
        """The hash of the content: equal for equal models."""
        return str(self.to_dict()["sha256"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreferenceModel) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        extras = [name for name in PARTS[2:-1] if getattr(self, name) is not None]
        known = f", with {' and '.join(extras)}" if extras else ""
        return f"<PreferenceModel: {self.n_states} states, {self.n_actions} actions{known}>"


def even_utilities(actions: int) -> FloatArray:
    """Return the utility of each place of an ordering, best first, if nothing else is known: evenly spaced.

    Their mean is 0 and their variance 1.

    >>> even_utilities(3).round(3).tolist()
    [1.225, 0.0, -1.225]
    """
    centred: FloatArray = (actions - 1) / 2.0 - np.arange(actions, dtype=np.float64)
    return centred / math.sqrt(max(actions**2 - 1, 1) / 12.0)


def as_model(value: Any, name: str = "model") -> PreferenceModel:
    """Return `value` if it is a model.

    >>> as_model("x")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: model is 'x'; give a PreferenceModel, such as PreferenceModel([[0, 1], [1, 0]])
    """
    if not isinstance(value, PreferenceModel):
        raise InvalidInput(
            f"{name} is {validate.short_repr(value)}; give a PreferenceModel, such as PreferenceModel([[0, 1], [1, 0]])"
        )
    return value


def _frozen(array: T) -> T:
    array.flags.writeable = False
    return array


def _as_taste(taste: Any, actions: int) -> TasteModel | None:
    if taste is not None and not isinstance(taste, TasteModel):
        raise InvalidInput(f"taste is {validate.short_repr(taste)}; give a TasteModel, or fit a model from a log")
    if taste is not None and taste.n_actions != actions:
        raise InvalidInput(f"taste is of {taste.n_actions} actions, but there are {actions}; give one of the same")
    return taste


def as_noise(noise: Any) -> float:
    """Return a standard deviation of rewards, if it is one."""
    return validate.as_number(noise, "noise", low=0, high=validate.MAX_ABS_VALUE)


def _as_names(names: Any, actions: int) -> tuple[str, ...]:
    given = list(validate.as_list(names, "names", "texts", max_length=actions + 1))
    if len(given) != actions:
        raise InvalidInput(f"there are {len(given)} names for {actions} actions; give one for each")
    return tuple(validate.as_text(name, f"names[{i}]") for i, name in enumerate(given))


def _as_popular(popular: Any, actions: int) -> IntArray:
    order = validate.as_orderings([popular])
    if order.shape[1] != actions:
        raise InvalidInput(f"popular orders {order.shape[1]} actions, but there are {actions}; name each once")
    return _frozen(order[0])
