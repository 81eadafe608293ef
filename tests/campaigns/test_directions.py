"""The table of a sweep names directions: no mean over both stands alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import aqmlab as lab

SHORT = ["link.rate=10 Mbit/s", "protocol.warmup=5 s", "protocol.duration=10 s"]
DOWNLOAD = 'sources=[{bulk={flows=1,rtt={fixed="20 ms"}}}]'


def test_one_way_traffic_has_numbers_of_each_direction(tmp_path: Path) -> None:
    """F7: a full link was shown as half used, and the delay in its queue halved."""
    grid = lab.Grid(
        set=[*SHORT, DOWNLOAD, "users.per_side=0", "tcp.profile=linux-6"],
        schemes=["codel"],
        axes={"link.delay": ["1 ms", "2 ms"]},
    )
    means = lab.sweep(grid, seeds=[1], out=tmp_path / "out").means
    assert (means["throughput reverse"] > 9).all()
    assert (means["throughput forward"] < 1).all()
    assert not {"throughput", "loss", "delay"} & set(means.columns)


@pytest.mark.parametrize(
    ("change", "is_symmetric"),
    [
        ("users.per_side=20", True),
        ("users={per_side=20,sides=1}", False),
        ('link.rate={up = "10 Mbit/s", down = "20 Mbit/s"}', False),
        ("queue_back={pie={}}", False),
        (DOWNLOAD, False),
    ],
)
def test_a_mean_over_directions_needs_a_link_alike_both_ways(change: str, is_symmetric: bool, tmp_path: Path) -> None:
    grid = lab.Grid(set=[*SHORT, "users.per_side=20", change], schemes=["codel"])
    campaign = lab.sweep(grid, seeds=[1], out=tmp_path / "out")
    assert ("throughput" in campaign.means.columns) is is_symmetric
    assert ("throughput forward" in campaign.means.columns) is not is_symmetric
