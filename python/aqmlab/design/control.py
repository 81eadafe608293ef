"""PI in front of TCP as a linear control loop: its frequency response, stability margins and step response.

Source: Hollot, Misra, Towsley and Gong, "On designing improved controllers for AQM routers supporting TCP flows",
INFOCOM 2001: N long-lived TCP flows with a round-trip time R on a link of C packets/s, linearised around the point at
which they fill the link, each with a window of R C / N packets:

    P(s) = C^2 / (2N) e^{-sR} / ((s + 2N / (R^2 C)) (s + 1/R))        from the probability p to the queue q
    K (s/z + 1) / s                                                   PI, from q - q_ref to p
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Margins:
    """The stability margins of a loop."""

    crossover: float
    """The frequency at which the loop's gain is one, in rad/s."""
    phase_margin_deg: float
    """The additional phase lag at which the loop becomes unstable, in degrees."""
    phase_crossover: float
    """The frequency at which the loop's phase is -180 degrees, in rad/s."""
    gain_margin_db: float
    """The additional gain at which the loop becomes unstable, in decibels."""
    delay_margin_s: float
    """The additional delay at which the loop becomes unstable, in seconds."""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """PI with the gain K and the zero z in front of N TCP flows on a link of C packets/s, round-trip time R."""

    packets_per_sec: float
    """C."""
    flows: float
    """N."""
    rtt_s: float
    """R, queueing delay included."""
    gain: float
    """K, the integral gain, in 1/(packet s)."""
    zero: float
    """z, in rad/s."""

    @property
    def window_pole(self) -> float:
        """2N / (R^2 C), the corner frequency of TCP's window, in rad/s."""
        return 2 * self.flows / (self.rtt_s**2 * self.packets_per_sec)

    def magnitude(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loop's gain at the angular frequencies ``w``."""
        plant = self.packets_per_sec**2 / (2 * self.flows)
        poles = w * np.hypot(w, self.window_pole) * np.hypot(w, 1 / self.rtt_s)
        return np.asarray(self.gain * plant * np.hypot(1, w / self.zero) / poles)

    def phase_deg(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loop's phase at the angular frequencies ``w``, in degrees, not wrapped."""
        lead = np.arctan(w / self.zero)
        lag = np.pi / 2 + np.arctan(w / self.window_pole) + np.arctan(w * self.rtt_s) + w * self.rtt_s
        return np.degrees(lead - lag)

    def margins(self) -> Margins:
        """Return both crossover frequencies and the margins.

        Examples
        --------
        The published gains of Hollot et al. on the link of their design:

        >>> published = Loop(packets_per_sec=3750, flows=60, rtt_s=0.246, gain=9.64e-6, zero=0.53)
        >>> margins = published.margins()
        >>> round(margins.crossover, 2), round(margins.phase_margin_deg)
        (0.52, 75)
        """
        # The loop gain decreases through one: PI's part falls as 1/w or is constant, the plant's falls ever faster.
        low = high = 1 / self.rtt_s
        while self.magnitude(np.array([low]))[0] < 1:
            low /= 10
        while self.magnitude(np.array([high]))[0] > 1:
            high *= 10
        crossover = _find_zero(lambda w: np.log(self.magnitude(w)), low, high)
        # The phase starts at -90 degrees, may rise, and is below -360 where w R is a whole turn.
        w = np.geomspace(1e-9, 2 * np.pi, 10_000) / self.rtt_s
        index = int(np.argmax(self.phase_deg(w) <= -180))
        phase_crossover = _find_zero(lambda w: self.phase_deg(w) + 180, w[index - 1], w[index])
        phase_margin = 180 + float(self.phase_deg(np.array([crossover]))[0])
        return Margins(
            crossover=crossover,
            phase_margin_deg=phase_margin,
            phase_crossover=phase_crossover,
            gain_margin_db=-20 * math.log10(float(self.magnitude(np.array([phase_crossover]))[0])),
            delay_margin_s=math.radians(phase_margin) / crossover,
        )

    def step_response(self, duration_s: float, *, points: int = 2000) -> pl.DataFrame:
        """Return the response of the queue to a rise of the reference by one packet at time 0.

        Returns
        -------
        polars.DataFrame
            ``time_s``, and ``queue``: the increase of the queue in packets.
        """
        c, n, r = self.packets_per_sec, self.flows, self.rtt_s
        steps_per_rtt = max(20, math.ceil(points * r / duration_s))
        dt = r / steps_per_rtt
        count = math.ceil(duration_s / dt)
        queue, p = np.zeros(count + 1), np.zeros(count + 1)
        window, error = 0.0, 0.0
        for i in range(count):
            previous, error = error, queue[i] - 1.0
            # p = K (e / z + the integral of e)
            p[i] = p[i - 1] + self.gain * ((error - previous) / self.zero + error * dt)
            delayed = p[i - steps_per_rtt] if i >= steps_per_rtt else 0.0
            # dW/dt = -2N/(R^2 C) W - R C^2/(2 N^2) p(t - R);  dq/dt = N/R W - q/R
            slope = -self.window_pole * window - r * c**2 / (2 * n**2) * delayed
            queue[i + 1] = queue[i] + dt * (n / r * window - queue[i] / r)
            window += dt * slope
        return pl.DataFrame({"time_s": dt * np.arange(count + 1), "queue": queue})


def _find_zero(function: Callable[[NDArray[np.float64]], NDArray[np.float64]], low: float, high: float) -> float:
    """Return the zero of a decreasing function between two frequencies."""
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if function(np.array([middle]))[0] <= 0 else (middle, high)
    return float(high)
