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


DECIDE = (
    "import json, sys, lpbandits as lpb;"
    "agent = lpb.Agent(lpb.LpbTS(lpb.PreferenceModel([[0, 1], [1, 0]])), seed=0);"
    "agent.tell(agent.ask(), 1.0);"
)


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import lpbandits;", "numba sklearn altair polars scipy joblib typer rich"),
        ("import lpbandits.data.reader;", "numba sklearn"),
        ("import lpbandits as lpb; lpb.PreferenceModel([[0, 1]]);", "numba sklearn altair polars"),
        (DECIDE, "sklearn altair polars joblib rich"),
        ("import lpbandits.paper.reproduce, lpbandits.evaluation;", "scipy.stats"),  # a third of a second per worker
    ],
)
def test_slow_libraries_are_imported_only_where_needed(code: str, absent: str) -> None:
    loaded = run_in_new_process(f"{code} import json, sys; print(json.dumps(list(sys.modules)))")
    assert "lpbandits" in loaded
    assert not set(loaded) & set(absent.split())


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


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_has_a_docstring_and_a_doctest(name: str) -> None:
    value = getattr(lpbandits, name)
    members = vars(value) if inspect.isclass(value) else {}
    called = {key: member for key, member in members.items() if callable(member) or isinstance(member, property)}
    assert any(">>>" in (thing.__doc__ or "") for thing in (value, *called.values()))
    undocumented = [key for key, member in called.items() if not key.startswith("_") and not inspect.getdoc(member)]
    assert inspect.getdoc(value)
    assert not undocumented
    assert value.__name__ == name


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
        for name in re.findall(r"(?<!/)\blpb\.(\w+)", page.read_text(encoding="utf-8")):
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


@pytest.mark.parametrize(("name", "near"), [("EM", "Em"), ("lpbts", "LpbTS"), ("simulation_", "simulation"), ("x", "")])
def test_an_unknown_name_suggests_the_nearest(name: str, near: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(lpbandits, name)
    assert str(caught.value).endswith(f"(did you mean '{near}'?)" if near else f"{name!r}")
