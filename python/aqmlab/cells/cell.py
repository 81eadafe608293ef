"""A cell: one resolved spec with one seed. A digest of both is its key in the store (cache key)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

from aqmlab._core import Link, Resolved, SpecError, results_number
from aqmlab.cells import columns
from aqmlab.cells import kernel as kernels
from aqmlab.cells.calibration_model import Calibrations, load_calibrations
from aqmlab.controls import registry as controls
from aqmlab.disciplines.custom import registry
from aqmlab.spec import directions, presets, schemes, testbeds
from aqmlab.spec import users as user_tables
from aqmlab.spec.capacity import rates
from aqmlab.spec.experiment import Experiment, QueueSpec, Users
from aqmlab.spec.households import data as households
from aqmlab.spec.households import expansion
from aqmlab.ui.counts import pluralize


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run, planned or completed."""

    label: str
    """The scheme as typed, shown in tables and figures."""
    signal: str
    """The congestion signal: ``none`` (uncongested), ``drop``, or by marks: ``ecn`` (RFC 3168) or the name of
    another form of ECN; with ``-new-gentle`` where RED's queue marks between ``max_th`` and twice that."""
    load_percent: float | None
    """The load by the calibration; ``None`` if the workload has no calibration."""
    users_per_side: int
    """Users on each side of the link."""
    spec: Resolved
    """The resolved spec."""
    seed: int
    """The seed of all random draws."""
    experiment: str
    """The digest of the experiment: its resolved spec without scheme and seed."""
    kernel: str | None = None
    """The release of the kernel whose TCP is used, live or in virtual time; ``None`` in the simulator."""
    variant: str | None = None
    """The changes of the experiment's spec that make a variant, as typed."""
    testbed: str | None = None
    """The testbed that the experiment names. Its values are in the spec, so the name is not part of the key."""
    programs: tuple[tuple[str, ...], tuple[str, ...] | None] | None = None
    """The command that is run over the link, and its server, if any."""
    households: str | None = None
    """The number and the hour of the households that the experiment names, in words; ``None`` for a stored cell."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached properties: ``links`` are objects of the engine, which cannot be pickled."""
        return {field.name: self.__dict__[field.name] for field in fields(self)}

    @cached_property
    def key(self) -> str:
        """The hash of everything that decides the results: spec, seed, results number, kernel and programs."""
        text = f"{self.spec.json}\n{self.seed}\n{results_number()}"
        if self.kernel is not None:
            text += f"\n{self.kernel}"
        if self.programs is not None:
            text += f"\n{json.dumps(self.programs)}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The resolved spec as tables."""
        resolved: dict[str, Any] = json.loads(self.spec.json)
        return resolved

    def with_changes(self, description: str, **tables: Any) -> Cell:
        """Return this cell with other tables in its spec; ``description`` is added to its label."""
        return replace(
            self,
            label=f"{self.label}, {description}",
            spec=Resolved(json.dumps({**self.resolved, **tables})),
            experiment=columns.digest(self.experiment + json.dumps(tables, sort_keys=True)),
        )

    @cached_property
    def rtt(self) -> str:
        """The table of round-trip times."""
        return user_tables.name_of("rtt", self.resolved["users"]["rtt"])

    @property
    def world(self) -> str:
        """The world in which it runs: ``simulated``, ``live``, or ``kernel``, a Linux kernel in virtual time."""
        if self.kernel is None:
            return "simulated"
        return "kernel" if kernels.is_virtual(self.kernel) else "live"

    @property
    def where(self) -> str:
        """The world in words: ``in the simulator``, ``live over Linux 6.12``, ``in Linux 6.12, virtual time``."""
        by_world = {
            "simulated": "in the simulator",
            "live": f"live over Linux {self.kernel}",
            "kernel": f"in Linux {self.kernel}, virtual time",
        }
        return by_world[self.world]

    @property
    def direction_names(self) -> directions.Names:
        """The names of the two directions."""
        return directions.names(self.resolved.get("sides"))

    @cached_property
    def queues(self) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """The discipline of each direction of each link with its parameters, resolved: ``{"pi": {...}}``."""
        tables = directions.link_tables(self.resolved)
        return [(link["queue"], link.get("queue_back", link["queue"])) for link in tables]

    @property
    def scheme(self) -> str:
        """The name of the discipline. Two directions are written ``fq_codel / droptail``, links ``pi | codel``."""
        links = [
            schemes.DIRECTION_SEPARATOR.join(dict.fromkeys(name for queue in pair for name in queue))
            for pair in self.queues
        ]
        return schemes.LINK_SEPARATOR.join(links) if len(set(links)) > 1 else links[0]

    @property
    def disciplines(self) -> set[str]:
        """The names of all disciplines."""
        return {name for pair in self.queues for queue in pair for name in queue}

    @property
    def custom_classes(self) -> set[str]:
        """The names of the classes in Python that it needs: custom laws and congestion controls."""
        return set(filter(registry.is_custom, self.disciplines)) | controls.names(self.resolved)

    @property
    def parameters(self) -> dict[str, Any]:
        """The discipline's resolved parameters; if queues differ, the queue of each direction by its name."""
        queues = [queue for pair in self.queues for queue in pair]
        if all(queue == queues[0] for queue in queues):
            (parameters,) = queues[0].values()
            return dict(parameters)
        in_chain = len(self.queues) > 1
        return {
            directions.place(link, name, in_chain=in_chain): queue
            for link, pair in enumerate(self.queues, start=1)
            for name, queue in zip(self.direction_names, pair, strict=True)
        }

    @property
    def identity(self) -> dict[str, Any]:
        """The columns of :mod:`aqmlab.cells.columns` except the spec; the parameters are a dictionary."""
        return {
            "label": self.label,
            "scheme": self.scheme,
            "parameters": self.parameters,
            "load_percent": self.load_percent,
            "users_per_side": self.users_per_side,
            "signal": self.signal,
            "variant": self.variant,
            **columns.spec_columns(self.resolved, self.links),
            "warmup_s": self.warmup_s,
            "duration_s": self.duration_s,
            "seed": self.seed,
            "results": results_number(),
            "world": self.world,
            "kernel": self.kernel,
            "testbed": self.testbed,
            "experiment": self.experiment,
        }

    @property
    def row(self) -> dict[str, Any]:
        """The columns of :mod:`aqmlab.cells.columns` as texts and numbers."""
        spec = columns.abridged(self.resolved)
        return {**self.identity, "parameters": json.dumps(self.parameters), "spec": json.dumps(spec)}

    @property
    def warmup_s(self) -> float:
        """The beginning of the measurement window, in simulated seconds."""
        return self.spec.warmup_s

    @property
    def duration_s(self) -> float:
        """The length of the measurement window, in simulated seconds."""
        return self.spec.duration_s

    @property
    def end_s(self) -> float:
        """The end of the run, in simulated seconds."""
        return self.warmup_s + self.duration_s

    @cached_property
    def links(self) -> Sequence[Link]:
        """The links in numbers."""
        return self.spec.links

    def describe_users(self) -> str:
        """Describe the users and their load."""
        if not self.users_per_side:
            return "no web users"
        load = "" if self.load_percent is None else f"{self.load_percent:.3g} % load: "
        if self.households is not None:
            return f"{load}{self.households}, {self.rtt} RTT"
        is_on_both = self.resolved["users"].get("sides", 2) == 2
        place = "on each side" if is_on_both else f"at {directions.side(0, self.resolved.get('sides'))}"
        return f"{load}{pluralize(self.users_per_side, 'user')} {place}, {self.rtt} RTT"

    def __str__(self) -> str:
        users = f" at {self.describe_users()}" if self.users_per_side else ""
        live = "" if self.kernel is None else f", {self.where}"
        return f"{self.label}{users}, seed {self.seed}{live}"


