"""What charts and tables call policies: their titles, which may come from outside the package."""

from collections.abc import Iterable

from lpbandits.policies import title_of
from lpbandits.text import display, unique_labels

WIDTH = 40
"""Characters of a policy's title that are shown."""


def name_of(policy: str) -> str:
    """Return what a table calls a policy.

    >>> name_of("ts-top")
    'TS, top actions'
    """
    return display(title_of(policy), WIDTH)


def names_of(policies: Iterable[str]) -> dict[str, str]:
    """Return what a chart calls each policy: no two the same, in whatever order they are given.

    >>> names_of(["lpbts", "ts", "lpbTS"])
    {'lpbTS': 'lpbTS', 'lpbts': 'lpbTS (2)', 'ts': 'TS'}
    """
    ordered = sorted(set(policies))
    return dict(zip(ordered, unique_labels(map(title_of, ordered), WIDTH), strict=True))
