"""The package as a whole: what importing it costs, and what its names promise."""

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


def in_a_new_process(code: str) -> Any:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_loads_nothing_heavy() -> None:
    loaded = set(in_a_new_process("import json, sys, lpbandits; print(json.dumps(list(sys.modules)))"))
    assert not loaded & {"numba", "sklearn", "altair", "polars", "scipy", "joblib", "typer", "rich"}


def test_a_model_needs_no_compiler() -> None:
    code = "import json, sys, lpbandits as lpb; lpb.PreferenceModel([[0, 1]]); print(json.dumps(list(sys.modules)))"
    assert not set(in_a_new_process(code)) & {"numba", "sklearn", "altair", "polars"}


DECIDE = (
    "import json, sys, lpbandits as lpb;"
    "agent = lpb.Agent(lpb.LpbTS(lpb.PreferenceModel([[0, 1], [1, 0]])), seed=0);"
    "agent.tell(agent.ask(), 1.0);"
)


def test_a_decision_needs_no_linear_algebra() -> None:
    loaded = set(in_a_new_process(DECIDE + "print(json.dumps(list(sys.modules)))"))
    assert "numba.np.arraymath" in loaded
    assert not loaded & {"scipy.linalg", "numpy.ma", "sklearn", "altair", "polars", "joblib", "rich"}


def test_figures_are_found_without_all_of_statistics() -> None:
    """It would take a third of a second of `lpb reproduce` and of every worker."""
    code = "import json, sys, lpbandits.paper.reproduce, lpbandits.evaluation; print(json.dumps(list(sys.modules)))"
    assert "scipy.stats" not in in_a_new_process(code)


def test_code_of_others_that_multiplies_matrices_gets_its_linear_algebra() -> None:
    """After a decision of ours, in the same process; numba's own question is put back as it was."""
    code = DECIDE + (
        "import numba, numpy as np, numba.np.arraymath as a, numba.np.linalg as b;"
        "one = np.arange(4.0).reshape(2, 2);"
        "square = numba.njit(lambda x: np.dot(x, x)); covariance = numba.njit(lambda x: np.cov(x));"
        "print(json.dumps([square(one).tolist(), covariance(one).tolist(), a._HAVE_BLAS,"
        " a.ensure_blas is b.ensure_blas, b.ensure_blas.__name__, 'scipy.linalg' in sys.modules]))"
    )
    square, covariance, *asked = in_a_new_process(code)
    assert square == [[2.0, 3.0], [6.0, 11.0]]
    assert covariance == [[0.5, 0.5], [0.5, 0.5]]
    assert asked == [True, True, "ensure_blas", True]


def test_only_what_is_called_opens_its_cache() -> None:
    """A process imports more than a hundred kernels, and a decision calls two; opening a cache tries the disk."""
    code = (
        "import lpbandits.kernels.compiler as compiler; opened, made = [], [];"
        "real, late = compiler.FunctionCache, compiler._Cache.__init__;"
        "compiler.FunctionCache = lambda function: opened.append(1) or real(function);"
        "compiler._Cache.__init__ = lambda *given: made.append(1) or late(*given);"
        f"{DECIDE} print(json.dumps([len(made), len(opened)]))"
    )
    in_a_new_process(DECIDE + "print(json.dumps(0))")  # compiles, if nobody did
    made, opened = in_a_new_process(code)
    assert made > 100
    assert opened == 2


def test_kernels_leave_numbas_settings_alone() -> None:
    code = (
        "import json, numba; before = numba.config.CACHE_DIR;"
        "import lpbandits.simulation.kernels, lpbandits.kernels.kendall, lpbandits.worlds.kernels;"
        "print(json.dumps([before, numba.config.CACHE_DIR]))"
    )
    before, after = in_a_new_process(code)
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


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        getattr(lpbandits, "nothing")  # noqa: B009 - the type checker knows that it is not there


def test_the_type_checker_sees_the_names_that_load() -> None:
    stub = Path(lpbandits.__file__).with_suffix(".pyi")
    imports = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    assert sorted(alias.asname or "" for node in imports for alias in node.names) == PUBLIC


def test_every_part_and_world_is_public() -> None:
    from lpbandits.policies.evidences import EVIDENCES
    from lpbandits.policies.rules import RULES
    from lpbandits.worlds import WORLDS

    for thing in (*EVIDENCES.values(), *RULES.values(), *WORLDS.values()):
        assert thing.__name__ in PUBLIC, f"add {thing.__name__} to src/lpbandits/__init__.pyi"


def test_everything_that_the_docs_name_is_public() -> None:
    root = Path(__file__).parents[2]
    for page in (root / "README.md", *(root / "docs").glob("*.md")):
        for name in re.findall(r"\blpb\.(\w+)", page.read_text(encoding="utf-8")):
            assert name in PUBLIC, f"{page.name} names lpb.{name}"


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert lpbandits.__version__ == version("lpbandits")


def test_errors_are_one_tree() -> None:
    from lpbandits import errors

    leaves = [
        value for value in vars(errors).values() if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    assert all(issubclass(leaf, errors.LpbError | UserWarning) for leaf in leaves)
    assert {leaf.__name__ for leaf in leaves} <= set(PUBLIC)
