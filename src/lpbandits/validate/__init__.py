"""The only door from user data to trusted arrays.

Each function takes what a user gave and the name it has for the user, and returns a clean contiguous array or
number, or raises `InvalidInput` that names the value, the place and the remedy. Nothing behind this door checks again.
"""

from lpbandits.validate.arrays import MAX_ABS_VALUE, as_array, as_floats, as_indices, as_states
from lpbandits.validate.orderings import as_labels, as_orderings, as_prior, check_errors, check_ordered, check_unit
from lpbandits.validate.values import (
    CONVERSION_ERRORS,
    as_bytes,
    as_choice,
    as_count,
    as_flag,
    as_json,
    as_label,
    as_list,
    as_number,
    as_seed,
    as_text,
    did_you_mean,
    is_exactly,
    short_repr,
)

__all__ = [
    "CONVERSION_ERRORS",
    "MAX_ABS_VALUE",
    "as_array",
    "as_bytes",
    "as_choice",
    "as_count",
    "as_flag",
    "as_floats",
    "as_indices",
    "as_json",
    "as_label",
    "as_labels",
    "as_list",
    "as_number",
    "as_orderings",
    "as_prior",
    "as_seed",
    "as_states",
    "as_text",
    "check_errors",
    "check_ordered",
    "check_unit",
    "did_you_mean",
    "is_exactly",
    "short_repr",
]
