"""`TasteModel`: continuous variation of preferences between people, a linear factor model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.io.json import frozen, thawed
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Json

DIGITS = 4
"""Number of decimals of means, factors and variances, which are in units of a person's standard deviation."""

MAX_ENTRY = 1e6
MIN_VARIANCE = 10.0**-DIGITS
MAX_LASTING = 0.99

_ARRAYS = ("means", "factors", "variances")
_RANGES = {
    "offset": (0, MAX_ENTRY),
    "level": (-validate.MAX_ABS_VALUE, validate.MAX_ABS_VALUE),
    "log_scale": (-100, 100),
    "log_scale_sd": (0, 10),
    "lasting": (0, MAX_LASTING),
    "calibration": (0, 100),
}
"""Range of each number; the calibration must be greater than 0."""


@dataclass(frozen=True, eq=False)
class TasteModel:
    """Factor model of rewards: a person's reward of action a is level + s (α + mean_a + factors_a·p + e_a).

    The person has a scale s, an offset α and d factor scores p; e_a is the residual.

    Parameters
    ----------
    means
        k: average standardized rating of each action, in units of a person's standard deviation.
    factors
        k×d: loadings of each action; d may be 0.
    variances
        k: variance of e_a.
    offset
        Variance of α.
    level
        Mean reward of the average action for the average person.
    log_scale, log_scale_sd
        Mean and standard deviation of log s.
    lasting
        Share of the variance of e_a that persists when the action is repeated; the rest is noise. It only matters where
        actions repeat, and cannot be estimated from a log without repeats.
    calibration
        Factor that widens prediction intervals so that they have their nominal coverage on held-out people.
    about
        How the model was chosen: any JSON object.

    Notes
    -----
    Means, factors and variances are rounded to four decimals. Two taste models with equal contents are equal.

    Examples
    --------
    >>> taste = TasteModel([0.5, -0.5], [[1.0], [-1.0]], [0.5, 0.5], offset=0.2, level=3.0)
    >>> taste.n_actions, taste.n_factors
    (2, 1)
    """

    means: FloatArray
    factors: FloatArray
    variances: FloatArray
    offset: float = 0.0
    level: float = 0.0
    log_scale: float = 0.0
    log_scale_sd: float = 0.3
    lasting: float = 0.5
    calibration: float = 1.0
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        means = validate.as_floats(self.means, "means", shape=(None,), max_abs=MAX_ENTRY)
        k = len(means)
        if not k:
            raise InvalidInput("means must have one entry per action, got none")
        factors = validate.as_floats(self.factors, "factors", shape=(k, None), max_abs=MAX_ENTRY)
        variances = validate.as_floats(self.variances, "variances", shape=(k,), max_abs=MAX_ENTRY)
        if variances.min() < MIN_VARIANCE:
            raise InvalidInput(f"variances must be at least {MIN_VARIANCE:g}, got {variances.min():g}")
        for name, values in zip(_ARRAYS, (means, factors, variances), strict=True):
            rounded = np.round(values, DIGITS) + 0.0  # no −0
            rounded.flags.writeable = False
            object.__setattr__(self, name, rounded)
        for name, (low, high) in _RANGES.items():
            above = name == "calibration"
            number = validate.as_number(getattr(self, name), name, low=low, high=high, above=above)
            object.__setattr__(self, name, number)
        object.__setattr__(self, "about", frozen(validate.as_json(self.about, "about")))

    @property
    def n_actions(self) -> int:
        """The number k of actions."""
        return len(self.variances)

    @property
    def n_factors(self) -> int:
        """The number d of factors."""
        return int(self.factors.shape[1])

    def table(self, lasting: float | None = None) -> FloatArray:
        """Return the constants of the kernels, optionally with another `lasting` share."""
        from lpbandits.kernels import taste as layout  # noqa: PLC0415 - compiled code only when needed

        k, d = self.factors.shape
        table = np.zeros((layout.FACTOR + 1 + d + 1, max(k, layout.CALIBRATION + 1)))
        table[layout.MEAN, :k] = self.means
        table[layout.VARIANCE, :k] = self.variances
        table[layout.COMMON, layout.LEVEL] = self.level
        table[layout.COMMON, layout.LASTING] = self.lasting if lasting is None else lasting
        table[layout.COMMON, layout.CALIBRATION] = self.calibration
        table[layout.FACTOR, :k] = np.sqrt(self.offset)
        table[layout.FACTOR + 1 : layout.MEAN, :k] = self.factors.T
        return table

    def start(self) -> FloatArray:
        """Return the kernels' belief about a person without outcomes."""
        from lpbandits.kernels import taste as layout  # noqa: PLC0415

        d, table = 1 + self.n_factors, self.table()
        belief = np.zeros((d + layout.ROWS, max(d, layout.SCALES)))
        x = np.linspace(-layout.REACH, layout.REACH, layout.SCALES)
        belief[layout.SCALE, : layout.SCALES] = np.exp(self.log_scale + self.log_scale_sd * x)
        layout.forget(table, belief)
        layout.update_posterior(table, belief)
        return belief

    def to_dict(self) -> Json:
        """Return the model as a JSON object."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {**arrays, **{name: getattr(self, name) for name in _RANGES}, "about": thawed(self.about)}

    @classmethod
    def from_dict(cls, content: Any) -> "TasteModel":
        """Read the JSON object that `to_dict` returns."""
        names = (*_ARRAYS, *_RANGES, "about")
        if not isinstance(content, dict) or set(content) != set(names):
            raise FileFormatError(f"taste must be an object with the keys {', '.join(names)}; fit the model again")
        try:
            factors = content["factors"]
            if isinstance(factors, list) and not any(factors):
                content = {**content, "factors": np.zeros((len(factors), 0))}
            return cls(**content)
        except InvalidInput as error:
            raise FileFormatError(f"taste is invalid: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TasteModel) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.means.tobytes(), self.factors.tobytes(), self.variances.tobytes(), self.level))

    def __repr__(self) -> str:
        return f"<TasteModel: {pluralize(self.n_actions, 'action')}, {pluralize(self.n_factors, 'factor')}>"
