"""The spec of an experiment. Python checks its shape, and the engine its meaning.

A spec has a TOML form, a JSON Schema (``Experiment.model_json_schema()``) and, once resolved, a content hash. Its
names and units are public interface. Values with a dimension are text with a unit (``"100 Mbit/s"``, ``"15 min"``);
a bare number there is refused. Defaults and texts are the engine's: docs/reference/spec.md shows them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
    model_serializer,
    model_validator,
)

from aqmlab._core import SpecError
from aqmlab.controls import registry as controls
from aqmlab.disciplines import catalogue, kernel
from aqmlab.disciplines.custom import registry
from aqmlab.spec import bounded_input, schema, testbeds
from aqmlab.spec import sources as sources_of
from aqmlab.spec import users as users_of
from aqmlab.spec.capacity import link_presets, profiles, traces
from aqmlab.spec.capacity.rates import Rate
from aqmlab.spec.households import data as households
from aqmlab.spec.model_base import DECLARED, TAGS, SpecPart
from aqmlab.spec.overrides import apply
from aqmlab.spec.quantities import BitRate, Bytes, Duration

DelayAt = Literal["browser", "server", "split"]

EcnForm = Literal["ecn+", "ecn+/wait", "ecn+/try-once", "ecn++", "dctcp", "accurate", "accurate++"]
"""The forms of ECN other than RFC 3168's, which is ``True``."""
ECN_SWITCH = {"off": False, "rfc3168": True}
ECN_CHOICE = f"true, false, {', '.join(ECN_SWITCH)}, {', '.join(get_args(EcnForm))}"
"""The accepted values of ``ecn``, for messages."""


