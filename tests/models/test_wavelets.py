from __future__ import annotations

import numpy as np
import pytest

from aqmlab.models.wavelets import octaves, scaling_filter


@pytest.mark.parametrize("moments", range(1, 11))
def test_the_filters_are_orthonormal_and_their_moments_vanish(moments: int) -> None:
    low = scaling_filter(moments)
    assert len(low) == 2 * moments
    assert low.sum() == pytest.approx(np.sqrt(2))
    for shift in range(moments):
        assert np.dot(low[2 * shift :], low[: len(low) - 2 * shift]) == pytest.approx(float(shift == 0), abs=1e-7)
    k = np.arange(len(low))
    high = (-1.0) ** k * low[::-1]
    for power in range(moments):
        assert np.dot(high, (k / k[-1]) ** power) == pytest.approx(0, abs=1e-7)


def test_two_moments_give_the_filter_that_daubechies_prints() -> None:
    root = np.sqrt(3)
    printed = np.array([1 + root, 3 + root, 3 - root, 1 - root]) / (4 * np.sqrt(2))
    assert scaling_filter(2) == pytest.approx(printed)


def test_haar_details_are_differences_of_neighbouring_means() -> None:
    series = np.random.default_rng(1).standard_normal(64)
    for j, octave in enumerate(octaves(series, 1, least=1), start=1):
        halves = series.reshape(-1, 2 ** (j - 1)).mean(axis=1)
        expected = (halves[::2] - halves[1::2]) * 2 ** (j / 2 - 1)
        assert octave.details == len(expected) == 64 // 2**j
        assert octave.energy == pytest.approx(np.mean(expected**2))


def test_the_details_of_white_noise_are_white_noise() -> None:
    found = octaves(np.random.default_rng(2).standard_normal(100_000), 3, least=100)
    for octave in found:
        assert octave.details >= 100
        assert octave.energy == pytest.approx(1, abs=4.5 * np.sqrt(2 / octave.details))


def test_octaves_end_where_they_would_have_too_few_details() -> None:
    assert [octave.details for octave in octaves(np.arange(64.0), 2, least=8)] == [31, 14]
    assert [octave.details for octave in octaves(np.arange(18.0), 2, least=8)] == [8]
    assert octaves(np.arange(17.0), 2, least=8) == []
    assert octaves(np.arange(3.0), 2, least=1) == []
