"""The ellipse of a joint distribution of two measures (RFC 7928, section 2.7; Winstein & Balakrishnan 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, kw_only=True)
class Ellipse:
    """The contour of a joint normal distribution at one standard deviation, which contains 39 % of it."""

    x: float
    y: float
    """The means."""
    major: float
    minor: float
    """The standard deviations along the axes: half of the axes' lengths."""
    angle_deg: float
    """The angle from the x-axis to the major axis, above -90 and at most 90."""

    @classmethod
    def from_points(cls, x: ArrayLike, y: ArrayLike) -> Ellipse:
        """Fit the ellipse to at least two points by their means and sample covariances.

        Examples
        --------
        >>> Ellipse.from_points([0, 2, 4], [1, 1, 1])
        Ellipse(x=2.0, y=1.0, major=2.0, minor=0.0, angle_deg=0.0)
        """
        points = np.array([x, y], dtype=np.float64)
        # In ascending order. For points on a line, rounding may make the first one slightly negative.
        variances, axes = np.linalg.eigh(np.cov(points))
        minor, major = np.sqrt(variances.clip(min=0)).tolist()
        along_x, along_y = axes[:, 1].tolist()
        angle = math.degrees(math.atan2(along_y, along_x))
        normalized = angle - 180 if angle > 90 else angle + 180 if angle <= -90 else angle
        mean_x, mean_y = points.mean(axis=1).tolist()
        return cls(x=mean_x, y=mean_y, major=major, minor=minor, angle_deg=normalized)
