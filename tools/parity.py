"""The page docs/studies/parity.md: disciplines over the TCP of Linux in virtual time and in the simulator.

``make parity`` runs this module, which fills in parity.md. ``make parity SEEDS=3`` runs three seeds and gives
intervals. Each seed takes about 45 minutes of processor time. Stored runs are reused.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

import aqmlab as lab
from aqmlab import stats
from aqmlab._core import results_number
from aqmlab.cli.options import read_seeds
from aqmlab.metrics.numbers import NUMBERS, Number
from aqmlab.results import curves
from aqmlab.spec import testbeds
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

LINUX, HOSTS_OF_2001 = "linux-6", "unc-testbed"
"""The profiles of the simulated hosts: the kernel's, and those of Le et al. (2003)."""

_RATE, _WARMUP, _DURATION = "100 Mbit/s", "5 s", "30 s"

_MIN_DIFFERENCE = 0.2
"""Two schemes count as different if their simulated values differ by more than this share of the larger. Our choice."""

_NUMBERS = [NUMBERS[name] for name in ("loss", "retransmitted", "delay", "p50", "p95", "throughput")]
"""The measures in the tables."""


@dataclass(frozen=True)
class ParityRow:
    """One scheme at one load, seed by seed."""

    load: int
    scheme: str
    kernel: tuple[Result, ...]
    """The runs over the kernel's TCP."""
    linux: tuple[Result, ...]
    """The simulated runs with hosts like the kernel's."""
    hosts_of_2001: tuple[Result, ...]

    @property
    def worlds(self) -> tuple[tuple[Result, ...], ...]:
        """The results in the order of the page."""
        return self.kernel, self.linux, self.hosts_of_2001

    def distances(self, simulated: Sequence[Result]) -> list[float]:
        """Return the distances of simulated response-time distributions from the kernel's, in percent of the frame."""
        return [
            curves.distance(one, other, 0.0, curves.AXIS_MS) for one, other in zip(self.kernel, simulated, strict=True)
        ]


def main() -> None:
    """Run the cells that are missing, and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/studies/parity.md.")
    parser.add_argument("pages", type=Path, help="directory of the studies' pages")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    parser.add_argument("--seeds", type=read_seeds, default=range(1, 2), help="3 or 4-6; each is run in both worlds")
    arguments = parser.parse_args()
    rows = [row for load in LOADS for row in _rows(load, arguments.seeds, arguments.results)]
    (arguments.pages / "parity.md").write_text(page(rows), encoding="utf-8")


def experiment_of(load: int, profile: str, world: str = "simulated") -> Experiment:
    """Return the experiment at a load, with hosts of a profile."""
    return Experiment.model_validate(
        {
            "testbed": testbeds.PAPERS,
            "world": world,
            "link": {"rate": _RATE, "device_fifo": 0},
            "queue": {"droptail": {}},
            "users": {"load": load},
            "tcp": {"profile": profile},
            "protocol": {"warmup": _WARMUP, "duration": _DURATION},
        }
    )


def _rows(load: int, seeds: Sequence[int], out: Path) -> Iterator[ParityRow]:
    experiments = (
        experiment_of(load, LINUX, "kernel"),
        experiment_of(load, LINUX),
        experiment_of(load, HOSTS_OF_2001),
    )
    by_scheme = [_results_by_scheme(experiment, seeds, out) for experiment in experiments]
    return (
        ParityRow(load, scheme, *worlds) for scheme, worlds in zip(SCHEMES, zip(*by_scheme, strict=True), strict=True)
    )


def _results_by_scheme(experiment: Experiment, seeds: Sequence[int], out: Path) -> list[tuple[Result, ...]]:
    results = lab.compare(*SCHEMES, experiment=experiment, seeds=seeds, baseline=False, out=out).results
    return [results[start : start + len(seeds)] for start in range(0, len(results), len(seeds))]


def page(rows: Sequence[ParityRow]) -> str:
    """Return the page for these rows."""
    first = rows[0].kernel
    seeds = [result.cell.seed for result in first]
    orders = [Order.of(load, number, rows) for load, number in itertools.product(LOADS, _NUMBERS)]
    return _TEMPLATE.read_text(encoding="utf-8").format(
        kernel=first[0].metadata["kernel"]["kernel"],
        rate=_RATE,
        testbed=testbeds.PAPERS,
        results=results_number(),
        warmup=_WARMUP,
        duration=_DURATION,
        schemes=len(SCHEMES),
        seeds=f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]} alone",
        precision=(_SEVERAL_SEEDS if len(seeds) > 1 else _ONE_SEED).format(duration=_DURATION),
        min_difference=f"{100 * _MIN_DIFFERENCE:.0f}",
        pairs=sum(order.linux.pairs for order in orders),
        same=sum(order.linux.same for order in orders),
        pairs_2001=sum(order.hosts_of_2001.pairs for order in orders),
        same_2001=sum(order.hosts_of_2001.same for order in orders),
        orders=_orders(orders),
        ratios=_ratios(rows),
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
  Users are the same in both worlds: `aqmlab parity --world kernel` gives intervals of the paired differences."""


