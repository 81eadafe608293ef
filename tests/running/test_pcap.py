"""Packet captures: the file, independently of what wrote it, and what tshark makes of it."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_run import digests

import aqmlab as lab
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.running.pcap import capture_paths
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store
from conftest import Command
from pcapng import ACK, CWR, ECE, RST, SYN, Seen, blocks, checksum, options, packets

NEEDS_TSHARK = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


MANY = {"per_side": 600}
"""Enough users that the queue signals each kind of event to hundreds of packets."""


def experiment(**changes: Any) -> lab.Experiment:
    """Half a minute of the papers' users with ECN who congest a slow link from the beginning."""
    settings: dict[str, Any] = {
        "testbed": "unc-2003",
        "link": {"rate": "2 Mbit/s"},
        "queue": {"pi": {"q_ref": 10}},
        "tcp": {"ecn": True},
        "users": {"per_side": 300},
        "protocol": {"warmup": "5 s", "duration": "25 s"},
    }
    return lab.Experiment(**settings | changes)


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packets of a run whose queue drops."""
    out = tmp_path_factory.mktemp("dropping")
    lab.run(experiment(tcp={"ecn": False}, users=MANY), out=out, pcap=lab.Pcap(file=out / "all.pcapng", from_s=0))
    return out / "all.pcapng"


@pytest.fixture(scope="module")
def marking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packets of a run whose queue marks."""
    out = tmp_path_factory.mktemp("marking")
    lab.run(experiment(users=MANY), out=out, pcap=lab.Pcap(file=out / "all.pcapng", from_s=0))
    return out / "all.pcapng"


