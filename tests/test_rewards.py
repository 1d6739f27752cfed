"""`Rewards`: families, noise, and which values are possible."""

from typing import Any

import pytest

from lpbandits.errors import InvalidInput
from lpbandits.rewards import Rewards


def test_noise_has_a_default_per_family() -> None:
    assert [Rewards(family).sd for family in ("gaussian", "bernoulli", "poisson")] == [1.0, 0.5, 1.0]
    assert Rewards("gaussian", 2).sd == 2.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"family": "normal"}, "rewards is 'normal'; choose one of: gaussian, bernoulli, poisson"),
        ({"noise": 0}, "noise is 0; it must be greater than 0"),
        ({"noise": -1.0}, "noise is -1.0"),
        ({"noise": float("inf")}, "noise is inf; it must be a finite number"),
        ({"noise": "loud"}, "noise is 'loud', which is not a number"),
        ({"noise": True}, "noise is True, which is not a number"),
        ({"noise": 1e101}, r"noise is 1e\+101; it must be at most 1e\+100"),
        ({"weight": 0}, "weight is 0; it must be greater than 0"),
        ({"family": "poisson", "noise_known": False}, "noise_known=False has no meaning for poisson rewards"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Rewards(**settings)


@pytest.mark.parametrize(
    ("family", "values"),
    [
        ("gaussian", [0, -3.5, 1e100, -1e100, 1e-320, True]),
        ("bernoulli", [0, 1, 0.0, 1.0, True, False, -0.0]),
        ("poisson", [0, 1, 7.0, 10**15, True]),
    ],
)
def test_possible_rewards_come_back_as_floats(family: Any, values: list[float]) -> None:
    for value in values:
        checked = Rewards(family).check(value)
        assert type(checked) is float
        assert checked == value


@pytest.mark.parametrize(
    ("family", "value", "message"),
    [
        ("bernoulli", 2, "reward is 2; a Bernoulli reward must be 0 or 1"),
        ("bernoulli", 0.5, "reward is 0.5; a Bernoulli reward must be 0 or 1"),
        ("poisson", 1.5, "reward is 1.5; a Poisson reward must be a whole number, 0 or more"),
        ("poisson", -1, "reward is -1; a Poisson reward"),
        ("gaussian", float("-inf"), "reward is -inf; it must be a finite number"),
        ("poisson", float("nan"), "reward is nan; it must be a finite number"),
        ("gaussian", b"1", "reward is b'1', which is not a number"),
        ("gaussian", 2**400, "it must lie within ±1e"),
    ],
)
def test_impossible_rewards_are_named(family: Any, value: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Rewards(family).check(value)
