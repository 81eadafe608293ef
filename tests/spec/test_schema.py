"""The schema of a spec says what the engine accepts, and what it does where nothing is written."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab import _core
from aqmlab.spec import experiment, schema
from json_schema import admits

Table = dict[str, Any]

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))

TABLES: dict[str, Callable[[Table], Table]] = {
    "Link": lambda keys: {"link": keys},
    "RateChange": lambda keys: {"link": {"rate_changes": [{"at": "1 s", "rate": "1 Mbit/s", **keys}]}},
    "ApplicationRateChange": lambda keys: {
        "sources": [{"bulk": {"flows": 1, "rate_changes": [{"at": "1 s", "rate": "1 Mbit/s", **keys}]}}]
    },
    "Hosts": lambda keys: {"hosts": keys},
    "Tcp": lambda keys: {"tcp": keys},
    "Mix": lambda keys: {"tcp": {"mix": [{"share": 0.5, **keys}]}},
    "Users": lambda keys: {"users": {"per_side": 1, **keys}},
    "Protocol": lambda keys: {"protocol": keys},
    "Record": lambda keys: {"record": keys},
}
"""A spec in which a part has these keys, for each part."""


def source(example: Table, name: str) -> tuple[str, Callable[[Table], Table]]:
    ((kind, keys),) = example.items()
    return name, lambda options: {"sources": [{kind: {**keys, **options}}]}


SOURCES = dict(
    source(example, schema.name_of(form["properties"][next(iter(example))]))
    for example, form in zip(schema.part("Source")["examples"], schema.part("Source")["oneOf"], strict=True)
)

BESIDE: Mapping[tuple[str, str, str], Table] = {
    ("segment", "maximum", "VideoConfig"): {"buffer": "120 s"},
    ("min_rate", "maximum", "VideoCallConfig"): {"max_rate": "100 Mbit/s"},
    ("max_rate", "minimum", "VideoCallConfig"): {"min_rate": "10 kbit/s"},
    ("http3", "minimum", "Users"): {"workload": "web-2024"},
    ("http3", "maximum", "Users"): {"workload": "web-2024"},
    ("ledbat_target", "minimum", "Tcp"): {"congestion": "ledbat"},
    ("ledbat_target", "minimum", "Mix"): {"congestion": "ledbat"},
    **{
        ("prague_reference_rtt", bound, table): {"congestion": "prague", "ecn": "accurate"}
        for bound in ("minimum", "maximum")
        for table in ("Tcp", "Mix")
    },
    ("pacing_burst", "maximum", "Tcp"): {"congestion": "bbr"},
    ("pacing_burst", "maximum", "Mix"): {"congestion": "bbr"},
    ("receive_window", "minimum", "Tcp"): {"mss": 1},
    ("receive_window", "minimum", "Mix"): {"mss": 1},
    ("receive_window", "maximum", "Tcp"): {"window_scaling": True},
    ("receive_window", "maximum", "Mix"): {"window_scaling": True},
    ("max_rto", "minimum", "Tcp"): {"min_rto": "1 ms"},
    ("max_rto", "minimum", "Mix"): {"min_rto": "1 ms"},
    ("min_rto", "maximum", "Tcp"): {"max_rto": "1000 s"},
    ("min_rto", "maximum", "Mix"): {"max_rto": "1000 s"},
}
"""The other keys that the end of a range needs, because their default would contradict it."""


def resolved(parts: Table) -> Table:
    # Room for any segment, hosts without options, and something to do without users.
    spec = {"testbed": "unc-2003", "users": {"per_side": 1}, "sources": [{"bulk": {"flows": 1}}], **parts}
    spec["link"] = {"mtu": "65535 B", **spec.get("link", {})}
    table: Table = json.loads(_core.Resolved(json.dumps(spec)).json)
    return table


def ranges() -> Iterator[tuple[str, str, str]]:
    """Every end of a range: its table, its key, and which it is."""
    for table in (*TABLES, *SOURCES):
        for key, entry in schema.part(table)["properties"].items():
            for end in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
                if end in entry:
                    yield table, key, end


def in_smallest_unit(text: str, quantity: str) -> tuple[int, str]:
    if quantity == "time":
        return round(1e9 * _core.seconds(text)), "ns"
    return (_core.size_in_bytes(text), "B") if quantity == "size" else (_core.bits_per_second(text), "bit/s")


def next_to(entry: schema.Schema, end: str, steps: int) -> object:
    """Return the value this number of steps above a range's end."""
    value = entry[end]
    if isinstance(value, str):
        amount, unit = in_smallest_unit(value, entry["quantity"])
        return f"{amount + steps} {unit}"
    if "number" in entry["type"]:
        return value + 1e-9 * max(1.0, abs(value)) * steps
    return value + steps


@pytest.mark.parametrize(("table", "key", "end"), list(ranges()))
def test_a_ranges_ends_are_accepted_and_values_beyond_refused(table: str, key: str, end: str) -> None:
    entry = schema.part(table)["properties"][key]
    within = TABLES.get(table) or SOURCES[table]
    outwards = -1 if "inimum" in end else 1
    is_end_within = not end.startswith("exclusive")
    other_keys = BESIDE.get((key, end, table), {})
    resolved(within({**other_keys, key: next_to(entry, end, 0 if is_end_within else -outwards)}))
    beyond = next_to(entry, end, outwards if is_end_within else 0)
    with pytest.raises(lab.SpecError, match=rf"[.\]]{key}: ") as error:
        resolved(within({**other_keys, key: beyond}))
    assert "\n" not in str(error.value)


def defaults() -> Iterator[tuple[str, str]]:
    for table in (schema.ROOT, *TABLES, *SOURCES):
        for key, entry in schema.part(table)["properties"].items():
            if "default" in entry:
                yield table, key


