"""The package: lazy imports, public names and their docstrings."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lpbandits

PUBLIC: list[str] = sorted(dir(lpbandits))
DOCUMENTED = [
    name for name in PUBLIC if inspect.isclass(getattr(lpbandits, name)) or inspect.isfunction(getattr(lpbandits, name))
]


def run_in_new_process(code: str) -> Any:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_the_package_loads_no_heavy_library() -> None:
    loaded = set(run_in_new_process("import json, sys, lpbandits; print(json.dumps(list(sys.modules)))"))
    assert not loaded & {"numba", "sklearn", "altair", "polars", "scipy", "joblib", "typer", "rich"}


def test_a_model_does_not_load_numba() -> None:
    code = "import json, sys, lpbandits as lpb; lpb.PreferenceModel([[0, 1]]); print(json.dumps(list(sys.modules)))"
    assert not set(run_in_new_process(code)) & {"numba", "sklearn", "altair", "polars"}


DECIDE = (
    "import json, sys, lpbandits as lpb;"
    "agent = lpb.Agent(lpb.LpbTS(lpb.PreferenceModel([[0, 1], [1, 0]])), seed=0);"
    "agent.tell(agent.ask(), 1.0);"
)


def test_a_decision_loads_only_numba_and_numpy() -> None:
    loaded = set(run_in_new_process(DECIDE + "print(json.dumps(list(sys.modules)))"))
    assert "numba.np.arraymath" in loaded
    assert not loaded & {"sklearn", "altair", "polars", "joblib", "rich"}


def test_reproduction_does_not_load_scipy_stats() -> None:
    """It takes a third of a second in `lpb reproduce` and in every worker."""
    code = "import json, sys, lpbandits.paper.reproduce, lpbandits.evaluation; print(json.dumps(list(sys.modules)))"
    assert "scipy.stats" not in run_in_new_process(code)


def test_only_called_kernels_open_their_cache() -> None:
    """A process imports over a hundred kernels; a decision calls two of them."""
    code = (
        "import lpbandits.kernels.compiler as compiler; opened, made = [], [];"
        "real, late = compiler.FunctionCache, compiler._Cache.__init__;"
        "compiler.FunctionCache = lambda function: opened.append(1) or real(function);"
        "compiler._Cache.__init__ = lambda *given: made.append(1) or late(*given);"
        f"{DECIDE} print(json.dumps([len(made), len(opened)]))"
    )
    run_in_new_process(DECIDE + "print(json.dumps(0))")  # fills the cache
    made, opened = run_in_new_process(code)
    assert made > 100
    assert opened == 2


def test_kernels_do_not_change_numba_settings() -> None:
    code = (
        "import json, numba; before = numba.config.CACHE_DIR;"
        "import lpbandits.simulation.kernels, lpbandits.kernels.kendall, lpbandits.worlds.kernels;"
        "print(json.dumps([before, numba.config.CACHE_DIR]))"
    )
    before, after = run_in_new_process(code)
    assert before == after


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves(name: str) -> None:
    value = getattr(lpbandits, name)
    assert name in dir(lpbandits)
    if name in DOCUMENTED:
        assert value.__name__ == name
        assert inspect.getdoc(value)


def examples(value: Any) -> int:
    own = [value.__doc__ or ""]
    if inspect.isclass(value):
        own += [member.__doc__ or "" for member in vars(value).values() if callable(member)]
    return sum(doc.count(">>>") for doc in own)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_has_a_doctest(name: str) -> None:
    assert examples(getattr(lpbandits, name)) > 0


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if inspect.isclass(getattr(lpbandits, name))])
def test_every_public_method_has_a_docstring(name: str) -> None:
    own = vars(getattr(lpbandits, name))
    for member, value in own.items():
        if not member.startswith("_") and (callable(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{name}.{member}"


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        getattr(lpbandits, "nothing")  # noqa: B009 - mypy would refuse the attribute


def test_the_stub_lists_the_public_names() -> None:
    stub = Path(lpbandits.__file__).with_suffix(".pyi")
    imports = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    assert sorted(alias.asname or "" for node in imports for alias in node.names) == PUBLIC


def test_every_evidence_rule_and_world_is_public() -> None:
    from lpbandits.policies.evidences import EVIDENCES
    from lpbandits.policies.rules import RULES
    from lpbandits.worlds import WORLDS

    for module, things in ((lpbandits.evidences, EVIDENCES), (lpbandits.rules, RULES), (lpbandits.worlds, WORLDS)):
        for thing in things.values():
            assert getattr(module, thing.__name__) is thing


def test_names_in_the_docs_are_public() -> None:
    root = Path(__file__).parents[2]
    for page in (root / "README.md", *(root / "docs").glob("*.md")):
        for name in re.findall(r"\blpb\.(\w+)", page.read_text(encoding="utf-8")):
            assert name in PUBLIC, f"{page.name} names lpb.{name}"


def test_the_version_matches_the_distribution() -> None:
    from importlib.metadata import version

    assert lpbandits.__version__ == version("lpbandits")


def test_errors_have_one_root() -> None:
    from lpbandits import errors

    leaves = [
        value for value in vars(errors).values() if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    assert all(issubclass(leaf, errors.LpbError | UserWarning) for leaf in leaves)
    assert {leaf.__name__ for leaf in leaves} <= set(PUBLIC)