def ecn_form(value: object) -> bool | EcnForm:
    """Parse a value of ``ecn``.

    Raises
    ------
    ValueError
        When it is not a form of ECN.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in ECN_SWITCH:
        return ECN_SWITCH[value]
    for form in get_args(EcnForm):
        if value == form:
            return form  # type: ignore[no-any-return]
    raise ValueError(f"must be one of {ECN_CHOICE}")


class RateChange(SpecPart):
    at: Duration
    rate: Rate


class Hosts(SpecPart):
    servers_per_side: StrictInt = DECLARED
    rate: BitRate | None = DECLARED


class QueueSpec(SpecPart, table="Queue"):
    discipline: str
    """The name of a discipline (``aqmlab aqm list``) or a custom law, ``my_module:MyLaw``; in Python also a class."""
    parameters: dict[str, Any]
    """The parameters other than defaults; see ``aqmlab aqm show NAME``."""

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, table: object) -> object:
        if not isinstance(table, Mapping) or len(table) != 1:
            raise ValueError("write a table of exactly one queue discipline, such as [queue.pi]")
        ((name, parameters),) = table.items()
        name = registry.register(name) if isinstance(name, type) else name
        entry = registry.discipline(name)
        if name == kernel.NAME and isinstance(parameters, str):
            parameters = {kernel.TC: parameters}
        if not isinstance(parameters, Mapping):
            raise ValueError(f"write a table of parameters, such as [queue.{name}]")
        catalogue.check_parameters(entry, parameters)
        return {"discipline": name, "parameters": parameters}

    @model_serializer
    def _to_table(self) -> dict[str, dict[str, Any]]:
        return {self.discipline: self.parameters}

    def with_defaults(self) -> QueueSpec:
        """Fill in the defaults of a custom law and the hash of its source; the engine does it for other disciplines."""
        if not registry.is_custom(self.discipline):
            return self
        parameters = registry.find(self.discipline).with_defaults(self.parameters)
        return QueueSpec.model_construct(discipline=self.discipline, parameters=parameters)


Probability = Annotated[float, Field(strict=True)]


class Link(SpecPart):
    rate: Rate = DECLARED
    delay: Duration = DECLARED
    loss: Probability | dict[str, Any] | None = DECLARED
    bit_error_rate: Probability | dict[str, Any] | None = DECLARED
    duplicate: Probability | dict[str, Any] | None = DECLARED
    jitter: Duration | dict[str, Any] | None = DECLARED
    reorder: dict[str, Any] | None = DECLARED
    profile: dict[str, Any] | None = DECLARED
    ecn: str | dict[str, Any] | None = DECLARED
    outages: tuple[dict[str, Any], ...] | None = DECLARED
    delay_changes: tuple[dict[str, Any], ...] | None = DECLARED
    overhead: Bytes = DECLARED
    header: Bytes = DECLARED
    mtu: Bytes = DECLARED
    device_fifo: StrictInt = DECLARED
    rate_changes: tuple[RateChange, ...] | None = DECLARED
    queue: QueueSpec | None = DECLARED
    queue_back: QueueSpec | None = DECLARED
    # The engine reads the values of a preset, not its name.
    preset: str | None = Field(None, exclude=True)

    def with_queues(self, change: Callable[[QueueSpec], QueueSpec]) -> Link:
        """Return this link with its own queues changed."""
        update = {"queue": self.queue and change(self.queue), "queue_back": self.queue_back and change(self.queue_back)}
        return self.model_copy(update=update)


class Tcp(SpecPart):
    # The values of a profile are checked by the engine.
    model_config = ConfigDict(extra="allow")

    profile: str = DECLARED
    ecn: Annotated[bool | EcnForm, BeforeValidator(ecn_form)] = DECLARED

    @model_validator(mode="before")
    @classmethod
    def _name_controls(cls, table: object) -> object:
        return controls.with_names(table) if isinstance(table, Mapping) else table

    def with_defaults(self) -> Tcp:
        """Fill in the parameters of custom congestion controls and the hashes of their sources."""
        written = self.model_extra or {}
        filled = controls.with_defaults(written)
        return self if filled == written else self.model_copy(update=filled)


class Users(SpecPart):
    load: Annotated[float, Field(strict=True, gt=0, le=1000)] | None = Field(
        None,
        description="Load in percent of the link's mean rate: the calibration gives the number of users who would cause"
        " it on the uncongested network, with the hosts of the testbed `unc-2003`, or with `linux-6` for `web-2024`.",
    )
    per_side: StrictInt | None = None
    sides: Literal[1, 2] = DECLARED
    workload: str | dict[str, Any] = DECLARED
    rtt: str | dict[str, Any] = DECLARED
    delay_at: DelayAt = DECLARED
    http3: Annotated[float, Field(strict=True)] | None = DECLARED
    path: tuple[StrictInt, StrictInt] | None = DECLARED
    hour: Annotated[StrictInt, Field(ge=0, le=23)] | None = Field(
        None,
        description="The hour of the day from 0 to 23, of `household-2024` alone; unless given its busy hour, 20.",
    )

    @property
    def names(self) -> tuple[str, str]:
        """The names of the workload and the table of round-trip times; a custom table has a digest in its name."""
        if not households.is_household(self.workload):
            return users_of.names(self.workload, self.rtt)
        rtt = users_of.names(households.WEB_WORKLOAD, self.rtt)[1]
        return households.calibration_name(self.workload, self.hour), rtt

    @model_validator(mode="before")
    @classmethod
    def _put_households_on_one_side(cls, table: object) -> object:
        if isinstance(table, Mapping) and "sides" not in table and households.is_household(table.get("workload")):
            return {**table, "sides": 1}
        return table

    @model_validator(mode="after")
    def _check_exclusive(self) -> Self:
        if self.load is not None and self.per_side is not None:
            raise ValueError("write load or per_side, not both")
        return self


class Protocol(SpecPart):
    warmup: Duration = DECLARED
    duration: Duration = DECLARED


class Record(SpecPart):
    queue_every: Duration = DECLARED
    link_every: Duration = DECLARED
    exchanges: StrictBool = DECLARED
    losses: StrictBool = DECLARED
    flows: str | dict[str, Any] | None = DECLARED


_TABLE, _LIST = TAGS


def _form_of_link(link: object) -> str:
    return _LIST if isinstance(link, (list, tuple)) else _TABLE


class Experiment(SpecPart):
    """An experiment without its seed. Each part may be given as a ``dict``.

    Raises
    ------
    SpecError
        When a part has an unknown key or a value of a wrong type.

    Examples
    --------
    >>> Experiment(testbed="unc-2003", queue={"pi": {"q_ref": 24}}).users.load
    98.0
    """

    testbed: str | None = DECLARED
    sides: tuple[str, str] | None = DECLARED
    link: Annotated[
        Annotated[Link, Tag(_TABLE)] | Annotated[tuple[Link, ...], Tag(_LIST)], Discriminator(_form_of_link)
    ] = DECLARED
    queue: QueueSpec = DECLARED
    queue_back: QueueSpec | None = DECLARED
    hosts: Hosts = DECLARED
    tcp: Tcp = DECLARED
    users: Users = Users()
    sources: tuple[dict[str, Any], ...] = DECLARED
    protocol: Protocol = DECLARED
    record: Record = DECLARED
    world: Literal["simulated", "kernel"] = Field(
        "simulated",
        exclude=True,
        description="Where the hosts are: in the simulator, or in a Linux kernel in virtual time (`kernel`), whose TCP"
        " they use. `make kernel` builds it.",
    )
    variants: dict[str, dict[str, Any]] = Field(
        {},
        exclude=True,
        description="Variants to compare, by name: tables with a `scheme`, as typed, or a `queue`, and any other keys"
        " of a spec, which replace those of the experiment.",
    )

    def __init__(self, **parts: Any) -> None:
        if "sources" in parts:
            parts["sources"] = _read_sources(parts["sources"], Path())
        if isinstance(parts.get("users"), (Mapping, Users)):
            parts["users"] = users_of.read_files(dict(parts["users"]), Path())
        if "link" in parts:
            parts["link"] = _read_traces(parts["link"], Path())
        missing = testbeds.unwritten_values(parts)
        super().__init__(**testbeds.filled(parts, missing))
        self._mark_as_unset(missing)
        for name in type(self).model_fields:
            _check_finite(getattr(self, name), name)

    def _mark_as_unset(self, missing: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Mark the values of testbed and presets as unset: they must not survive a change of its name."""
        for name, values_of_tables in missing.items():
            for part, values in zip(testbeds.tables_of(getattr(self, name)), values_of_tables, strict=True):
                part.model_fields_set.difference_update(values)
            if isinstance(part := getattr(self, name), BaseModel) and not part.model_fields_set:
                self.model_fields_set.discard(name)

    @property
    def explicit_values(self) -> dict[str, Any]:
        """The written part of the spec as tables, without defaults and values of testbed and presets."""
        # The JSON mode turns tuples into lists, as in a file.
        tables = self.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        for table, link in zip(testbeds.tables_of(tables.get("link", ())), self.links, strict=False):
            table.update({} if link.preset is None else {"preset": link.preset})
        return ({} if self.world == "simulated" else {"world": self.world}) | tables

    @classmethod
    def from_toml(cls, path: Path | str | None, *, changes: Iterable[str] = ()) -> Self:
        """Read a spec from a file and apply changes of the form ``path=value``, such as ``users.load=90``.

        A value is written as in TOML; any other text is a string, so that you can omit quotes. A path can have list
        indices: ``sources[0].bulk.flows=5``. Of mutually exclusive keys the new one replaces the old one:
        ``queue.pi.q_ref=24`` makes the discipline PI. Without a file the experiment is that of the papers, the testbed
        :data:`aqmlab.spec.testbeds.PAPERS`.
        """
        file = None if path is None else Path(path)
        tables: dict[str, Any] = {"testbed": testbeds.PAPERS} if file is None else bounded_input.read(file)
        for change in changes:
            apply(tables, change)
        if file is not None and not tables:
            raise SpecError(f"{file}: must have one key at least, such as link.rate: an empty spec asks for nothing")
        return cls(**tables) if file is None else cls.from_tables(tables, file.parent)

    @classmethod
    def from_tables(cls, tables: dict[str, Any], directory: Path) -> Self:
        """Return the experiment of a spec's tables, in which files are relative to ``directory``."""
        _read_files(tables, directory)
        return cls(**tables)

    def with_changes(self, changes: Iterable[str], *, directory: Path = Path()) -> Self:
        """Return this experiment with changes in the form of :meth:`from_toml`; files are relative to ``directory``."""
        tables = self.explicit_values
        if self.variants:
            tables["variants"] = dict(self.variants)
        for change in changes:
            apply(tables, change)
        _read_files(tables, directory)
        return type(self)(**tables)

    @property
    def is_chain(self) -> bool:
        """True if ``link`` is a list, so that results number the links."""
        return isinstance(self.link, tuple)

    @property
    def links(self) -> tuple[Link, ...]:
        """The links from side 0 to side 1."""
        return self.link if isinstance(self.link, tuple) else (self.link,)

    def with_links(self, change: Callable[[Link], Link]) -> Self:
        """Return this experiment with each link changed."""
        links = tuple(map(change, self.links))
        return self.model_copy(update={"link": links if self.is_chain else links[0]})

    @property
    def queues(self) -> tuple[tuple[QueueSpec, QueueSpec], ...]:
        """The written disciplines of each link, for direction 0 and direction 1."""
        pair = self.queue, self.queue_back or self.queue
        return tuple(_link_queues(link, pair) for link in self.links)

    def with_defaults(self) -> Self:
        """Fill in the defaults of custom laws and controls and the hashes of their sources, not those of the engine."""
        changed = self.with_control_defaults().with_links(lambda link: link.with_queues(QueueSpec.with_defaults))
        written = {name: getattr(self, name) for name in ("queue", "queue_back") if name in self.model_fields_set}
        return changed.model_copy(update={name: queue and queue.with_defaults() for name, queue in written.items()})

    def with_control_defaults(self) -> Self:
        """Fill in the defaults of custom congestion controls and the hashes of their sources."""
        tcp = self.tcp.with_defaults()
        return self if tcp is self.tcp else self.model_copy(update={"tcp": tcp})

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the JSON Schema of a spec: the engine's, with the keys that only Python reads."""
        spec_schema = copy.deepcopy(dict(schema.root()))
        definitions = spec_schema["$defs"]
        users_of.add_keys(definitions, Users.model_json_schema()["properties"])
        sources_of.add_keys(definitions)
        traces.add_keys(definitions)
        profiles.add_key(definitions)
        link_presets.add_key(definitions)
        spec_schema["properties"]["world"] = {
            "type": "string",
            "enum": ["simulated", "kernel"],
            "description": cls.model_fields["world"].description,
            "default": "simulated",
        }
        description = cls.model_fields["variants"].description
        spec_schema["properties"]["variants"] = {
            "type": "object",
            "description": description,
            "default": {},
            "additionalProperties": {
                "type": "object",
                "properties": {**spec_schema["properties"], "scheme": {"type": "string"}},
                "additionalProperties": False,
            },
        }
        return spec_schema

    def to_json(self) -> str:
        """Return the spec in the JSON form that the engine reads."""
        # The engine refuses a queue that no link uses, unless the spec does not write it.
        unwritten = {"queue"} - self.model_fields_set
        return self.model_dump_json(exclude_none=True, exclude=unwritten)


