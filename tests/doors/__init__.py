"""Fuzzing: hostile input at every public door; `make fuzz` runs it for minutes, the tests for seconds.

A try is a line of Python, evaluated with the names of `hostile.NAMES`: it prints, shrinks and is kept as it is. What
was found once stands in `corpus/DOOR/*.txt` and is tried for ever.
"""

from tests.doors import batches, commands, deciding, documents, learning, living, many_files
from tests.doors.runner import Door

_PLACES = (deciding, batches, living, learning, documents, many_files, commands)
ALL: dict[str, Door] = {door.name: door for place in _PLACES for door in place.DOORS}
"""Every door by name."""
