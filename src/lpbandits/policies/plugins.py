"""Parts from outside: what is asked of an evidence or a rule, and the watch kept on its functions while they run."""

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any, Literal, get_args

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.choices import validated_action, validated_pair, validated_tell
from lpbandits.kernels.compiler import config, fingerprint, is_compiled, name_of, specialise
from lpbandits.policies.base import Evidence, Feedback, Rule
from lpbandits.rewards import Rewards
from lpbandits.typing import Json
from lpbandits.validate import short_repr

_KINDS: dict[str, type[Evidence | Rule]] = {"evidence": Evidence, "rule": Rule}
_EXAMPLES = {"evidence": "Refit()", "rule": "Sample()"}
_FUNCTIONS = {"evidence": ("tell", "expected_rewards", "predictive_sd", "sway"), "rule": ("choose",)}
_OPTIONAL = {
    "evidence": ("update_posterior", "expected_reward", "predictive_sd_one"),
    "rule": ("probability", "sampled_state"),
}
_ARGUMENTS = {
    "tell": ("b", "n", "action", "outcome"),
    "expected_rewards": ("b", "n", "state", "out"),
    "predictive_sd": ("b", "n", "out"),
    "sway": ("b", "n", "action", "out"),
    "update_posterior": ("b", "n"),
    "expected_reward": ("b", "n", "state", "action"),
    "predictive_sd_one": ("b", "n", "action"),
    "choose": ("b", "n", "offered", "seed", "person", "round_"),
    "probability": ("b", "n", "offered", "play", "action"),
    "sampled_state": ("b", "n", "seed", "person", "round_"),
}


def check_part(part: Any, name: Literal["evidence", "rule"]) -> None:
    """Refuse what is no evidence or rule, or one that lacks something, or whose settings cannot be saved."""
    if not isinstance(part, _KINDS[name]):
        raise InvalidInput(f"{name} is {short_repr(part)}; give one of its kind, such as {_EXAMPLES[name]}")
    called = f"the {name} {type(part).__name__}"
    for member in ("kind", *_FUNCTIONS[name]):
        if not hasattr(type(part), member):
            raise InvalidInput(f"{called} has no {member}; see lpbandits.policies.base")
    validate.as_choice(part.feedback, f"the feedback of {called}", get_args(Feedback))
    given = [member for member in _OPTIONAL[name] if getattr(part, member) is not None]
    for member in (*_FUNCTIONS[name], *given):
        _check_function(getattr(part, member), member, called)
    try:
        json.dumps(settings_of(part), allow_nan=False)
    except validate.CONVERSION_ERRORS:
        raise InvalidInput(f"the settings of {called} are not plain values; they are saved as JSON") from None


def _check_function(function: Any, member: str, called: str) -> None:
    if not callable(function):
        raise InvalidInput(f"{member} of {called} is {short_repr(function)}, no function")
    if not fingerprint(function):
        return
    wanted = _ARGUMENTS[member]
    try:
        inspect.signature(getattr(function, "py_func", function)).bind(*wanted)
    except TypeError:
        raise InvalidInput(
            f"{member} of {called} must take ({', '.join(wanted)}); see lpbandits.policies.base"
        ) from None
    except ValueError:
        return  # it has no signature to look at


def settings_of(part: Any) -> Json:
    """Return a part's own settings as a JSON object."""
    return {field.name: _json(getattr(part, field.name)) for field in fields(part)}


def _json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return asdict(value) if isinstance(value, Rewards) else value


@functools.cache
def bind_expectations(
    choose: Callable[..., Any],
    expected_rewards: Callable[..., None],
    predictive_sd: Callable[..., None],
    sway: Callable[..., None],
) -> Callable[..., Any]:
    """Return a rule's `choose`, built around an evidence's `expected_rewards`, `predictive_sd` and `sway`."""
    asked = {"expected_rewards": expected_rewards, "predictive_sd": predictive_sd, "sway": sway}
    return specialise(choose, name_of("choose", {"choose": choose, **asked}), asked, inline=True)


@functools.cache
def checked_choose(choose: Callable[..., Any], feedback: Feedback) -> Callable[..., Any]:
    """Return a `choose` from outside, with a check that it returns allowed actions."""
    template = validated_pair if feedback == "duels" else validated_action
    wanted = "two actions" if feedback == "duels" else "one action"
    choose = _checking(choose, 2 if feedback == "duels" else 1, f"the rule did not return {wanted}; mend its choose")
    return specialise(template, name_of(template.__name__, {"choose": choose}), {"choose": choose}, inline=True)


@functools.cache
def checked_tell(tell: Callable[..., int]) -> Callable[..., int]:
    """Return a `tell` from outside, with a check of the number that it returns."""
    tell = _checking(tell, 1, "the evidence did not return the number of tried actions; mend its tell")
    return specialise(validated_tell, name_of("watched_tell", {"tell": tell}), {"tell": tell}, inline=True)


def _checking(function: Callable[..., Any], numbers: int, otherwise: str) -> Callable[..., Any]:
    """Return a plain Python function that must return so many whole numbers; a compiled one's types are known."""
    if is_compiled(function) and not config.DISABLE_JIT:
        return function

    @functools.wraps(function)
    def checked(*given: Any) -> Any:
        found = function(*given)
        parts = found if numbers > 1 and isinstance(found, tuple) else (found,)
        if len(parts) != numbers or not all(isinstance(part, int | np.integer) for part in parts):
            raise IndexError(otherwise)
        return found

    return checked
