"""The reference pages of the Python API, from the sources' signatures and docstrings: the package, modules beside it.

The sources are read and not imported, because only they have the docstrings below attributes, and those of the compiled
half stand in its stub.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

import aqmlab
from aqmlab.spec.model_base import SpecPart
from markdown import docstring, flowing, table
from reference.template import template

MODULES = (
    "plot",
    "style",
    "flows",
    "design",
    "design.control",
    "disciplines.step",
    "models.lrd",
    "models.fgn",
    "models.wavelets",
    "models.batch_queue",
    "models.accounting",
    "models.timers",
    "studies.kit.claims.written",
    "studies.kit.claims.predicates",
    "studies.kit.claims.review",
)

_Definition = ast.ClassDef | ast.FunctionDef


@dataclass(frozen=True)
class _Named:
    """A class, a function or a value that a module offers."""

    name: str
    made: object
    node: _Definition | None
    """``None`` for a value."""
    about: str


def api() -> str:
    """Write the page of the package's own names."""
    found = {name: _named(aqmlab, name) for name in aqmlab.__all__}
    rows = [(f"[`{name}`](#{anchor})", _first_sentence(found[name].about)) for name, anchor in _anchors(found).items()]
    return template("api").format(
        index=table(("name", "what it is"), rows),
        entries="\n".join(_entry(each, "##") for each in found.values()),
    )


def modules() -> str:
    """Write the page of the modules beside them."""
    rows, sections = [], []
    for name in MODULES:
        module = import_module(f"aqmlab.{name}")
        about = inspect.getdoc(module) or ""
        rows.append((f"[`{name}`](#aqmlab{name.replace('.', '')})", _first_sentence(about)))
        entries = [_entry(_named(module, each), "###") for each in offered(module)]
        sections.append("\n".join([f"## `aqmlab.{name}`\n\n{docstring(about)}", *entries]))
    return template("modules").format(index=table(("module", "what it is"), rows), sections="\n".join(sections))


def offered(module: ModuleType) -> list[str]:
    """Name what a module offers: what it says it does, or its own classes and functions, and explained values."""
    if said := getattr(module, "__all__", None):
        return list(said)
    body = _body(Path(inspect.getfile(module)))
    explained = {_assigned(code) for code, _ in _attributes(body)}
    names = [
        node.name if isinstance(node, _Definition) else _assigned(ast.unparse(node))
        for node in body
        if isinstance(node, _Definition | ast.Assign | ast.AnnAssign)
    ]
    defined = {node.name for node in body if isinstance(node, _Definition)}
    return [name for name in names if not name.startswith("_") and name in defined | explained]


def _anchors(names: Iterable[str]) -> dict[str, str]:
    """Return what each heading is called in links: names that differ in case alone are numbered."""
    anchors: dict[str, str] = {}
    for name in names:
        same = sum(other.lower() == name.lower() for other in anchors)
        anchors[name] = f"{name.lower()}-{same}" if same else name.lower()
    return anchors


def _named(offering: ModuleType, name: str) -> _Named:
    """Find where a name that a module offers is defined, there or where it is imported from, and its docstring."""
    file = Path(inspect.getfile(offering))
    # The package imports its names on first use, and lists them in a stub.
    imports = stub if (stub := file.with_suffix(".pyi")).is_file() else file
    imported = [
        node.module
        for node in ast.walk(ast.parse(imports.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]
    ]
    if imported:
        stem = imported[0].removeprefix("aqmlab.").replace(".", "/")
        root = Path(inspect.getfile(aqmlab)).parent
        file = next(file for suffix in (".pyi", ".py") if (file := root / f"{stem}{suffix}").is_file())
    body, made = _body(file), getattr(offering, name)
    for node in body:
        if isinstance(node, _Definition) and node.name == name:
            return _Named(name, made, node, ast.get_docstring(node) or inspect.getdoc(made) or "")
    (about,) = [text for code, text in _attributes(body) if _assigned(code) == name]
    return _Named(name, made, None, about)


def _body(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text(encoding="utf-8")).body


def _assigned(code: str) -> str:
    """Return the name that an assignment or a declaration is of."""
    return code.split(" = ")[0].split(": ")[0]


def _entry(named: _Named, heading: str) -> str:
    name, node = named.name, named.node
    if node is None:
        return f"{heading} `{name}`\n\n{docstring(named.about)}"
    parts = [f"{heading} `{name}`\n\n```python\n{_signature(node)}\n```\n\n{docstring(named.about)}"]
    if isinstance(node, ast.ClassDef):
        members = _declared(node, named.made) if _is_part(named.made) else _members(node)
        if attributes := [(f"`{key}`", flowing(text)) for key, text in members]:
            parts.append(table(("attribute", "meaning"), attributes))
        parts += [
            f"{heading}# `{name}.{method.name}`\n\n```python\n{_signature(method)}\n```\n\n{docstring(text)}"
            for method in _functions(node)
            if not _is_property(method) and (text := ast.get_docstring(method))
        ]
    return "\n".join(parts)


def _signature(node: _Definition) -> str:
    if isinstance(node, ast.ClassDef):
        makes = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        return f"class {node.name}{_arguments(makes[0]) if makes else ''}"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}{_arguments(node)}{returns}"


def _arguments(node: ast.FunctionDef) -> str:
    first = [argument.arg for argument in node.args.args[:1]]
    if first in (["self"], ["cls"]):
        node.args.args.pop(0)
    return f"({ast.unparse(node.args)})"


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield attributes and properties with their docstrings."""
    yield from _attributes(node.body)
    for each in _functions(node):
        if _is_property(each) and (text := ast.get_docstring(each)):
            yield each.name, text


def _is_part(made: object) -> TypeGuard[type[SpecPart]]:
    return isinstance(made, type) and issubclass(made, SpecPart)


def _declared(node: ast.ClassDef, part: type[SpecPart]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a part of a spec, whose defaults and texts come from the engine, and its properties."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and (field := part.model_fields.get(ast.unparse(each.target))):
            default = "" if field.is_required() else f" = {field.get_default()!r}"
            yield f"{ast.unparse(each.target)}: {ast.unparse(each.annotation)}{default}", field.description or ""
    yield from (member for member in _members(node) if ":" not in member[0])


def _functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (each for each in node.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"))


def _is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(each) in ("property", "cached_property") for each in node.decorator_list)


def _attributes(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield names that are assigned or declared, with the docstring below each."""
    for before, after in pairwise(body):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if is_text and isinstance(before, ast.Assign | ast.AnnAssign):
            yield ast.unparse(before), inspect.cleandoc(ast.literal_eval(ast.unparse(after)))


def _first_sentence(about: str) -> str:
    first = docstring(about.split("\n\n")[0]).strip()
    return first.partition(". ")[0].rstrip(".:")
