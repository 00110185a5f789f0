"""Student's t against the tables, and the interval of a mean against its definition."""

from __future__ import annotations

import math
from statistics import mean, stdev

import pytest

from framewire import confidence


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    # Abramowitz and Stegun, table 26.10.
    [
        (0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 5, 2.571), (0.95, 10, 2.228), (0.95, 30, 2.042),
        (0.95, 120, 1.980), (0.99, 1, 63.657), (0.99, 7, 3.499), (0.5, 3, 0.765), (0.8, 60, 1.296),
    ],
)  # fmt: skip
def test_students_t_is_that_of_the_tables(probability: float, degrees: int, expected: float) -> None:
    assert confidence.student_t(probability, degrees) == pytest.approx(expected, abs=6e-4)


def test_students_t_of_one_degree_is_the_cauchy_distribution() -> None:
    for probability in (0.1, 0.5, 0.9, 0.999):
        assert confidence.student_t(probability, 1) == pytest.approx(math.tan(math.pi * probability / 2), rel=1e-9)


def test_a_mean_comes_with_its_confidence_interval() -> None:
    values = [59.8, 60.1, 60.4, 59.9, 60.3]
    estimate = confidence.mean_with_confidence(values)
    assert estimate.mean == pytest.approx(mean(values))
    assert estimate.half_width == pytest.approx(2.776445 * stdev(values) / math.sqrt(5), rel=1e-6)
    assert confidence.mean_with_confidence([5.0]) == confidence.Estimate(5.0, None, 1)
    assert confidence.mean_with_confidence([3.0, 3.0]).half_width == 0
    with pytest.raises(ValueError, match="at least one"):
        confidence.mean_with_confidence([])
