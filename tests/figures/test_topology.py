from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import aqmlab as lab
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import cells_of
from aqmlab.spec import presets
from aqmlab.topology import drawing, plot
from aqmlab.topology.network import Topology, rows, topology
from conftest import Command

LINK: dict[str, Any] = {"rate": "2 Mbit/s", "device_fifo": 0}
PARTS: dict[str, Any] = {
    "link": [LINK, {**LINK, "queue": {"pi": {"q_ref": 10}}, "delay": "5 ms"}, {**LINK, "rate": "500 kbit/s"}],
    "queue": {"red": {}},
    "users": {"per_side": 20, "path": [1, 3]},
    "sources": [
        {"bulk": {"name": "down", "flows": 2, "path": [2, 4]}},
        {"bulk": {"name": "up", "flows": 1, "direction": "upload"}},
        {"datagrams": {"name": "voice", "rate": "50 kbit/s", "side": 1, "path": [3, 4]}},
        {"transfers": {"rate_per_second": [0, 2], "size": {"fixed": "8 kB"}, "path": [1, 2]}},
    ],
    "protocol": {"warmup": "2 s", "duration": "20 s"},
}

SPEC = """
[users]
per_side = 20

[[link]]
rate = "2 Mbit/s"

[[link]]
rate = "5 Mbit/s"
rate_changes = [{at = "1 s", rate = "1 Mbit/s"}]
"""


def network(parts: dict[str, Any]) -> Topology:
    experiment = lab.Experiment(**parts)
    return topology(experiment, cells_of(experiment, [1])[0].spec)


@pytest.fixture
def spec(tmp_path: Path) -> str:
    file = tmp_path / "chain.toml"
    file.write_text(SPEC)
    return str(file)


def test_a_chains_tables_and_record_list_its_links(tmp_path: Path) -> None:
    result = lab.run(lab.Experiment(**PARTS), out=tmp_path)
    for table in (result.queue, result.link):
        counts = table.group_by("link", "direction").len()
        assert sorted(counts.select("link", "direction").rows()) == [(n, d) for n in (1, 2, 3) for d in (0, 1)]
        assert counts["len"].n_unique() == 1
    record = result.record()
    losses = [record["users"], *record["sources"]]
    assert all(item["packets_sent"] > 0 and 0 <= item["loss_percent"] < 100 for item in losses)
    for link in record["directions"]:
        rows = result.link.filter(link=link["link"], direction=link["direction"])
        assert (rows["arrived"].sum(), rows["drops"].sum()) == (link["arrived"], link["dropped"])
    text = repr(result)
    assert all(f"  link {n} {name}: " in text for n in (1, 2, 3) for name in ("forward", "reverse"))


def test_a_variable_is_null_where_a_law_has_none_of_that_name(tmp_path: Path) -> None:
    queue = lab.run(lab.Experiment(**PARTS), out=tmp_path).queue
    by_link = queue.group_by("link").agg(pl.col("avg").is_not_null().all(), pl.col("p").is_not_null().all())
    assert sorted(by_link.rows()) == [(1, True, False), (2, False, True), (3, True, False)]
    assert not queue["avg"].is_nan().any()


def test_one_link_has_no_column_for_its_number(small: lab.Experiment, tmp_path: Path) -> None:
    result = lab.run(small, out=tmp_path)
    assert "link" not in result.queue.columns
    assert "link" not in result.link.columns
    assert [(item["link"], item["direction"]) for item in result.record()["directions"]] == [(1, 0), (1, 1)]


def test_a_list_of_no_links_is_refused() -> None:
    with pytest.raises(lab.SpecError, match=r"^link: must be a table, or a list of at least one"):
        cells_of(lab.Experiment(users={"per_side": 1}, link=[]), [1])


def test_a_load_of_a_chain_is_refused() -> None:
    with pytest.raises(
        lab.SpecError, match=r"^users.load: is percent of one link; with links in series give users.per_side, got 98"
    ):
        cells_of(lab.Experiment(link=[{}], users={"load": 98}), [1], load_calibrations(Path("results")))


def test_an_uncongested_chain_has_its_delays_and_no_slow_link() -> None:
    links = network(PARTS).links
    experiment = presets.uncongested(lab.Experiment(**PARTS))
    fast = topology(experiment, cells_of(experiment, [1])[0].spec).links
    assert [link.delay for link in fast] == [link.delay for link in links]
    assert {link.rates for link in fast} == {"1 Gbit/s"}


