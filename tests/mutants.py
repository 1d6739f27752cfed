"""Mutation tests: put faults into a copy of the sources and report which of them the tests notice.

`make mutants` runs both parts. cosmic-ray mutates the pure-Python modules of `[tool.mutants]` in pyproject.toml. It
cannot reach compiled kernels, so `FAULTS` lists faults there. A fault is an expression of a function. A single capital
letter in it stands for any expression, so that a renamed variable does not matter. Tests marked jitless run with the
compiler switched off.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")

FAULTS = {
    "tests/policies/test_evidences.py": (
        ("isotonic.pool", "A * B <= C * D", "A * B >= C * D"),
        ("likelihood.log_likelihood", "2.0 * A * B", "A * B"),
        ("likelihood.log_likelihood", "np.log1p(-A)", "np.log(A)"),
        ("isotonic.block_squares", "(A - B * C) ** 2 / C", "(A - B * C) ** 2"),
        ("likelihood.fit_likelihood", "(A - B) * np.log1p(-B / A)", "0.0"),
        ("likelihood.guessed_square", "A / (B - 1.0)", "A / B"),
        ("likelihood.unknown_noise", "-0.5 * (A + B)", "-0.5 * B"),
        ("refit.update_posterior", "A + B", "B"),
        ("refit.tell", "A += B", "A -= B"),
        ("known_means.tell", "(A - B) ** 2", "abs(A - B)"),
        ("known_means.mark_consistent", "6.0 * A", "2.0 * A"),
        ("known_means.tell", "A - B - C", "A - B + C"),
        ("order_bounds.least_difference", "A - B", "A + B"),
        ("order_bounds.least_difference", "A != B", "A == B"),
        ("order_bounds.mark_possible", "A == 0.0 or B == 0.0", "A == 0.0"),
        ("tally.confidence_width", "2.0 * A / B", "A / B"),
        ("tally.record", "(A - B) * (A - C)", "(A - C) ** 2"),
        ("isotonic.fitted_at", "A + B * (C - D)", "A"),
        ("duels.expected_rewards", "A + 1.0", "A"),
    ),
    "tests/policies/test_belief.py": (
        ("calls.possible", "1.0 <= A <= B", "True"),
        ("calls.possible", "A == np.floor(B)", "True"),
        ("calls.possible", "abs(A) <= B * C", "True"),
        ("calls.possible", "0.0 <= A <= B", "True"),
        ("calls.possible", "16.0 * A", "1e9 * A"),
        ("calls.is_defined", "not np.isfinite(A)", "False"),
    ),
    "tests/decisions/test_decide.py": (
        ("deciding.reward_forecast", "(A - B) ** 2", "0.0"),
        ("deciding.deciding", "min(A, B - 1)", "0"),
        ("deciding.reward_limits", "max(A, B)", "A"),
        ("deciding.within", "A < B", "A > B"),
        ("utility.predictive_sd_one", "(A - B) ** 2", "1.0"),
    ),
    "tests/decisions/test_inputs.py": (
        ("deciding.deciding", "not np.isnan(A)", "True"),
        ("deciding.deciding", "A[B] == C", "False"),
    ),
    "tests/kernels/test_kendall.py": (
        ("kendall.inversions", "A[B] <= A[C]", "A[B] < A[C]"),
        ("kendall.inversions", "A += B - C", "A += 1"),
        ("kendall.kendall_distances", "A - 2 * B", "A"),
    ),
    "tests/policies/test_best.py": (
        ("gaps.filtered", "A + B * (C - A)", "A"),
        ("gaps.lay_grid", "0.5 * A * A", "A * A"),
        ("gaps.lay_grid", "max(A, 0.5 * (B - C) / D)", "A"),
        ("gaps.lay_grid", "A / np.sqrt(B)", "A"),
        ("gaps.advance", "1.0 if A > 1 else 0.0", "0.0"),
        ("gaps.climb", "abs(A - B)", "1"),
        ("gaps.log_likelihood_of_order", "A * np.exp(B - C)", "np.exp(B - C)"),
        ("gaps.update_posterior", "A + log_likelihood_of_order(B, C, D)", "log_likelihood_of_order(B, C, D)"),
        ("gaps.noise_of_means", "max(A, 1.0) / B", "1.0"),
        ("gaps.add_density", "A - B", "B"),
        ("gaps.add_density", "A * B * np.exp(C - D)", "A"),
    ),
    "tests/simulation/test_stopping.py": (
        ("kernels.stop_when_sure", "A + 1.0", "A"),
        ("kernels.surest", "A += B", "A = B"),
    ),
    "tests/policies/test_duel_policies.py": (("duels.invert", "A < B", "A > B"),),
    "tests/policies/test_utility.py": (
        ("utility.scale_of", "1.0 - 1.0 / A", "1.0"),
        ("utility.fit", "A - B * C + D / E", "A + D / E"),
        ("utility.fit", "abs(A) + B", "abs(A)"),
        ("utility.fit", "A if B > 0.0 else C / D", "A"),
        ("utility.slope_variance", "A * B + 2.0", "A * B + 1.0"),
        ("utility.predictive_sd", "(A - B) ** 2", "1.0"),
        ("utility.misfit", "A - B", "A"),
    ),
    "tests/policies/test_rules.py": (
        ("tally.place", "A[B, C] > D", "A[B, C] < D"),
        ("order_optimism.candidate", "A if B == C else -1", "A"),
        ("order_optimism.choose", "A + B", "A"),
        ("ids.add_state", "max(A, B + C)", "max(A, B)"),
    ),
    "tests/policies/test_horizon.py": (
        ("knowledge_gradient.least_probability", "A * B", "B"),
        ("knowledge_gradient.set_goals", "A /= B", "pass"),
        ("knowledge_gradient.set_goals", "A += B * (C - D)", "A += B * C"),
        ("knowledge_gradient.set_promise", "A / (A + B)", "A"),
        ("knowledge_gradient.set_promise", "(A - B) ** 2", "abs(A - B)"),
        ("knowledge_gradient.gain_of", "A + B", "A"),
        ("knowledge_gradient.gain_of", "0.5 - 0.5 * A * A / B", "-A * A / B"),
        ("knowledge_gradient.gain_of", "A * B / C", "A"),
        ("knowledge_gradient.gain_of", "A - B", "A"),
        ("knowledge_gradient.best_plan", "1.0 / A + 1.0 / B", "1.0 / A"),
        ("knowledge_gradient.best_plan", "1.0 + 0.5 * A / (A + B)", "1.0"),
        ("knowledge_gradient.best_plan", "(A - B) * C - B * D", "A * C"),
    ),
    "tests/policies/test_tiers.py": (
        ("tally.precedes", "A > B", "A < B"),
        ("isotonic.fitted_at", "A == B", "False"),
        ("isotonic.active_constraints", "A - 1 - B", "A - B"),
        ("tiers.gamma_rate", "1.0 + A", "A"),
        ("tiers.draw_in_tier", "1.0 + A - B", "1.0 + A"),
        ("tiers.draw_in_tier", "A / np.sqrt(B)", "A"),
        ("sample.challenger", "0.5 * A", "0.0"),
        ("choices.favourites", "A != B", "False"),
    ),
    "tests/policies/test_taste.py": (
        ("taste.replace_part", "A / (1.0 + A * B)", "A"),
        ("taste.replace_part", "A -= B * C", "pass"),
        ("taste.replace_part", "A + (1.0 - A) / B", "1.0 / B"),
    ),
    "tests/simulation/test_rollout.py": (
        ("simulation.rollout", "min(A, B - 1)", "0"),
        ("outcomes.rewarded", "A - B", "A"),
        ("outcomes.duelled", "0.5 * (A + B)", "A"),
        ("outcomes.first_wins", "A > B", "A < B"),
    ),
    "tests/agent/test_exploration.py": (("choices.apply_exploration_floor", "A >= B * C", "A >= 0.5 * B * C"),),
    "tests/agent/test_probabilities.py": (("classical.largest_draw", "A - B > C - D", "A > B"),),
    "tests/worlds/test_worlds.py": (("worlds.gap_at", "A + B * C", "A"),),
    "tests/worlds/test_tiers.py": (("worlds.shuffle_tiers", "A - A % B", "0"),),
    "tests/worlds/test_misspecified.py": (("worlds.swap_neighbours", "A < B", "A > B"),),
    "tests/fit/test_bradley_terry.py": (
        ("bradley_terry.expected_wins", "0.5 * A * B", "A * B"),
        ("bradley_terry.hessian_off_diagonal", "A * (B * B) * C", "A * B * C"),
    ),
    "tests/fit/test_comparisons.py": (("comparisons.split_histories", "A / B", "1.0"),),
    "tests/fit/test_uncertainty.py": (
        ("bradley_terry.scatter_parts", "0.5 * (A - B)", "0.5"),
        ("bradley_terry.scatter_parts", "A * (A * B)", "A * B"),
    ),
    "tests/fit/methods/test_mixture.py": (
        ("mixture.mixture_step", "A - B * C * D", "A"),
        ("mixture.mixture_step", "A - 0.5 * B / C", "A - B / C"),
        ("mixture.mixture_step", "A * ((B - C) / D - E)", "A * ((B - C) / D)"),
        ("mixture.mixture_step", "A + np.log(B)", "A"),
    ),
    "tests/fit/test_selection.py": (
        ("arrangements.arrangement_means", "A * B * (C - D)", "A * B * C"),
        ("arrangements.arrangement_means", "A * B + math.log(C) - D", "A * B + math.log(C)"),
        ("arrangements.scaled_means", "A * B * C - D - E", "A * B * C"),
        ("arrangements.scaled_means", "A + B - math.lgamma(C)", "A - math.lgamma(C)"),
        ("arrangements.log_permanent", "math.log(1.0 - A)", "0.0"),
        ("arrangements.log_permanent", "A / (1.0 - A) * math.log(A)", "math.log(A)"),
        ("arrangements.log_permanent", "A -= B * C", "pass"),
    ),
    "tests/theory/test_bounds.py": (("theory.confusing_means", "0.5 * A", "A"),),
}
"""Chosen faults, which cosmic-ray cannot reach, by the tests that must notice them: function, expression, replacement.

