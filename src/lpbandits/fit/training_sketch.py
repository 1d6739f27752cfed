"""Were these people in the fit? A small sketch of who was, which tells without keeping anybody's label.

Of all people's labels, hashed to 64 bits, a fit keeps the 1,024 smallest. Hashes are as good as random, so among other
people with hashes no larger, as many are in the fit as have one of these.
"""

import hashlib
import heapq
import re
from collections.abc import Iterable, Sequence

from lpbandits import validate
from lpbandits.errors import FileFormatError
from lpbandits.model import PreferenceModel, as_model
from lpbandits.typing import Label

KEY = "people_sketch"
"""Where the provenance of a fitted model has the sketch."""

SIZE = 1_024
ENOUGH = 100
"""People looked up of whom none was in the fit: then few of the others were."""

_BYTES = 8


def sketch_of(people: Iterable[Label]) -> list[str]:
    """Return the 1,024 smallest hashes of people's labels, in rising order: SHA-256 of the text, its first 8 bytes.

    >>> sketch_of(["ann", "bo"])
    ['3d099d0f13df9d0b', '49915e0d7d4b402e']
    """
    return heapq.nsmallest(SIZE, {_hash(label) for label in people})


def none_in_training(model: PreferenceModel, people: Sequence[Label]) -> bool | None:
    """Say whether (next to) none of some people were in a model's fit; None where that cannot be told.

    Exact for a fit of fewer than 1,024 people. Of a larger one it is told if a hundred of the people can be looked up
    and none is found: then surely (95 %) less than 3 % of them were in it.

    >>> model = PreferenceModel([[0, 1]], provenance={"people_sketch": sketch_of(["ann", "bo", "eve"])})
    >>> none_in_training(model, ["ian", "joe"]), none_in_training(model, ["ian", "bo"])
    (True, False)
    """
    share, looked_up = _share(model, people)
    if share is None or share > 0.0:
        return None if share is None else False
    sketch = _sketch(model)
    return True if looked_up >= ENOUGH or (sketch is not None and len(sketch) < SIZE) else None


def share_in_fit(model: PreferenceModel, people: Sequence[Label]) -> float | None:
    """Return which share of some people was in the fit, as far as its sketch tells; None where it does not.

    Exact for a fit of fewer than 1,024 people. Of a larger one it is an estimate from those of the given people whose
    hashes are as small as the sketch's: some 1,024 · n / N, if n are given and N were in the fit; if none are, None.

    >>> model = PreferenceModel([[0, 1]], provenance={"people_sketch": sketch_of(["ann", "bo", "eve"])})
    >>> share_in_fit(model, ["ann", "bo", "ian", "joe"])
    0.5
    >>> share_in_fit(PreferenceModel([[0, 1]]), ["ann"]) is None
    True
    """
    return _share(model, people)[0]


def _share(model: PreferenceModel, people: Sequence[Label]) -> tuple[float | None, int]:
    """Return the share, and of how many people it is."""
    sketch = _sketch(as_model(model))
    labels = validate.as_list(people, "people", "labels", max_length=2**31)
    hashes = {_hash(validate.as_label(label, f"people[{i}]")) for i, label in enumerate(labels)}
    if sketch is None:
        return None, 0
    if len(sketch) == SIZE:
        hashes = {one for one in hashes if one <= sketch[-1]}
    return (len(hashes.intersection(sketch)) / len(hashes) if hashes else None), len(hashes)


def _hash(label: Label) -> str:
    return hashlib.sha256(str(label).encode()).hexdigest()[: 2 * _BYTES]


def _sketch(model: PreferenceModel) -> list[str] | None:
    """Return the sketch that the provenance holds, which may be anybody's JSON."""
    told = model.provenance.get(KEY)
    if told is None:
        return None
    whole = isinstance(told, list) and 0 < len(told) <= SIZE
    if not whole or not all(isinstance(one, str) and re.fullmatch(f"[0-9a-f]{{{2 * _BYTES}}}", one) for one in told):
        raise FileFormatError(
            f"the model's provenance is not what a fit writes: {KEY} is no list of up to {SIZE} hashes; fit the model "
            "again, or leave the key out"
        )
    return sorted(set(told))
