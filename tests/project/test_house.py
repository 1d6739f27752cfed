"""House rules that no linter checks: size of folders and files, import cycles, local imports and vocabulary."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
MODULES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SRC.rglob("*.py"))
}
MAX_MODULES = 15
MAX_LINES = 400
LONG_FILES: dict[str, str] = {}
"""Files above `MAX_LINES`, each with the reason."""
LOCAL_IMPORTS = {
    "lpbandits.cli": "a command loads only the libraries it needs",
    "distributed": "optional, and slow to import",
    "fastexcel": "optional",
    "pandas": "optional",
    "joblib": "slow to import, and needed by few calls",
    "scipy": "slow to import, and needed by few calls",
    "sklearn": "slow to import, and needed by few calls",
    "polars": "slow to import, and needed by few calls",
    "altair": "slow to import, and needed by few calls",
    "numba": "slow to import, and needed by few calls",
    "threadpoolctl": "slow to import, and needed by few calls",
    "lpbandits.kernels": "loads numba, which reading a model does not need",
    "multiprocessing": "slow to import, and needed by few calls",
    "resource": "absent on Windows",
}
"""Packages that may be imported inside a function, or whose functions may import, with the reason."""

WORDS = {
    r"luck\w*": "seed, random draws",
    r"mend\w*": "fix",
    r"likings?": "item means, popularity",
    r"so many(?! \w+ that)": "the number's name",
    r"so manieth": "every n-th",
    r"the told": "outcome, reported",
    r"doors?": "entry point, public function",
    r"nobody|somebody|everybody": "no one, each person; or name the noun",
    r"by hand of": "by",
}
"""Words of the former dialect, and what to write instead."""


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def for_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(node: ast.AST, module: str, local: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield every module that a tree imports at run time, and whether it does so inside a function."""
    for child in ast.iter_child_nodes(node):
        if for_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name, local) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            package = module.split(".")[: -child.level or None] if child.level else []
            base = ".".join([*package, *([child.module] if child.module else [])])
            for alias in child.names:
                inner = f"{base}.{alias.name}"
                yield (inner if inner in MODULES else base), local
        else:
            yield from imports(child, module, local or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES.values()}), ids=lambda path: path.name)
def test_a_folder_has_few_modules(folder: Path) -> None:
    modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MAX_MODULES, f"{len(modules)} modules: make two folders of {folder.relative_to(SRC)}"


def test_files_are_short() -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n") for path in MODULES.values()}
    long = {name: lines for name, lines in lengths.items() if lines > MAX_LINES}
    assert set(long) == set(LONG_FILES), f"split these files, or list them with a reason: {long}"


def test_imports_have_no_cycle_even_inside_functions() -> None:
    graph = {
        module: {name for name, _ in imports(tree(module), module) if name in MODULES and name != module}
        for module in MODULES
    }
    try:
        TopologicalSorter({m: {n for n in names if not m.startswith(f"{n}.")} for m, names in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("module", MODULES)
def test_local_imports_are_allowed(module: str) -> None:
    allowed = tuple(LOCAL_IMPORTS)
    if module.startswith(allowed):
        return
    found = {name for name, local in imports(tree(module), module) if local and not name.startswith(allowed)}
    assert not found, f"import at the top of the module: {', '.join(sorted(found))}"


def prose(module: str) -> Iterator[tuple[int, str]]:
    """Yield every string and comment of a module with its line number."""
    for token in tokenize.generate_tokens(io.StringIO(MODULES[module].read_text(encoding="utf-8")).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], token.string


def offences(text: str) -> list[str]:
    pattern = rf"(?<![\w/.-])(?:{'|'.join(WORDS)})(?![\w/-])"
    return [match[0] for match in re.finditer(pattern, text)]


@pytest.mark.parametrize("room", sorted({module.split(".")[1] if "." in module else "" for module in MODULES}))
def test_source_uses_the_vocabulary(room: str) -> None:
    modules = [module for module in MODULES if (module.split(".")[1] if "." in module else "") == room]
    found = [
        f"{module}:{line}: {word}" for module in modules for line, text in prose(module) for word in offences(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "page",
    [page for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]) if page.name != "CHANGELOG.md"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_documentation_uses_the_vocabulary(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    found = [f"{number}: {word}" for number, line in enumerate(lines, start=1) for word in offences(line)]
    assert not found, "\n".join(found)
