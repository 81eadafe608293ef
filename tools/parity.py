"""The page docs/studies/parity.md: disciplines over the kernel's TCP and in the simulator, at three loads of one link.

``make parity`` runs this module, which fills in parity.md. ``make parity SEEDS=3`` runs three seeds and gives
intervals. It takes as long as its live runs, 25 minutes a seed. Valid live runs in the store are reused.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aqmlab import stats
from aqmlab._core import results_number
from aqmlab.cli.options import read_seeds
from aqmlab.live.parity import Pair, SchemeParity, parity
from aqmlab.metrics.numbers import NUMBERS, Number
from aqmlab.running.run import run
from aqmlab.spec import schemes, testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.ui import console
from markdown import table

_TEMPLATE = Path(__file__).with_name("parity.md")

SCHEMES = (
    "droptail:limit=240",
    "red:min_th=12,max_th=36",
    "ared:min_th=12,max_th=36",
    "ared:min_th=12,max_th=36,ecn=true",
    "ared:min_th=12,max_th=36,ecn=true,ecn_policy=mark_in_gentle",
    "ared:min_th=120,max_th=360",
    "ared:min_th=120,max_th=360,ecn=true",
    "ared:min_th=120,max_th=360,ecn=true,ecn_policy=mark_in_gentle",
    "pi:q_ref=24",
    "rem:q_ref=24",
    "codel",
    "pie",
    "fq_codel",
    "dualpi2:ecn=true",
)
"""The configurations to compare; ARED in packet mode has the thresholds of Le et al. (2004)."""

LOADS = (80, 90, 98)

_RATE, _WARMUP, _DURATION = "10 Mbit/s", "5 s", "30 s"

_MIN_DIFFERENCE = 0.2
"""Two schemes count as different if their simulated values differ by more than this share of the larger. Our choice."""

_NUMBERS = [NUMBERS[name] for name in ("loss", "retransmitted", "delay", "p50", "p95", "throughput")]
"""The measures in the tables."""


@dataclass(frozen=True)
class ParityRow:
    """One scheme at one load: in both worlds, and simulated with the kernel's initial RTO, seed by seed."""

    load: int
    both: SchemeParity
    as_kernel: tuple[Result, ...]

    @property
    def scheme(self) -> str:
        """The scheme's label."""
        return self.both.label

    def worlds(self) -> tuple[list[Result], list[Result], list[Result]]:
        """Return the valid live results, and both simulated results of the same seeds."""
        valid = [(pair, kernels) for pair, kernels in zip(self.both.pairs, self.as_kernel, strict=True) if pair.valid]
        return (
            [pair.real for pair, _ in valid],
            [pair.simulated for pair, _ in valid],
            [kernels for _, kernels in valid],
        )

    def distances(self) -> tuple[list[float], list[float]]:
        """Return the distances of both simulated response-time distributions from the live one, seed by seed."""
        live, simulated, as_kernel = self.worlds()
        return _distances_of(live, simulated), _distances_of(live, as_kernel)


def _distances_of(live: Iterable[Result], simulated: Iterable[Result]) -> list[float]:
    return [Pair(one, other).distance_percent for one, other in zip(live, simulated, strict=True)]


def _measured(number: Number, results: Iterable[Result]) -> list[float]:
    """Return the values of a measure, without the results that lack it."""
    values = (number.read(result.summary) for result in results)
    return [value for value in values if value is not None]


