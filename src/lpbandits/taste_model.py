"""`TasteModel`: how people's tastes vary continuously, beside the model's states; a fit from a log finds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.typing import FloatArray, Json

DIGITS = 4
"""Decimals that means, factors and variances are kept with: they are in units of a person's own spread."""

LARGEST = 1e6
LEAST_VARIANCE = 10.0**-DIGITS
MOST_LASTING = 0.99
MOST_FACTORS = 1000
MOST_STATES = 100


@dataclass(frozen=True, eq=False)
class TasteModel:
    """How people's rewards vary: a person's reward of action a is level + s (α + mean_a + factors_a·p + e_a).

    The person has a scale s, an offset α and d tastes p; e_a is what none of these explains. There may be a few kinds
    of people, each with means of its own: these states are the taste's, whatever states the model's orderings have.

    Parameters
    ----------
    means
        k: what people on average think of each action, in units of a person's spread; or, with states, m×k.
    factors
        k×d: what each action is like; d may be 0.
    variances
        k: variance of e_a.
    offset
        Variance of α.
    level
        What the average person gives the average action, in rewards.
    log_scale, log_scale_sd
        Mean and standard deviation of log s.
    lasting
        The share of e_a's variance that is the person's lasting liking of the action, not noise: only where actions
        repeat does it matter, and a log without repeats cannot tell.
    calibration
        What intervals are widened by, so that those of people not in the fit cover what they should.
    about
        How it was chosen: any JSON object.
    prior
        m: the probability of each state; equal by default.

    Means, factors and variances are kept with four decimals. Two are equal when their contents are.

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
    prior: FloatArray = None  # type: ignore[assignment] # equal chances take its place

    def __post_init__(self) -> None:
        rows = validate.as_array(self.means, "means").ndim == 2
        means = validate.as_floats(self.means, "means", shape=(None, None) if rows else (None,), max_abs=LARGEST)
        m, k = means.shape if rows else (1, len(means))
        if m > MOST_STATES:
            raise InvalidInput(f"means have {m} rows; give at most {MOST_STATES} states")
        factors = validate.as_floats(self.factors, "factors", shape=(k, None), max_abs=LARGEST)
        variances = validate.as_floats(self.variances, "variances", shape=(k,), max_abs=LARGEST)
        if not k or not m:
            raise InvalidInput("means are empty; give one per action")
        if factors.shape[1] > MOST_FACTORS:
            raise InvalidInput(f"factors have {factors.shape[1]} columns; give at most {MOST_FACTORS}")
        if variances.min() < LEAST_VARIANCE:
            raise InvalidInput(f"variances have {variances.min():g}; the least is {LEAST_VARIANCE:g}")
        prior = validate.as_prior(self.prior, m)
        if prior.min() <= 0.0:
            raise InvalidInput("prior has 0; leave that state of the taste out")
        prior.flags.writeable = False
        object.__setattr__(self, "prior", prior)
        arrays = {"means": means if m > 1 else means.reshape(k), "factors": factors, "variances": variances}
        for name, values in arrays.items():
            rounded = np.round(values, DIGITS) + 0.0  # no −0
            rounded.flags.writeable = False
            object.__setattr__(self, name, rounded)
        numbers = {
            "offset": validate.as_number(self.offset, "offset", low=0, high=LARGEST),
            "level": validate.as_number(self.level, "level", low=-validate.MAX_ABS_VALUE, high=validate.MAX_ABS_VALUE),
            "log_scale": validate.as_number(self.log_scale, "log_scale", low=-100, high=100),
            "log_scale_sd": validate.as_number(self.log_scale_sd, "log_scale_sd", low=0, high=10),
            "lasting": validate.as_number(self.lasting, "lasting", low=0, high=MOST_LASTING),
            "calibration": validate.as_number(self.calibration, "calibration", low=0, high=100, above=True),
            "about": validate.as_json(self.about, "about"),
        }
        for name, value in numbers.items():
            object.__setattr__(self, name, value)

    @property
    def n_actions(self) -> int:
        """The number k of actions."""
        return len(self.variances)

    @property
    def n_states(self) -> int:
        """The number m of states."""
        return self.means.shape[0] if self.means.ndim == 2 else 1

    @property
    def n_factors(self) -> int:
        """The number d of tastes."""
        return int(self.factors.shape[1])

    def table(self, lasting: float | None = None) -> FloatArray:
        """Return what kernels know beforehand; another `lasting` share may be put in place of its own."""
        from lpbandits.kernels import taste as layout  # noqa: PLC0415 - compiled code only when asked for

        k, d = self.factors.shape
        m = self.n_states
        table = np.zeros((layout.FACTOR + 1 + d + m, max(k, layout.LOG_PRIOR + m)))
        table[-m:, :k] = self.means.reshape(m, k)[::-1]
        table[layout.VARIANCE, :k] = self.variances
        table[layout.COMMON, layout.LEVEL] = self.level
        table[layout.COMMON, layout.LASTING] = self.lasting if lasting is None else lasting
        table[layout.COMMON, layout.CALIBRATION] = self.calibration
        table[layout.COMMON, layout.STATES] = m
        table[layout.COMMON, layout.LOG_PRIOR : layout.LOG_PRIOR + m] = np.log(self.prior)
        table[layout.FACTOR, :k] = np.sqrt(self.offset)
        table[layout.FACTOR + 1 : -m, :k] = self.factors.T
        return table

    def start(self) -> FloatArray:
        """Return what kernels know of a person who told nothing."""
        from lpbandits.kernels import taste as layout  # noqa: PLC0415

        d, table = 1 + self.n_factors, self.table()
        own = np.zeros((d + layout.ROWS + layout.STATE_ROWS * self.n_states, max(d, layout.SCALES)))
        x = np.linspace(-layout.REACH, layout.REACH, layout.SCALES)
        own[layout.SCALE, : layout.SCALES] = np.exp(self.log_scale + self.log_scale_sd * x)
        layout.forget(table, own)
        layout.update_posterior(table, own)
        return own

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        arrays = {name: getattr(self, name).tolist() for name in ("means", "factors", "variances")}
        if self.n_states > 1:
            arrays["prior"] = self.prior.tolist()
        return {**arrays, **{name: getattr(self, name) for name in _NUMBERS}, "about": dict(self.about)}

    @classmethod
    def from_dict(cls, content: Any) -> "TasteModel":
        """Return what `to_dict` wrote."""
        names = ("means", "factors", "variances", *_NUMBERS, "about")
        if not isinstance(content, dict) or set(content) - {"prior"} != set(names):
            raise FileFormatError(f"a taste is not whole; it must have {', '.join(names)}")
        try:
            factors = content["factors"]
            if isinstance(factors, list) and not any(factors):
                content = {**content, "factors": np.zeros((len(factors), 0))}
            return cls(**content)
        except InvalidInput as error:
            raise FileFormatError(f"a taste is not usable: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TasteModel) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.means.tobytes(), self.factors.tobytes(), self.variances.tobytes(), self.level))

    def __repr__(self) -> str:
        states = f"{self.n_states} states, " if self.n_states > 1 else ""
        return f"<TasteModel: {states}{self.n_actions} actions, {self.n_factors} factors>"


_NUMBERS = ("offset", "level", "log_scale", "log_scale_sd", "lasting", "calibration")