_MODERN_TCP_COST, _PYTHON_LAW_COST, _PYTHON_CONTROL_COST = 2.2, 10.0, 2.5
"""The cost of a packet, relative to hosts of 2001 and built-in code: Linux hosts, and a law and a congestion control in
Python.

The measurements are in docs/performance.md, docs/guide/custom-law.md and docs/guide/custom-control.md.
"""


def work(cell: Cell) -> float:
    """Estimate the work of a cell, which is nearly proportional to the packets that its links send.

    Users load the links by their requests; with other sources, links are assumed to be full.

    Returns
    -------
    float
        The work in bits that links send in one direction from hosts of 2001.
    """
    offered_bps = math.inf if cell.resolved.get("sources") else cell.users_per_side * _user_bits_per_sec()
    bits = cell.end_s * sum(min(link.rate_bps, offered_bps) for link in cell.links)
    tcp_cost = _MODERN_TCP_COST if cell.resolved["tcp"]["profile"] == "linux-6" else 1.0
    law_cost = _PYTHON_LAW_COST if ":" in cell.scheme else 1.0
    control_cost = _PYTHON_CONTROL_COST if controls.names(cell.resolved) else 1.0
    return bits * tcp_cost * law_cost * control_cost


@cache
def _user_bits_per_sec() -> float:
    """Return the throughput of one user on each side without congestion, by the package's calibration."""
    return 1e6 * load_calibrations()[(*Users().names, 2)].mbps_per_user


