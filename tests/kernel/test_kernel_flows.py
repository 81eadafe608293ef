"""The table of flows of runs in a Linux kernel: the state of its TCP sockets, in the simulator's terms."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from test_kernel import _kernel_permitted, tables  # noqa: F401, the fixture of all files

import aqmlab as lab
from aqmlab._core import SpecError

pytestmark = pytest.mark.usefixtures("_kernel_permitted")

CONTROLS = ("cubic", "bbr", "dctcp")


def experiment(world: str, flows: object = "100 ms") -> lab.Experiment:
    """Return a download of each congestion control from servers of one side."""
    return lab.Experiment(
        world=world,
        link={"rate": "20 Mbit/s"},
        queue={"codel": {"ce_threshold": "1 ms"}},
        users={"per_side": 0},
        sources=[{"bulk": {"name": name, "flows": 1, "rtt": {"fixed": "20 ms"}}} for name in CONTROLS],
        tcp={
            "mix": [
                {"source": "bbr", "share": 1, "congestion": "bbr"},
                {"source": "dctcp", "share": 1, "congestion": "dctcp", "ecn": "dctcp"},
            ]
        },
        record={"flows": flows},
        protocol={"warmup": "1 s", "duration": "3 s"},
    )


def test_the_table_has_the_state_of_the_kernels_sockets(tmp_path: Path) -> None:
    real, simulated = (lab.run(experiment(world), out=tmp_path) for world in ("kernel", "simulated"))
    assert real.flows.schema == simulated.flows.schema
    for number, name in enumerate(CONTROLS, start=1):
        # The server of a download sends the data; a request has sent a few bytes in the other direction.
        flow = real.flows.filter(pl.col("source") == number, pl.col("sent_bytes") > 10_000)
        assert flow["control"].unique().to_list() == [name]
        assert 28 <= flow.height <= 31
        assert (flow["time_s"].diff().drop_nulls() > 0.09).all()
        assert (flow["min_rtt_ms"] >= 20).all()
        assert (flow["srtt_ms"] >= flow["min_rtt_ms"]).all()
        assert (flow["delivered_bytes"] + flow["in_flight_bytes"] <= flow["sent_bytes"] + 1448).all()
        assert (flow["sent_bytes"] - flow["retransmitted_bytes"] >= flow["delivered_bytes"]).all()
        first, last = flow.row(0, named=True), flow.row(-1, named=True)
        goodput = 8e-6 * (last["delivered_bytes"] - first["delivered_bytes"]) / (last["time_s"] - first["time_s"])
        (summary,) = (source for source in real.summary["sources"] if source["name"] == name)
        assert goodput == pytest.approx(summary["goodput_mbps"], rel=0.1)
        assert flow["pacing_rate_mbps"].null_count() == (0 if name == "bbr" else flow.height)
        assert flow["bw_mbps"].null_count() == (0 if name == "bbr" else flow.height)
        assert (
            flow["alpha_fraction"].null_count()
            == flow["marked_bytes"].null_count()
            == (0 if name == "dctcp" else flow.height)
        )
    # All data of DCTCP wait for more than a millisecond behind the others.
    marked = real.flows.filter(pl.col("source") == 3, pl.col("sent_bytes") > 10_000).row(-1, named=True)
    assert 0.5 * marked["delivered_bytes"] < marked["marked_bytes"] <= marked["delivered_bytes"]


def test_two_runs_have_the_same_table(tmp_path: Path) -> None:
    first, second = (lab.run(experiment("kernel"), out=tmp_path / name) for name in ("first", "second"))
    assert first.flows.equals(second.flows)
    assert tables(first) == tables(second)


def test_a_source_is_chosen_users_and_changes_are_refused(tmp_path: Path) -> None:
    chosen = lab.run(experiment("kernel", {"every": "1 s", "sources": ["bbr"]}), out=tmp_path)
    assert chosen.flows["source"].unique().to_list() == [2]
    users = experiment("kernel", {"every": "1 s", "users": 0.5}).model_copy(
        update={"users": lab.Experiment(users={"per_side": 5}).users}
    )
    with pytest.raises(SpecError, match=r"^record\.flows\.users: live records the flows of sources, got 0\.5$"):
        lab.run(users, out=tmp_path)
    with pytest.raises(SpecError, match=r'^record\.flows: .*: write a period such as "10 ms", got "changes"$'):
        lab.run(experiment("kernel", "changes"), out=tmp_path)