@pytest.mark.parametrize(("table", "key"), list(defaults()))
def test_a_default_that_is_written_out_is_what_is_left_out(table: str, key: str) -> None:
    within = {schema.ROOT: lambda keys: keys, **TABLES, **SOURCES}[table]
    default = schema.part(table)["properties"][key]["default"]
    bare = {"users": {"per_side": 1}}
    explicit = json.dumps({**bare, **within({key: default})})
    assert _core.Resolved(explicit) == _core.Resolved(json.dumps({**bare, **within({})}))


IMPAIRMENTS: Table = {
    "loss": 0.1,
    "bit_error_rate": 1e-6,
    "duplicate": 0.1,
    "jitter": "1 ms",
    "reorder": {"probability": 0.1, "delay": "1 ms"},
    "ecn": "bleach",
}


@pytest.mark.parametrize("key", IMPAIRMENTS)
def test_the_schema_admits_one_value_or_one_of_each_direction(key: str) -> None:
    root, value = lab.Experiment.model_json_schema(), IMPAIRMENTS[key]
    for accepted in (value, {"up": value, "down": value}):
        assert admits(root, {"link": {key: accepted}}, root)
        resolved({"link": {key: accepted}, "tcp": {"ecn": True}})
    for refused in ({"up": value}, {"up": value, "down": value, "across": value}):
        assert not admits(root, {"link": {key: refused}}, root)


def test_many_keys_have_a_default_or_a_range() -> None:
    assert len(list(defaults())) > 50
    assert len(list(ranges())) > 100


def test_every_key_says_what_it_means() -> None:
    for name, part in schema.root()["$defs"].items():
        for key, entry in part.get("properties", {}).items():
            about = entry.get("description") or schema.part(schema.name_of(entry)).get("description", "")
            assert len(about) > 3, f"{name}.{key}"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_schema_admits_the_examples_but_no_unknown_key(file: Path) -> None:
    root = lab.Experiment.model_json_schema()
    spec = tomllib.loads(file.read_text(encoding="utf-8"))
    assert admits(root, spec, root)
    assert not admits(root, {**spec, "lnik": {}}, root)
    for part, keys in spec.items():
        if isinstance(keys, dict):
            assert not admits(root, {**spec, part: {**keys, "no key": 1}}, root), part
        else:
            assert not admits(root, {**spec, part: [*keys, {"no key": 1}]}, root), part


@pytest.mark.parametrize(
    "parts",
    [
        {"link": {"rate": 100}},
        {"link": {"rate": "100 Mbps"}},
        {"link": {"rate": {"up": "1 Mbit/s"}}},
        {"link": {"rate": {"up": "1 Mbit/s", "down": 5}}},
        {"link": {"device_fifo": -1}},
        {"queue": {}},
        {"queue": {"pi": {}, "rem": {}}},
        {"queue": {"pi": {"qref": 24}}},
        {"tcp": {"ecn": "yes"}},
        {"tcp": {"profile": "linux"}},
        {"users": {"load": 0}},
        {"users": {"rtt": "long"}},
        {"users": {"delay_at": "both"}},
        {"sources": [{"tmix": {}}]},
        {"sources": [{"datagrams": {"rate": "1 Mbit/s", "delay_at": "browser"}}]},
    ],
)
def test_the_schema_admits_no_mistake(parts: Table) -> None:
    root = lab.Experiment.model_json_schema()
    assert not admits(root, parts, root)


def test_the_schema_admits_files_and_custom_laws() -> None:
    root = lab.Experiment.model_json_schema()
    several: list[Table] = [
        {"users": {"rtt": "ours.toml", "workload": "ours.json"}},
        {"sources": [{"tmix": {"file": "x.cvec"}}, {"pair_trace": {"file": "x", "rtt": []}}, {"trace": {"file": "x"}}]},
        {"queue": {"my_module:MyLaw": {"threshold": 3}}},
        {"users": {}},
    ]
    for parts in several:
        assert admits(root, parts, root), parts


_ONLY_IN_PYTHON = ("load", "hour", "preset")
"""Keys that Python replaces by others before the engine reads a spec."""


def test_types_in_python_name_what_the_engine_names() -> None:
    forms = schema.part("DelayAt")["oneOf"]
    assert [form["const"] for form in forms] == list(get_args(experiment.DelayAt))
    choices = schema.key("tcp.ecn")["anyOf"][1]["enum"]
    assert choices == [*experiment.ECN_SWITCH, *get_args(experiment.EcnForm)]
    for name in ("Link", "RateChange", "Hosts", "Users", "Protocol", "Record"):
        fields = [field for field in getattr(experiment, name).model_fields if field not in _ONLY_IN_PYTHON]
        assert fields == list(schema.part(name)["properties"]), name


@given(st.data())
def test_a_number_handed_to_python_is_what_the_text_says(data: st.DataObject) -> None:
    link = {
        "rate": f"{data.draw(st.integers(1, 10**6))} kbit/s",
        "delay": f"{data.draw(st.integers(0, 10**6))} us",
        "overhead": f"{data.draw(st.integers(0, 100))} B",
    }
    spec = _core.Resolved(json.dumps({"link": {**link, "device_fifo": 256}, "protocol": {"warmup": "90 s"}}))
    (python_link,) = spec.links
    assert python_link.rate_bps == python_link.rate_back_bps == 1000 * int(link["rate"].split()[0])
    assert python_link.delay_s == int(link["delay"].split()[0]) / 1e6
    assert (python_link.overhead_bytes, python_link.mtu_bytes, python_link.device_fifo) == (
        int(link["overhead"].split()[0]),
        1500,
        256,
    )
    assert (spec.warmup_s, spec.duration_s) == (90.0, 300.0)
