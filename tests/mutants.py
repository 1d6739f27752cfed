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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")

EVIDENCES = "tests/policies/test_evidences.py"
RULES = "tests/policies/test_rules.py"
DUELS = "tests/policies/test_duel_policies.py"
TASTE = "tests/policies/test_taste.py"
UTILITY = "tests/policies/test_utility.py"
ISOTONIC = "tests/fit/test_isotonic.py"
KENDALL = "tests/kernels/test_kendall.py"
RANDOM = "tests/kernels/test_random.py"
COMPARISONS = "tests/fit/test_comparisons.py"
BRADLEY_TERRY = "tests/fit/test_bradley_terry.py"
SCATTER = "tests/fit/test_scatter.py"
ROLLOUT = "tests/simulation/test_rollout.py"
WORLDS = "tests/worlds/test_worlds.py"
MISSPECIFIED = "tests/worlds/test_misspecified.py"
BOUNDS = "tests/theory/test_bounds.py"
DECIDE = "tests/decisions/test_decide.py"


@dataclass(frozen=True)
class Fault:
    """An expression of a function, its faulty replacement, and the tests that must notice it."""

    function: str
    """Name of the function, after its module where several have the name: `refit.tell`."""
    expression: str
    replacement: str
    tests: str


FAULTS = (
    Fault("isotonic.pool", "A * B <= C * D", "A * B >= C * D", EVIDENCES),
    Fault("isotonic.fitted_means", "A + B * (C - D)", "A", "tests/policies/test_expected_rewards.py"),
    Fault("isotonic.fitted_one", "A + B * (C - D)", "A", DECIDE),
    Fault("isotonic.isotonic", "A + (B - C) * (D / E)", "A + (B - C) * 0.5", ISOTONIC),
    Fault("kendall.inversions", "A[B] <= A[C]", "A[B] < A[C]", KENDALL),
    Fault("kendall.inversions", "A += B - C", "A += 1", KENDALL),
    Fault("likelihood.log_likelihood", "2.0 * A * B", "A * B", EVIDENCES),
    Fault("likelihood.log_likelihood", "np.log1p(-A)", "np.log(A)", EVIDENCES),
    Fault("likelihood.own_mean_likelihood", "(A - B * C) ** 2 / C", "(A - B * C) ** 2", EVIDENCES),
    Fault("likelihood.own_mean_likelihood", "(A - B) * np.log1p(-B / A)", "0.0", EVIDENCES),
    Fault("likelihood.guessed_square", "A / (B - 1.0)", "A / B", EVIDENCES),
    Fault("likelihood.unknown_noise", "-0.5 * (A + B)", "-0.5 * B", EVIDENCES),
    Fault("refit.update_posterior", "A + B", "B", EVIDENCES),
    Fault("incremental.tell", "A += B", "A -= B", EVIDENCES),
    Fault("known_means.tell", "(A - B) ** 2", "abs(A - B)", EVIDENCES),
    Fault("consistency.update_posterior", "6.0 * A", "2.0 * A", EVIDENCES),
    Fault("consistency.tell", "A - B - C", "A - B + C", EVIDENCES),
    Fault("inversions.invert", "A < B", "A > B", DUELS),
    Fault("wins.expected_rewards", "A + 1.0", "A", "tests/policies/test_expected_rewards.py"),
    Fault("utility.scale_of", "1.0 - 1.0 / A", "1.0", UTILITY),
    Fault("utility.fit", "A - B * C + D", "A + D", UTILITY),
    Fault("utility.misfit", "(A - B * C) ** 2 / D", "A ** 2 / D", UTILITY),
    Fault("tally.record", "(A - B) * (A - C)", "(A - C) ** 2", EVIDENCES),
    Fault("tally.place", "A[B, C] > D", "A[B, C] < D", RULES),
    Fault("taste.take_in", "A / (1.0 + A * B)", "A", TASTE),
    Fault("taste.take_in", "A -= B * C", "pass", TASTE),
    Fault("taste.replace_along", "A + (1.0 - A) / B", "1.0 / B", TASTE),
    Fault("outcomes.rewarded", "A - B", "A", ROLLOUT),
    Fault("outcomes.duelled", "0.5 * (A + B)", "A", ROLLOUT),
    Fault("outcomes.first_wins", "A > B", "A < B", ROLLOUT),
    Fault("exploring._explored", "A >= B * C", "A >= 0.5 * B * C", "tests/agent/test_exploration.py"),
    Fault("worlds.gap_at", "A + B * C", "A", WORLDS),
    Fault("worlds.swap_neighbours", "A < B", "A > B", MISSPECIFIED),
    Fault("bradley_terry.expect", "0.5 * A * B", "A * B", BRADLEY_TERRY),
    Fault("bradley_terry.neighbours", "A * (B * B) * C", "A * B * C", BRADLEY_TERRY),
    Fault("comparisons.split_histories", "A / B", "1.0", COMPARISONS),
    Fault("scatter.scatter_parts", "0.5 * (A - B)", "0.5", SCATTER),
    Fault("scatter.scatter_parts", "A * B - 0.25", "A * B", SCATTER),
    Fault("theory.confusing_means", "0.5 * A", "A", BOUNDS),
    Fault("deciding.reward_forecast", "(A - B) ** 2", "0.0", DECIDE),
)
"""Chosen faults in compiled code, which cosmic-ray cannot reach."""