def cells_of(
    experiment: Experiment,
    seeds: Iterable[int],
    calibrations: Calibrations = MappingProxyType({}),
    *,
    label: str | None = None,
    uncongested: bool = False,
    idle: bool = False,
    comparison_experiment: Experiment | None = None,
    variant: str | None = None,
) -> list[Cell]:
    """Return an experiment's cells, one for each seed.

    Parameters
    ----------
    experiment
        The experiment, with a number of users, or with a load that the calibrations cover.
    seeds
        The seeds, one for each cell.
    calibrations
        Convert a load to a number of users.
    label
        The name in tables and figures, instead of the scheme as it would be typed.
    uncongested
        Put the users on the uncongested network.
    idle
        Allow an experiment with neither users nor sources, because something else loads the link.
    comparison_experiment
        The experiment of a comparison that has variants. Its digest is that of the cells; by default their own.
    variant
        The changes that make a variant, as typed.

    Raises
    ------
    SpecError
        When the spec is invalid, naming the field, the accepted values and the value given.
    LawError
        When a custom law or congestion control cannot be imported.
    """
    numbered, load = with_number(experiment, calibrations)
    populated = expansion.expanded(numbered)
    digest = digest_of(
        populated
        if comparison_experiment is None
        else expansion.expanded(with_number(comparison_experiment, calibrations)[0])
    )
    if uncongested:
        populated = presets.uncongested(populated)
    spec = Resolved(populated.with_defaults().to_json())
    if experiment.world == "kernel":
        controls.check_world(json.loads(spec.json), "a Linux kernel in virtual time")
    per_side = populated.users.per_side
    assert per_side is not None, "users are by number now"
    if per_side == 0 and not populated.sources and not idle:
        if experiment.users.per_side == 0:
            raise SpecError("users.per_side: must be at least 1 where there are no sources, got 0")
        raise SpecError(f"spec: nothing sends: write users.load or users.per_side, sources, or {_TESTBED_USERS}")
    return [
        Cell(
            label=label or schemes.label_of(populated),
            signal="none" if uncongested else _signal(json.loads(spec.json)),
            load_percent=load,
            users_per_side=per_side,
            spec=spec,
            seed=seed,
            experiment=digest,
            variant=variant,
            testbed=experiment.testbed,
            kernel=kernels.release() if experiment.world == "kernel" else None,
            households=expansion.number(numbered),
        )
        for seed in seeds
    ]


_NEUTRAL_SCHEME = {"queue": QueueSpec.model_validate({"droptail": {}}), "queue_back": None}
"""The scheme that replaces any other in the digest of an experiment."""


def digest_of(populated: Experiment) -> str:
    """Return the digest of an experiment with a number of users: of its resolved spec without the scheme.

    The names of sides are left out, because they do not affect results.
    """
    # A scheme has no effect on links with queues of their own, and the engine refuses one without any.
    has_scheme = any(link.queue is None for link in populated.links)
    neutral = populated.model_copy(update=_NEUTRAL_SCHEME) if has_scheme else populated
    resolved = json.loads(Resolved(neutral.with_control_defaults().to_json()).json)
    resolved.pop("sides", None)
    # Remove ECN only after the engine has read the spec: it refuses some congestion controls without ECN.
    tcp, given_mix = resolved["tcp"], (populated.tcp.model_extra or {}).get("mix", ())
    stacks = [
        tcp,
        *(stack for stack, given_stack in zip(tcp.get("mix", ()), given_mix, strict=True) if "ecn" not in given_stack),
    ]
    for stack in stacks:
        stack["ecn"] = False
    return columns.digest(json.dumps(resolved))