def test_hosts_show_their_base_rtt_and_their_own_interface() -> None:
    users = {"per_side": 20, "delay_at": "split"}
    source = {
        "bulk": {"name": "own", "flows": 1, "rtt": {"fixed": "40 ms"}, "delay_at": "server", "interface": "10 Gbit/s"}
    }
    senders = network({"users": users, "sources": [source, {"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}}}]}).senders
    assert [sender.rtt for sender in senders] == [
        "10 to 150 ms, half at the servers",
        "40 ms, at the servers",
        "40 ms, half at the servers",
    ]
    assert ["interface" in sender.description for sender in senders] == [False, True, False]


def test_data_oppose_requests_except_uploads_and_datagrams() -> None:
    diagram = network(PARTS)
    assert {sender.name: diagram.direction_text(sender) for sender in diagram.senders} == {
        "web users": "both directions, R1 ↔ R3",
        "down": "reverse, R4 → R2",
        "up": "forward, R1 → R4",
        "voice": "reverse, R4 → R3",
        "transfers": "forward, R1 → R2",
    }


def test_users_of_one_side_are_drawn_on_it() -> None:
    users = {"per_side": 20, "sides": 1}
    (unnamed,) = network({"users": users}).senders
    assert (unnamed.description, unnamed.direction) == ("20 at side 0, unc-2001-v3", 1)
    diagram = network({"users": users, "sides": ("home", "internet")})
    assert diagram.senders[0].description == "20 at home, unc-2001-v3"
    assert diagram.direction_text(diagram.senders[0]) == "internet→home"
    text = "\n".join(line.plain for line in drawing.drawing(diagram, 80))
    assert "◂─" in text
    assert "▸" not in text


spans = st.tuples(st.integers(1, 64), st.integers(1, 64)).filter(lambda span: span[0] < span[1])


@given(st.lists(spans, max_size=30))
def test_labels_in_a_row_never_overlap_and_none_is_lost(labels: list[tuple[int, int]]) -> None:
    packed = rows(labels, labels)
    assert sorted(label for row in packed for label in row) == sorted(labels)
    for row in packed:
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(row))


@pytest.mark.parametrize("links", [1, 3, 6, 20])
@pytest.mark.parametrize("width", [40, 100, 250])
def test_a_drawing_fits_and_has_every_router_and_sender(links: int, width: int) -> None:
    parts = {**PARTS, "link": [{"rate": f"{n} Mbit/s"} for n in range(1, links + 1)]}
    ways = [[n, n + 1] for n in range(1, links + 1)]
    parts["sources"] = [{"bulk": {"name": f"x{n}", "flows": 1, "path": way}} for n, way in enumerate(ways)]
    lines = [line.plain.rstrip() for line in drawing.drawing(network({**parts, "users": {"per_side": 0}}), width)]
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert all(f"R{n}" in text for n in range(1, links + 2))
    assert all(f" x{n} " in text for n in range(links))
    assert all(f"{n} Mbit/s" in text for n in range(1, links + 1))


def test_gfc2_fits_100_columns_with_its_routers_in_one_row(aqmlab: Command) -> None:
    outcome = aqmlab("show", str(Path(__file__).parents[2] / "examples" / "gfc2.toml"))
    assert outcome.code == 0
    assert all(len(line) <= 100 for line in outcome.out.splitlines())
    (routers,) = (line for line in outcome.out.splitlines() if "R1├" in line)
    assert all(f"R{n}" in routers for n in range(1, 8))
    assert "\x1b" not in outcome.out


def test_show_prints_the_resolved_spec_and_draws_a_figure(aqmlab: Command, spec: str, tmp_path: Path) -> None:
    figure = tmp_path / "chain.svg"
    outcome = aqmlab("show", spec, "--json", "--figure", str(figure), "--set", "users.path=[2,3]")
    resolved = json.loads(outcome.out)["spec"]
    assert resolved["users"]["path"] == [2, 3]
    assert resolved["link"][1]["rate_changes"] == [{"at": "1 s", "rate": "1 Mbit/s"}]
    assert "1 Mbit/s from 1 s" in aqmlab("show", spec).out
    assert b"web users" in figure.read_bytes() or b"<svg" in figure.read_bytes()


def test_a_figure_of_a_spec_is_the_same_to_the_byte(tmp_path: Path) -> None:
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        plot.save(file, network(PARTS), title="a chain")
    first, second = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--figure", "chain.txt"), "aqmlab: a figure is one of svg, png, pdf, got 'chain.txt'"),
        (("--set", "users.path=[2,4]"), "aqmlab: users.path: must be two routers [a, b] with 1 <= a < b <= 3"),
        (
            ("--set", "users.load=90"),
            "aqmlab: users.load: is percent of one link; with links in series give users.",
        ),
    ],
)
def test_a_mistake_in_what_is_to_be_shown_is_one_line(
    aqmlab: Command, spec: str, arguments: tuple[str, ...], message: str
) -> None:
    outcome = aqmlab("show", spec, *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(message)
    assert len(outcome.err.splitlines()) == 1


def test_capacities_that_vary_are_drawn_with_their_queues(capsys: pytest.CaptureFixture[str]) -> None:
    down = {"trace": {"seconds": [0, 4], "mbps": [8, 2]}}
    parts: dict[str, Any] = {
        "sides": ["home", "internet"],
        "link": {"rate": {"up": "10 Mbit/s", "down": down}},
        "queue": {"droptail": {}},
        "users": {"per_side": 1},
        "protocol": {"warmup": "4 s", "duration": "12 s"},
    }
    drawn = network(parts)
    (capacity,) = drawn.capacities
    assert capacity.name == "internet→home, queue at R2"
    assert capacity.edges_s[-1] == 16
    assert capacity.mbps == pytest.approx(2 * (48 * [8] + 48 * [2]))
    drawing.show(drawn, "walk")
    text = capsys.readouterr().out
    assert "Capacity over the run, internet→home, queue at R2, under seed 1:" in text
    assert f"       8 |{2 * (16 * '#' + 16 * ' ')}".rstrip() in text.splitlines()
    figure = Figure()
    plot.draw(figure, drawn, title="walk")
    assert [axis.get_ylabel() for axis in figure.axes] == ["", "capacity, Mbit/s", ""]
    assert figure.axes[-1].get_xlabel() == "time, s"
    bucket = {"token_bucket": {"rate": "5 Mbit/s", "burst": "16 kB"}}
    assert network({**parts, "link": {"rate": bucket}}).capacities == ()


def test_only_the_beginning_of_random_capacities_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    cell = {"cellular": {"rate": "10 Mbit/s", "users": 2}}
    protocol = {"warmup": "1 min", "duration": "5 d"}
    drawn = network({"link": {"rate": cell}, "queue": {"droptail": {}}, "users": {"per_side": 1}, "protocol": protocol})
    assert [capacity.edges_s[-1] for capacity in drawn.capacities] == [600, 600]
    drawing.show(drawn, "cell")
    assert "Capacity over its first 10 min, forward, queue at R1, under seed 1:" in capsys.readouterr().out