A function stands after its module or folder, as in `refit.tell`.
"""


def matches(pattern: Any, node: Any, bound: dict[str, Any]) -> bool:
    """Compare a pattern with a tree; `bound` receives the expressions of its variables.

    >>> bound = {}
    >>> matches(ast.parse("A * B <= C").body[0].value, ast.parse("x * y[1] <= 2").body[0].value, bound)
    True
    >>> ast.unparse(bound["B"])
    'y[1]'
    """
    if isinstance(pattern, ast.Name) and re.fullmatch("[A-Z]", pattern.id):
        if pattern.id in bound:
            return ast.dump(bound[pattern.id]) == ast.dump(node)
        bound[pattern.id] = node
        return isinstance(node, ast.expr)
    if isinstance(pattern, ast.AST):
        names = [name for name in pattern._fields if name != "ctx"]
        return type(pattern) is type(node) and all(
            matches(getattr(pattern, name), getattr(node, name), bound) for name in names
        )
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(matches(a, b, bound) for a, b in zip(pattern, node, strict=True))
    return bool(pattern == node)


def faulty(source: str, function: str, expression: str, replacement: str) -> str | None:
    """Return source with an expression of a function replaced; None where it does not occur.

    >>> print(faulty("def f(x):\\n    return 2 * (x + 1)", "f", "A + B", "A - B"))
    def f(x):
        return 2 * (((x) - (1)))
    """
    pattern = ast.parse(expression).body[0]
    whole = pattern.value if isinstance(pattern, ast.Expr) else pattern
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for node in [node for one in functions if one.name == function for node in ast.walk(one)]:
        bound: dict[str, Any] = {}
        if matches(whole, node, bound):
            parts = {name: f"({ast.unparse(part)})" for name, part in bound.items()}
            text = re.sub(r"\b[A-Z]\b", lambda name: parts[name[0]], replacement)  # noqa: B023 - called at once
            return _replaced(source, node, f"({text})" if isinstance(pattern, ast.Expr) else text)
    return None


def _replaced(source: str, node: Any, text: str) -> str:
    """Return source with the text of a node replaced; columns of nodes count bytes."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    replaced: bytes = before + text.encode() + after
    return replaced.decode()