_TESTBED_USERS = f'testbed = "{testbeds.PAPERS}" for the users of Le et al. (2003)'


def with_number(experiment: Experiment, calibrations: Calibrations) -> tuple[Experiment, float | None]:
    """Return an experiment with a number of users, computed from the load if necessary, and the load if it is known.

    Raises
    ------
    SpecError
        When a load has no calibration, or the users do not fit the workload.
    """
    users = experiment.users
    expansion.check(users)
    if users.load is None and users.per_side is None:
        if users.model_fields_set:
            _check_rest(experiment)
            raise SpecError(f"users: must have load or per_side, or the spec {_TESTBED_USERS}, got neither")
        return with_users(experiment, 0), None
    if isinstance(experiment.link, tuple):
        if users.per_side is None:
            raise SpecError(
                f"users.load: is percent of one link; with links in series give users.per_side, got {users.load:g}"
            )
        return experiment, None
    if (rate := rates.common(experiment.link.rate)) is None:
        if users.per_side is None:
            raise SpecError(
                f"users.load: is percent of one rate; where up and down differ give users.per_side, got {users.load:g}"
            )
        return experiment, None
    calibration = calibrations.get((*users.names, users.sides))
    if users.per_side is not None:
        if calibration is None:
            return experiment, None
        return experiment, calibration.load_percent(users.per_side, rates.mean_bps(rate))
    assert users.load is not None, "without a number there is a load"
    if calibration is None:
        _check_rest(experiment)
        raise SpecError(_not_calibrated(users))
    per_side = calibration.users(users.load, rates.mean_bps(rate))
    if per_side == 0:
        _check_rest(experiment)
        percent = calibration.load_percent(1, rates.mean_bps(rate))
        raise SpecError(f"users.load: makes no user: one on each side is {percent:.3g} % of {rate}, got {users.load:g}")
    if households.is_household(users.workload) and per_side < expansion.MIN_FOR_LOAD:
        raise SpecError(
            f"users.load: makes {pluralize(per_side, 'household')}, and fewer than {expansion.MIN_FOR_LOAD} make more"
            f" than the load, for each application has one use at least: give users.per_side, got {users.load:g}"
        )
    return with_users(experiment, per_side), users.load


def _check_rest(experiment: Experiment) -> None:
    """Let the engine report other mistakes first: one of them may cause the mistake in the load."""
    Resolved(expansion.expanded(with_users(experiment, 1)).to_json())


def _not_calibrated(users: Users) -> str:
    workload, rtt = (table if isinstance(table, str) else "FILE" for table in (users.workload, users.rtt))
    note = ", where FILE holds the table," if "FILE" in (workload, rtt) else ""
    on_one_side, sides = (" and users on one side", " --sides 1") if users.sides == 1 else ("", "")
    if households.is_household(users.workload):
        sides = f" --hour {households.hour_of(users.workload, users.hour)}"
    return (
        f"users.load: the workload {users.names[0]} with {users.names[1]} round-trip times{on_one_side} has no"
        f" calibration: run aqmlab calibrate --workload {workload} --rtt {rtt}{sides}{note} or give users.per_side,"
        f" got {users.load:g}"
    )


def with_users(experiment: Experiment, per_side: int) -> Experiment:
    """Return an experiment with this number of users on each side."""
    users = experiment.users.model_copy(update={"load": None, "per_side": per_side})
    return experiment.model_copy(update={"users": users})


def _signal(resolved: Mapping[str, Any]) -> str:
    ecn = resolved["tcp"]["ecn"]
    if ecn is False:
        return "drop"
    form = "ecn" if ecn is True else str(ecn)
    parameters = [parameters for link in directions.link_tables(resolved) for parameters in link["queue"].values()]
    return f"{form}-new-gentle" if any(each.get("ecn_policy") == "mark_in_gentle" for each in parameters) else form
