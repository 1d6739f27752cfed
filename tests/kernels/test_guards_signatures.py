"""Each kernel is compiled once, whatever arrays come in: a second compilation costs users seconds."""

from typing import Any

import pytest

from tests.guards import printed_by

pytestmark = pytest.mark.slow

COUNTS = "counts have two bytes, four with very many raters, or are floats with weighted people"
SEVERAL = {
    f"fit.kernels.{name}": (3, COUNTS)
    for name in (
        "bradley_terry.expected_wins",
        "bradley_terry.hessian_off_diagonal",
        "bradley_terry.squared_off_diagonal",
        "comparisons.add_transposed",
        "comparisons.count_rows",
    )
}
"""Kernels that Python may call with several sets of types: how many, and why."""

INNER = {
    "fit.kernels.arrangements.log_permanent",
    "fit.kernels.arrangements.scale_to_one",
    "fit.kernels.comparisons.group_sizes",
    "kernels.choices.pick_untried",
    "kernels.kendall.inversions",
    "kernels.kendall.sort_ties",
    "kernels.outcomes.first_wins",
    "kernels.random.below",
    "kernels.random.largest_normal",
    "kernels.random.normal_at_edge",
    "kernels.random.poisson_quantile",
    "kernels.random.student_quantile",
    "kernels.random.upper_quantile",
    "policies.evidences.gaps.advance",
    "policies.evidences.gaps.climb",
    "policies.evidences.gaps.lay_grid",
    "policies.rules.classical.largest_draw",
    "kernels.random.gamma",
    "policies.rules.sample.challenger",
    "policies.tiers.draw_in_tier",
    "simulation.kernels.count_constraints",
    "simulation.kernels.surest",
}
"""Kernels compiled alone that only other kernels call. Any other one needs a step of the tour."""

PURPOSE = "the purpose of a draw is a constant for the compiler"
SEVERAL_INSIDE = {
    "kernels.random.words": (4, PURPOSE),
    "kernels.random.uniform": (3, PURPOSE),
    "kernels.choices.position": (2, "slots hold actions in 32 bits"),
}
"""Kernels that one policy compiles several times: how often, and why."""


@pytest.fixture(scope="module")
def tour() -> Any:
    """Return what a tour of the library compiles in a new process."""
    return printed_by("tour")


def too_often(compiled: dict[str, list[str]], declared: dict[str, tuple[int, str]]) -> dict[str, list[str]]:
    return {name: types for name, types in compiled.items() if len(types) > declared.get(name, (1, ""))[0]}


def test_python_calls_each_kernel_with_one_set_of_types(tour: Any) -> None:
    assert too_often(tour["called"], SEVERAL) == {}
    assert set(tour["uncalled"]) <= INNER, "the tour does not call these: add a step, or list them"
    assert set(tour["alone"]) >= INNER | set(SEVERAL)
    for loop in ("rollout_", "deciding_"):
        assert any(name.startswith(loop) for name in tour["called"])


def test_a_loop_compiles_each_callee_once(tour: Any) -> None:
    assert "policies.evidences.refit.Refit.tell" in tour["loop"]
    assert too_often(tour["loop"], SEVERAL_INSIDE) == {}
