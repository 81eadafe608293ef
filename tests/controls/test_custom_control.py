"""Custom congestion controls: in runs, comparisons, sweeps and specs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.campaigns import executors
from aqmlab.cells.cell import cells_of
from aqmlab.controls import registry
from aqmlab.disciplines.custom import loader
from aqmlab.store.store import Store
from conftest import Write
from custom_controls import FIXED, bulk, control

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return "my_control:Reno"


SENDS = (pl.col("direction") == 1) & (pl.col("time_s") > 3)
"""The rows of the downloads' servers, after their first acknowledgements."""

LOSSY = {"link": {"rate": "10 Mbit/s", "delay": "10 ms", "loss": 0.002}}
MARKED = {"queue": {"red": {"min_th": 5, "max_th": 15}}, "ecn": True}


@pytest.mark.parametrize("changes", [{}, LOSSY, MARKED], ids=["full queue", "losses on the wire", "marks"])
def test_reno_in_python_gives_the_results_of_reno(example: str, tmp_path: Path, changes: dict[str, Any]) -> None:
    built_in, python = (lab.run(bulk(name, **changes), out=tmp_path / "results") for name in ("reno", example))
    measured = [result.summary["sources"] for result in (built_in, python)]
    assert measured[0] == measured[1]
    flows = [result.flows.drop("control") for result in (built_in, python)]
    assert flows[0].equals(flows[1])
    assert flows[0]["cwnd_bytes"].n_unique() > 20, "the window moves"
    assert python.flows["control"].unique().to_list() == [example]


def test_users_with_reno_in_python_have_the_results_of_reno(example: str, tmp_path: Path) -> None:
    def users(congestion: str) -> lab.Result:
        experiment = lab.Experiment(
            testbed="unc-2003",
            link={"rate": "2 Mbit/s"},
            queue={"droptail": {"limit": 30}},
            users={"per_side": 300},
            tcp={"profile": "linux-6", "congestion": congestion},
            protocol={"warmup": "5 s", "duration": "20 s"},
        )
        return lab.run(experiment, out=tmp_path / "results")

    built_in, python = users("reno"), users(example)
    assert built_in.response_times["count"].sum() > 500
    assert built_in.queue.equals(python.queue)
    assert built_in.response_times.equals(python.response_times)


def test_a_control_is_told_of_everything_it_may_know(write: Write, tmp_path: Path) -> None:
    write(
        control(
            """\
heard = []
def on_delivery(self, ack):
    self.heard.append(("delivery", ack))
def on_ack(self, ack):
    self.heard.append(("ack", ack))
    self.cwnd += ack.mss
def on_loss(self, window, mss):
    self.heard.append(("loss", window))
    self.ssthresh = self.cwnd = window // 2
def on_recovered(self, in_flight, mss):
    self.heard.append(("recovered", in_flight))
"""
        )
    )
    result = lab.run(bulk("my_module:MyControl"), out=tmp_path / "results")
    heard = registry.find("my_module:MyControl").control.heard  # type: ignore[attr-defined]
    kinds = [kind for kind, _ in heard]
    assert kinds[:2] == ["delivery", "ack"]
    assert kinds.index("loss") < kinds.index("recovered")
    acks = [value for kind, value in heard if kind == "delivery"]
    assert 0.06 <= min(ack.rtt_s for ack in acks if ack.rtt_s is not None) < 0.07
    assert sum(ack.lost for ack in acks) > 0
    rate = max(ack.rate.bps for ack in acks if ack.rate is not None and ack.rate.bps)
    assert rate == pytest.approx(10e6 * 1448 / 1500, rel=0.05), "the rate of the link in data"
    assert (result.flows["cwnd_bytes"] > 20 * 1448).any()


def test_a_fixed_window_and_a_pacing_rate_are_kept(write: Write, tmp_path: Path) -> None:
    write(FIXED)
    paced = bulk("my_module:Fixed", control={"segments": 20, "pacing_mbps": 1.0})
    flows = lab.run(paced, out=tmp_path / "results").flows.filter(SENDS)
    assert flows["cwnd_bytes"].unique().to_list() == [20 * 1448]
    assert flows["pacing_rate_mbps"].unique().to_list() == [1.0]
    ends = flows.group_by("flow").agg(
        pl.col("time_s", "delivered_bytes").max() - pl.col("time_s", "delivered_bytes").min()
    )
    goodput_mbps = (8e-6 * ends["delivered_bytes"] / ends["time_s"]).to_list()
    # 20 segments in 60 ms are 3.9 Mbit/s, of which pacing leaves one.
    assert goodput_mbps == pytest.approx([1.0, 1.0], rel=0.02)


