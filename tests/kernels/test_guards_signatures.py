"""How often kernels are compiled: once, whatever arrays come in; a second time costs a user seconds, unseen."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COUNTS = "counts are of two bytes, of four where an action has very many raters, or floats where people have weights"
SEVERAL = {
    "kernels.pairs.count_rows": (3, COUNTS),
    "kernels.pairs.add_transposed": (3, COUNTS),
    "kernels.bradley_terry.expect": (3, COUNTS),
    "kernels.bradley_terry.neighbours": (3, COUNTS),
    "kernels.bradley_terry.squared_neighbours": (3, COUNTS),
    "kernels.bradley_terry.pieces": (3, COUNTS),
}
"""Kernels that Python may call with more than one set of types: how many, and why."""

INNER = {
    "kernels.choices.pick_untried",
    "kernels.outcomes.first_wins",
    "kernels.pairs.group_sizes",
    "kernels.random.below",
    "kernels.random.largest_normal",
    "kernels.random.odd_normal",
    "kernels.random.poisson_quantile",
    "kernels.random.student_quantile",
    "kernels.random.upper_quantile",
    "kernels.rollout.active_constraints",
    "policies.rules.double_thompson.gamma",
    "policies.rules.two_states.challenger",
}
"""Functions of their own that only kernels call. Any other that is not met needs a step of the tour."""

PURPOSE = "what a draw is for is a constant, known to the compiler"
SEVERAL_INSIDE = {
    "kernels.random.words": (4, PURPOSE),
    "kernels.random.uniform": (3, PURPOSE),
    "kernels.choices.position": (2, "slots hold actions in 32 bits"),
}
"""Kernels that are compiled more than once for one policy: how often, and why."""


def toured(way: str, **environment: str) -> Any:
    """Return what was compiled on a way through the library, in a process that nothing was compiled in before."""
    usual = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    command = [sys.executable, "-m", "tests.guards.tour", way]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env={**usual, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def too_often(compiled: dict[str, list[str]], declared: dict[str, tuple[int, str]]) -> dict[str, list[str]]:
    return {name: types for name, types in compiled.items() if len(types) > declared.get(name, (1, ""))[0]}


def test_whatever_comes_in_a_kernel_is_compiled_once() -> None:
    found = toured("whole")
    assert too_often(found["met"], SEVERAL) == {}
    assert set(found["unmet"]) <= INNER, "nobody on the tour calls these: add a step, or list them"
    assert set(found["alone"]) >= INNER | set(SEVERAL)
    assert any(name.startswith("rollout_") for name in found["met"])
    assert any(name.startswith("deciding_") for name in found["met"])


def test_a_loop_compiles_what_it_calls_once(tmp_path: Path) -> None:
    found = toured("loop", NUMBA_CACHE_DIR=str(tmp_path))
    assert "policies.evidences.refit.tell" in found
    assert too_often(found, SEVERAL_INSIDE) == {}