def find(tree: Path, place: str, expression: str, replacement: str) -> tuple[Path, str] | None:
    """Return the file of a fault and its faulty content."""
    stem, _, function = place.rpartition(".")
    for path in sorted((tree / "src").rglob("*.py")):
        if stem in ("", path.stem, path.parent.name):
            content = faulty(path.read_text(encoding="utf-8"), function, expression, replacement)
            if content is not None:
                return path, content
    return None


def _path(tree: Path) -> str:
    return os.pathsep.join([str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])


def run_tests(tree: Path, tests: str) -> bool:
    """Return whether the tests pass in a tree; those marked jitless run alone, without compiler."""
    jitless = "jitless" in (tree / tests).read_text(encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests]
    settings = {"PYTHONPATH": _path(tree), **({"NUMBA_DISABLE_JIT": "1"} if jitless else {})}
    words += ["-m", "jitless"] if jitless else []
    done = subprocess.run(words, cwd=tree, env={**os.environ, **settings}, capture_output=True, check=False)
    return done.returncode == 0


def try_kernels(tree: Path, only: str) -> bool:
    """Try every chosen fault, and print a row each."""
    good = True
    print(f"{'':12} {'function':34} fault")
    for tests, faults in FAULTS.items():
        chosen = [fault for fault in faults if only in fault[0]]
        passing = bool(chosen) and run_tests(tree, tests)
        for place, expression, replacement in chosen:
            located = find(tree, place, expression, replacement)
            if not located or not passing:
                outcome = "TESTS FAIL" if located else "NOT FOUND"
            else:
                path, content = located
                kept = path.read_text(encoding="utf-8")
                path.write_text(content, encoding="utf-8")
                outcome = "NOT NOTICED" if run_tests(tree, tests) else "noticed"
                path.write_text(kept, encoding="utf-8")
            good &= outcome == "noticed"
            print(f"{outcome:12} {place:34} {expression}  ->  {replacement}", flush=True)
    return good


