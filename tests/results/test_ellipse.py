from __future__ import annotations

import math

import numpy as np
import pytest

from aqmlab.stats.ellipse import Ellipse


@pytest.mark.parametrize("angle_deg", [0, 30, 90, 135])
def test_a_normal_distributions_ellipse_has_its_axes_and_angle(angle_deg: float) -> None:
    rng = np.random.default_rng(1)
    turn = math.radians(angle_deg)
    along, across = rng.normal(0, 3, 200_000), rng.normal(0, 1, 200_000)
    x = 10 + along * math.cos(turn) - across * math.sin(turn)
    y = 20 + along * math.sin(turn) + across * math.cos(turn)
    fit = Ellipse.from_points(x, y)
    assert (fit.x, fit.y) == pytest.approx((10, 20), abs=0.05)
    assert (fit.major, fit.minor) == pytest.approx((3, 1), rel=0.01)
    assert (fit.angle_deg - angle_deg + 90) % 180 == pytest.approx(90, abs=0.5)
    assert -90 < fit.angle_deg <= 90
    inside = (along / fit.major) ** 2 + (across / fit.minor) ** 2 < 1
    assert inside.mean() == pytest.approx(1 - math.exp(-0.5), abs=0.01), "one standard deviation"