@dataclass(frozen=True)
class Agreement:
    """The agreement of simulated hosts with the kernel on the order of the schemes."""

    pairs: int
    """Pairs of schemes that differ in the simulator."""
    reversed_pairs: tuple[str, ...]
    """The pairs among them that have the reverse order over the kernel's TCP."""

    @property
    def same(self) -> int:
        """The number of pairs with the same order."""
        return self.pairs - len(self.reversed_pairs)

    @staticmethod
    def of(means: dict[str, tuple[float, float]]) -> Agreement:
        """Compare the orders of schemes by a measure, given as over the kernel's TCP and simulated."""
        pairs, reversed_pairs = 0, []
        for names in itertools.combinations(means, 2):
            kernel, simulated = zip(*(means[name] for name in names), strict=True)
            if max(simulated) - min(simulated) <= _MIN_DIFFERENCE * max(simulated):
                continue
            pairs += 1
            if (simulated[0] < simulated[1]) != (kernel[0] < kernel[1]):
                reversed_pairs.append(" and ".join(f"`{name}`" for name in names))
        return Agreement(pairs, tuple(reversed_pairs))


@dataclass(frozen=True)
class Order:
    """The order of the schemes by one measure at one load."""

    load: int
    measure: str
    linux: Agreement
    hosts_of_2001: Agreement

    @staticmethod
    def of(load: int, number: Number, rows: Iterable[ParityRow]) -> Order:
        """Compare the order of the schemes in the worlds."""
        values = {row.scheme: [_measured(number, world) for world in row.worlds] for row in rows if row.load == load}
        means = {
            scheme: [float(np.mean(world)) for world in worlds] for scheme, worlds in values.items() if all(worlds)
        }
        linux, hosts_of_2001 = (
            Agreement.of({scheme: (worlds[0], worlds[which]) for scheme, worlds in means.items()}) for which in (1, 2)
        )
        return Order(load, number.heading, linux, hosts_of_2001)


def _orders(orders: Iterable[Order]) -> str:
    head = ("load", "measure", f"pairs, `{LINUX}`", "same order", "reversed", f"pairs, `{HOSTS_OF_2001}`", "same order")
    return table(
        head,
        (
            (
                f"{order.load} %",
                order.measure,
                str(order.linux.pairs),
                str(order.linux.same),
                "; ".join(order.linux.reversed_pairs),
                str(order.hosts_of_2001.pairs),
                str(order.hosts_of_2001.same),
            )
            for order in orders
        ),
    )


def _ratios(rows: Sequence[ParityRow]) -> str:
    """Return the table of simulated values divided by the kernel's, over all schemes and loads."""
    lines = []
    for number in _NUMBERS:
        pairs = [[_measured(number, world) for world in (row.kernel, row.linux)] for row in rows]
        ratios = sorted(
            float(np.mean(linux)) / float(np.mean(kernel))
            for kernel, linux in pairs
            if kernel and linux and any(kernel)
        )
        if ratios:
            lines.append((number.heading, *(f"{ratio:.2f}" for ratio in (ratios[0], median(ratios), ratios[-1]))))
    return table(("measure", "smallest", "median", "largest"), lines)


def _distances(rows: Sequence[ParityRow]) -> str:
    """Return the table of distances between the distributions: the median and the largest, with each kind of hosts."""
    lines = []
    for load in LOADS:
        here = [row for row in rows if row.load == load]
        columns = [
            [float(np.mean(row.distances(row.linux))) for row in here],
            [float(np.mean(row.distances(row.hosts_of_2001))) for row in here],
        ]
        lines.append((f"{load} %", *(f"{median(column):.1f}, {max(column):.1f}" for column in columns)))
    return table(("load", f"`{LINUX}`", f"`{HOSTS_OF_2001}`"), lines)


def _table(load: int, rows: Iterable[ParityRow]) -> str:
    head = ("scheme", *(number.heading for number in _NUMBERS), "distance, %")
    lines = [
        (
            f"`{row.scheme}`",
            *(_by_world(_measured(number, world) for world in row.worlds) for number in _NUMBERS),
            _by_world(map(row.distances, row.worlds[1:])),
        )
        for row in rows
    ]
    return f"### {load} % load\n\n{table(head, lines)}"


def _measured(number: Number, results: Iterable[Result]) -> list[float]:
    """Return the values of a measure, without the results that lack it."""
    values = (number.read(result.summary) for result in results)
    return [value for value in values if value is not None]


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


if __name__ == "__main__":
    main()
