"""What a fault is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """In a file below src/lpbandits, `old` (which it holds once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
