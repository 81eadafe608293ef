"""One case measured in aqmlab and in the peers that have it: what each costs, and what each gives."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

import aqmlab as lab
import arrivals
import outputs
import programs
import scenario
from scenario import Case, Window

WEB_TIMED_S = (15.0, 60.0)
"""The windows of the web scenario that aqmlab is timed on; long flows as the peers."""
REPEATS = 5
"""Of aqmlab's timing, of which the median counts: its runs take a fraction of a second."""

NS3_MARGIN_S = 3.0
"""Between the last transfer that counts and the end of ns-3's run, which is often early: ns-3.37 crashes."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of some simulated time, without the program's start."""

    user_s: float
    packets: int
    """Arrivals at the two queues of the bottleneck."""
    peak_mib: float

    @property
    def ns_per_packet(self) -> float:
        """User CPU time for each."""
        return 1e9 * self.user_s / self.packets


def cost(marks: tuple[outputs.Mark, ...]) -> Cost:
    """Return what lies between the first mark and the last."""
    first, last = marks[0], marks[-1]
    return Cost(user_s=last.user_s - first.user_s, packets=last.packets - first.packets, peak_mib=last.peak_kib / 1024)


def measure(case: Case, peers: list[str], trace: str, work: Path, watch: Callable[[str], None]) -> dict[str, Any]:
    """Run a case, program by program; ``watch`` is called as each begins.

    Raises
    ------
    Failed
        When a program gives nothing that can be compared.
    """
    record: dict[str, Any] = {"case": case.name, "traffic": case.traffic, "queue": case.queue, "cost": {}, "peers": {}}
    for peer in case.peers:
        if peer not in peers:
            continue
        watch(peer)
        measured, window, spent = _run_peer(peer, case, trace, work)
        record["peers"][peer] = {"window": asdict(window), "peer": measured}
        if spent:
            record["cost"][peer] = _with_rate(spent)
    watch("aqmlab")
    for peer, value in record["peers"].items():
        value["aqmlab"] = run_aqmlab(case, Window(**value["window"]), trace, _tcp(case, peer))
    if case.timed:
        record["cost"]["aqmlab"] = _with_rate(_time_aqmlab(case, trace, work))
    return record


def _with_rate(cost: Cost) -> dict[str, float]:
    return {**asdict(cost), "ns_per_packet": cost.ns_per_packet}


def _run_peer(peer: str, case: Case, trace: str, work: Path) -> tuple[dict[str, Any], Window, Cost | None]:
    if case.rtts_ms:
        return _run_long(peer, case, work)
    window = case.windows[peer]
    file, out = work / "trace.txt", work / "response-times.txt"
    file.write_text(trace)
    seconds = range(int(window.warm_s), int(window.stop_s) + 1)
    marks = ",".join(map(str, seconds))
    settings = {**programs.settings_of(window), "marks": marks, "trace": file, "out": out}
    output = programs.run(peer, case, work, settings).output
    spent = None
    if peer == "ns-3":
        # It may have crashed: the window ends with the last second that it reported.
        reached = output.marks[-1].at_s
        window = Window(warm_s=window.warm_s, begun_until_s=reached - NS3_MARGIN_S, stop_s=reached)
        spent = cost(output.marks)
    elif case.timed:
        spent = cost(_light(case, file, work).marks)
    times = outputs.response_times_ms(out, window.warm_s, window.begun_until_s)
    return _web(output.directions, times), window, spent if case.timed else None


def _run_long(peer: str, case: Case, work: Path) -> tuple[dict[str, Any], Window, Cost | None]:
    window = case.windows[peer]
    settings = {**programs.settings_of(window), "marks": f"{window.warm_s:g},{window.stop_s:g}"}
    run = programs.run(peer, case, work, settings)
    if run.crashed:
        raise programs.Failed(f"{peer}, {case.name}: crashed")
    return _long(run.output.directions, run.output.goodput_mbps), window, cost(run.output.marks)


def _light(case: Case, trace: Path, work: Path) -> outputs.Output:
    """Run ns-2 in its fastest form, which gives no response times."""
    settings: dict[str, object] = {"trace": trace, "light": 1, "warm": 15, "stop": 35, "marks": "15,35"}
    return programs.run("ns-2", case, work, settings).output


def _web(directions: tuple[outputs.Direction, outputs.Direction], times_ms: list[float]) -> dict[str, Any]:
    """Take both directions together."""
    arrived, dropped = (sum(getattr(direction, name) for direction in directions) for name in ("arrived", "dropped"))
    return {
        "throughput_mbps": sum(direction.mbps for direction in directions) / 2,
        "loss_percent": 100 * dropped / arrived,
        "queue_mean": sum(direction.queue_mean for direction in directions) / 2,
        "packets": arrived,
        "transfers": len(times_ms),
        "response_time_ms": outputs.percentiles(times_ms),
    }


def _long(directions: tuple[outputs.Direction, outputs.Direction], goodput_mbps: tuple[float, ...]) -> dict[str, Any]:
    """Tell of the direction of the data."""
    data = directions[0]
    return {
        "goodput_mbps": sum(goodput_mbps),
        "loss_percent": 100 * data.dropped / data.arrived,
        "queue_mean": data.queue_mean,
        "flows_mbps": list(goodput_mbps),
    }


def _tcp(case: Case, peer: str) -> dict[str, Any]:
    """Return what the receivers of a case do otherwise when it is compared with this peer."""
    return {"ack_every": scenario.LONG_ACK_EVERY[peer]} if case.rtts_ms else {}


def run_aqmlab(case: Case, window: Window, trace: str, tcp: dict[str, Any] | None = None) -> dict[str, Any]:
    """Measure a case in aqmlab over the window of a peer, with values of TCP changed where asked for."""
    spec = scenario.experiment(case, window, arrivals.until(trace, window.stop_s), tcp)
    with tempfile.TemporaryDirectory() as out:
        result = lab.run(lab.Experiment(**spec), seed=1, out=out)
        directions = _directions(result, window)
        if case.rtts_ms:
            return _long(directions, tuple(source["goodput_mbps"] for source in result.summary["sources"]))
        counted = pl.col("start_s").is_between(window.warm_s, window.begun_until_s, closed="left")
        return _web(directions, result.exchanges.filter(counted)["response_time_ms"].to_list())


def _directions(result: lab.Result, window: Window) -> tuple[outputs.Direction, outputs.Direction]:
    """Count as the drivers do, each direction by itself."""
    seconds = window.stop_s - window.warm_s
    forward, reverse = (_direction(result, number, seconds) for number in (0, 1))
    return forward, reverse


def _direction(result: lab.Result, number: int, seconds: float) -> outputs.Direction:
    link = result.link.filter(pl.col("direction") == number)
    queue = result.queue.filter(pl.col("direction") == number)
    return outputs.Direction(
        arrived=int(link["arrived"].sum()),
        dropped=int(link["drops"].sum()),
        mbps=8e-6 * int(link["bytes"].sum()) / seconds,
        queue_mean=float(queue["packets"].to_numpy().mean()),
    )


def _time_aqmlab(case: Case, trace: str, work: Path) -> Cost:
    """Time two runs from the start and take their difference, in as many fresh processes as count."""
    peer = case.peers[0]
    ends = (case.windows[peer].warm_s, case.windows[peer].stop_s) if case.rtts_ms else WEB_TIMED_S
    specs = {}
    for end in ends:
        window = Window(warm_s=0, begun_until_s=end, stop_s=end)
        spec = scenario.experiment(case, window, arrivals.until(trace, end), _tcp(case, peer))
        specs[end] = {**spec, "record": {"exchanges": False}}
    costs = [cost(programs.run_aqmlab(specs, work)) for _ in range(REPEATS)]
    middle = median(repeat.user_s for repeat in costs)
    return Cost(user_s=middle, packets=costs[0].packets, peak_mib=max(repeat.peak_mib for repeat in costs))
