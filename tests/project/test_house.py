"""House rules that no linter checks: size of folders and files, import cycles, local imports and vocabulary."""

import ast
import io
import re
import tokenize
from collections import Counter
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
SLOW = ("joblib", "scipy", "sklearn", "polars", "altair", "numba", "threadpoolctl", "multiprocessing")
"""Packages that are slow to import, and needed by few calls."""
OPTIONAL = ("distributed", "fastexcel", "httpx2", "pandas", "resource")
"""Packages that may be absent."""
LOCAL_IMPORTS = (*SLOW, *OPTIONAL, "lpbandits.kernels", "lpbandits.cli")
"""Packages that may be imported inside a function, or whose functions may import.

Kernels load numba, which reading a model does not need. A command loads only the libraries it needs.
"""

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


def test_folders_have_few_modules_and_files_are_short() -> None:
    folders = Counter(str(path.parent.relative_to(SRC)) for path in MODULES.values() if path.name != "__init__.py")
    assert not {folder: n for folder, n in folders.items() if n > MAX_MODULES}, "make two folders of these"
    lengths = {str(path.relative_to(SRC)): path.read_text("utf-8").count("\n") for path in MODULES.values()}
    assert not {name: lines for name, lines in lengths.items() if lines > MAX_LINES}, "split these files"


def test_imports_have_no_cycle_even_inside_functions() -> None:
    graph = {
        module: {name for name, _ in imports(tree(module), module) if name in MODULES and name != module}
        for module in MODULES
    }
    try:
        TopologicalSorter({m: {n for n in names if not m.startswith(f"{n}.")} for m, names in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_local_imports_are_allowed() -> None:
    found = [
        f"{module}: {name}"
        for module in MODULES
        for name, local in imports(tree(module), module)
        if local and not name.startswith(LOCAL_IMPORTS) and not module.startswith(LOCAL_IMPORTS)
    ]
    assert not found, f"import these at the top of the module: {found}"


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page, or every string and comment of a module, with line numbers."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], token.string


PAGES = [page for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]) if page.name != "CHANGELOG.md"]


@pytest.mark.parametrize("paths", [list(MODULES.values()), PAGES], ids=["source", "documentation"])
def test_prose_uses_the_vocabulary(paths: list[Path]) -> None:
    pattern = re.compile(rf"(?<![\w/.-])(?:{'|'.join(WORDS)})(?![\w/-])")
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in paths
        for line, text in prose(path)
        for match in pattern.finditer(text)
    ]
    assert not found, "\n".join(found)
