"""Validation of user input.

Each function takes a user's value and its name, and returns a plain number or a contiguous array. It raises
`InvalidInput` with a message of the form "name must be X, got Y; remedy". Code behind these functions does not
validate again.
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
    invalid,
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
    "invalid",
    "is_exactly",
    "short_repr",
]
