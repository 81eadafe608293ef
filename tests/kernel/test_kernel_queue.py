"""Queue disciplines of the Linux kernel in a network of ours, which ``queue.kernel`` gives as ``tc`` takes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab._core import SpecError
from aqmlab.cells.cell import cells_of
from aqmlab.live.kernel_checks import kernel_checks
from aqmlab.spec import schemes
from aqmlab.tc import line
from aqmlab.tc.commands import commands
from conftest import Command

SPEC = """
world = "kernel"
[link]
rate = "5 Mbit/s"
[tcp]
ecn = true
[users]
per_side = 20
[[sources]]
bulk = {flows = 4, rtt = {fixed = "20 ms"}}
[protocol]
warmup = "1 s"
duration = "3 s"
"""


@pytest.fixture(scope="module")
def _kernel_permitted() -> None:
    """Skip where no kernel runs, with the doctor's reason."""
    if lacks := [f"{check.what}: {check.found}" for check in kernel_checks() if not check.ok]:
        pytest.skip("; ".join(lacks))


needs_kernel = pytest.mark.usefixtures("_kernel_permitted")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.toml"
    file.write_text(SPEC)
    return file


def tables(result: lab.Result) -> list[bytes]:
    return [(Path(result.directory) / f"{name}.parquet").read_bytes() for name in ("queue", "link", "summary")]


@needs_kernel
@pytest.mark.parametrize(
    "queue", ["pfifo limit 50", "codel ecn", "fq_codel", "cake bandwidth 4mbit diffserv4", "pie ecn"]
)
def test_drops_and_marks_are_those_that_tc_counts(queue: str, spec: Path, tmp_path: Path) -> None:
    whole = lab.Experiment.from_toml(spec, changes=["protocol.warmup=0 s"])
    result = lab.run(schemes.parse(f"kernel:{queue}").apply_to(whole), out=tmp_path / "store")
    for queue_record, direction in zip(
        result.metadata["kernel"]["kernel_queues"], result.summary["directions"], strict=True
    ):
        text = queue_record["statistics"]
        assert int(re.search(r"dropped (\d+)", text)[1]) == direction["dropped"]  # type: ignore[index]
        marks = sum(map(int, re.findall(r"ecn_mark (\d+)", text)))
        if "marks" not in text:  # CAKE writes a table of its tins.
            assert marks == direction["marked"]
    assert result.summary["directions"][1]["dropped"] + result.summary["directions"][1]["marked"] > 0


@needs_kernel
def test_a_shaper_of_the_kernel_holds_its_rate(spec: Path, tmp_path: Path) -> None:
    scheme = schemes.parse("kernel:cake bandwidth 3mbit")
    result = lab.run(scheme.apply_to(lab.Experiment.from_toml(spec)), out=tmp_path / "store")
    assert 2.7 < result.summary["directions"][1]["throughput_mbps"] <= 3.0


@needs_kernel
def test_a_queue_in_the_kernel_is_the_same_to_the_byte(spec: Path, tmp_path: Path) -> None:
    chosen = schemes.parse("kernel:fq_codel").apply_to(lab.Experiment.from_toml(spec))
    first, second = (lab.run(chosen, out=tmp_path / place) for place in ("first", "second"))
    assert tables(first) == tables(second)


@needs_kernel
def test_capture_of_a_queue_in_the_kernel_changes_nothing(aqmlab: Command, spec: Path, tmp_path: Path) -> None:
    chosen = ["run", str(spec), "--set", 'queue.kernel="codel ecn"']
    packets = tmp_path / "packets.pcapng"
    plain = aqmlab(*chosen, "--out", str(tmp_path / "plain"), "--json")
    captured = aqmlab(*chosen, "--out", str(tmp_path / "captured"), "--json", "--pcap", str(packets))
    assert plain.code == captured.code == 0, captured.err
    [first], [second] = ([*(tmp_path / place / "cells").iterdir()] for place in ("plain", "captured"))
    assert (first / "queue.parquet").read_bytes() == (second / "queue.parquet").read_bytes()
    assert packets.stat().st_size > 100_000


