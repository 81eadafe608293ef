"""The spec of an experiment: what a person writes, checked for shape here and for meaning by the engine.

A spec has a TOML form, a JSON Schema (``Experiment.model_json_schema()``) and, once resolved, a content hash. Its
names and units are public interface. Values with a dimension are text with a unit (``"100 Mbit/s"``, ``"15 min"``);
a bare number there is refused.
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    model_serializer,
    model_validator,
)

from aqmlab._core import SpecError
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import laws
from aqmlab.spec import sources as sources_of
from aqmlab.spec import users as users_of
from aqmlab.spec.changes import apply


def _with_unit(example: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f'write a unit, such as "{example}"')
        return value

    return BeforeValidator(check)


BitRate = Annotated[str, _with_unit("100 Mbit/s"), Field(json_schema_extra={"quantity": "bit rate"})]
Duration = Annotated[str, _with_unit("5 ms"), Field(json_schema_extra={"quantity": "time"})]
Bytes = Annotated[str, _with_unit("1500 B"), Field(json_schema_extra={"quantity": "size"})]


EcnForm = Literal["ecn+", "ecn+/wait", "ecn+/try-once", "ecn++", "dctcp", "accurate", "accurate++"]
"""Forms of ECN beyond RFC 3168's, which is ``True``."""
_ECN_SWITCH = {"off": False, "rfc3168": True}
ECN_CHOICE = f"true, false, {', '.join(_ECN_SWITCH)}, {', '.join(get_args(EcnForm))}"
"""What may stand for ECN, for messages."""


def ecn_form(value: object) -> bool | EcnForm:
    """Read what a person wrote for ECN.

    Raises
    ------
    ValueError
        When it is none of its forms.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _ECN_SWITCH:
        return _ECN_SWITCH[value]
    for form in get_args(EcnForm):
        if value == form:
            return form  # type: ignore[no-any-return]
    raise ValueError(f"must be one of {ECN_CHOICE}")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SpecError(_one_line(error, type(self))) from None

    # A part of a larger one is checked with it, so that a mistake is named by its whole path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class RateChange(_Part):
    """From some time on a link has another rate, in both directions."""

    at: Duration
    """When, from the start of the run; later than the change before."""
    rate: BitRate
    """The rate from then on."""


RateChanges = tuple[RateChange, ...] | None


class Link(_Part):
    """The peering link: two directions, each with a queue of its own."""

    rate: BitRate = "100 Mbit/s"
    """What the wire carries in each direction, the overhead of its frames included."""
    rate_back: BitRate | None = None
    """The same in direction 1, which carries what side 1 sends, where it is another. Loads are given as numbers of
    users then, and the rate does not change."""
    delay: Duration = "0.5 ms"
    """Propagation delay of one direction."""
    overhead: Bytes = "38 B"
    """What a frame is longer on the wire than its IP packet: Ethernet's preamble, header, check sum and gap."""
    mtu: Bytes = "1500 B"
    """The longest IP packet."""
    device_fifo: StrictInt = 256
    """Packets that the driver's ring holds below the queue discipline; 0 for an ideal link."""
    rate_changes: RateChanges = None
    """When the rate becomes another. A packet is sent at the rate of the moment at which its sending begins; queue
    disciplines are told the first rate and no other."""


class Hosts(_Part):
    """The machines that servers run on: what one sends leaves through its interface, a frame after the other."""

    servers_per_side: StrictInt = 8
    """Machines on each side of the link."""
    rate: BitRate = "100 Mbit/s"
    """Bit rate of their network interfaces."""


class QueueSpec(_Part):
    """One queue discipline and what differs from its defaults, written ``{"pi": {"q_ref": 24}}``."""

    discipline: str
    """Its name, see ``aqmlab aqm list``; or a custom law, ``my_module:MyLaw``; from Python also the class."""
    parameters: dict[str, Any]
    """What is not left at its default: see ``aqmlab aqm show NAME``."""

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, table: object) -> object:
        if not isinstance(table, Mapping) or len(table) != 1:
            raise ValueError("write a table of exactly one queue discipline, such as [queue.pi]")
        ((name, parameters),) = table.items()
        name = laws.hand_over(name) if isinstance(name, type) else name
        known = laws.discipline(name)
        if not isinstance(parameters, Mapping):
            raise ValueError(f"write a table of parameters, such as [queue.{name}]")
        catalogue.check_parameters(known, parameters)
        return {"discipline": name, "parameters": parameters}

    @model_serializer
    def _to_table(self) -> dict[str, dict[str, Any]]:
        return {self.discipline: self.parameters}

    def in_full(self) -> QueueSpec:
        """Fill in the defaults of a custom law and the hash of its source; for others the engine does it."""
        if not laws.is_custom(self.discipline):
            return self
        parameters = laws.find(self.discipline).in_full(self.parameters)
        return QueueSpec.model_construct(discipline=self.discipline, parameters=parameters)

    @classmethod
    def __get_pydantic_json_schema__(cls, *_: object) -> dict[str, Any]:
        """Describe the form a person writes."""
        return {
            "type": "object",
            "description": cls.__doc__,
            "properties": {
                each.name: {
                    "type": "object",
                    "description": each.summary,
                    "properties": {parameter.name: parameter.schema for parameter in each.parameters},
                    "additionalProperties": False,
                }
                for each in catalogue.disciplines().values()
            },
            "patternProperties": {":": {"type": "object", "description": "A custom law, module:Class"}},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        }