def main() -> None:
    """Run the cells that are missing, and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/studies/parity.md.")
    parser.add_argument("pages", type=Path, help="directory of the studies' pages")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    parser.add_argument("--seeds", type=read_seeds, default=range(1, 2), help="3 or 4-6; each is run in both worlds")
    arguments = parser.parse_args()
    rows = [row for load in LOADS for row in _rows(load, arguments.seeds, arguments.results)]
    (arguments.pages / "parity.md").write_text(page(rows), encoding="utf-8")


def _experiment(load: int, tcp: Mapping[str, object]) -> Experiment:
    return Experiment.model_validate(
        {
            "testbed": testbeds.PAPERS,
            "link": {"rate": _RATE, "device_fifo": 0},
            "queue": {"droptail": {}},
            "users": {"load": load},
            "tcp": tcp,
            "protocol": {"warmup": _WARMUP, "duration": _DURATION},
        }
    )


def _rows(load: int, seeds: Sequence[int], out: Path) -> Iterator[ParityRow]:
    in_both = parity(*SCHEMES, experiment=_experiment(load, {}), seeds=seeds, out=out)
    as_kernel = _experiment(load, {"initial_rto": "1 s"})
    for scheme in in_both.schemes:
        experiment = schemes.parse(scheme.label).apply_to(as_kernel)
        yield ParityRow(load, scheme, tuple(run(experiment, seed=seed, out=out) for seed in seeds))


def page(rows: Sequence[ParityRow]) -> str:
    """Return the page for these rows."""
    orders = [_order(load, number, rows) for load, number in itertools.product(LOADS, _NUMBERS)]
    pairs = [(row, pair) for row in rows for pair in row.both.pairs]
    live = [pair.real.metadata["live"] for _, pair in pairs]
    invalid = [f"{row.scheme} at {row.load} %, seed {pair.real.cell.seed}" for row, pair in pairs if not pair.valid]
    seeds = sorted({pair.real.cell.seed for _, pair in pairs})
    busy = [run_metadata["load"] for run_metadata in live]
    lateness = [run_metadata["router_lateness_ms_p99"] for run_metadata in live]
    return _TEMPLATE.read_text(encoding="utf-8").format(
        kernel=live[0]["kernel"],
        rate=_RATE,
        testbed=testbeds.PAPERS,
        results=results_number(),
        warmup=_WARMUP,
        duration=_DURATION,
        schemes=len({row.scheme for row in rows}),
        seeds=f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]} alone",
        precision=(_SEVERAL_SEEDS if len(seeds) > 1 else _ONE_SEED).format(duration=_DURATION),
        busy=f"{min(busy):.1f} to {max(busy):.1f}",
        lateness=f"{min(lateness):.2f} to {max(lateness):.2f}",
        valid=f"{len(pairs) - len(invalid)} of {len(pairs)}",
        invalid=f" All numbers exclude the invalid runs: {'; '.join(invalid)}." if invalid else "",
        min_difference=f"{100 * _MIN_DIFFERENCE:.0f}",
        pairs=sum(order.pairs for order in orders),
        same=sum(order.pairs - len(order.reversed_pairs) for order in orders),
        orders=table(("load", "measure", "different pairs", "same order live", "reversed live"), map(_line, orders)),
        distances=_distances(rows),
        tables="\n".join(_table(load, [row for row in rows if row.load == load]) for load in LOADS),
    )


_ONE_SEED = """\
**This is one seed of {duration}**, and no number has an interval.
  The numbers of one scheme in one world vary from seed to seed, losses most.
  A difference between the worlds may therefore be chance.
  `make parity SEEDS=3` gives intervals."""

_SEVERAL_SEEDS = """\
**Numbers are means over the seeds**, of {duration} each, ± half the width of their 95 % interval (Student's t).
  Users are the same in both worlds: `aqmlab parity` gives intervals of the paired differences between the worlds."""


def _table(load: int, rows: Iterable[ParityRow]) -> str:
    head = ("scheme", *(number.heading for number in _NUMBERS), "distance, %", "valid")
    lines = [(f"`{row.scheme}`", *_values(row), _by_world(row.distances()), _validity(row)) for row in rows]
    return f"### {load} % load\n\n{table(head, lines)}"


def _validity(row: ParityRow) -> str:
    lives = [pair.real.metadata["live"] for pair in row.both.pairs if not pair.valid]
    return "; ".join(f"NOT: {reason}" for live in lives for reason in live["invalid_reasons"]) or "yes"


def _values(row: ParityRow) -> Iterator[str]:
    return (_by_world(_measured(number, world) for world in row.worlds()) for number in _NUMBERS)


def _by_world(worlds: Iterable[Sequence[float]]) -> str:
    """Return the mean of each world's values, with an interval if there are several."""
    return " / ".join(map(_mean, worlds))


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "-"
    mean, _, high = stats.mean_interval(np.array(values))
    digits = 0 if mean >= 100 else 1
    half = f" ± {console.number(high - mean, digits)}" if len(values) > 1 else ""
    return console.number(mean, digits) + half


def _distances(rows: Sequence[ParityRow]) -> str:
    """Return the table of distances between the distributions: the median and the largest, with each initial RTO."""
    lines = []
    for load in LOADS:
        means = [
            [float(np.mean(distances)) for distances in row.distances()]
            for row in rows
            if row.load == load and row.both.valid
        ]
        columns = [sorted(column) for column in zip(*means, strict=True)]
        lines.append((f"{load} %", *(f"{column[len(column) // 2]:.1f}, {column[-1]:.1f}" for column in columns)))
    return table(("load", "initial RTO 3 s", "initial RTO 1 s"), lines)


@dataclass(frozen=True)
class Order:
    """The agreement of both worlds on the order of the schemes, for one measure at one load."""

    load: int
    measure: str
    pairs: int
    """Pairs of schemes that differ in the simulator."""
    reversed_pairs: tuple[str, ...]
    """The pairs among them that have the reverse order live."""


def _order(load: int, number: Number, rows: Iterable[ParityRow]) -> Order:
    pairs, reversed_pairs = 0, []
    values = {row.scheme: [_measured(number, world) for world in row.worlds()[:2]] for row in rows if row.load == load}
    means = {scheme: [float(np.mean(world)) for world in worlds] for scheme, worlds in values.items() if all(worlds)}
    for pair in itertools.combinations(means, 2):
        live, simulated = zip(*(means[scheme] for scheme in pair), strict=True)
        if max(simulated) - min(simulated) <= _MIN_DIFFERENCE * max(simulated):
            continue
        pairs += 1
        if (simulated[0] < simulated[1]) != (live[0] < live[1]):
            reversed_pairs.append(" and ".join(f"`{scheme}`" for scheme in pair))
    return Order(load, number.heading, pairs, tuple(reversed_pairs))


def _line(order: Order) -> tuple[str, ...]:
    same = order.pairs - len(order.reversed_pairs)
    return f"{order.load} %", order.measure, str(order.pairs), str(same), "; ".join(order.reversed_pairs)


if __name__ == "__main__":
    main()
