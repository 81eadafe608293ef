"""The reference pages of specs and of sources of traffic, from what Python and the engine declare.

What may be written is a JSON Schema that the engine makes of its declarations, and Python adds the keys that it reads
alone. Here that schema becomes tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from aqmlab import _core
from aqmlab.disciplines import catalogue
from aqmlab.spec import testbeds
from aqmlab.spec.experiment import Experiment
from markdown import flowing, table
from reference.template import template

Schema = Mapping[str, Any]

_HEAD = ("key", "value", "default", "meaning")


_KINDS = {"boolean": "`true`, `false`", "integer": "whole number", "string": "text", "object": "table"}
_PLURAL = {"whole number": "whole numbers", "number": "numbers", "time": "times"}
_DEFINED = re.compile(r"(Config|Spec)$")


_VARIANTS = "See [L4S next to classic congestion control](../guide/ecn.md#l4s-next-to-classic-congestion-control).\n"


def spec() -> str:
    """Write the page of specs."""
    root = Experiment.model_json_schema()
    shown = _Shown(root["$defs"])
    values: dict[str, Schema] = {}
    tables: dict[str, Schema] = {}
    for name, part in root["properties"].items():
        definitions = [root["$defs"][_name(each)] for each in _all(part) if "$ref" in each]
        (values if all("enum" in each for each in definitions) else tables)[name] = part
    parts = [f"## Keys outside tables\n\n{table(_HEAD, shown.rows({'properties': values}))}"]
    variants = tables.pop("variants")
    for name, part in tables.items():
        definition = shown.definition(part)
        heading = f"## `[[{name}]]`" if part.get("type") == "array" else f"## `[{name}]`"
        about = flowing(" ".join(dict.fromkeys(filter(None, map(_about, (part, definition))))))
        body = _BODIES.get(name, _plain)(shown, definition)
        parts.append(f"{heading}\n\n{about}\n\n{body}")
    parts.append(f"## `[variants.NAME]`\n\n{flowing(_about(variants))}\n\n{_VARIANTS}")
    parts += [shown.section(name) for name in shown.rest(exclude={"Queue", "Source"})]
    parts += [_testbed(testbed) for testbed in testbeds.load_all().values()]
    quantities = {part["quantity"]: part["units"] for part in _all(root) if "quantity" in part}
    rows = [(name, ", ".join(f"`{unit}`" for unit in units)) for name, units in sorted(quantities.items())]
    return template("spec").format(quantities=table(("quantity", "units"), rows)) + "\n".join(parts)


def source_kinds() -> str:
    """Write the page of sources."""
    definitions = Experiment.model_json_schema()["$defs"]
    shown = _Shown(definitions)
    every = json.loads(_core.schemas())["every source"]
    parts = []
    for variant in definitions["Source"]["oneOf"]:
        ((kind, part),) = variant["properties"].items()
        definition = shown.definition(part)
        rows = table(_HEAD, shown.rows(definition, without=every["properties"]))
        parts.append(f"## `{kind}`\n\n{flowing(definition['description'])}\n\n{rows}")
    parts += [shown.section(name) for name in shown.rest()]
    common = table(_HEAD, _Shown(definitions).rows(every)).rstrip("\n")
    return template("sources").format(common=common, kinds="\n".join(parts).rstrip("\n"))


class _Shown:
    """Definitions of a schema as Markdown, and which of them are still to be shown."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions
        self._named: dict[str, bool] = {}
        """Those that have been named, in that order; whether they have been shown."""

    def definition(self, part: Schema) -> Schema:
        """Return what a part refers to, itself or in a list, and take it for shown; or the part."""
        for each in _all(part):
            if "$ref" in each:
                name = _name(each)
                self._named[name] = True
                definition = self._definitions[name]
                # A link is a table, or a list of such tables.
                return self.definition(definition) if definition.keys() == {"anyOf"} else definition
        return part

    def rows(self, part: Schema, *, without: Container[str] = ()) -> Iterator[tuple[str, str, str, str]]:
        """Yield a row for each key of a table, but for some."""
        # Those that are needed come first.
        needed = dict.fromkeys(part.get("required", ()), "required")
        needed |= {key: "required, or `file`" for form in part.get("anyOf", ()) for key in form["required"]}
        needed.pop("file", None)
        for key, value in sorted(part["properties"].items(), key=lambda pair: pair[0] not in needed):
            if key in without:
                continue
            default = needed.get(key) or _default(value)
            kind = self.kind(value) + _range(value)
            yield f"`{key}`", kind, default, flowing(f"{_about(value)} {self._choices(value)}".strip())

    def kind(self, part: Schema) -> str:
        """Say what kind of value a part is."""
        if "$ref" in part:
            return self._reference(_name(part))
        if "quantity" in part:
            words = "".join(f' or `"{word}"`' for word in part.get("words", ()))
            return f"{part['quantity']}{words}{self._tables(part)}"
        if "enum" in part:
            return ", ".join(f"`{json.dumps(choice)}`" for choice in part["enum"])
        if "const" in part:
            return f"`{json.dumps(part['const'])}`"
        for either in ("anyOf", "oneOf"):
            if either in part:
                kinds = dict.fromkeys(self.kind(each) for each in part[either] if each.get("type") != "null")
                return " or ".join(kinds)
        kinds = part.get("type", "object")
        if not isinstance(kinds, str):
            return " or ".join(self.kind({**part, "type": kind}) for kind in kinds if kind != "null")
        if kinds == "array":
            item = (part.get("prefixItems") or [part["items"]])[0]
            exactly = f"{part['minItems']} " if part.get("minItems") == part.get("maxItems", 0) else ""
            return f"list of {exactly}{_PLURAL.get(self.kind(item), self.kind(item))}"
        return _KINDS.get(kinds, kinds)

    def _tables(self, part: Schema) -> str:
        """Name the tables that a value may be besides a quantity."""
        if "object" not in part["type"]:
            return ""
        references = [self._reference(_name(key)) for key in part["properties"].values() if "$ref" in key]
        return f" or table, of `up` and `down` or one of: {', '.join(references)}" if references else " or table"

    def section(self, name: str) -> str:
        """Write the section of a definition."""
        part = self._definitions[name]
        head = f"## {_words(name).capitalize()}\n\n{flowing(part['description'])}\n\n"
        if "properties" in part:
            return head + table(_HEAD, self.rows(part))
        return head + table(("form", "what it is"), (self._form(each) for each in part["oneOf"]))

    def rest(self, exclude: Iterable[str] = ()) -> Iterator[str]:
        """Yield what has been named and not shown, until there is no more."""
        while names := [name for name, shown in self._named.items() if not shown and name not in exclude]:
            self._named[names[0]] = True
            yield names[0]

    def _form(self, variant: Schema) -> tuple[str, str]:
        """One way to write a value: ``"adaptive"``, ``{fixed = size}``, ``{range = {min = time, max = time}}``."""
        if "const" in variant:
            return f'`"{variant["const"]}"`', flowing(variant["description"])
        ((key, part),) = variant["properties"].items()
        about = [variant["description"]]
        if "properties" not in part:
            return f"{{ `{key}` = {self.kind(part)} }}", flowing(about[0])
        fields = list(self.rows(part))
        about += [f"{name}: {meaning}" for name, _, _, meaning in fields]
        inner = ", ".join(f"{name} = {kind}" for name, kind, _, _ in fields)
        return f"{{ `{key}` = {{ {inner} }} }}", flowing(" ".join(about))

    def _choices(self, part: Schema) -> str:
        """Say what each of a few names means, if that is said of each."""
        forms = self._definitions[_name(part)].get("oneOf", ()) if "$ref" in part else ()
        if not all("const" in form and "description" in form for form in forms):
            return ""
        return " ".join(f"`{form['const']}`: {form['description']}" for form in forms)

    def _reference(self, name: str) -> str:
        part = self._definitions[name]
        if "enum" in part:
            return self.kind(part)
        forms = part.get("oneOf", ())
        if "properties" not in part and all("const" in form for form in forms):
            return self.kind(part).replace(" or ", ", ")
        self._named.setdefault(name, False)
        return f"[{_words(name)}](#{_words(name).replace(' ', '-')})"