class ChainLink(_Part):
    """One link of several in series; what is left out is that of ``link`` and ``queue``."""

    rate: BitRate | None = None
    """What the wire carries in each direction."""
    rate_back: BitRate | None = None
    """The same in direction 1, towards routers of lower numbers, where it is another."""
    delay: Duration | None = None
    """Propagation delay of one direction."""
    device_fifo: StrictInt | None = None
    """Packets that the driver's ring holds below the queue discipline."""
    rate_changes: RateChanges = None
    """When the rate becomes another."""
    queue: QueueSpec | None = None
    """The queue discipline at each end of it."""


class Tcp(_Part):
    """The TCP stack of all hosts: a profile, and those of its values that are to differ."""

    # A profile's values have their names, units and checks in the engine.
    model_config = ConfigDict(extra="allow")

    profile: str = "unc-testbed"
    """``unc-testbed``, ``freebsd-4.5``, ``linux-6``, ``ns2-reno`` or ``ns2-newreno``: see docs/guide/tcp.md."""
    ecn: Annotated[bool | EcnForm, BeforeValidator(ecn_form)] = False
    """The form of ECN that the hosts negotiate: ``true`` is RFC 3168; with ``ecn+``, ``ecn+/wait`` and
    ``ecn+/try-once`` SYN/ACKs are ECN-capable; with ``ecn++`` more packets are; ``dctcp`` and ``accurate``
    (Accurate ECN) count marks; with ``accurate++`` every packet is ECN-capable. See docs/guide/ecn.md."""


class Users(_Part):
    """The web users on each side of the link, who browse the servers of the other side."""

    load: Annotated[float, Field(strict=True, gt=0, le=1000)] | None = None
    """Load in percent of the link's rate, in the terms of the calibration. 98 when no number of users is given."""
    per_side: StrictInt | None = None
    """Users on each side; instead of a load."""
    workload: str | dict[str, Any] = "unc-2001"
    """The model of what users fetch and how long they think: ``unc-2001``; or a table of your own, as it is or as the
    name of a TOML or JSON file. See docs/workload.md."""
    rtt: str | dict[str, Any] = "uniform"
    """The table of minimum round-trip times: ``uniform`` (10 to 150 ms), ``general`` or ``general-moderate``; or a
    table of your own."""
    delay_at: Literal["browser", "server", "split"] = "browser"
    """Where a connection's minimum round-trip time is spent: on the way from the browser to the link, as in the testbed
    of Le et al.; on the way from the server to it; or half on each."""
    path: tuple[StrictInt, StrictInt] | None = None
    """In a chain of links: the router at which side 0 is and that of side 1, counted from 1; unless given the first and
    the last."""

    @model_validator(mode="before")
    @classmethod
    def _default_load(cls, table: object) -> object:
        if isinstance(table, Mapping) and not table.keys() & {"load", "per_side"}:
            return {**table, "load": 98.0}
        return table

    @property
    def names(self) -> tuple[str, str]:
        """What workload and round-trip times are called: by name, or the hash of a table of the user's own."""
        return users_of.names(self.workload, self.rtt)

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.load is not None and self.per_side is not None:
            raise ValueError("write load or per_side, not both")
        return self


class Protocol(_Part):
    """What is simulated, and what of it is measured."""

    warmup: Duration = "15 min"
    """Simulated time before the measured window."""
    duration: Duration = "90 min"
    """Simulated time of the measured window."""


class Record(_Part):
    """What a run writes down beside its summary."""

    queue_every: Duration = "10 ms"
    """Sampling period of the queues: packets, bytes and the law's variables."""
    link_every: Duration = "100 ms"
    """Period over which the link's counters are summed."""
    exchanges: StrictBool = False
    """One row for each request?"""
    losses: StrictBool = False
    """One row for each packet that a queue drops?"""