def _link_queues(link: Link, common: tuple[QueueSpec, QueueSpec]) -> tuple[QueueSpec, QueueSpec]:
    """Return the disciplines of a link: its ``queue`` applies to both directions unless it has a ``queue_back``."""
    forward, reverse = common if link.queue is None else (link.queue, link.queue)
    return forward, link.queue_back or reverse


def _read_files(tables: dict[str, Any], directory: Path) -> None:
    """Replace the names of files in a spec's tables, and in its variants, by their content."""
    for tables_of_spec in (tables, *_tables(tables.get("variants"))):
        if isinstance(tables_of_spec.get("users"), dict):
            tables_of_spec["users"] = users_of.read_files(tables_of_spec["users"], directory)
        if "link" in tables_of_spec:
            tables_of_spec["link"] = _read_traces(tables_of_spec["link"], directory)
        if "sources" in tables_of_spec:
            tables_of_spec["sources"] = list(_read_sources(tables_of_spec["sources"], directory))


def _read_traces(link: Any, directory: Path) -> Any:
    """Replace the files of a link, or of several links, by their content."""
    if isinstance(link, (list, tuple)):
        return [_read_traces(one, directory) for one in link]
    if not isinstance(link, Mapping):
        return link
    readers = {"rate": traces.read_files, "profile": profiles.read_files}
    read = {key: reader(link[key], f"link.{key}", directory) for key, reader in readers.items() if key in link}
    return {**link, **read}


def _tables(variants: object) -> list[dict[str, Any]]:
    return [table for table in variants.values() if isinstance(table, dict)] if isinstance(variants, dict) else []


def _read_sources(sources: object, directory: Path) -> tuple[dict[str, Any], ...]:
    if not isinstance(sources, (list, tuple)) or not all(isinstance(source, Mapping) for source in sources):
        raise SpecError("sources: must be a list of tables, such as [[sources]] with bulk = {flows = 10}")
    return tuple(sources_of.read_files(source, f"sources[{n}]", directory) for n, source in enumerate(sources))


def _check_finite(value: object, path: str) -> None:
    """Refuse infinity and NaN, which JSON lacks."""
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_finite(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            _check_finite(item, f"{path}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise SpecError(f"{path}: must be a finite number, got {value}")
