"""Names of policies in charts and tables."""

from collections.abc import Iterable

from lpbandits.policies import title_of
from lpbandits.text import display, unique_labels

WIDTH = 40
"""Maximum number of characters of a policy's name."""


def name_of(policy: str) -> str:
    """Return the name of a policy in tables.

    >>> name_of("ts-top")
    'TS, top actions'
    """
    return display(title_of(policy), WIDTH)


def names_of(policies: Iterable[str]) -> dict[str, str]:
    """Return a unique name for each policy, independent of their order.

    >>> names_of(["lpbts", "ts", "lpbTS"])
    {'lpbTS': 'lpbTS', 'lpbts': 'lpbTS (2)', 'ts': 'TS'}
    """
    ordered = sorted(set(policies))
    return dict(zip(ordered, unique_labels(map(title_of, ordered), WIDTH), strict=True))