@needs_kernel
def test_one_link_of_several_has_a_queue_in_the_kernel(spec: Path, tmp_path: Path) -> None:
    changes = ['link=[{rate="8 Mbit/s"}, {rate="5 Mbit/s", queue={kernel="codel"}}]']
    result = lab.run(lab.Experiment.from_toml(spec, changes=changes), out=tmp_path / "store")
    assert len(result.metadata["kernel"]["kernel_queues"]) == 2
    behind = [direction for direction in result.summary["directions"] if direction["link"] == 2]
    assert max(direction["throughput_mbps"] for direction in behind) > 3


@needs_kernel
def test_tc_refuses_an_unknown_option_in_one_line(spec: Path, tmp_path: Path) -> None:
    chosen = schemes.parse("kernel:codel target soon").apply_to(lab.Experiment.from_toml(spec))
    with pytest.raises(SpecError, match=r'queue\.kernel: tc refuses "codel target soon": .*target'):
        lab.run(chosen, out=tmp_path / "store")


@pytest.mark.parametrize("queue", ["", "codel dev eth0", "codel; reboot", "codel\n$(true)"])
def test_a_line_that_is_no_discipline_is_refused(queue: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^queue\.kernel: must be"):
        lab.run(lab.Experiment(queue={"kernel": queue}, users={"per_side": 1}), out=tmp_path / "store")


def test_the_simulator_refuses_a_discipline_of_the_kernel(tmp_path: Path) -> None:
    chosen = lab.Experiment(queue={"kernel": "codel"}, users={"per_side": 1})
    with pytest.raises(SpecError, match=r'^queue\.kernel: needs world = "kernel"'):
        lab.run(chosen, out=tmp_path / "store")


def test_a_scheme_of_the_kernel_is_read_as_it_is_written() -> None:
    scheme = schemes.parse("kernel:codel target 5ms")
    assert scheme.queue.model_dump() == {"kernel": {"tc": "codel target 5ms"}}
    assert schemes.label(scheme.queue, ecn=False) == scheme.label


@needs_kernel
@pytest.mark.parametrize(
    "scheme",
    [
        "droptail:limit=30000 B",
        "codel:variant=linux,mtu=1514 B,target=4 ms,interval=80 ms,limit=300 packets,noecn",
        "fq_codel:variant=linux,mtu=1514 B,flows=32,quantum=300 B,drop_batch=8,limit=500 packets,memory_limit=4 MiB,"
        "ce_threshold=2 ms,ce_threshold_selector=ect1",
        "pie:variant=linux,mean_packet=1514 B,qdelay_ref=20 ms,t_update=30 ms,alpha=0.25,beta=2,limit=800 packets",
        "fq_pie:variant=linux,mean_packet=1514 B,flows=64,qdelay_ref=10 ms,mark_ecnth=0.2",
        "cake:variant=linux,bandwidth=4.5 Mbit/s,diffserv=diffserv4,isolation=dual-srchost,rtt=30 ms,ingress=true,"
        "link_layer=docsis,overhead=22 B",
        "cake:variant=linux,diffserv=besteffort,isolation=flows,link_layer=raw,memlimit=8388608 B",
        "cake:variant=linux,bandwidth=3 Mbit/s,link_layer=pppoe-llcsnap,ether_vlan=1,mpu=120 B",
    ],
)
def test_the_kernel_accepts_and_prints_a_scheme_as_we_do(scheme: str, tmp_path: Path) -> None:
    experiment = lab.Experiment(users={"per_side": 2}, protocol={"warmup": "0 s", "duration": "1 s"})

    def written(scheme: str) -> str:
        return commands(cells_of(schemes.parse(scheme).apply_to(experiment), [1])[0]).disciplines[0]

    chosen = schemes.parse(f"kernel:{written(scheme)}").apply_to(experiment.model_copy(update={"world": "kernel"}))
    result = lab.run(chosen, out=tmp_path / "store")
    for queue in result.metadata["kernel"]["kernel_queues"]:
        printed = line.scheme(queue["statistics"])
        # Linux prints the sum of an overhead and its tags, and no keyword for both.
        assert as_linux(written(printed)) == as_linux(written(scheme))


def as_linux(words: str) -> str:
    """Return options of CAKE without keywords of link layers, and with one number for overhead and tags."""
    tags = words.split().count("ether-vlan")
    words = re.sub(r" (docsis|pppoe-llcsnap|ether-vlan)(?= |$)", "", words)
    words = re.sub(r" memlimit \d+$", "", words) if "memlimit 8388608" not in words else words
    return re.sub(r"overhead (\d+)", lambda match: f"overhead {int(match[1]) + 4 * tags}", words)
