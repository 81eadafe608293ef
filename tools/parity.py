"""The page docs/studies/parity.md: disciplines over the kernel's TCP and in the simulator, at three loads of one link.

``make parity`` runs this module, which fills in parity.md. It takes as long as its live runs, twenty minutes; those
that are valid lie in the results directory and are not made again.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.live.parity import Pair, parity
from aqmlab.results.result import Result
from aqmlab.running.run import run
from aqmlab.show import console
from aqmlab.spec import schemes
from aqmlab.spec.experiment import Experiment
from markdown import table

_TEMPLATE = Path(__file__).with_name("parity.md")

SCHEMES = (
    "droptail:limit=240",
    "red:min_th=12,max_th=36",
    "ared:min_th=12,max_th=36",
    "ared:min_th=12,max_th=36,ecn=true",
    "ared:min_th=120,max_th=360",
    "ared:min_th=120,max_th=360,ecn=true",
    "pi:q_ref=24",
    "rem:q_ref=24",
    "codel",
    "pie",
    "fq_codel",
    "dualpi2:ecn=true",
)
"""What is held to each other; ARED in packet mode has the thresholds of Le et al. (2004)."""

LOADS = (80, 90, 98)

_RATE, _WARMUP, _DURATION, _SEED = "10 Mbit/s", "5 s", "30 s", 1

_APART = 0.2
"""Two schemes are told apart where the simulator's values differ by more than this share of the larger. Ours."""

_MEASURES: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "loss, %": lambda summary: float(summary["loss_percent"]),
    "queue delay mean, ms": lambda summary: float(summary["queue_delay_ms"]["mean"]),
    "response p50, ms": lambda summary: float(summary["response_time_ms"]["p50"]),
    "response p95, ms": lambda summary: float(summary["response_time_ms"]["p95"]),
    "Mbit/s": lambda summary: float(summary["throughput_mbps"]),
}


@dataclass(frozen=True)
class Row:
    """One scheme at one load: in both worlds, and simulated with the kernel's first timeout."""

    load: int
    scheme: str
    pair: Pair
    as_kernel: Result

    def distances(self) -> tuple[float, float]:
        """Return how far both simulated distributions of response times are from the live one."""
        return self.pair.distance_percent, Pair(self.pair.live, self.as_kernel).distance_percent


def main() -> None:
    """Make the runs that are missing, and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/studies/parity.md.")
    parser.add_argument("pages", type=Path, help="directory of the studies' pages")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    chosen = parser.parse_args()
    rows = [row for load in LOADS for row in _rows(load, chosen.results)]
    (chosen.pages / "parity.md").write_text(page(rows), encoding="utf-8")


def _experiment(load: int, tcp: Mapping[str, object]) -> Experiment:
    return Experiment.model_validate(
        {
            "link": {"rate": _RATE, "device_fifo": 0},
            "queue": {"droptail": {}},
            "users": {"load": load},
            "tcp": tcp,
            "protocol": {"warmup": _WARMUP, "duration": _DURATION},
        }
    )


def _rows(load: int, out: Path) -> Iterator[Row]:
    in_both = parity(*SCHEMES, experiment=_experiment(load, {}), seeds=(_SEED,), out=out)
    as_kernel = _experiment(load, {"initial_rto": "1 s"})
    for scheme in in_both.schemes:
        kernels = run(schemes.parse(scheme.label).applied_to(as_kernel), seed=_SEED, out=out)
        yield Row(load, scheme.label, scheme.pairs[0], kernels)


def page(rows: Sequence[Row]) -> str:
    """Write the page of some rows."""
    orders = [_order(load, measure, rows) for load, measure in itertools.product(LOADS, _MEASURES)]
    live = [row.pair.live.metadata["live"] for row in rows]
    invalid = [f"{row.scheme} at {row.load} %" for row in rows if not row.pair.valid]
    busy = [about["load"] for about in live]
    lateness = [about["router_lateness_ms_p99"] for about in live]
    return _TEMPLATE.read_text(encoding="utf-8").format(
        kernel=live[0]["kernel"],
        rate=_RATE,
        warmup=_WARMUP,
        duration=_DURATION,
        seed=_SEED,
        busy=f"{min(busy):.1f} to {max(busy):.1f}",
        lateness=f"{min(lateness):.2f} to {max(lateness):.2f}",
        valid=f"{len(rows) - len(invalid)} of {len(rows)}",
        invalid=f" Not valid, and left out of the orders: {'; '.join(invalid)}." if invalid else "",
        apart=f"{100 * _APART:.0f}",
        told=sum(order.told for order in orders),
        same=sum(order.told - len(order.turned) for order in orders),
        orders=table(("load", "measure", "pairs told apart", "same order live", "turned round"), map(_line, orders)),
        distances=_distances(rows),
        tables="\n".join(_table(load, [row for row in rows if row.load == load]) for load in LOADS),
    )


def _table(load: int, rows: Iterable[Row]) -> str:
    head = ("scheme", *_MEASURES, "distance, %", "valid")
    lines = [(f"`{row.scheme}`", *_values(row), _three(row.distances()), _word(row)) for row in rows]
    return f"### {load} % load\n\n{table(head, lines)}"


def _word(row: Row) -> str:
    return "yes" if row.pair.valid else "NO: " + "; ".join(row.pair.live.metadata["live"]["invalid_reasons"])


def _values(row: Row) -> Iterator[str]:
    worlds = (row.pair.live, row.pair.simulated, row.as_kernel)
    return (_three(of(world.summary) for world in worlds) for of in _MEASURES.values())


def _three(values: Iterable[float]) -> str:
    return " / ".join(console.number(value, 0 if value >= 100 else 1) for value in values)


def _distances(rows: Sequence[Row]) -> str:
    """Say how far the distributions are apart: the median and the largest, with either first timeout."""
    lines = []
    for load in LOADS:
        both = zip(*(row.distances() for row in rows if row.load == load and row.pair.valid), strict=True)
        lines.append((f"{load} %", *(f"{sorted(each)[len(each) // 2]:.1f}, {max(each):.1f}" for each in both)))
    return table(("load", "first timeout 3 s", "first timeout 1 s"), lines)


@dataclass(frozen=True)
class Order:
    """In how far both worlds put the schemes in the same order, by one measure at one load."""

    load: int
    measure: str
    told: int
    """Pairs that are told apart in the simulator."""
    turned: tuple[str, ...]
    """Those of them that are the other way round live."""


def _order(load: int, measure: str, rows: Iterable[Row]) -> Order:
    of, told, turned = _MEASURES[measure], 0, []
    for pair in itertools.combinations((row for row in rows if row.load == load and row.pair.valid), 2):
        simulated, live = (
            [of(world.summary) for world in worlds]
            for worlds in ([row.pair.simulated for row in pair], [row.pair.live for row in pair])
        )
        if max(simulated) - min(simulated) <= _APART * max(simulated):
            continue
        told += 1
        if (simulated[0] < simulated[1]) != (live[0] < live[1]):
            turned.append(" and ".join(f"`{row.scheme}`" for row in pair))
    return Order(load, measure, told, tuple(turned))


def _line(order: Order) -> tuple[str, ...]:
    same = order.told - len(order.turned)
    return f"{order.load} %", order.measure, str(order.told), str(same), "; ".join(order.turned)


if __name__ == "__main__":
    main()
