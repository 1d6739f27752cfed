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
        ({"family": "normal"}, "rewards must .*got 'normal'"),
        ({"noise": 0}, "noise must .*got 0"),
        ({"noise": 1e101}, r"noise must .*got 1e\+101"),
        ({"weight": 0}, "weight must .*got 0"),
        ({"family": "poisson", "noise_known": False}, "noise_known must .*poisson.*got False"),
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