def test_a_control_shares_a_link_with_a_built_in_one(write: Write, tmp_path: Path) -> None:
    write(FIXED)
    mix = [{"source": "b", "share": 1.0, "congestion": "my_module:Fixed", "control": {"segments": 7}}]
    flows = lab.run(bulk("cubic", mix=mix, sources=("a", "b")), out=tmp_path / "results").flows.filter(SENDS)
    windows = flows.group_by("source", "control").agg(pl.col("cwnd_bytes").n_unique()).sort("source")
    assert windows["control"].to_list() == ["cubic", "my_module:Fixed"]
    assert windows["cwnd_bytes"].to_list()[1] == 1 < windows["cwnd_bytes"].to_list()[0]
    assert flows.filter(pl.col("source") == 2)["cwnd_bytes"].unique().to_list() == [7 * 1448]


def test_stacks_of_a_mix_inherit_control_and_parameters(write: Write) -> None:
    write(FIXED)
    mix = [{"share": 0.5, "initial_window": 3}, {"share": 0.25, "control": {"pacing_mbps": 2.0}}]
    (cell,) = cells_of(bulk("my_module:Fixed", control={"segments": 4}, mix=mix), [1])
    tables = [stack["control"] for stack in registry.stacks(cell.resolved)]
    assert [(table["segments"], table["pacing_mbps"]) for table in tables] == [(4, None), (4, None), (4, 2.0)]
    assert len({table["source"] for table in tables}) == 1


def test_a_class_is_a_control_too(tmp_path: Path) -> None:
    class Ten(lab.CongestionControl):
        def on_ack(self, ack: lab.Ack) -> None:
            self.cwnd = 10 * ack.mss

        def on_loss(self, window: int, mss: int) -> None:
            pass

    flows = lab.run(bulk(Ten), out=tmp_path / "results").flows.filter(SENDS)
    assert flows["cwnd_bytes"].unique().to_list() == [10 * 1448]
    assert flows["control"].unique().to_list() == ["test_custom_control:Ten"]


def test_a_changed_source_or_parameter_is_another_cell(write: Write) -> None:
    def key(**parameters: Any) -> str:
        return cells_of(bulk("my_module:Fixed", control=parameters), [1])[0].key

    write(FIXED)
    first = key()
    assert key(segments=20) == first, "the default"
    assert key(segments=21) != first
    write(FIXED + "\n# A comment.\n")
    assert key() != first
    write(FIXED)
    assert key() == first


def test_a_cell_whose_control_has_changed_since_is_not_run(write: Write, tmp_path: Path) -> None:
    from aqmlab.running.run import run_cell

    write(FIXED)
    (cell,) = cells_of(bulk("my_module:Fixed"), [1])
    write(FIXED + "\n")
    with pytest.raises(lab.SpecError, match="the source of my_module:Fixed has changed since this cell was prepared"):
        run_cell(cell, Store(tmp_path / "results"))


def test_the_keys_of_cells_with_built_in_controls_have_no_table() -> None:
    (cell,) = cells_of(bulk("cubic"), [1])
    assert "control" not in cell.resolved["tcp"]


def test_a_sweep_over_a_control_runs_in_processes(write: Write, tmp_path: Path) -> None:
    write(FIXED)
    grid = lab.Grid(spec=bulk("my_module:Fixed"), schemes=["droptail"], axes={"tcp.control.segments": [5, 10]})
    with executors.choose_executor(None, custom=["my_module:Fixed"], out=tmp_path / "results", workers=2) as executor:
        assert executor is not None
    lab.sweep(grid, seeds=[1], out=tmp_path / "results", workers=2)
    store = Store(tmp_path / "results")
    results = [result for result in map(store.get_by_key, store.keys()) if result is not None]
    windows = {
        result.cell.resolved["tcp"]["control"]["segments"]: result.flows.filter(SENDS)["cwnd_bytes"].max()
        for result in results
    }
    assert windows == {5: 5 * 1448, 10: 10 * 1448}


def test_a_comparison_has_variants_with_controls(write: Write, tmp_path: Path) -> None:
    write(FIXED)
    out = tmp_path / "results"
    variant = "droptail + tcp.congestion=my_module:Fixed + tcp.control.segments=6"
    lab.compare("droptail", variant, experiment=bulk("cubic"), seeds=[1], out=out)
    assert set(Store(out).cells()["congestion"]) == {"cubic", "my_module:Fixed"}


def test_a_stored_cell_and_a_refused_import_run_no_code(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(FIXED)
    lab.run(bulk("my_module:Fixed"), out=tmp_path / "results")
    monkeypatch.setattr(loader, "_read", {})
    monkeypatch.delitem(sys.modules, "my_module")
    write(FIXED + "\nraise SystemExit('the module was imported')\n")
    store = Store(tmp_path / "results")
    result = store.get_by_key(*store.keys())
    assert result is not None
    assert result.flows["control"].unique().to_list() == ["my_module:Fixed"]
    with loader.end_imports(), pytest.raises(lab.SpecError, match=r"run from the command line alone"):
        cells_of(bulk("my_module:Fixed"), [1])
