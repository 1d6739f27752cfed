"""The documentation: complete command pages, working links, and examples that run."""

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from lpbandits.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
READ = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
RUN = ("index.md", "agent.md", "notebooks.md", "scale.md", "theory.md", "tutorial.md")
COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined] # the app is a group of commands
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND_LINE = re.compile(r"^    (?:\$ )?lpb (\w.*?)(?:\s+#.*)?$|`lpb (\w[^`]*)`", re.MULTILINE)


def parameters_of(command: Any) -> list[Any]:
    """Return the parameters of a command, or of all commands of a group."""
    return [p for one in getattr(command, "commands", {"": command}).values() for p in one.params]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def links_of(page: Path) -> list[str]:
    """Return the links of a page that point into the repository."""
    return [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]


def target_of(page: Path, link: str) -> Path:
    """Return the file or folder that a link points to."""
    place = link.partition("#")[0]
    return (page.parent / place).resolve() if place else page


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as Markdown renderers derive them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of all table rows."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]


def test_commands_and_command_pages_correspond() -> None:
    assert sorted(page.stem for page in (DOCS / "commands").iterdir()) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_page_has_an_example_its_options_with_defaults_and_exit_codes(name: str) -> None:
    text = (DOCS / "commands" / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# `lpb {name}`\n")
    assert f"    $ lpb {name}" in text
    assert "**`--json`** prints" in text
    options, codes = text.split("## Options")[1].split("## Exit codes")
    assert [row[0] for row in rows_of(codes)[2:]] == ["0", "2", "130", "143"]
    assert all(len(row) == 3 and row[1] for row in rows_of(options)), "option, meaning, default"
    listed = {row[0].strip("`"): re.split("[ ;]", row[2].replace("`", ""))[0] for row in rows_of(options)[2:]}
    wanted = {
        p.name.upper() if p.param_type_name == "argument" else max(p.opts, key=len): p
        for p in parameters_of(COMMANDS[name])
    }
    assert sorted(listed) == sorted(wanted)
    for option, parameter in wanted.items():
        assert all(f"`{other}`" in options for other in parameter.secondary_opts)
        default = parameter.default
        if parameter.param_type_name != "argument" and default not in (None, "", []):
            shown = {False: "off", True: "on"}[default] if isinstance(default, bool) else default
            shown = f"{shown:g}" if isinstance(shown, float) else str(shown)
            assert listed[option].replace(",", "") == shown


@pytest.mark.parametrize("page", READ, ids=named)
def test_command_lines_use_existing_options(page: Path) -> None:
    for block, inline in COMMAND_LINE.findall(page.read_text(encoding="utf-8")):
        name, *words = shlex.split(block or inline)
        assert name in COMMANDS
        known = {option for parameter in parameters_of(COMMANDS[name]) for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, f"lpb {name} {' '.join(words)}"


@pytest.mark.parametrize("page", READ, ids=named)
def test_links_resolve(page: Path) -> None:
    for link in links_of(page):
        target = target_of(page, link)
        assert target.exists(), f"{named(page)} links {link}, which does not exist"
        anchor = link.partition("#")[2]
        if anchor:
            assert anchor in anchors_of(target), f"{named(page)} links {link}, but there is no such heading"


def test_every_page_is_reachable_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen and page.is_file() and page.suffix == ".md":
            seen.add(page)
            waiting += [target_of(page, link) for link in links_of(page)]
    missing = [named(page) for page in PAGES if page not in seen]
    assert not missing, f"link them from docs/index.md: {', '.join(missing)}"
    assert "docs/index.md" in links_of(ROOT / "README.md")


@pytest.mark.parametrize("name", RUN)
def test_python_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # an example may write files
    text = (DOCS / name).read_text(encoding="utf-8")
    for line in re.findall(r"^    lpb (.*)$", text, re.MULTILINE) if name == "tutorial.md" else []:
        done = CliRunner().invoke(app, shlex.split(line))
        assert done.exit_code == 0, done.output
    names = run_examples(name, text)
    assert name == "index.md" or names, "no example was run"


def run_examples(name: str, text: str) -> dict[str, Any]:
    """Run the Python examples of a page, and return the names that they define."""
    names: dict[str, Any] = {}
    for block in BLOCK.finditer(text):
        code, line = block.group(1), text[: block.start(1)].count("\n")
        if ">>>" not in code:
            exec(compile("\n" * line + code, name, "exec"), names)  # noqa: S102 - our documentation
            continue
        test = doctest.DocTestParser().get_doctest(code, names, name, name, line)
        output: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=output.append, clear_globs=False)
        names = test.globs
        assert not result.failed, "".join(output)
    return names