class Experiment(_Part):
    """A whole experiment but for the seed. Each part may be given as a ``dict``.

    Raises
    ------
    SpecError
        When a part has a key it does not know or a value of the wrong kind.

    Examples
    --------
    >>> Experiment(queue={"pi": {"q_ref": 24}}, tcp={"ecn": True}).users
    Users(load=98.0, per_side=None, workload='unc-2001', rtt='uniform', delay_at='browser', path=None)
    """

    link: Link = Link()
    queue: QueueSpec = QueueSpec.model_validate({"droptail": {}})
    chain: tuple[ChainLink, ...] | None = None
    """Links in series in the place of the one, between the routers 1, 2 and so on: see docs/guide/topology.md."""
    hosts: Hosts = Hosts()
    tcp: Tcp = Tcp()
    users: Users = Users(load=98.0)
    sources: tuple[dict[str, Any], ...] = ()
    """Traffic beside the web users, each ``{"bulk": {"flows": 10}}``: see docs/guide/sources.md."""
    protocol: Protocol = Protocol()
    record: Record = Record()

    def __init__(self, **parts: Any) -> None:
        if "sources" in parts:
            parts["sources"] = _read_sources(parts["sources"], Path())
        if isinstance(parts.get("users"), (Mapping, Users)):
            parts["users"] = users_of.read_files(dict(parts["users"]), Path())
        super().__init__(**parts)
        for name in type(self).model_fields:
            _check_finite(getattr(self, name), name)

    @classmethod
    def from_toml(cls, path: Path | str | None, *, changes: Iterable[str] = ()) -> Self:
        """Read a spec from a file and apply changes of the form ``path=value``, such as ``users.load=90``.

        A value is written as in TOML; what is no TOML value is text, so that quotes may be left out. A path reaches
        into lists, ``sources[0].bulk.flows=5``. Where only one of several may stand, another takes its place:
        ``queue.pi.q_ref=24`` makes the discipline PI. Without a file the defaults are changed.
        """
        file = None if path is None else Path(path)
        tables = {} if file is None else _read_toml(file)
        for change in changes:
            apply(tables, change)
        if "sources" in tables:
            tables["sources"] = _read_sources(tables["sources"], file.parent if file else Path())
        if file is not None and isinstance(tables.get("users"), dict):
            tables["users"] = users_of.read_files(tables["users"], file.parent)
        return cls(**tables)

    def to_json(self) -> str:
        """Return the spec as the engine reads it."""
        return self.model_dump_json(exclude_none=True)


def _read_sources(sources: object, directory: Path) -> tuple[dict[str, Any], ...]:
    if not isinstance(sources, (list, tuple)) or not all(isinstance(each, Mapping) for each in sources):
        raise SpecError("sources: must be a list of tables, such as [[sources]] with bulk = {flows = 10}")
    return tuple(sources_of.read_files(each, f"sources[{n}]", directory) for n, each in enumerate(sources))


def _check_finite(value: object, path: str) -> None:
    """Refuse the floats that are no numbers, which have no form in JSON."""
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, Mapping):
        for key, each in value.items():
            _check_finite(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            _check_finite(each, f"{path}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise SpecError(f"{path}: must be a finite number, got {value}")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: not valid TOML: {error}") from None


def _one_line(error: ValidationError, of: type[BaseModel]) -> str:
    """Name the first field that is wrong, what is allowed there, and what was given."""
    first = error.errors(include_url=False)[0]
    steps = first["loc"] if of is Experiment else (of.__name__, *first["loc"])
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
    if first["type"] == "extra_forbidden":
        return f"{path}: unknown key{_instead(str(steps[-1]), first['loc'], of)}"
    if first["type"] in ("model_type", "model_attributes_type"):
        return f"{path}: must be a table of {', '.join(_fields(first['loc'], of))}, got {first['input']!r}"
    what = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{path}: {what}, got {first['input']!r}"


def _instead(name: str, loc: tuple[int | str, ...], of: type[BaseModel]) -> str:
    """Say what may stand in the place of an unknown key."""
    allowed = _fields(loc[:-1], of)
    elsewhere = [f"{part}.{name}" for part in of.model_fields if name in _fields((part,), of)]
    near = difflib.get_close_matches(name, allowed, n=1) or elsewhere[:1]
    return f"{f' (did you mean {near[0]!r}?)' if near else ''}; allowed are {', '.join(allowed)}"


def _fields(loc: tuple[int | str, ...], of: type[BaseModel]) -> list[str]:
    """Name the fields of the part at a path; none where there is no part."""
    part: type[BaseModel] | None = of
    for step in loc:
        if isinstance(step, str) and part is not None:
            part = _model(part.model_fields[step].annotation)
    return list(part.model_fields) if part is not None else []


def _model(annotation: Any) -> type[BaseModel] | None:
    """Find the model of a field that holds one, several or none."""
    while not isinstance(annotation, type) or get_args(annotation):
        if not get_args(annotation):
            return None
        annotation = get_args(annotation)[0]
    return annotation if issubclass(annotation, BaseModel) else None
