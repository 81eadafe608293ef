"""Kuzmanovic's queue of bursts: its length without AQM, and the share of time above an AQM's target.

Source: A. Kuzmanovic, "The power of explicit congestion notification", SIGCOMM 2005, section 5.2.2, figures 7 and 8: an
M[X]/M/1 queue. Bursts of X packets arrive as a Poisson process. Packets are sent one after another, each in an
exponential time, and the queue has no limit. X follows from the sizes of flows through TCP's slow start.

Difference from the paper: there flows that end within slow start begin at two packets and others at one; here all
begin at ``initial_window``. The paper's remainder R_s = s mod (2^n - 1) is that of a window that begins at one packet;
here the last burst has the packets that are left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import signal

_Floats = NDArray[np.float64]

WINDOWS_KIB: Mapping[int, float] = {8: 0.20, 16: 0.35, 64: 0.45}
"""Shares of flows by their receive window in KiB: the measurement that the paper cites in its footnote 4."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchQueue:
    """An M[X]/M/1 queue in equilibrium. Its length counts the packet that is being sent.

    Examples
    --------
    Single packets at 80 % make an M/M/1 queue, of 0.8 / (1 - 0.8) packets:

    >>> round(BatchQueue(bursts=np.array([0.0, 1.0]), utilisation=0.8).mean_packets, 12)
    4.0
    """

    bursts: _Floats
    """P(X = x) at index x = 0, 1, 2, ...; no burst is empty."""
    utilisation: float
    """rho, the load as a fraction of the link's capacity: from 0 to below 1."""

    def __post_init__(self) -> None:
        if self.bursts.ndim != 1 or len(self.bursts) < 2 or not (self.bursts >= 0).all() or self.bursts[0] != 0:
            raise ValueError("bursts: must be probabilities of 0, 1, 2, ... packets, that of 0 being 0")
        if not math.isclose(self.bursts.sum(), 1, abs_tol=1e-9):
            raise ValueError(f"bursts: must add up to 1, got {self.bursts.sum():g}")
        if not 0 <= self.utilisation < 1:
            raise ValueError(f"utilisation: must be at least 0 and below 1, got {self.utilisation:g}")

    @property
    def mean_packets(self) -> float:
        """E[Q] = rho / (1 - rho) (E[X] + E[X^2]) / (2 E[X]), equation 1 of the paper, in packets."""
        x = np.arange(len(self.bursts))
        first, second = float(self.bursts @ x), float(self.bursts @ x**2)
        return self.utilisation / (1 - self.utilisation) * (first + second) / (2 * first)

    def probabilities(self, packets: int) -> _Floats:
        """Return P(Q = n) for n = 0 to ``packets``: exact except for rounding, for every ``packets``.

        Up through the level between n and n + 1 go all bursts that begin at k <= n and are longer than n - k; down goes
        one packet. In equilibrium both are alike:

            mu P(Q = n + 1) = lambda sum over k <= n of P(Q = k) P(X > n - k)        lambda E[X] = rho mu

        All terms are positive, so that no digits are lost, and P(Q = 0) = 1 - rho.
        """
        if packets < 0:
            raise ValueError(f"packets: must be at least 0, got {packets}")
        longer = np.cumsum(self.bursts[::-1])[-2::-1]
        mean = float(self.bursts @ np.arange(len(self.bursts)))
        # The recursion is a linear filter's, whose answer to an impulse of 1 - rho this is.
        impulse = np.zeros(packets + 1)
        impulse[0] = 1 - self.utilisation
        feedback = np.concatenate(([1.0], -self.utilisation / mean * longer))
        return np.asarray(signal.lfilter([1.0], feedback, impulse))

    def distribution(self, *, tolerance: float = 1e-9) -> pl.DataFrame:
        """Return the distribution of the queue's length, cut where at most ``tolerance`` of it remains.

        Parameters
        ----------
        tolerance
            The probability of all longer queues together, which are left out; at least 1e-12.

        Returns
        -------
        polars.DataFrame
            ``packets``, ``probability`` of that number, and ``above``: the probability of more.
        """
        if not 1e-12 <= tolerance < 1:
            raise ValueError(f"tolerance: must be at least 1e-12 and below 1, got {tolerance:g}")
        longest = math.ceil(self.mean_packets) + 1
        while (above := 1 - np.cumsum(self.probabilities(longest)))[-1] > tolerance:
            longest *= 2
        kept = int(np.argmax(above <= tolerance)) + 1
        return pl.DataFrame(
            {"packets": np.arange(kept), "probability": self.probabilities(kept - 1), "above": above[:kept].clip(0)}
        )

    def above(self, packets: int) -> float:
        """Return P(Q > packets), accurate to some 1e-14; no longer queues are computed."""
        return max(0.0, 1 - math.fsum(self.probabilities(packets)))