def try_python(tree: Path, only: str) -> None:
    """Let cosmic-ray mutate the modules of `[tool.mutants]`, and print the survival rate of each."""
    modules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutants"]
    os.environ["PYTHONPATH"] = _path(tree)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for module, tests in modules.items():
        if only and only not in module:
            continue
        config, session = tree / "cosmic-ray.toml", tree / f"{Path(module).stem}.sqlite"
        config.write_text(
            f'[cosmic-ray]\nmodule-path = "src/lpbandits/{module}"\ntimeout = 120.0\nexcluded-modules = []\n'
            f'test-command = "{sys.executable} -m pytest -q -x -p no:cacheprovider {tests}"\n'
            '[cosmic-ray.distributor]\nname = "local"\n',
            encoding="utf-8",
        )
        for command in ("init", "exec"):
            subprocess.run(["cosmic-ray", command, config, session], cwd=tree, check=True)
        report = subprocess.run(["cr-report", session], cwd=tree, capture_output=True, text=True, check=True)
        survived = [line for line in report.stdout.splitlines() if line.startswith(("total", "complete", "surviving"))]
        print(f"{module:34} {', '.join(survived)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["kernels", "python"], help="run one part only")
    parser.add_argument("--only", default="", help="run only functions or modules with this in their name")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in COPIED:
            copy: Any = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, tree / name)
        if options.part != "python":
            good = try_kernels(tree, options.only)
        if options.part != "kernels":
            try_python(tree, options.only)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
