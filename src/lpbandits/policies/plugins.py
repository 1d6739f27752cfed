"""Plug-ins: validate an evidence or a rule, and check the values that its functions return."""

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any, Literal, get_args

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.choices import validated_pair, validated_probability
from lpbandits.kernels.compiler import config, is_compiled, plugins_of, specialise
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, Feedback, Rule
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Json
from lpbandits.validate import short_repr

_KINDS: dict[str, tuple[type[Evidence | Rule], str]] = {"evidence": (Evidence, "Refit()"), "rule": (Rule, "Sample()")}
_ARGUMENTS = {
    "tell": "b, n, action, outcome",
    "expected_rewards": "b, n, state, out",
    "predictive_sd": "b, n, out",
    "update_posterior": "b, n",
    "expected_reward": "b, n, state, action",
    "predictive_sd_one": "b, n, action",
    "choose": "b, n, offered, seed, person, round_",
    "probability": "b, n, offered, play, action",
    "sampled_state": "b, n, seed, person, round_",
}
"""Arguments of the functions of evidences and rules."""

TOLERANCE = 1e-6
"""Of the probabilities that a plug-in returns."""


def check_part(part: Any, name: Literal["evidence", "rule"]) -> None:
    """Raise `InvalidInput` unless `part` is a complete evidence or rule with settings that JSON can hold."""
    base, example = _KINDS[name]
    if not isinstance(part, base):
        raise validate.invalid(name, f"a {base.__name__}", part, f"give one such as {example}")
    owner = f"the {name} {type(part).__name__}"
    for member in base.__annotations__:
        if not hasattr(type(part), member):
            raise InvalidInput(f"{owner} has no {member}; see lpbandits.policies.base")
    validate.as_text(part.kind, f"the kind of {owner}")
    validate.as_choice(part.feedback, f"the feedback of {owner}", get_args(Feedback))
    for member, arguments in _ARGUMENTS.items():
        function: Any = getattr(part, member, None)
        if function is not None and plugins_of(function):
            try:
                inspect.signature(getattr(function, "py_func", function)).bind(*arguments.split(", "))
            except TypeError:
                raise InvalidInput(
                    f"{member} of {owner} must be a function of ({arguments}); see lpbandits.policies.base"
                ) from None
    try:
        json.dumps(settings_of(part), allow_nan=False)
    except validate.CONVERSION_ERRORS:
        raise InvalidInput(f"the settings of {owner} must be plain JSON values") from None


def settings_of(part: Any) -> Json:
    """Return the settings of an evidence or a rule as a JSON object."""

    def plain(items: list[tuple[str, Any]]) -> Json:
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in items}

    return asdict(part, dict_factory=plain)


def scratch_of(part: Any, model: PreferenceModel) -> tuple[int, int]:
    """Return the rows and columns of scratch that an evidence or a rule needs."""
    name = f"work() of '{part.kind}'"
    sides = validate.as_list(part.work(model), name, "two whole numbers")
    if len(sides) != 2:
        raise validate.invalid(name, "(rows, columns)", sides)
    return validate.as_count(sides[0], name, low=0), validate.as_count(sides[1], name, low=0)


def check_probabilities(values: Any, rule: Rule, actions: IntArray, k: int) -> FloatArray:
    """Return the probabilities of k actions; raise unless they are possible, and 0 for those not in `actions`."""
    name = f"probabilities() of '{rule.kind}'"
    numbers = validate.as_floats(values, name, shape=(k,))
    validate.check_entries(numbers, name, numbers < -TOLERANCE, "not be negative")
    others = np.ones(k, dtype=bool)
    others[actions] = False
    validate.check_entries(numbers, name, others & (numbers > TOLERANCE), "be 0 for an action that is not allowed")
    if abs(numbers.sum() - 1.0) > TOLERANCE:
        raise InvalidInput(f"{name} must sum to 1, got {numbers.sum():g}")
    return numbers


@functools.cache
def bind_expectations(
    function: Callable[..., Any], expected_rewards: Callable[..., None], predictive_sd: Callable[..., None]
) -> Callable[..., Any]:
    """Return a rule's function that calls an evidence's `expected_rewards` and `predictive_sd`."""
    bound = {"expected_rewards": expected_rewards, "predictive_sd": predictive_sd}
    return specialise(function, bound, inline=True)


@functools.cache
def bind_tiers(function: Callable[..., Any], play_best: Callable[..., int]) -> Callable[..., Any]:
    """Return a rule's function that draws the action to play within a tier."""
    return specialise(function, {"play_best": play_best}, inline=True)


@functools.cache
def checked(function: Callable[..., Any], template: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, that of a plug-in with the checks of a template of `kernels.choices`."""
    if not plugins_of(function):
        return function
    if template is not validated_probability and (not is_compiled(function) or config.DISABLE_JIT):
        function = _with_integers(function, (2,) if template is validated_pair else ())
    return specialise(template, {"function": function}, inline=True)


def _with_integers(function: Callable[..., Any], shape: tuple[int, ...]) -> Callable[..., Any]:
    """Wrap a plain Python function that must return integers; numba knows the types of a compiled one."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        value = function(*arguments)
        if np.shape(value) != shape or np.asarray(value).dtype.kind not in "iu":
            must = "two whole numbers" if shape else "a whole number"
            raise InvalidInput(f"{function.__name__} must return {must}, got {short_repr(value)}")
        return value

    return call


def described(part: Any) -> str:
    """Return the kind and settings of an evidence or a rule."""
    arguments: list[str] = []
    for name, value in ((field.name, getattr(part, field.name)) for field in fields(part)):
        if isinstance(value, Rewards):
            if value.family != "gaussian":
                arguments.append(repr(value.family))
            arguments.append(f"noise={_short(value)}" if value.noise_known else f"noise≈{_short(value)}")
        else:
            arguments.append(f"{name}={value!r}")
    return f"{part.kind}({', '.join(arguments)})"


def _short(rewards: Rewards) -> str:
    """Return the noise with four digits."""
    return "spread" if rewards.noise is None else repr(float(f"{rewards.noise:.4g}"))
