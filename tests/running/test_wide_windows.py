"""Wide windows from end to end, over one link and over two."""

from __future__ import annotations

from typing import Any

import pytest

import aqmlab as lab

WIDE = {"window_scaling": True, "receive_window": 1_000_000}
"""More than the bandwidth-delay product below, 625 kB, by less than the queue holds: nothing is lost."""

ONE_LINK: dict[str, Any] = {"link": {"rate": "50 Mbit/s"}, "queue": {"droptail": {"limit": 600}}}
TWO_LINKS: dict[str, Any] = {**ONE_LINK, "link": [ONE_LINK["link"], {"rate": "60 Mbit/s"}]}


def goodput_mbps(network: dict[str, Any], tcp: dict[str, Any]) -> float:
    """Return what one download over 100 ms gets after 10 s."""
    experiment = lab.Experiment(
        **network,
        tcp=tcp,
        users={"per_side": 0},
        sources=[{"bulk": {"flows": 1, "rtt": {"fixed": "100 ms"}}}],
        protocol={"warmup": "10 s", "duration": "5 s"},
    )
    (source,) = lab.run(experiment).summary["sources"]
    return float(source["goodput_mbps"])


@pytest.mark.parametrize("network", [ONE_LINK, TWO_LINKS], ids=["one link", "two links"])
def test_wide_windows_fill_a_link_beyond_one_window_a_round_trip(network: dict[str, Any]) -> None:
    window_a_round_trip = 65_535 * 8 / 0.1 / 1e6
    one_end_scales = {
        **WIDE,
        "mix": [{"share": 1, "role": "server", "window_scaling": False, "receive_window": 65_535}],
    }
    assert 45 < goodput_mbps(network, WIDE) < 50
    assert 0.9 * window_a_round_trip < goodput_mbps(network, {"receive_window": 65_535}) < window_a_round_trip
    assert 0.9 * window_a_round_trip < goodput_mbps(network, one_end_scales) < window_a_round_trip