def exceedance(bursts: _Floats, utilisations: Sequence[float], *, target: int) -> pl.DataFrame:
    """Return the share of time with a queue above an AQM's target, over the utilisation (the paper's figure 8).

    Parameters
    ----------
    bursts
        P(X = x) at index x, of :func:`burst_sizes`.
    utilisations
        Loads, each from 0 to below 1.
    target
        The AQM's reference for the queue, in packets.

    Returns
    -------
    polars.DataFrame
        ``utilisation`` and ``above``: the probability that there are more than ``target`` packets.
    """
    queues = [BatchQueue(bursts=bursts, utilisation=utilisation) for utilisation in utilisations]
    return pl.DataFrame({"utilisation": utilisations, "above": [queue.above(target) for queue in queues]})


def burst_sizes(
    flows: ArrayLike,
    shares: ArrayLike | None = None,
    *,
    windows: Mapping[int, float] | None = None,
    initial_window: int = 2,
) -> _Floats:
    """Return the distribution of the sizes of bursts that flows send, without loss, one each round-trip time.

    Parameters
    ----------
    flows
        Sizes of flows, in packets: whole numbers of at least 1, of shape (n,).
    shares
        The share of flows with each size, of shape (n,), in any unit; by default all have the same.
    windows
        Shares of flows by their receive window in packets; by default :func:`windows_in_packets`.
    initial_window
        The first burst, in packets. The default is the paper's.

    Returns
    -------
    numpy.ndarray
        P(X = x) at index x, of shape (1 + largest window,).

    Examples
    --------
    Seven packets are sent as 2, 4 and 1:

    >>> burst_sizes([7], windows={44: 1.0})[:5].round(3)
    array([0.   , 0.333, 0.333, 0.   , 0.333])
    """
    sizes = np.atleast_1d(np.asarray(flows, dtype=np.float64))
    weights = np.ones(len(sizes)) if shares is None else np.atleast_1d(np.asarray(shares, dtype=np.float64))
    windows = windows_in_packets() if windows is None else windows
    if sizes.ndim != 1 or len(sizes) == 0 or not np.isfinite(sizes).all() or (sizes < 1).any() or (sizes % 1).any():
        raise ValueError("flows: must be whole numbers of packets, each at least 1")
    if weights.shape != sizes.shape or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("shares: must be one for each flow size, at least 0, and not all 0")
    if not windows or min(windows) < 1 or min(windows.values()) < 0 or not any(windows.values()):
        raise ValueError(
            f"windows: must be shares, at least 0 and not all 0, of at least 1 packet, got {dict(windows)}"
        )
    if initial_window < 1:
        raise ValueError(f"initial_window: must be at least 1 packet, got {initial_window}")
    number = np.zeros(max(windows) + 1)
    for window, share in windows.items():
        left = sizes.astype(np.int64)
        burst = initial_window
        while burst < window and left.any():
            sent = np.minimum(left, burst)
            np.add.at(number, sent, share * weights)
            left -= sent
            burst *= 2
        number[window] += share * float(weights @ (left // window))
        np.add.at(number, left % window, share * weights)
    # A flow that has nothing left to send sends no burst.
    number[0] = 0
    return np.asarray(number / number.sum())


def windows_in_packets(
    windows_kib: Mapping[int, float] = WINDOWS_KIB, *, segment_bytes: int = 1460
) -> dict[int, float]:
    """Return shares of flows by receive window in whole segments.

    Parameters
    ----------
    windows_kib
        Shares by window in KiB; by default the paper's.
    segment_bytes
        The payload of a packet, in bytes. The default is Ethernet's, without TCP options.

    Examples
    --------
    >>> windows_in_packets()
    {5: 0.2, 11: 0.35, 44: 0.45}
    """
    if not 1 <= segment_bytes <= 1024 * min(windows_kib):
        raise ValueError(f"segment_bytes: must be at least 1 and fit into every window, got {segment_bytes}")
    return {1024 * kib // segment_bytes: share for kib, share in windows_kib.items()}
