"""benches/peers: the trace, the reading of the programs' output and the tables. Neither ns-2 nor ns-3 is needed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest

import arrivals
import measure
import outputs
import peers
import programs
import report
import scenario
from aqmlab import _core
from scenario import Case, Window

PRINTED = """mark 2 user_s 10.50 packets 1000 peak_kib 2048
direction 0 arrived 90 dropped 9 mbps 1.0 queue_mean 1.5
direction 1 arrived 80 dropped 0 mbps 2.0 queue_mean 0.5
mark 9 user_s 12.50 packets 5000 peak_kib 4096
direction 0 arrived 300 dropped 6 mbps 80.0 queue_mean 20.0
direction 1 arrived 100 dropped 2 mbps 70.0 queue_mean 10.0
"""


def case(name: str) -> Case:
    (match,) = (candidate for candidate in scenario.cases() if candidate.name == name)
    return match


def test_a_trace_is_drawn_by_its_seed_alone() -> None:
    first, repeat, other_seed = (arrivals.generate(200, 5, seed) for seed in (1, 1, 2))
    assert first == repeat
    assert first != other_seed


def test_the_trace_is_what_it_always_was() -> None:
    # Other numbers are another scenario: nothing measured before could be compared with it.
    transfers = arrivals.generate(1515, 60, 1)
    assert len(transfers) == 181_704
    assert arrivals.to_text(transfers).splitlines()[:2] == ["0.000992 0 4 833", "0.001051 1 6 592"]
    assert max(transfer.response_bytes for transfer in transfers) == 62_770_049


def test_a_trace_offers_its_load_in_both_directions_to_all_pairs() -> None:
    transfers = arrivals.generate(500, 60, 3)
    for direction in (0, 1):
        same_direction = [transfer for transfer in transfers if transfer.direction == direction]
        assert len(same_direction) / 60 == pytest.approx(500, rel=0.03)
        sizes = [transfer.response_bytes for transfer in same_direction]
        assert median(sizes) == pytest.approx(1000, rel=0.02)
        assert mean(size >= 10_000 for size in sizes) == pytest.approx(0.1, abs=0.001)
    assert {transfer.pair for transfer in transfers} == set(range(32))
    assert [transfer.at_s for transfer in transfers] == sorted(transfer.at_s for transfer in transfers)


def test_sizes_pass_from_body_to_tail_without_a_step() -> None:
    assert arrivals.size_at(0.9 - 1e-9) == pytest.approx(10_000, abs=1)
    assert arrivals.size_at(0.9) == 10_000
    assert arrivals.size_at(1 - 1e-15) <= 1e8


def test_a_trace_cut_off_is_its_beginning() -> None:
    text = arrivals.to_text(arrivals.generate(100, 4, 1))
    early = arrivals.until(text, 2.0)
    assert text.startswith(early)
    rest = text.removeprefix(early).splitlines()
    assert all(float(line.split()[0]) < 2 for line in early.splitlines())
    assert all(float(line.split()[0]) >= 2 for line in rest)


def test_the_round_trip_times_are_those_of_the_scenario() -> None:
    rtts = arrivals.rtts_ms()
    assert (rtts[0], rtts[31]) == (10 + 140 / 64, 150 - 140 / 64)
    assert mean(rtts) == pytest.approx(80)


def test_every_case_is_a_spec_that_the_engine_takes() -> None:
    for case in scenario.cases():
        for peer, window in case.windows.items():
            tcp = {"ack_every": 1} if case.rtts_ms else {}
            spec = scenario.experiment(case, window, "1.0 0 31 1000\n", tcp)
            assert json.loads(_core.Resolved(json.dumps(spec)).json)["tcp"]["mss"] == 1460, (case.name, peer)


def test_a_transfer_takes_propagation_plus_transmission_time() -> None:
    # Two round trips of pair 0, in which SYN, SYN/ACK, ACK, request and response are sent at 100 Mbit/s.
    window = Window(warm_s=0, begun_until_s=2, stop_s=2)
    times = measure.run_aqmlab(case("web 90 droptail"), window, "1.0 0 0 1000\n")["response_time_ms"]
    on_the_wire = 8e-5 * (40 + 40 + 40 + 340 + 1040)
    assert times["p50"] == pytest.approx(2 * (10 + 140 / 64) + on_the_wire, abs=0.01)


def test_a_driver_s_last_words_about_a_direction_count() -> None:
    output = outputs.read(PRINTED)
    assert output.directions[0] == outputs.Direction(arrived=300, dropped=6, mbps=80.0, queue_mean=20.0)
    assert output.directions[1].mbps == 70.0
    assert [mark.at_s for mark in output.marks] == [2.0, 9.0]
    assert output.goodput_mbps == ()


def test_each_flow_has_its_goodput() -> None:
    assert outputs.read(PRINTED + "goodput_mbps 1.5 2.25\n").goodput_mbps == (1.5, 2.25)


def test_a_driver_that_tells_of_one_direction_only_is_refused() -> None:
    with pytest.raises(ValueError, match="directions 0 and 1"):
        outputs.read("direction 0 arrived 1 dropped 0 mbps 1 queue_mean 0\n")


def test_response_times_are_of_the_transfers_begun_in_the_window(tmp_path: Path) -> None:
    file = tmp_path / "times"
    file.write_text("1.99 0.5 10\n2 0.25 10\n3.999 0.125 10\n4 9 10\n3.0 0.0")
    assert outputs.response_times_ms(file, 2, 4) == [250.0, 125.0]


def test_a_percentile_is_the_value_that_so_many_are_below() -> None:
    percentiles = outputs.percentiles([float(value) for value in range(999, -1, -1)])
    assert percentiles == {f"p{p}": 10.0 * p for p in (10, 25, 50, 75, 90, 95, 99)}
    assert outputs.percentiles([3.0])["p99"] == 3.0
    with pytest.raises(ValueError, match="no transfer"):
        outputs.percentiles([])


def test_the_start_of_a_run_costs_nothing() -> None:
    cost = measure.cost(outputs.read(PRINTED).marks)
    assert (cost.user_s, cost.packets, cost.peak_mib) == (2.0, 4000, 4.0)
    assert cost.ns_per_packet == 500_000


def test_a_difference_is_in_per_cent_of_theirs() -> None:
    assert report.difference_percent(105, 100) == pytest.approx(5)
    assert report.difference_percent(50, 200) == pytest.approx(-75)


def record(**changes: Any) -> dict[str, Any]:
    names = ("p10", "p25", "p50", "p75", "p90", "p95", "p99")
    aqmlab_numbers = {
        "throughput_mbps": 90.0,
        "loss_percent": 0.5,
        "queue_mean": 21.0,
        "packets": 1000,
        "transfers": 300,
        "response_time_ms": dict.fromkeys(names, 110.0),
    }
    peer_numbers = {
        **aqmlab_numbers,
        "loss_percent": 0.0,
        "queue_mean": 20.0,
        "response_time_ms": dict.fromkeys(names, 100.0),
    }
    window = {"warm_s": 2.0, "begun_until_s": 6.0, "stop_s": 9.0}
    cost = {
        "ns-3": {"user_s": 20.0, "packets": 1_000_000, "peak_mib": 40.0, "ns_per_packet": 20_000.0},
        "aqmlab": {"user_s": 0.1, "packets": 2_000_000, "peak_mib": 20.0, "ns_per_packet": 50.0},
    }
    entry: dict[str, Any] = {"case": "web 90 droptail", "traffic": "web 90", "queue": "droptail", "cost": cost}
    return {**entry, "peers": {"ns-3": {"window": window, "peer": peer_numbers, "aqmlab": aqmlab_numbers}}, **changes}


def test_the_tables_say_how_many_times_dearer_and_how_far_apart() -> None:
    costs, web = report.sheets([record()])
    assert costs.rows[0] == ("web 90 droptail", "ns-3", "1,000,000", "20", "20,000", "50,000", "40", "400")
    assert costs.rows[1][-1] == "1"
    peer_row, aqmlab_row, differences = web.rows
    assert peer_row[:2] == ("web 90 droptail, 2 to 9 s", "ns-3")
    assert aqmlab_row[1] == "aqmlab"
    # No difference in per cent of a loss of nothing.
    assert differences[2:] == ("+0.0", "-", "+5.0", "+0.0", *["+10.0"] * 7)


def test_long_flows_have_a_table_of_their_own() -> None:
    flow = {"goodput_mbps": 9.7, "queue_mean": 30.0, "loss_percent": 0.02, "flows_mbps": [9.7]}
    window = {"warm_s": 20.0, "begun_until_s": 20.0, "stop_s": 120.0}
    entry = record(traffic="1 flow", case="1 flow droptail", cost={})
    entry["peers"] = {"ns-2": {"window": window, "peer": flow, "aqmlab": {**flow, "queue_mean": 33.0}}}
    (long,) = report.sheets([entry])
    assert long.rows[-1] == ("", "difference %", "+0.0", "+10.0", "+0.0")
    assert "| 1 flow droptail, 20 to 120 s | ns-2 | 9.70 | 30.0 | 0.020 |" in report.to_markdown(long)


def test_a_missing_program_is_one_line_with_its_debian_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    missing = programs.missing()
    assert missing["ns-2"] == "ns-2: not here, left out; in Debian: apt-get install ns2"
    assert missing["ns-3"] == "ns-3: not here, left out; in Debian: apt-get install libns3-dev g++ libgsl-dev"
    monkeypatch.setattr("sys.argv", ["peers.py", "1 flow"])
    with pytest.raises(SystemExit, match="neither ns-2 nor ns-3 is here"):
        peers.main()


@pytest.mark.parametrize(("name", "message"), [("none.txt", "cannot be read"), ("90.txt", "is empty")])
def test_a_missing_trace_is_one_line(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "90.txt").touch()
    with pytest.raises(SystemExit) as error:
        arrivals.read(tmp_path / name)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_case_is_one_line() -> None:
    with pytest.raises(SystemExit, match="no case has 'fifo' in its name"):
        peers.chosen(["fifo"])
    assert [case.name for case in peers.chosen(["1 flow"])] == ["1 flow droptail"]


def test_only_output_of_the_same_earlier_run_is_reused(tmp_path: Path) -> None:
    file = tmp_path / "peers.json"
    assert peers.saved(file) == []
    file.write_text(json.dumps({"cases": [record()]}))
    assert [entry["case"] for entry in peers.saved(file)] == ["web 90 droptail"]
    file.write_text("[]")
    with pytest.raises(SystemExit, match="not what an earlier run has written"):
        peers.saved(file)


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a shell script in the place of ns-2."""
    program = tmp_path / "ns"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_a_program_that_crashes_late_has_told_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, f"cat <<'END'\n{PRINTED}END\nkill -SEGV $$")
    run = programs.run("ns-2", case("web 90 red"), tmp_path, {"warm": 2})
    assert run.crashed
    assert run.output.marks[-1].at_s == 9


