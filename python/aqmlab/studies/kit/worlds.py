"""The claims of a study over the TCP of a Linux kernel in virtual time, beside two kinds of simulated hosts.

The three have the same users, links, seeds and length. Runs that no claim names are left out, and so are those that
record each request, which a kernel's run cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from aqmlab import studies
from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import Calibrations
from aqmlab.cells.cell import Cell
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.review import Conclusion, ReviewedClaim
from aqmlab.studies.kit.findings import Finding, Outcome
from aqmlab.studies.kit.report import Provenance
from aqmlab.studies.kit.study import Length, Study, StudyResults, Table, Value, cells_by_run

_NOT_COVERED = "not covered"

_DECIDED = (Outcome.HOLDS, Outcome.FAILS)


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """The hosts of a study's runs."""

    name: str
    """Heading in tables."""
    world: str
    profile: str | None
    """Their TCP profile; ``None`` for the study's own."""

    def of(self, experiment: Experiment) -> Experiment:
        """Return an experiment with these hosts."""
        profile = () if self.profile is None else (f"tcp.profile={self.profile}",)
        return experiment.with_changes([f"world={self.world}", *profile])


KERNEL = Hosts(name="kernel", world="kernel", profile="linux-6")
LIKE_THE_KERNEL = Hosts(name="simulated, linux-6", world="simulated", profile="linux-6")
OF_THE_PAPER = Hosts(name="simulated, the paper's", world="simulated", profile=None)
HOSTS = (KERNEL, LIKE_THE_KERNEL, OF_THE_PAPER)
"""The kernel's hosts, the simulated ones that are meant to act like them, and those of the paper."""


def kernel_length(study: Study) -> Length:
    """Return the length of a study's runs in a kernel.

    Raises
    ------
    SpecError
        When the study has none.
    """
    if isinstance(study.kernel_length, str):
        able = " or ".join(name for name in studies.STUDIES if isinstance(studies.find(name).kernel_length, Length))
        reason = study.kernel_length
        raise SpecError(f"NAME: with --world kernel must be {able}, got {study.name!r}: {reason}")
    return study.kernel_length


def hosts_cells(study: Study, length: Length, hosts: Hosts, calibrations: Calibrations) -> dict[str, list[Cell]]:
    """Return the cells of the runs that claims name, with these hosts, by the run's name."""
    named = {run for claim in study.reviewed_claims() for part in claim.parts for run in part.runs}
    found = study.runs(length) if hosts == OF_THE_PAPER else study.kernel_runs(length)
    runs = [
        replace(run, experiment=hosts.of(run.experiment))
        for run in found
        if run.name in named and not run.experiment.record.exchanges
    ]
    return cells_by_run(runs, length, calibrations)


@dataclass(frozen=True, kw_only=True)
class ClaimOverHosts:
    """One claim with its conclusion for each kind of hosts."""

    claim: ReviewedClaim
    gist: str
    conclusions: Mapping[str, Conclusion]
    """By the name of the hosts; empty where a run of the claim is left out."""
    parts: Mapping[str, Sequence[Finding]]
    """The findings of its parts, by the name of the hosts."""

    def outcome(self, hosts: Hosts) -> str:
        """Return the outcome in words."""
        return str(self.conclusions[hosts.name].outcome) if self.conclusions else _NOT_COVERED

    def numbers(self, hosts: Hosts) -> str:
        """Return the deciding numbers as text."""
        return self.conclusions[hosts.name].text()

    def pairs(self, other: Hosts) -> Sequence[tuple[str, str]]:
        """Return the outcomes of each part, over the kernel's hosts and over others."""
        if not self.conclusions:
            return []
        found = zip(self.parts[KERNEL.name], self.parts[other.name], strict=True)
        return [(str(kernel.outcome), str(simulated.outcome)) for kernel, simulated in found]

    def is_opposite(self, other: Hosts) -> bool:
        """Return whether the kernel's hosts and others decide it, and not alike."""
        return {self.outcome(KERNEL), self.outcome(other)} == {*map(str, _DECIDED)}