def _testbed(testbed: testbeds.Testbed) -> str:
    """Write the section of a testbed: each of its values with its source."""
    rows = [
        (f"`{path}`", f"`{json.dumps(testbed.tables[part][key])}`", flowing(source))
        for path, source in testbed.sources.items()
        for part, _, key in [path.partition(".")]
    ]
    return f'## `testbed = "{testbed.name}"`\n\n{testbed.about}.\n\n{table(("key", "value", "source"), rows)}'


def _plain(shown: _Shown, part: Schema) -> str:
    return table(_HEAD, shown.rows(part))


def _queue(_: _Shown, __: Schema) -> str:
    names = ", ".join(f"[{name}](aqm/{name}.md)" for name in catalogue.disciplines())
    return (
        f"A table of exactly one discipline, such as `[queue.pi]`, with the parameters of its page: {names}; or a"
        ' custom law, `[queue."my_module:MyLaw"]`, see [the guide](../guide/custom-law.md);'
        ' or a line of `tc`, `queue.kernel = "cake bandwidth 18mbit"`, in the [kernel\'s world](../guide/kernel.md).'
        " The default is `droptail`.\n"
    )


def _sources(_: _Shown, __: Schema) -> str:
    return "[Sources of traffic](sources.md) has each kind with its keys.\n"


