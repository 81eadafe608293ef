from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqmlab.design import pi
from aqmlab.design.control import Loop

PUBLISHED = Loop(packets_per_sec=3750, flows=60, rtt_s=0.246, gain=9.64e-6, zero=0.53)
"""K and z as Hollot et al. (2001) print them, on the link they are for."""


def transfer(loop: Loop, s: complex) -> complex:
    """PI and the plant of Hollot et al., written down once more as transfer functions."""
    c, n, r = loop.packets_per_sec, loop.flows, loop.rtt_s
    plant = c**2 / (2 * n) / ((s + 2 * n / (r**2 * c)) * (s + 1 / r)) * np.exp(-s * r)
    return complex(loop.gain * (s / loop.zero + 1) / s * plant)


loops = st.builds(
    Loop,
    packets_per_sec=st.floats(100, 1e6),
    flows=st.floats(1, 1000),
    rtt_s=st.floats(0.001, 1),
    gain=st.floats(1e-9, 1e-3),
    zero=st.floats(0.01, 100),
)


@given(loop=loops, w=st.floats(0.01, 100))
def test_frequency_response_equals_the_transfer_functions(loop: Loop, w: float) -> None:
    expected = transfer(loop, 1j * w)
    assert loop.magnitude(np.array([w]))[0] == pytest.approx(abs(expected))
    turned = expected * np.exp(-1j * np.radians(loop.phase_deg(np.array([w]))[0]))
    assert turned == pytest.approx(abs(expected)), "the same angle, whole turns apart"


@given(loop=loops)
def test_at_the_margins_the_loop_would_oscillate(loop: Loop) -> None:
    margins = loop.margins()
    # The textbook's critical point is -1.
    lagging = transfer(loop, 1j * margins.crossover) * np.exp(-1j * math.radians(margins.phase_margin_deg))
    assert lagging == pytest.approx(-1, abs=1e-6)
    late = transfer(loop, 1j * margins.crossover) * np.exp(-1j * margins.crossover * margins.delay_margin_s)
    assert late == pytest.approx(-1, abs=1e-6)
    scale_gain = transfer(loop, 1j * margins.phase_crossover) * 10 ** (margins.gain_margin_db / 20)
    assert scale_gain == pytest.approx(-1, abs=1e-6)


@given(n=st.floats(1, 500), c=st.floats(1e3, 1e6), r=st.floats(0.01, 1), x=st.floats(0.01, 0.85))
def test_a_designed_loop_has_the_margins_of_its_closed_form(n: float, c: float, r: float, x: float) -> None:
    loop = pi(packets_per_sec=c, flows=n, rtt_max_s=r, crossover=x / r, sampling_hz=1e6).loop
    assert loop is not None
    margins = loop.margins()
    # With the zero on the pole: L(jw) = (w_g / w) |1 + j x| / (1 + j w R) e^{-jwR} / j
    assert margins.crossover == pytest.approx(x / r, rel=1e-6)
    assert margins.phase_margin_deg == pytest.approx(90 - math.degrees(math.atan(x) + x), abs=1e-4)
    turns_at = margins.phase_crossover * r
    assert math.atan(turns_at) + turns_at == pytest.approx(math.pi / 2, rel=1e-6)
    gain = x * math.hypot(1, x) / (turns_at * math.hypot(1, turns_at))
    assert margins.gain_margin_db == pytest.approx(-20 * math.log10(gain), abs=1e-4)


@pytest.mark.parametrize("loop", [PUBLISHED, replace(PUBLISHED, zero=2.0, flows=100)])
def test_the_loop_settles_below_its_gain_margin_only(loop: Loop) -> None:
    margin = 10 ** (loop.margins().gain_margin_db / 20)

    def swings(factor: float) -> tuple[float, float]:
        """The queue's distance from its reference in the third and in the last quarter."""
        queue = replace(loop, gain=factor * loop.gain).step_response(100, points=20_000)["queue"].to_numpy()
        half, quarter = len(queue) // 2, len(queue) // 4
        return abs(queue[half : half + quarter] - 1).max(), abs(queue[half + quarter :] - 1).max()

    third, last = swings(0.95 * margin)
    assert last < third
    third, last = swings(1.05 * margin)
    assert last > third


def test_the_queue_comes_to_the_reference() -> None:
    response = PUBLISHED.step_response(60)
    assert response["time_s"][-1] == pytest.approx(60, abs=0.1)
    assert response["queue"][0] == 0
    assert response["queue"][-1] == pytest.approx(1, abs=1e-6)
    waits = response.filter(response["time_s"] <= PUBLISHED.rtt_s)
    assert waits["queue"].abs().max() == 0, "nothing happens within a round trip"