@dataclass(frozen=True, kw_only=True)
class WorldsReport:
    """A study's claims over the kernel's hosts, and over simulated ones."""

    study: Study
    length: Length
    results: Mapping[str, StudyResults]
    """The results of each run by its name, by the name of the hosts."""

    @cached_property
    def claims(self) -> Sequence[ClaimOverHosts]:
        """The study's claims in their order."""
        study, printed = self.study, self.study.printed()
        registered = {claim.id: claim.gist for claim in study.registration().claims}
        there = set.intersection(*(set(each) for each in self.results.values()))
        found = []
        for claim in study.reviewed_claims():
            is_covered = all(run in there for part in claim.parts for run in part.runs)
            results = self.results if is_covered else {}
            found.append(
                ClaimOverHosts(
                    claim=claim,
                    gist=registered.get(claim.id, claim.gist),
                    conclusions={
                        name: claim.decide(each, printed, study.contradiction) for name, each in results.items()
                    },
                    parts={name: [part(each) for part in claim.parts] for name, each in results.items()},
                )
            )
        return found

    @cached_property
    def kernel(self) -> str:
        """The kernel's release."""
        first = next(iter(self.results[KERNEL.name].values()))[0]
        return str(first.metadata["kernel"]["kernel"])

    @property
    def has_users(self) -> bool:
        """True if web users share a link in any run."""
        return any(result.cell.users_per_side for each in self.results[KERNEL.name].values() for result in each)

    def provenance(self, hosts: Hosts) -> Provenance:
        """Return the origin of the cells with these hosts."""
        distinct: dict[str, Result] = {
            result.cell.key: result for each in self.results[hosts.name].values() for result in each
        }
        return Provenance.from_results(distinct.values())

    def record(self) -> dict[str, Any]:
        """Return the outcomes with their deciding numbers as plain values."""
        return {
            "study": self.study.name,
            "length": asdict(self.length),
            "kernel": self.kernel,
            "hosts": {hosts.name: asdict(self.provenance(hosts)) for hosts in HOSTS},
            "claims": [
                {
                    "id": claim.claim.id,
                    "claim": claim.gist,
                    "hosts": {name: it.record() for name, it in claim.conclusions.items()},
                }
                for claim in self.claims
            ],
        }

    @property
    def tables(self) -> Sequence[Table]:
        """The counts of outcomes, the agreement of the hosts, the cost, and all claims."""
        return self.outcomes(), self.agreement(), self._cost(), self._claims()

    def outcomes(self) -> Table:
        """Return the counts of claims by outcome, and of parts that hold."""
        rows: list[list[Value]] = []
        for hosts in HOSTS:
            outcomes = [claim.outcome(hosts) for claim in self.claims]
            counts = [outcomes.count(each) for each in (*map(str, Outcome), _NOT_COVERED)]
            parts = [finding.outcome for claim in self.claims for finding in claim.parts.get(hosts.name, ())]
            rows.append([hosts.name, *counts, parts.count(Outcome.HOLDS), len(parts)])
        columns = ("hosts", *map(str, Outcome), _NOT_COVERED, "parts held", "parts")
        return Table(name="outcomes", title="Outcomes", columns=columns, rows=rows)

    def agreement(self) -> Table:
        """Return the counts of claims and parts that the kernel's hosts and others decide alike, or not."""
        rows: list[list[Value]] = []
        for other in (LIKE_THE_KERNEL, OF_THE_PAPER):
            claims = [(claim.outcome(KERNEL), claim.outcome(other)) for claim in self.claims if claim.conclusions]
            parts = [pair for claim in self.claims for pair in claim.pairs(other)]
            rows += [
                [f"kernel and {other.name}", of, len(pairs), *_compared(pairs)]
                for of, pairs in (("claims", claims), ("parts", parts))
            ]
        columns = ("hosts", "of", "number", "alike", "opposite", "decided by one", "decided by none")
        about = (
            "A part is one comparison of a claim, of two curves or two numbers."
            " Two worlds decide it alike, or oppositely, or its interval settles it in one of them or in none."
        )
        return Table(name="agreement", title="Agreement", columns=columns, rows=rows, about=about)

    def _cost(self) -> Table:
        costs = [(hosts.name, self.provenance(hosts).cost) for hosts in HOSTS]
        rows: list[list[Value]] = [
            [name, int(cost["cells"]), cost["simulated_s"] / 60, cost["cpu_s"] / 60] for name, cost in costs
        ]
        columns = ("hosts", "cells", "virtual time, min", "processor time, min")
        return Table(name="cost", title="Cost", columns=columns, rows=rows)

    def _claims(self) -> Table:
        rows = [(claim.claim.id, claim.gist, *map(claim.outcome, HOSTS)) for claim in self.claims]
        columns = ("claim", "statement", *(hosts.name for hosts in HOSTS))
        return Table(name="claims", title="Claims", columns=columns, rows=rows)

    def differences(self) -> Table:
        """Return the deciding numbers of the claims that the kernel's hosts and others decide oppositely."""
        rows = [
            [
                claim.claim.id,
                f"“{claim.claim.phrase}”",
                hosts.name,
                claim.outcome(hosts),
                claim.numbers(hosts),
            ]
            for claim in self.claims
            if claim.is_opposite(LIKE_THE_KERNEL) or claim.is_opposite(OF_THE_PAPER)
            for hosts in HOSTS
        ]
        columns = ("claim", "phrase", "hosts", "outcome", "deciding numbers")
        return Table(name="differences", title="Claims that the hosts decide differently", columns=columns, rows=rows)


def _compared(pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Count pairs of outcomes: decided alike, oppositely, by one, by none."""
    decided = [(one in _DECIDED, other in _DECIDED) for one, other in pairs]
    both = [one == other for (one, other), by in zip(pairs, decided, strict=True) if all(by)]
    return [
        both.count(True),
        both.count(False),
        sum(one != other for one, other in decided),
        decided.count((False, False)),
    ]
