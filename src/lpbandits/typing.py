"""Type aliases of arrays and values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
UInt16Array = NDArray[np.uint16]
BoolArray = NDArray[np.bool_]
SlotArray = NDArray[np.uint32]
"""Unsigned indices: compiled code does not check them for a sign."""

Label = str | int
"""Label of an action or person; by default its index."""

Json = dict[str, Any]
"""A JSON object, as `json.loads` returns it."""
