"""Names for the arrays and values that cross module borders."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
UInt16Array = NDArray[np.uint16]
BoolArray = NDArray[np.bool_]
SlotArray = NDArray[np.uint32]
"""Small whole numbers that are never negative: compiled code then checks no index for its sign."""

Label = str | int
"""What a user calls an action: a word, or a number (by default its index)."""

Json = dict[str, Any]
"""A JSON object, as `json.loads` returns it."""