@pytest.fixture(scope="module")
def modern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packets of a run whose hosts have the TCP of today."""
    out = tmp_path_factory.mktemp("modern")
    today = experiment(tcp={"profile": "linux-6"}, protocol={"warmup": "2 s", "duration": "10 s"})
    lab.run(today, out=out, pcap=lab.Pcap(file=out / "all.pcapng", from_s=0))
    return out / "all.pcapng"


def test_the_file_has_two_raw_ip_interfaces_in_nanoseconds(marking: Path) -> None:
    (section, header), *interfaces = list(blocks(marking.read_bytes()))[:3]
    assert section == 0x0A0D0D0A
    assert struct.unpack_from("<IHHq", header) == (0x1A2B3C4D, 1, 0, -1)
    for direction, (kind, body) in zip(("forward", "reverse"), interfaces, strict=True):
        assert (kind, *struct.unpack_from("<HHI", body)) == (1, 101, 0, 80)
        described = options(body[8:])
        assert described[2].decode() == direction
        assert struct.unpack("<Q", described[8]) == (2_000_000,)
        assert described[9] == b"\x09"


@pytest.mark.parametrize("capture", ["dropping", "marking", "modern"])
def test_checksums_hold_and_time_runs_forwards(capture: str, request: pytest.FixtureRequest) -> None:
    captured = packets(request.getfixturevalue(capture))
    assert len(captured) > 5_000
    assert [packet.nanos for packet in captured] == sorted(packet.nanos for packet in captured)
    for packet in captured:
        header, segment = packet.stored[:20], packet.stored[20:]
        pseudo = header[12:20] + struct.pack("!HH", 6, len(segment) + packet.data)
        assert checksum(header) == 0
        # Data are zeros.
        assert checksum(pseudo + segment) == 0


def test_windows_are_shifted_as_far_as_both_syns_offer(tmp_path: Path) -> None:
    wide = {"window_scaling": True, "receive_window": 1_000_000}
    brief = experiment(tcp=wide, protocol={"warmup": "1 s", "duration": "2 s"})
    lab.run(brief, out=tmp_path, pcap=lab.Pcap(file=tmp_path / "wide.pcapng", from_s=0))
    captured = packets(tmp_path / "wide.pcapng")
    syns = [segment for segment in captured if segment.flags & SYN]
    assert {segment.stored[44:48] for segment in syns} == {b"\x03\x03\x04\x00"}
    windows = [
        {int.from_bytes(segment.stored[34:36]) for segment in segments}
        for segments in (syns, set(captured) - set(syns))
    ]
    assert windows == [{65_535}, {1_000_000 >> 4}]


def test_what_dropping_and_marking_queues_do_is_told(dropping: Path, marking: Path) -> None:
    def verdicts(file: Path) -> Counter[str]:
        kinds = (re.sub(r"[\d.]+ ms|; .*", "", packet.comment).strip() for packet in packets(file))
        return Counter(kind.removesuffix(", still there at the end") for kind in kinds)

    dropped, marked = verdicts(dropping), verdicts(marking)
    assert dropped.keys() <= {"queued", "dropped early", "dropped by limit"}
    assert dropped["dropped early"] > 50
    # What is no data may not be marked.
    assert marked.keys() <= {*dropped, "marked, queued"}
    assert marked["marked, queued"] > 50


def test_a_connection_has_a_port_of_its_own(dropping: Path) -> None:
    """A SYN with sockets seen before repeats one that was not answered, so nothing else came between."""
    last: dict[tuple[bytes, bytes], int] = {}
    for packet in packets(dropping):
        client_speaks = packet.sockets[1][-2:] == (80).to_bytes(2)
        if client_speaks and packet.flags & SYN:
            assert last.get(packet.sockets, SYN) & SYN
        if client_speaks:
            last[packet.sockets] = packet.flags
    assert len(last) > 500


@pytest.mark.parametrize("name", disciplines())
def test_a_capture_changes_no_result_and_no_name(name: str, tmp_path: Path) -> None:
    # The engine that is compiled for the discipline gives what the one does that all captured runs share. The tests in
    # Rust, which are built for debugging, have the latter alone.
    spec = experiment(queue={name: {}}, protocol={"warmup": "2 s", "duration": "8 s"})
    plain = lab.run(spec, out=tmp_path / "plain")
    captured = lab.run(spec, out=tmp_path / "captured", pcap=lab.Pcap(file=tmp_path / "x.pcapng"))
    assert plain.cell.key == captured.cell.key
    assert digests(plain) == digests(captured)


def test_a_stored_cell_is_rerun_for_its_packets_and_kept(tmp_path: Path) -> None:
    before = lab.run(experiment(), out=tmp_path).metadata
    file = tmp_path / "x.pcapng"
    after = lab.run(experiment(), out=tmp_path, pcap=lab.Pcap(file=file, for_s=2)).metadata
    assert before == after
    times = [packet.nanos for packet in packets(file)]
    assert 5e9 <= min(times) < max(times) < 7e9


def test_a_capture_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    lab.run(experiment(), out=tmp_path, pcap=lab.Pcap(file=file, packets=10))
    captured = packets(file)
    assert len(captured) == 10
    assert captured[0].nanos >= 5e9


def test_a_capture_that_is_cut_says_where(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "x.pcapng"
    lab.run(experiment(), out=tmp_path, pcap=lab.Pcap(file=file, packets=1000, for_s=3))
    (warned,) = caplog.messages
    last_s = packets(file)[-1].nanos * 1e-9
    assert warned.startswith(
        f"{file}: the capture holds the first 1,000 packets: it ends at {last_s:.2f} s of a window from 5 s to 8 s;"
    )
    assert b"cut: the capture holds the first 1000 packets" in file.read_bytes()
    caplog.clear()
    lab.run(experiment(), out=tmp_path, pcap=lab.Pcap(file=file, for_s=0.5))
    assert caplog.messages == []


def test_an_interrupted_run_leaves_no_capture(tmp_path: Path) -> None:
    def watch(now: float, end: float) -> None:
        if now > 8:
            raise KeyboardInterrupt

    cell = cells_of(experiment(), [1])[0]
    file = tmp_path / "x.pcapng"
    file.write_text("an older one")
    with pytest.raises(KeyboardInterrupt):
        run_cell(cell, Store(tmp_path / "results"), watch, pcap=lab.Pcap(file=file))
    assert file.read_text() == "an older one"
    assert {path.name for path in tmp_path.iterdir()} == {"results", "x.pcapng"}


def test_each_cell_of_a_comparison_has_a_file_of_its_own(tmp_path: Path) -> None:
    lab.compare(
        "pi:q_ref=10,ecn=true",
        "droptail",
        experiment=experiment(queue={"droptail": {}}, tcp={}),
        seeds=[1, 2],
        out=tmp_path,
        pcap=lab.Pcap(file=tmp_path / "x.pcapng", packets=5),
    )
    names = {path.name for path in tmp_path.glob("*.pcapng")}
    schemes = ("uncongested", "pi-q_ref=10-ecn=true", "droptail")
    assert names == {f"x-{scheme}-seed{seed}.pcapng" for scheme in schemes for seed in (1, 2)}


def test_labels_with_equal_file_names_get_separate_files() -> None:
    def cell(label: str, q_ref: int) -> Cell:
        changed = experiment(queue={"pi": {"q_ref": q_ref}})
        return cells_of(changed, [1], label=label)[0]

    cells = [cell("a:b", 10), cell("a/b", 11), cell("a/b", 11)]
    files = {pcap.file for pcap in capture_paths(lab.Pcap(file="x.pcapng"), cells).values()}
    assert len(files) == 2


SPEC = """
link = {rate = "2 Mbit/s"}
queue = {droptail = {}}
users = {per_side = 20}
protocol = {warmup = "1 s", duration = "2 s"}
"""


def test_the_command_line_captures(aqmlab: Command) -> None:
    Path("x.toml").write_text(SPEC)
    outcome = aqmlab("run", "x.toml", "--pcap", "x.pcapng", "--pcap-from", "0 s", "--pcap-for", "2500 ms")
    assert (outcome.code, outcome.out.splitlines()[-1].split()) == (0, ["packets:", "x.pcapng"])
    times = [packet.nanos for packet in packets(Path("x.pcapng"))]
    assert min(times) < 1e9 < 2e9 < max(times) < 2.5e9


def test_the_command_line_says_where_a_capture_was_cut(aqmlab: Command) -> None:
    Path("x.toml").write_text(SPEC)
    outcome = aqmlab("run", "x.toml", "--pcap", "x.pcapng", "--pcap-packets", "7")
    assert outcome.code == 0
    (line,) = [line for line in outcome.err.splitlines() if "x.pcapng" in line]
    assert "holds the first 7 packets: it ends at 1." in line
    assert "--pcap-packets" in line


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        (("--pcap", "no/where.pcapng"), "pcap.file: must be a file that can be written, got no/where.pcapng (No such"),
        (("--pcap", "."), "pcap.file: must be a file that can be written, got . ("),
        (("--pcap", "x", "--pcap-from", "3 s"), "pcap.from_s: must be from 0 to below the end of the run at 3 s, got"),
        (("--pcap", "x", "--pcap-for", "0 s"), "pcap.for_s: must be above 0 s, got 0"),
        (("--pcap", "x", "--pcap-for", "5"), '--pcap-for: "5": write a unit, such as '),
        (("--pcap", "x", "--pcap-packets", "0"), "Invalid value for '--pcap-packets'"),
        (("--pcap-packets", "7"), "--pcap-packets: needs --pcap, which is not given, got 7"),
    ],
)
def test_what_cannot_be_captured_is_refused_in_one_line(
    aqmlab: Command, options: tuple[str, ...], mistake: str
) -> None:
    Path("x.toml").write_text(SPEC)
    outcome = aqmlab("run", "x.toml", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith(f"aqmlab: {mistake}")
    assert not Path("x").exists()


def tshark(file: Path, *fields: str) -> list[tuple[str, ...]]:
    """Return fields of each packet; empty where tshark has nothing to say."""
    chosen = [part for name in fields for part in ("-e", name)]
    command = ["tshark", "-n", "-r", str(file), "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    process = subprocess.run([*command, "-T", "fields", *chosen], capture_output=True, text=True, check=True)
    return [tuple(line.split("\t")) for line in process.stdout.splitlines()]


def sent_before(captured: list[Seen]) -> list[bool]:
    """Say of each packet whether its first sequence number was sent before: a retransmission by any cause."""
    sent: dict[tuple[bytes, bytes], int] = {}
    flags = []
    for segment in captured:
        known = sent.get(segment.sockets, segment.seq)
        flags.append(segment.next_seq > segment.seq and segment.seq < known)
        sent[segment.sockets] = max(known, segment.next_seq)
    return flags


def acknowledges_again(captured: list[Seen]) -> list[bool]:
    """Say of each packet whether it is a duplicate acknowledgement (RFC 5681, section 2, but for its clause a)."""
    last: dict[tuple[bytes, bytes], tuple[int, bytes]] = {}
    flags = []
    for segment in captured:
        pure = segment.next_seq == segment.seq and segment.flags & ACK and not segment.flags & RST
        fields = (segment.ack, segment.stored[34:36])
        flags.append(bool(pure and last.get(segment.sockets) == fields))
        last[segment.sockets] = fields
    return flags


@NEEDS_TSHARK
@pytest.mark.parametrize("capture", ["dropping", "marking", "modern"])
def test_tshark_finds_nothing_malformed(capture: str, request: pytest.FixtureRequest) -> None:
    rows = tshark(
        request.getfixturevalue(capture),
        "_ws.malformed",
        "_ws.expert.severity",
        "ip.checksum.status",
        "tcp.checksum.status",
    )
    error, good, unverified = 0x800000, "1", "2"
    for malformed, severities, ip, tcp in rows:
        assert not malformed
        assert all(int(severity, 0) < error for severity in severities.split(",") if severity)
        # What is longer than its headers tshark has not got whole.
        assert (ip, tcp in (good, unverified)) == (good, True)
    assert sum(tcp == good for *_, tcp in rows) > 1_000


@NEEDS_TSHARK
def test_tshark_reads_the_options_of_a_modern_stack(modern: Path) -> None:
    fields = ("tcp.flags.syn", "tcp.flags.reset", "tcp.options.timestamp.tsval", "tcp.options.sack_le")
    rows = tshark(modern, *fields, "tcp.options.wscale.shift", "tcp.options.mss_val", "tcp.options.sack_perm")
    assert sum(bool(sack) for *_, sack, _, _, _ in rows) > 100
    for syn, reset, timestamp, _, shift, mss, permitted in rows:
        is_syn = syn in ("1", "True")
        assert timestamp or reset in ("1", "True")
        # 32 MiB takes a shift of 10.
        assert (shift, mss, bool(permitted)) == (("10", "1460", True) if is_syn else ("", "", False))


@NEEDS_TSHARK
def test_tshark_finds_our_retransmissions(dropping: Path) -> None:
    # tshark gives one of four names to what starts below the highest sequence number: a retransmission so soon that it
    # could have been overtaken is out of order, though nothing is overtaken here.
    names = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    rows = tshark(dropping, "frame.number", *(f"tcp.analysis.{name}" for name in names))
    expected = [int(number) for number, *flags in rows if any(flags)]
    actual = [number for number, is_repeated in enumerate(sent_before(packets(dropping)), 1) if is_repeated]
    assert expected == actual
    assert len(actual) > 100


@NEEDS_TSHARK
def test_tshark_finds_our_duplicate_acknowledgements(dropping: Path) -> None:
    rows = tshark(dropping, "frame.number", "tcp.analysis.duplicate_ack")
    expected = [int(number) for number, duplicate in rows if duplicate]
    actual = [number for number, is_repeated in enumerate(acknowledges_again(packets(dropping)), 1) if is_repeated]
    assert expected == actual
    assert len(actual) > 100


@NEEDS_TSHARK
def test_tshark_finds_our_ecn_flags(marking: Path) -> None:
    expected = [(int(flags, 0), int(ecn)) for flags, ecn in tshark(marking, "tcp.flags", "ip.dsfield.ecn")]
    actual = [(packet.flags, packet.stored[1] & 3) for packet in packets(marking)]
    assert expected == actual
    for flag in (ECE, CWR):
        assert sum(bool(flags & flag and not flags & SYN) for flags, _ in expected) > 50


@NEEDS_TSHARK
def test_tsharks_rtt_is_the_base_rtt_plus_queueing_delay(tmp_path: Path) -> None:
    """From SYN to the handshake's last ACK: two waits, twice the wire, and a round-trip time from 10 to 150 ms.

    The engine has those times in whole microseconds, and a SYN that is 78 bytes on the wire.
    """
    file = tmp_path / "x.pcapng"
    quiet = experiment(link={"rate": "2 Mbit/s", "device_fifo": 0}, users={"per_side": 150})
    lab.run(quiet, out=tmp_path, pcap=lab.Pcap(file=file, from_s=0))
    handshakes: dict[str, list[str]] = {}
    round_trips: dict[str, int] = {}
    for stream, flags, comment, rtt in tshark(
        file, "tcp.stream", "tcp.flags", "frame.comment", "tcp.analysis.initial_rtt"
    ):
        if int(flags, 0) & SYN:
            handshakes.setdefault(stream, []).append(comment)
        if rtt:
            round_trips[stream] = round(float(rtt) * 1e9)
    wire_ns = 2 * ((40 + 38) * 4_000 + 500_000)
    rests = []
    for stream, round_trip in round_trips.items():
        waits = [re.fullmatch(r"(?:marked, )?queued ([\d.]+) ms; .*", comment) for comment in handshakes[stream]]
        if len(waits) == 2 and all(waits):
            rests.append(round_trip - wire_ns - sum(round(float(wait[1]) * 1e6) for wait in waits if wait))
    assert len(rests) > 200
    assert all(10_000_000 <= rest <= 151_000_000 for rest in rests)
    # But where a server's interface was busy.
    assert sum(rest % 1_000 == 0 for rest in rests) > 0.95 * len(rests)
