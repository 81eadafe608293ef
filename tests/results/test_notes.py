"""Notes on results, see ``aqmlab.results.notes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.results import table
from aqmlab.results.notes import notes
from conftest import Command

BULK = {"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}, "interface": "1 Gbit/s"}}
"""One download."""

FIFO = """
link = { rate = "20 Mbit/s", device_fifo = 256 }
queue.codel = {}
users.per_side = 0
tcp.profile = "linux-6"
sources = [{ bulk = { flows = 1, rtt = { fixed = "40 ms" } } }]
protocol = { warmup = "2 s", duration = "5 s" }
"""


def alone(*sources: dict[str, Any], **link: Any) -> lab.Experiment:
    """Return sources alone between hosts of today, on a link of 20 Mbit/s."""
    return lab.Experiment(
        link={"rate": "20 Mbit/s", "device_fifo": 0} | link,
        users={"per_side": 0},
        tcp={"profile": "linux-6"},
        sources=sources,
        protocol={"warmup": "2 s", "duration": "5 s"},
    )


def compared(experiment: lab.Experiment, *schemes: str, out: Path) -> lab.Comparison:
    return lab.compare(*schemes, experiment=experiment, seeds=[1, 2], out=out)


def note(comparison: lab.Comparison, part: str) -> str | None:
    """Return the note with these words."""
    matches = [note for note in notes(comparison.results) if part in note]
    assert len(matches) <= 1
    return matches[0] if matches else None


def test_a_shaper_that_is_not_slower_than_its_link_is_named(tmp_path: Path) -> None:
    experiment = alone(BULK, rate={"up": "2 Mbit/s", "down": "20 Mbit/s"})
    comparison = compared(experiment, "cake:bandwidth=3 Mbit/s", "cake:bandwidth=1.9 Mbit/s", "cake", out=tmp_path)
    assert note(comparison, "shaper") == (
        "A shaper that is not slower than its link has no effect:"
        " cake:bandwidth=3 Mbit/s: 3 Mbit/s before a link of 2 Mbit/s."
    )


@pytest.mark.parametrize(("rate", "congestion", "is_named"), [
    ("10 Mbit/s", "prague", True),
    ("20 Mbit/s", "prague", False),
    ("10 Mbit/s", "cubic", False),
])  # fmt: skip
def test_a_step_shorter_than_a_packet_is_named(rate: str, congestion: str, is_named: bool, tmp_path: Path) -> None:
    experiment = alone(BULK, rate=rate).with_changes([f"tcp.congestion={congestion}", "tcp.ecn=accurate"])
    comparison = compared(experiment, "dualpi2", "dualpi2:min_left=2", "dualpi2:native=ramp", out=tmp_path)
    found = note(comparison, "longer than the step")
    assert (found is not None) == is_named
    if found is not None:
        assert found.endswith("L4S flows starve; min_left = 2 prevents it: dualpi2: 1.21 ms, step 1 ms.")


def test_delay_in_the_device_fifo_is_named_with_its_size(tmp_path: Path) -> None:
    comparison = compared(alone(BULK, device_fifo=256), "codel", out=tmp_path)
    (scheme,) = comparison.schemes
    delay = scheme["directions"][1]["queue_delay_ms"]
    assert delay["sojourn_mean"] + delay["device_fifo_mean"] == pytest.approx(delay["mean"])
    # 256 packets of 1,500 bytes are 157 ms at 20 Mbit/s; the discipline keeps to its target of 5 ms.
    assert delay["device_fifo_mean"] > 100
    assert delay["sojourn_mean"] < 10
    text = note(comparison, "device FIFO")
    assert text is not None
    assert f"codel {delay['device_fifo_mean']:.3g} of {delay['mean']:.3g} ms (reverse)" in text
    assert "in FIFO" in repr(comparison)


def test_a_discipline_that_holds_the_delay_itself_has_no_note(tmp_path: Path) -> None:
    comparison = compared(alone(BULK), "codel", "droptail:limit=100", out=tmp_path)
    for scheme in comparison.schemes:
        assert scheme["queue_delay_ms"]["device_fifo_mean"] == 0
    assert note(comparison, "device FIFO") is None
    assert "in FIFO" not in repr(comparison)


def test_schemes_with_the_same_results_are_named(tmp_path: Path) -> None:
    idle = alone({"datagrams": {"rate": "1 Mbit/s"}})
    comparison = compared(idle, "red", "codel", "pie", out=tmp_path)
    text = note(comparison, "last digit")
    assert text is not None
    assert "red = codel = pie" in text
    assert text in comparison.notes
    busy = compared(alone(BULK), "codel", "droptail:limit=100", "droptail:limit=101", out=tmp_path)
    assert note(busy, "last digit") is None


def test_a_source_limited_by_its_receive_window_is_named(tmp_path: Path) -> None:
    # F4: 6.3 MB in 100 ms are 503 Mbit/s of 1 Gbit/s.
    bulk = {"bulk": {"name": "A", "flows": 1, "rtt": {"fixed": "100 ms"}, "interface": "10 Gbit/s"}}
    wide = alone(bulk, rate="1 Gbit/s")
    windows = wide.model_copy(update={"tcp": lab.Tcp(profile="linux-6", receive_window=6_291_456, send_buffer=0)})
    comparison = compared(windows, "droptail:limit=12.5 MB", out=tmp_path)
    (source,) = comparison.schemes[0]["sources"]
    assert source["limited_by_percent"]["receive_window"] > 80
    assert source["goodput_mbps"] < 510
    text = note(comparison, "Hosts, not the queue")
    assert text is not None
    assert "A by the receive window (tcp.receive_window)" in text
    assert "receive window" in repr(comparison)


def test_a_source_limited_by_its_send_buffer_is_named(tmp_path: Path) -> None:
    bulk = {"bulk": {"name": "A", "flows": 1, "rtt": {"fixed": "100 ms"}, "interface": "10 Gbit/s"}}
    comparison = compared(alone(bulk, rate="1 Gbit/s"), "droptail:limit=12.5 MB", out=tmp_path)
    (source,) = comparison.schemes[0]["sources"]
    assert source["limited_by_percent"]["send_buffer"] > 80
    text = note(comparison, "Hosts, not the queue")
    assert text is not None
    assert "A by the send buffer (tcp.send_buffer)" in text


def test_a_source_limited_by_its_interface_is_named(tmp_path: Path) -> None:
    # F3
    bulk = {"bulk": {"name": "A", "flows": 1, "rtt": {"fixed": "10 ms"}, "interface": "100 Mbit/s"}}
    comparison = compared(alone(bulk, rate="1 Gbit/s"), "codel", out=tmp_path)
    (source,) = comparison.schemes[0]["sources"]
    assert source["limited_by_percent"]["interface"] > 90
    assert source["goodput_mbps"] < 95
    text = note(comparison, "Hosts, not the queue")
    assert text is not None
    assert "A by the network interface (interface)" in text


def test_a_source_limited_by_the_queue_has_no_note(tmp_path: Path) -> None:
    comparison = compared(alone(BULK), "codel", out=tmp_path)
    (source,) = comparison.schemes[0]["sources"]
    shares = source["limited_by_percent"]
    assert shares["congestion_window"] + shares["recovery"] > 90
    assert sum(shares.values()) == pytest.approx(100)
    assert note(comparison, "Hosts, not the queue") is None


def test_one_run_prints_its_notes_and_has_them_in_its_json(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "fifo.toml").write_text(FIFO)
    assert "note:      The device FIFO" in aqmlab("run", "fifo.toml").out
    (record,) = json.loads(aqmlab("run", "fifo.toml", "--json").out)["notes"]
    assert "device FIFO" in record


def test_a_sweep_has_the_notes_of_its_points(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "fifo.toml").write_text(FIFO)
    (tmp_path / "grid.toml").write_text(
        'spec = "fifo.toml"\nschemes = ["codel"]\n'
        '[axes]\n"link.device_fifo" = [0, 256]\n"queue.codel.limit" = [900, 901]\n'
    )
    outcome = aqmlab("sweep", str(tmp_path / "grid.toml"), "--seeds", "1")
    assert outcome.code == 0, outcome.err
    (fifo,) = [line for line in outcome.out.splitlines() if line.startswith("The device FIFO")]
    assert "scheme=codel, link.device_fifo=256" in fifo
    assert "link.device_fifo=0" not in fifo
    (line_of_note,) = [line for line in outcome.out.splitlines() if "last digit" in line]
    assert "queue.codel.limit=900 = scheme=codel, link.device_fifo=0, queue.codel.limit=901" in line_of_note


def test_limits_of_web_users_alone_are_a_table(tmp_path: Path) -> None:
    experiment = lab.Experiment(users={"per_side": 20}, protocol={"warmup": "1 s", "duration": "5 s"})
    comparison = lab.compare("codel", "pie", experiment=experiment, seeds=[1, 2], paired=True, out=tmp_path)
    (part,) = [
        part for part in table.parts(comparison.schemes) if part.title == "Connections limited by, % of the time"
    ]
    assert [(row.scheme, row.part) for row in part.rows] == [
        (label, "web users") for label in ("uncongested", "codel", "pie")
    ]
    limits = comparison.schemes[1]["users_limited_by_percent"]
    assert part.rows[1].values["limited_by_percent"] == limits
    assert sum(limits.values()) == pytest.approx(100)
