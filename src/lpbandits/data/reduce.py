"""Sums over people: in parts of a block, one for a thread at a time, and over blocks, always in the same order."""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.ratings import Ratings
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray, IntArray

PARTS = 16
"""At most: each part has sums of its own."""

SMALLEST = 2**15
"""Ratings that a part has at least, and at least as many as its sums have cells: more parts would cost, not gain."""


def parts_of(offsets: IntArray, parts: int) -> IntArray:
    """Return where parts of people with about equally many ratings begin, and where the last ends.

    >>> parts_of(np.array([0, 4, 5, 6, 9]), 2).tolist()
    [0, 1, 4]
    """
    inner = np.searchsorted(offsets, np.arange(1, parts) * int(offsets[-1]) // parts)
    return np.concatenate([[0], inner, [len(offsets) - 1]]).astype(np.int64)


def summed(
    kernel: Callable[..., None], block: Ratings, threads: Threads, shape: tuple[int, ...], *arrays: object
) -> FloatArray:
    """Return what a kernel adds up over a block's people, in parts that depend on the block and the shape alone."""
    count = min(PARTS, 1 + len(block) // max(math.prod(shape), SMALLEST))
    sums = np.empty((count, *shape))
    action = block.action.view(np.uint32)
    threads.run(kernel, count, parts_of(block.offsets, count), block.offsets, action, *arrays, sums, blocks=PARTS)
    total: FloatArray = sums.sum(axis=0)
    return total


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array, or a copy of one that may not be written to, as one from another process may be."""
    return array if array.flags.writeable else np.array(array)


def plus(total: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of two arrays, in place of the first if that is `writable`.

    >>> plus(np.ones(2), np.ones(2)).tolist()
    [2.0, 2.0]
    """
    mine = writable(total)
    np.add(mine, more, out=mine)
    return mine


def added_each(totals: Sequence[NDArray[Any]], more: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the sums of arrays with others, one by one."""
    return [plus(total, one) for total, one in zip(totals, more, strict=True)]


def added(sums: Iterable[FloatArray]) -> FloatArray:
    """Return the sum of arrays, one after the other.

    >>> added(np.full(2, x) for x in (1.0, 2.0)).tolist()
    [3.0, 3.0]
    """
    return functools.reduce(plus, sums)
