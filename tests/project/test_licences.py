"""The licences of everything that is installed along: `make licences` writes the page, and `make lock` runs it."""

import re
import sys
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
PAGE = ROOT / "docs" / "licences.md"
PINNED = re.compile(r"^([a-z0-9][\w.-]*)==([^\s;]+)", re.MULTILINE)
ROW = re.compile(r"^\| ([a-z0-9][\w.-]*) \| ([^|]*?) \| ([^|]*?) \|$", re.MULTILINE)
ELSEWHERE = {"colorama": "BSD License"}  # wanted on Windows only: not there to be asked
HEAD = """# Licences

What `pip install lpbandits` brings along, at the versions of `requirements.lock`, and the licence that each package
declares. Wheels with compiled code may carry libraries under further licences; their own files name them.
`make licences` writes this page.

| package | version | licence |
| --- | --- | --- |
"""


def locked() -> dict[str, str]:
    """Return the versions of each package of the lock: more than one where they depend on Python's version."""
    versions: dict[str, list[str]] = {}
    for name, version in PINNED.findall(LOCK.read_text(encoding="utf-8")):
        versions.setdefault(name, []).append(version)
    return {name: ", ".join(found) for name, found in versions.items()}


def licence_of(name: str) -> str:
    """Return what an installed package declares: an expression, else one line of text, else its classifiers."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    told = metadata(name)
    expressions = told.get_all("License-Expression", [])
    lines = [text for text in told.get_all("License", []) if "\n" not in text]  # some put all of it there
    classifiers = [line.split(" :: ")[-1] for line in told.get_all("Classifier", []) if line.startswith("License ::")]
    return next((found for found in (*expressions, *lines, ", ".join(classifiers)) if found), "")


def listed() -> list[tuple[str, str, str]]:
    """Return the rows of the page: package, versions, licence."""
    return ROW.findall(PAGE.read_text(encoding="utf-8").partition("| --- |")[2])


def test_the_page_has_every_package_at_its_version() -> None:
    assert {name: version for name, version, _ in listed()} == locked(), "run `make licences`"


def test_the_lock_was_read_whole() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert len(PINNED.findall(text)) == sum(not line.startswith(" ") for line in text.splitlines())


def test_every_licence_is_known() -> None:
    assert all(licence for _, _, licence in listed())


if __name__ == "__main__":
    unknown = [name for name in locked() if not licence_of(name)]
    if unknown:
        sys.exit(f"no licence is declared by {', '.join(unknown)}; look it up")
    rows = [f"| {name} | {version} | {licence_of(name)} |\n" for name, version in locked().items()]
    PAGE.write_text(HEAD + "".join(rows), encoding="utf-8")