def test_a_program_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "echo 'no such queue' >&2; echo more >&2; exit 2")
    with pytest.raises(programs.Failed) as failed:
        programs.run("ns-2", case("web 90 red"), tmp_path, {})
    assert str(failed.value) == "ns-2, web 90 red: no such queue"


def test_long_flows_get_their_rtts_and_receivers() -> None:
    words = programs.command("ns-2", case("1 flow droptail"), Path("work"), {"stop": 120})
    assert {"rtts=40", "rate=10000000", "limit=50", "segments_per_ack=1", "stop=120"} <= set(words)
    words = programs.command("ns-3", case("20 flows codel"), Path("work"), {})
    assert words[0] == "work/ns3-long"
    assert {"--queue=codel", "--segments_per_ack=2"} <= set(words)


def test_the_timing_of_aqmlab_tells_a_mark_for_each_spec(tmp_path: Path) -> None:
    specs = {
        end: scenario.experiment(
            case("web 90 droptail"), Window(warm_s=0, begun_until_s=end, stop_s=end), "0.1 0 3 5000\n"
        )
        for end in (1.0, 2.0)
    }
    short, long = programs.run_aqmlab(specs, tmp_path)
    assert (short.at_s, long.at_s) == (1.0, 2.0)
    assert short.packets == long.packets > 4
    assert long.peak_kib > 1000


def test_the_timing_of_aqmlab_fails_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(programs.Failed) as failed:
        programs.run_aqmlab({1.0: {"queue": {"droptail": {}}, "users": {"per_side": 0}}}, tmp_path)
    assert "users.per_side" in str(failed.value)
    assert "\n" not in str(failed.value)
