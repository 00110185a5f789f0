"""Means of independent repeats and how far the true ones may be from them.

One run is one sample: :func:`mean_with_confidence` is what several of them come to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["Estimate", "mean_with_confidence", "student_t"]


@dataclass(frozen=True)
class Estimate:
    """A mean and how far the true one may be from it."""

    mean: float
    half_width: float | None
    """Half the confidence interval; None for a single value, which says nothing of its spread."""
    count: int

    def within(self, least: float = -math.inf, most: float = math.inf) -> tuple[float, float] | None:
        """The confidence interval of the mean of a quantity that is never below `least` nor above `most`.

        Between two bounds it is Student's interval on the logit scale, above one bound on the logarithmic scale, else
        on the quantity's own; the spread is taken to that scale by its slope at the mean (the delta method). So it
        never promises a share below 0 or above 100 %, it holds the mean, and it is the usual interval where the spread
        is small. A mean that is not between the bounds has the usual interval. None for a single value.

        >>> [round(bound, 1) for bound in Estimate(98.9, 4.6, 3).within(0, 100)]
        [56.7, 100.0]
        >>> [round(bound, 1) for bound in Estimate(47.9, 72.6, 3).within(0, 100)]
        [4.8, 94.4]
        >>> [round(bound, 1) for bound in Estimate(20.0, 30.0, 3).within(0)]
        [4.5, 89.6]
        >>> Estimate(20.0, 30.0, 3).within()
        (-10.0, 50.0)
        """
        if self.half_width is None:
            return None
        if self.half_width == 0 or math.isinf(least) or not least < self.mean < most:
            return self.mean - self.half_width, self.mean + self.half_width
        above = self.mean - least
        if math.isinf(most):
            factor = _exp(self.half_width / above)
            return least + above / factor, least + above * factor
        below = most - self.mean
        factor = _exp(self.half_width * (most - least) / (above * below))
        span = most - least
        return least + span * above / (above + below * factor), least + span * above * factor / (above * factor + below)

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if self.half_width is None else f"{self.mean:.4g} ± {self.half_width:.2g}"


def mean_with_confidence(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Mean of independent repeats, with its confidence interval by Student's t distribution.

    >>> print(mean_with_confidence([66.0, 67.0, 68.0]))
    67 ± 2.5

    Of equal values the interval is 0 and not what rounding leaves:

    >>> mean_with_confidence([0.1] * 6).half_width
    0.0
    """
    count = len(values)
    if count == 0:
        raise ValueError("a mean needs at least one value")
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, None, 1)
    if min(values) == max(values):
        return Estimate(values[0], 0.0, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Estimate(mean, student_t(confidence, count - 1) * math.sqrt(variance / count), count)


def _exp(power: float) -> float:
    """e to this power, at most 1e300: a factor on an interval's bound that no measurement reaches."""
    return math.exp(min(power, 690.0))


@cache
def student_t(confidence: float, degrees: int) -> float:
    """The t that a variable of Student's distribution stays within, either side, with the given probability.

    Found by bisection on the distribution's tail, which is a regularised incomplete beta function (Abramowitz and
    Stegun, 26.7.1).

    >>> round(student_t(0.95, 4), 4)
    2.7764
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: allowed is more than 0 and less than 1")
    if degrees < 1:
        raise ValueError(f"degrees of freedom are {degrees}: allowed is 1 or more")

    def outside(t: float) -> float:
        return _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)

    low, high = 0.0, 1.0
    while outside(high) > 1 - confidence:
        low, high = high, high * 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if outside(middle) > 1 - confidence else (low, middle)
    return (low + high) / 2


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    # Lentz's method: c and d are the ratios of successive numerators and denominators of the fraction.
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for coefficient in (even, odd):
            c, d = 1 + coefficient / c, 1 / (1 + coefficient * d)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction
