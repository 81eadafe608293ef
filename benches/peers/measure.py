"""One case measured in aqmlab and in the peers that have it: what each costs, and what each gives."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
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

TIMED_S = {"web": (15.0, 60.0), "long": (50.0, 250.0), "one": (20.0, 120.0)}
REPEATS = 5
"""Of aqmlab's timing, of which the median counts: its runs take a fraction of a second."""

NS3_MARGIN_S = 3.0
"""Between the last transfer that counts and the end of ns-3's run, which may come early."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What some simulated time took, its start removed."""

    user_s: float
    packets: int
    """That came to the two queues of the bottleneck."""
    peak_mib: float

    @property
    def ns_per_packet(self) -> float:
        """User CPU time for each."""
        return 1e9 * self.user_s / self.packets


def cost(marks: tuple[outputs.Mark, ...]) -> Cost:
    """Return what lies between the first mark and the last."""
    first, last = marks[0], marks[-1]
    return Cost(
        user_s=last.user_s - first.user_s, packets=last.packets - first.packets, peak_mib=last.peak_kib / 1024
    )


def steps(case: Case, peers: list[str]) -> list[str]:
    """Return the names of the steps of :func:`measure`."""
    here = [peer for peer in case.peers if peer in peers]
    return [*here, "aqmlab"]


def measure(case: Case, peers: list[str], trace: str, work: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run a case, program by program. Each step gives the case's record as it then is.

    Raises
    ------
    Failed
        When a program gives nothing that can be compared.
    """
    record: dict[str, Any] = {"case": case.name, "traffic": case.traffic, "queue": case.queue, "cost": {}, "peers": {}}
    for peer in case.peers:
        if peer not in peers:
            continue
        measured, window, spent = _run_peer(peer, case, trace, work)
        record["peers"][peer] = {"window": asdict(window), "peer": measured}
        if spent:
            record["cost"][peer] = {**asdict(spent), "ns_per_packet": spent.ns_per_packet}
        yield peer, record
    for peer, each in record["peers"].items():
        each["aqmlab"] = run_aqmlab(case, Window(**each["window"]), trace, _tcp(case, peer))
    if case.timed:
        spent = _time_aqmlab(case, trace, work)
        record["cost"]["aqmlab"] = {**asdict(spent), "ns_per_packet": spent.ns_per_packet}
    yield "aqmlab", record


def _run_peer(peer: str, case: Case, trace: str, work: Path) -> tuple[dict[str, Any], Window, Cost | None]:
    window = case.windows[peer]
    settings = programs.settings_of(window)
    if case.rtts_ms:
        settings["marks"] = f"{window.warm_s:g},{window.stop_s:g}"
        output = programs.run(peer, case, work, settings).output
        return _long(output.directions, output.goodput_mbps), window, cost(output.marks)
    file, out = work / "trace.txt", work / "response-times.txt"
    file.write_text(trace)
    settings |= {"trace": file, "out": out}
    if peer == "ns-2":
        output = programs.run(peer, case, work, settings).output
        spent = cost(_light(case, file, work).marks) if case.timed else None
    else:
        seconds = range(int(window.warm_s), int(window.stop_s) + 1)
        settings["marks"] = ",".join(map(str, seconds))
        output = programs.run(peer, case, work, settings).output
        reached = output.marks[-1].at_s
        window = Window(warm_s=window.warm_s, begun_until_s=reached - NS3_MARGIN_S, stop_s=reached)
        spent = cost(output.marks) if case.timed else None
    times = outputs.response_times_ms(out, window.warm_s, window.begun_until_s)
    return _web(output.directions, times), window, spent


def _light(case: Case, trace: Path, work: Path) -> outputs.Output:
    """Run ns-2 in its fastest form, which gives no response times."""
    settings: dict[str, object] = {"trace": trace, "light": 1, "warm": 15, "stop": 35, "marks": "15,35"}
    return programs.run("ns-2", case, work, settings).output


def _web(directions: tuple[outputs.Direction, outputs.Direction], times_ms: list[float]) -> dict[str, Any]:
    """Both directions together."""
    arrived, dropped = (sum(getattr(each, name) for each in directions) for name in ("arrived", "dropped"))
    return {
        "throughput_mbps": sum(each.mbps for each in directions) / 2,
        "loss_percent": 100 * dropped / arrived,
        "queue_mean": sum(each.queue_mean for each in directions) / 2,
        "packets": arrived,
        "transfers": len(times_ms),
        "response_time_ms": outputs.percentiles(times_ms),
    }


def _long(directions: tuple[outputs.Direction, outputs.Direction], goodput_mbps: tuple[float, ...]) -> dict[str, Any]:
    """The direction of the data."""
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
            return _long(directions, tuple(each["goodput_mbps"] for each in result.summary["sources"]))
        counted = pl.col("start_s").is_between(window.warm_s, window.begun_until_s, closed="left")
        return _web(directions, result.exchanges.filter(counted)["response_time_ms"].to_list())


def _directions(result: lab.Result, window: Window) -> tuple[outputs.Direction, outputs.Direction]:
    """Count as the drivers do, each direction by itself."""
    seconds = window.stop_s - window.warm_s
    one, other = (_direction(result, number, seconds) for number in (0, 1))
    return one, other


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
    ends = TIMED_S["web" if not case.rtts_ms else "one" if len(case.rtts_ms) == 1 else "long"]
    specs = {}
    for end in ends:
        window = Window(warm_s=0, begun_until_s=end, stop_s=end)
        spec = scenario.experiment(case, window, arrivals.until(trace, end), _tcp(case, case.peers[0]))
        specs[end] = {**spec, "record": {"exchanges": False}}
    costs = [cost(programs.run_aqmlab(specs, work)) for _ in range(REPEATS)]
    middle = median(each.user_s for each in costs)
    return Cost(user_s=middle, packets=costs[0].packets, peak_mib=max(each.peak_mib for each in costs))