def _is_variable(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and bool(re.fullmatch("[A-Z]", node.id))


def matches(pattern: Any, node: Any, bound: dict[str, Any]) -> bool:
    """Compare a pattern with a tree; `bound` receives the expressions of its variables.

    >>> bound = {}
    >>> matches(ast.parse("A * B <= C").body[0].value, ast.parse("x * y[1] <= 2").body[0].value, bound)
    True
    >>> ast.unparse(bound["B"])
    'y[1]'
    """
    if isinstance(pattern, ast.AST) and _is_variable(pattern):
        name = pattern.id  # type: ignore[attr-defined] # a Name
        if name in bound:
            return ast.dump(bound[name]) == ast.dump(node)
        bound[name] = node
        return isinstance(node, ast.expr)
    if isinstance(pattern, ast.AST):
        names = [name for name in pattern._fields if name != "ctx"]
        return type(pattern) is type(node) and all(
            matches(getattr(pattern, name), getattr(node, name), bound) for name in names
        )
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(matches(a, b, bound) for a, b in zip(pattern, node, strict=True))
    return bool(pattern == node)


class _Substitute(ast.NodeTransformer):
    def __init__(self, bound: dict[str, Any]) -> None:
        self.bound = bound

    def visit_Name(self, node: ast.Name) -> Any:
        return self.bound.get(node.id, node)


def faulty(source: str, fault: Fault) -> str | None:
    """Return source with a fault in it; None where the function or the expression does not occur.

    >>> fault = Fault("f", "A + B", "A - B", "")
    >>> print(faulty("def f(x):\\n    return 2 * (x + 1)", fault))
    def f(x):
        return 2 * ((x - 1))
    """
    pattern, replacement = (ast.parse(text).body[0] for text in (fault.expression, fault.replacement))
    expression = isinstance(pattern, ast.Expr)
    name = fault.function.rpartition(".")[2]
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.name != name:
            continue
        for node in ast.walk(function):
            bound: dict[str, Any] = {}
            if matches(pattern.value if isinstance(pattern, ast.Expr) else pattern, node, bound):
                text = ast.unparse(_Substitute(bound).visit(replacement))
                return _replaced(source, node, f"({text})" if expression else text)
    return None


def _replaced(source: str, node: Any, text: str) -> str:
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    content: bytes = before + text.encode() + after
    return content.decode()


def find(tree: Path, fault: Fault) -> tuple[Path, str] | None:
    """Return the file of a fault and its faulty content."""
    stem = fault.function.rpartition(".")[0]
    for path in sorted((tree / "src").rglob("*.py")):
        if not stem or stem in (path.stem, path.parent.name):
            content = faulty(path.read_text(encoding="utf-8"), fault)
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
    passing: dict[str, bool] = {}
    print(f"{'':12} {'function':34} fault")
    for fault in FAULTS:
        if only and only not in fault.function:
            continue
        located = find(tree, fault) if (tree / fault.tests).is_file() else None
        if fault.tests not in passing and located:
            passing[fault.tests] = run_tests(tree, fault.tests)
        if not located:
            outcome = "NOT FOUND"
        elif not passing[fault.tests]:
            outcome = "TESTS FAIL"
        else:
            path, content = located
            kept = path.read_text(encoding="utf-8")
            path.write_text(content, encoding="utf-8")
            try:
                outcome = "NOT NOTICED" if run_tests(tree, fault.tests) else "noticed"
            finally:
                path.write_text(kept, encoding="utf-8")
        good &= outcome == "noticed"
        print(f"{outcome:12} {fault.function:34} {fault.expression}  ->  {fault.replacement}", flush=True)
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
