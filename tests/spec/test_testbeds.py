"""Testbeds by name, and the defaults of a spec without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import cells_of
from aqmlab.spec import testbeds
from aqmlab.topology.origins import default_values

BULK = [{"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}}}]
SHORT = {"warmup": "5 s", "duration": "10 s"}


def median_delay_ms(tmp_path: Path, **parts: Any) -> float:
    experiment = lab.Experiment(
        **{"link": {"rate": "20 Mbit/s"}, "queue": {"codel": {}}, "sources": BULK, "protocol": SHORT, **parts}
    )
    summary = lab.run(experiment, out=tmp_path).summary
    return float(max(direction["queue_delay_ms"]["p50"] for direction in summary["directions"]))


def test_codel_keeps_the_delay_of_a_first_spec_short(tmp_path: Path) -> None:
    today = median_delay_ms(tmp_path)
    delay_2003 = median_delay_ms(tmp_path, testbed="unc-2003", users={"per_side": 0}, tcp={"profile": "linux-6"})
    assert today < 10
    assert delay_2003 > 100


@pytest.mark.parametrize("rate_mbps", [100, 1000])
def test_one_download_fills_a_link_whose_rate_alone_is_given(rate_mbps: int, tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": f"{rate_mbps} Mbit/s"},
        queue={"droptail": {"limit": 2000}},
        sources=[{"bulk": {"flows": 1, "rtt": {"fixed": "10 ms"}}}],
        protocol={"warmup": "2 s", "duration": "2 s"},
    )
    (source,) = lab.run(experiment, out=tmp_path).record()["sources"]
    assert source["goodput_mbps"] > 0.9 * rate_mbps


def test_values_of_a_testbed_follow_its_name_and_no_others() -> None:
    changed = lab.Experiment(testbed="unc-2003", link={"rate": "20 Mbit/s"}, tcp={"ecn": True})
    assert changed.explicit_values == {"testbed": "unc-2003", "link": {"rate": "20 Mbit/s"}, "tcp": {"ecn": True}}
    assert (changed.tcp.profile, changed.users.load, changed.links[0].device_fifo) == ("unc-testbed", 98, 256)
    numbered = changed.with_changes(["users.per_side=3"])
    assert (numbered.users.load, numbered.users.per_side) == (None, 3)
    assert changed.with_changes(["link.rate=10 Mbit/s"]).links[0].device_fifo == 256


def test_a_spec_that_writes_the_testbed_out_is_the_same_cell() -> None:
    short_form = lab.Experiment(testbed="unc-2003")
    long_form = lab.Experiment(**testbeds.find("unc-2003").tables)
    cells = [
        cells_of(experiment, [1], calibration_model.load_calibrations())[0] for experiment in (short_form, long_form)
    ]
    assert cells[0].key == cells[1].key
    assert [cell.testbed for cell in cells] == ["unc-2003", None]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"testbed": "unc-2004"}, r"^testbed: must be one of unc-2003 \(did you mean 'unc-2003'\?\), got 'unc-2004'$"),
        ({"testbed": 2003}, r"^testbed: must be one of unc-2003.*, got 2003$"),
        ({"testbed": "unc-2003", "link": 5}, "^link: must be a table of .*, got 5$"),
        ({"testbed": "unc-2003", "users": [1]}, "^users: "),
    ],
)
def test_a_testbed_that_cannot_be_is_refused_in_one_line(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(lab.SpecError, match=message):
        lab.Experiment(**parts)


@pytest.mark.parametrize("parts", [{"link": {"rate": "1 Mbit/s"}}, {"users": {"sides": 1}}])
def test_a_spec_in_which_nothing_sends_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(lab.SpecError, match='testbed = "unc-2003"'):
        cells_of(lab.Experiment(**parts), [1], calibration_model.load_calibrations())


def leaves(value: Any, path: str = "") -> set[str]:
    if isinstance(value, dict) and value:
        return {leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}.{key}".removeprefix("."))}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {leaf for number, inner in enumerate(value) for leaf in leaves(inner, f"{path}[{number}]")}
    return {path}


@pytest.mark.parametrize(
    "parts",
    [
        {"sources": BULK},
        {"testbed": "unc-2003", "link": {"rate": "20 Mbit/s"}, "queue": {"pi": {"q_ref": 10}}},
        {"link": [{"rate": "5 Mbit/s"}, {"queue": {"red": {}}}], "users": {"per_side": 3}, "sources": BULK},
        {"users": {"per_side": 3}, "tcp": {"mix": [{"share": 0.5, "profile": "freebsd-4.5"}]}},
    ],
    ids=["sources", "testbed", "links in series", "mix"],
)
def test_each_value_is_written_or_listed_with_its_origin(parts: dict[str, Any]) -> None:
    experiment = lab.Experiment(**parts)
    (cell,) = cells_of(experiment, [1], calibration_model.load_calibrations())
    resolved = json.loads(cell.spec.json)
    listed = {value.path: value for value in default_values(experiment, resolved)}
    for path in leaves(resolved) - leaves(experiment.explicit_values):
        is_of_tables = path.startswith(("users.workload", "users.rtt"))
        is_of_absent_users = path.startswith("users.") and not resolved["users"]["per_side"]
        in_short = any(path.startswith(f"{leaf}.") for leaf in leaves(experiment.explicit_values))
        assert path in listed or is_of_tables or is_of_absent_users or in_short, path
    assert all(value.origin for value in listed.values())
    if experiment.testbed:
        sources = testbeds.find(experiment.testbed).sources
        assert listed["link.device_fifo"].origin == f"testbed unc-2003: {sources['link.device_fifo']}"
        assert "link.rate" not in listed
    else:
        first = "link[0].device_fifo" if isinstance(resolved["link"], list) else "link.device_fifo"
        assert listed[first].origin == "default"


def test_a_receive_window_tunes_itself_to_a_long_fast_path(tmp_path: Path) -> None:
    def goodput_mbps(**tcp: Any) -> float:
        experiment = lab.Experiment(
            link={"rate": "1 Gbit/s", "device_fifo": 0, "delay": "0 s"},
            queue={"droptail": {"limit": "12.5 MB"}},
            tcp=tcp,
            sources=[{"bulk": {"flows": 1, "rtt": {"fixed": "100 ms"}}}],
            protocol={"warmup": "20 s", "duration": "2 s"},
        )
        return float(lab.run(experiment, out=tmp_path).record()["sources"][0]["goodput_mbps"])

    assert goodput_mbps(send_buffer=0) == pytest.approx(941, abs=3)
    # A window of six megabytes each 100 ms: 503 Mbit/s, less the part that waits for room for a whole packet.
    assert goodput_mbps(send_buffer=0, receive_window=6_291_456) == pytest.approx(499, abs=4)
    # Between two thirds of 4 MiB and all of it, without the overhead of packets.
    assert 220 < goodput_mbps() < 330
