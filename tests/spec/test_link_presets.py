"""Presets of links: their values, their plans, and their places among written values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of
from aqmlab.spec.capacity import link_presets
from aqmlab.spec.capacity.link_presets import presets
from aqmlab.topology.origins import default_values
from conftest import Command

NAMES = [preset.name for preset in presets()]

BULK = [
    {"bulk": {"name": name, "flows": 2, "direction": name, "rtt": {"fixed": "20 ms"}}}
    for name in ("upload", "download")
]


def experiment(link: Any, **parts: Any) -> lab.Experiment:
    usual = {"users": {"per_side": 0}, "sources": BULK, "protocol": {"warmup": "2 s", "duration": "8 s"}}
    return lab.Experiment(**{"link": link, "queue": {"fq_codel": {}}, **usual, **parts})


def cell(link: Any, **parts: Any) -> lab.Cell:
    return cells_of(experiment(link, **parts), [1])[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_runs_and_sends_most_of_its_rate(name: str) -> None:
    simulation = _core.Simulation(cell({"preset": name}).spec, 1)
    simulation.advance(simulation.end)
    summary = json.loads(simulation.summary())
    # Two flows over a distant satellite have only begun, and losses bound those over a wireless network.
    least = {"geo": 0.05, "wifi-ac busy": 0.1}.get(name, 0.4)
    assert all(least < way["utilisation"] <= 1.001 for way in summary["directions"])
    assert (summary["wire_loss_percent"] is not None) == (name in ("starlink", "wifi-ac busy"))


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("docsis-3.1", (25e6, 250e6)),
        ("docsis-3.1 1000/50", (50e6, 1000e6)),
        ("gpon 500", (500e6, 500e6)),
        ("vdsl2 65/6.5", (6.4e6, 64e6)),
        ("lte", (5.985e6, 12.992e6)),
        ("starlink", (10e6, 100e6)),
        ("geo 50/5", (5e6, 50e6)),
        # 64 frames of 1,542 bytes in 190 us and their bits, after three turns of 4 ms.
        ("wifi-ac busy", (60.26e6, 60.26e6)),
    ],
)
def test_the_mean_rates_are_those_of_the_plan(text: str, rates: tuple[float, float]) -> None:
    (link,) = cell({"preset": text}).links
    assert (link.rate_bps, link.rate_back_bps) == pytest.approx(rates, rel=1e-3)


def test_the_path_of_starlink_changes_at_four_seconds_a_minute() -> None:
    (link,) = cell({"preset": "starlink"}).links
    # Mohan et al.: seconds 12, 27, 42 and 57 of each minute.
    rates = dict(link.drain_rates(1, 120.0, 1))
    assert list(rates) == [0.0, 12.0, 27.0, 42.0, 57.0, 72.0, 87.0, 102.0, 117.0, 120.0]
    assert rates != dict(link.drain_rates(1, 120.0, 2))


def test_a_written_value_replaces_that_of_the_preset() -> None:
    written = cell({"preset": "docsis-3.1 250/25", "delay": "9 ms", "rate": "5 Mbit/s"})
    assert written.resolved["link"]["delay"] == "9 ms"
    assert written.links[0].rate_bps == 5e6
    assert written.resolved["link"]["overhead"] == "18 B"


def test_the_key_is_that_of_the_values_and_not_of_the_name() -> None:
    preset, plan = link_presets.find("gpon 500", "link.preset")
    values = preset.filled(plan)
    assert cell({"preset": "gpon 500"}).key == cell(values).key == cell({"preset": "gpon 500/500"}).key
    assert cell({"preset": "gpon 600"}).key != cell(values).key


def test_a_preset_survives_changes_and_follows_its_name() -> None:
    first = experiment({"preset": "lte", "delay": "5 ms"})
    assert first.explicit_values["link"] == {"preset": "lte", "delay": "5 ms"}
    changed = first.with_changes(["link.preset=geo"])
    assert changed.explicit_values["link"] == {"preset": "geo", "delay": "5 ms"}
    # Nothing is left of the other preset.
    assert cells_of(changed, [1])[0].key == cell({"preset": "geo", "delay": "5 ms"}).key


def test_each_link_of_a_chain_has_its_preset_before_the_testbed() -> None:
    chain = [{"preset": "vdsl2"}, {"rate": "1 Gbit/s"}, {"preset": "geo", "delay": "250 ms"}]
    resolved = cell(chain, testbed="unc-2003").resolved
    assert [link["overhead"] for link in resolved["link"]] == ["30 B", "38 B", "38 B"]
    assert [link["delay"] for link in resolved["link"]] == ["4 ms", "500 us", "250 ms"]
    assert [link["device_fifo"] for link in resolved["link"]] == [256] * 3


def test_show_lists_each_value_with_its_source(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "cable.toml"
    spec.write_text('[link]\npreset = "docsis-3.1 250/25"\n[users]\nper_side = 2\n')
    outcome = aqmlab("show", str(spec), "--json")
    assert outcome.code == 0, outcome.err
    listed = {value["path"]: value for value in json.loads(outcome.out)["unwritten"]}
    assert listed["link.overhead"]["origin"].startswith("preset docsis-3.1: tc-cake(8), docsis")
    assert listed["link.rate.up.cable.rate"]["value"] == "25 Mbit/s"
    values = default_values(experiment({"preset": "lte"}), cell({"preset": "lte"}).resolved)
    origins = {value.path: value.origin for value in values}
    assert origins["link.rate.up.cellular.rate"].startswith("preset lte: Huang et al.")
    assert origins["link.device_fifo"] == "default"


def test_values_have_sources_and_presets_what_they_leave_out() -> None:
    for preset in presets():
        assert all((preset.about, preset.leaves_out))
        assert all(len(value.source) > 10 for value in preset.values)
        assert preset.plan is None or preset.fastest is not None


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            {"preset": "docis-3.1 9/9"},
            r"^link\.preset: must be one of docsis-3\.1, .* \(did you mean 'docsis-3\.1'\?\)",
        ),
        ({"preset": "lte 5/5"}, r"^link\.preset: lte has no plans, got '5/5'$"),
        ({"preset": "gpon 1/2/3"}, r"^link\.preset: expected rates down and up such as 1000, got '1/2/3'$"),
        ({"preset": "gpon ."}, r"^link\.preset: expected rates down and up such as 1000, got '\.'$"),
        ({"preset": "vdsl2 500/10"}, r"^link\.preset: must be above 0 and at most 300/100 Mbit/s, got 500/10$"),
        ({"preset": "vdsl2 0/0"}, r"^link\.preset: must be above 0 and at most 300/100 Mbit/s, got 0/0$"),
        ({"preset": 5}, r"^link\.preset: must be a text such as 'docsis-3\.1', got 5$"),
        ([{}, {"preset": "cable"}], r"^link\[1\]\.preset: must be one of docsis-3\.1, .*, got 'cable'$"),
        (
            {"preset": "geo", "rate": "9 Mbit/s", "delay": "1 ms"},
            r"^link\.preset: has no effect: the link writes each of its values, got 'geo'$",
        ),
    ],
)
def test_a_preset_that_cannot_be_is_refused_in_one_line(link: Any, message: str) -> None:
    with pytest.raises(lab.SpecError, match=message):
        experiment(link)