def _queue_back(_: _Shown, __: Schema) -> str:
    return "A table as `[queue]` is, such as `[queue_back.droptail]`. The default is `queue`.\n"


def _tcp(shown: _Shown, part: Schema) -> str:
    """Write the keys, the values of the profiles, and the keys of a mix that are not values too."""
    profiles: dict[str, dict[str, Any]] = json.loads(_core.profiles())
    values = next(iter(profiles.values()))
    rows = [
        (
            name,
            kind.replace("[mix](#mix)", "[tables](#tcpmix)"),
            default or ("the profile's" if name.strip("`") in values else ""),
            about,
        )
        for name, kind, default, about in shown.rows(part)
    ]
    beside = [(f"`{key}`", *(f"`{json.dumps(each[key])}`" for each in profiles.values())) for key in values]
    mix = shown.definition(part["properties"]["mix"])
    return "\n".join(
        [
            table(_HEAD, rows),
            f"### Profiles\n\n{table(('value', *(f'`{name}`' for name in profiles)), beside)}",
            f"### `[[tcp.mix]]`\n\n{flowing(mix['description'])}\n",
            table(_HEAD, shown.rows(mix, without=values)),
        ]
    )


_BODIES = {"queue": _queue, "queue_back": _queue_back, "sources": _sources, "tcp": _tcp}
"""Writers of the tables whose rows are not simply their keys."""


def _all(part: object) -> Iterator[Schema]:
    """Yield a schema and all that it is made of."""
    if isinstance(part, Mapping):
        yield part
        for each in part.values():
            yield from _all(each)
    elif isinstance(part, list):
        for each in part:
            yield from _all(each)


def _name(part: Schema) -> str:
    return str(part["$ref"]).rpartition("/")[2]


def _words(name: str) -> str:
    """``MinRttConfig`` is a min rtt."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", _DEFINED.sub("", name)).lower()


def _about(part: Schema) -> str:
    return str(part.get("description", ""))


def _range(part: Schema) -> str:
    """Say from where to where a value may lie, as far as its kind leaves that open."""
    least, most, above = (part.get(end) for end in ("minimum", "maximum", "exclusiveMinimum"))
    if least is not None and most is not None and least != 0:
        return f", {_end(least)} to {_end(most)}"
    said = [f", above {_end(above)}"] if above is not None else []
    said += [f", at least {_end(least)}"] if least not in (None, 0) else []
    said += [f", at most {_end(most)}"] if most is not None else []
    return "".join(said)


def _end(end: object) -> str:
    return f"{end:,g}" if isinstance(end, float) else f"{end:,}" if isinstance(end, int) else str(end)


def _default(part: Schema) -> str:
    default = part.get("default")
    return "" if default is None or default == [] else f"`{json.dumps(default)}`"
