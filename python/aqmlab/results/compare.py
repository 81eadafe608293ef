"""Comparisons: plans of cells under several schemes, and their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from aqmlab.cells.calibration_model import Calibrations, load_calibrations
from aqmlab.cells.cell import Cell
from aqmlab.disciplines.custom.law import Law
from aqmlab.metrics.parts import Parts
from aqmlab.results.cells import comparison_cells
from aqmlab.results.comparison import Comparison
from aqmlab.results.sequential import StoppingRule
from aqmlab.running.pcap import Pcap, capture_paths
from aqmlab.running.sweep import sweep_with_progress
from aqmlab.running.validation import check_experiment, check_out, check_pcap, check_schemes, check_seeds, check_workers
from aqmlab.spec import testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.store.store import Store

DEFAULT_SEEDS = (1, 2, 3)
"""The default seeds of a comparison."""

RunCells = Callable[[list[Cell], Mapping[str, Pcap]], list[Result]]
"""A function that runs cells with their captures, by key."""


@dataclass(frozen=True)
class ComparisonPlan:
    """A comparison before its cells run, as :func:`plan` checked it."""

    schemes: tuple[str | type[Law], ...]
    experiment: Experiment
    calibrations: Calibrations
    seeds: tuple[int, ...]
    baseline: bool | None
    paired: bool
    stopping_rule: StoppingRule | None
    pcap: Pcap | None

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of its seeds; a stopping rule may add more."""
        return self._cells_of(self.seeds)

    @cached_property
    def parts(self) -> Parts:
        """The parts of the traffic that have numbers of their own, and the names of all numbers."""
        return Parts.from_cells(self.cells)

    @cached_property
    def pcaps(self) -> Mapping[str, Pcap]:
        """The captures of its cells, by key."""
        return capture_paths(self.pcap, self.cells) if self.pcap is not None else {}

    def run(self, run_cells: RunCells) -> Comparison:
        """Run its cells, until the stopping rule stops if there is one."""
        if self.stopping_rule is None:
            return Comparison(tuple(run_cells(self.cells, self.pcaps)), paired=self.paired)
        results, stop = self.stopping_rule.run(self._cells_of, lambda cells: run_cells(cells, {}))
        return Comparison(tuple(results), paired=self.paired, stop=stop)

    def _cells_of(self, seeds: Sequence[int]) -> list[Cell]:
        return comparison_cells(
            self.schemes, self.experiment, seeds, self.calibrations, baseline=self.baseline, paired=self.paired
        )


def plan(
    schemes: Sequence[str | type[Law]],
    experiment: Experiment,
    *,
    seeds: Sequence[int] | None,
    until: Sequence[str],
    budget: str | None,
    baseline: bool | None,
    paired: bool,
    out: Path | str,
    pcap: Pcap | None,
) -> ComparisonPlan:
    """Plan a comparison and check it before anything runs.

    The parameters are those of :func:`compare`; without schemes the experiment's variants are compared.

    Raises
    ------
    SpecError
        When a scheme, the experiment or a stopping rule is impossible.
    """
    checked_schemes = tuple(check_schemes(schemes or experiment.variants))
    comparison_plan = ComparisonPlan(
        checked_schemes,
        experiment,
        load_calibrations(check_out(out)),
        DEFAULT_SEEDS if seeds is None else tuple(check_seeds(seeds)),
        baseline,
        paired,
        None,
        pcap,
    )
    rule = StoppingRule.read(until, budget, lambda: comparison_plan.parts, seeds=seeds, pcap=pcap)
    return comparison_plan if rule is None else replace(comparison_plan, stopping_rule=rule)


def compare(
    *scheme_texts: str | type[Law],
    experiment: Experiment | None = None,
    seeds: Sequence[int] | None = None,
    until: Sequence[str] = (),
    budget: str | None = None,
    baseline: bool | None = None,
    paired: bool = False,
    out: Path | str = "results",
    workers: int | None = None,
    pcap: Pcap | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Run schemes and the uncongested network under the same users.

    Parameters
    ----------
    *scheme_texts
        The schemes as on the command line: ``"pi:q_ref=24,ecn=true"``, or ``"my_module:MyLaw"`` for a custom law.
        In a notebook or a script you can give the class of a law, ``MyLaw``, and with parameters
        ``"__main__:MyLaw:threshold=24"``. A variant is a scheme with changes of the spec,
        ``"dualpi2 + tcp.congestion=prague + tcp.ecn=accurate"``, or the name of one of the experiment's variants. The
        default is all of the experiment's variants.
    experiment
        The experiment without the scheme: users, hosts, link, protocol. The default is the testbed `unc-2003` at 98 %
        load.
    seeds
        The seeds, without duplicates; there is one cell for each scheme and seed. Under one seed all schemes have the
        same users. The default is seeds 1 to 3, or the choice of ``until``.
    until
        The targets of the stopping rule, such as ``["p95 within 5 %", "loss within 10 %"]``. It adds seeds up to 5, 10,
        20 or 40 until the 95 % intervals of these measures are this narrow under every scheme. The intervals hold at
        all four looks together.
    budget
        The largest processor time of ``until``, such as ``"2 h"``: it does not begin a look that would exceed it.
    baseline
        Also run the uncongested network, see :func:`aqmlab.spec.presets.uncongested`. The default is true unless a
        source fills any capacity.
    paired
        Compare each further scheme with the first one seed by seed: the mean difference of each measure with its 95 %
        interval (Student's t), which hold for all schemes together. It needs at least two seeds.
    out
        The results directory, or its URL, such as ``"s3://bucket/prefix"``; stored cells are not run again.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use.
    pcap
        A packet capture of each cell, in a file whose name also has scheme and seed.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Raises
    ------
    SpecError
        When a scheme or the experiment is invalid.

    Examples
    --------
    >>> compare("droptail:limit=240", "pi:q_ref=24,ecn=true", seeds=[1])  # doctest: +SKIP
    >>> compare("droptail", "codel", seeds=range(1, 6), paired=True).schemes[2]["paired"]["low"]  # doctest: +SKIP
    """
    if experiment is None:
        experiment = Experiment(testbed=testbeds.PAPERS)
    check_experiment(experiment)
    check_workers(workers)
    check_pcap(pcap)
    comparison_plan = plan(
        scheme_texts,
        experiment,
        seeds=seeds,
        until=until,
        budget=budget,
        baseline=baseline,
        paired=paired,
        out=out,
        pcap=pcap,
    )

    def run_cells(cells: list[Cell], pcaps: Mapping[str, Pcap]) -> list[Result]:
        return sweep_with_progress(cells, Store(out), progress, workers=workers, pcaps=pcaps)

    return comparison_plan.run(run_cells)
