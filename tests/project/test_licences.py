"""Licences of the dependencies. `make licences` writes docs/licences.md from the lock; `make lock` runs it."""

import re
import sys
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
PAGE = ROOT / "docs" / "licences.md"
PINNED = re.compile(r"^([a-z0-9][\w.-]*)==([^\s;]+)", re.MULTILINE)
ROW = re.compile(r"^\| ([a-z0-9][\w.-]*) \| ([^|]*?) \| ([^|]*?) \|$", re.MULTILINE)
ELSEWHERE = {"colorama": "BSD License"}  # installed on Windows only
HEAD = """# Licences

What `pip install lpbandits` brings along, at the versions of `requirements.lock`, and the licence that each package
declares. Wheels with compiled code may carry libraries under further licences; their own files name them.
`make licences` writes this page.

| package | version | licence |
| --- | --- | --- |
"""


def locked() -> dict[str, str]:
    """Return the versions of each locked package; several where they depend on the version of Python."""
    versions: dict[str, list[str]] = {}
    for name, version in PINNED.findall(LOCK.read_text(encoding="utf-8")):
        versions.setdefault(name, []).append(version)
    return {name: ", ".join(pinned) for name, pinned in versions.items()}


def licence_of(name: str) -> str:
    """Return the declared licence of an installed package: an expression, one line of text, or its classifiers."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    fields = metadata(name)
    expressions = fields.get_all("License-Expression", [])
    lines = [
        text for text in fields.get_all("License", []) if "\n" not in text
    ]  # some packages put the full text there
    classifiers = [line.split(" :: ")[-1] for line in fields.get_all("Classifier", []) if line.startswith("License ::")]
    return next(filter(None, (*expressions, *lines, ", ".join(classifiers))), "")


def listed() -> list[tuple[str, str, str]]:
    """Return the rows of the page: package, versions, licence."""
    return ROW.findall(PAGE.read_text(encoding="utf-8").partition("| --- |")[2])


def test_the_page_lists_every_locked_version_with_its_licence() -> None:
    assert {name: version for name, version, _ in listed()} == locked(), "run `make licences`"
    assert all(licence for _, _, licence in listed())


def test_every_line_of_the_lock_is_parsed() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert len(PINNED.findall(text)) == sum(not line.startswith(" ") for line in text.splitlines())


if __name__ == "__main__":
    unknown = [name for name in locked() if not licence_of(name)]
    if unknown:
        sys.exit(f"no licence is declared by {', '.join(unknown)}; look it up")
    rows = [f"| {name} | {version} | {licence_of(name)} |\n" for name, version in locked().items()]
    PAGE.write_text(HEAD + "".join(rows), encoding="utf-8")
