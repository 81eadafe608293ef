"""The reference page of the Python API: what ``import aqmlab`` offers, from the sources' signatures and docstrings.

The sources are read and not imported, because only they have the docstrings below attributes, and those of the compiled
half stand in its stub.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import aqmlab
from aqmlab.spec.part import Part
from markdown import docstring, flowing, table

_PAGE = """<!-- Written by `make reference` from the code. Change the docstrings in python/aqmlab, then run it. -->

# Python

What `import aqmlab as lab` offers. Beside it, {modules} have functions of their own:
`help("aqmlab.models.lrd")`.

{index}
{entries}"""

_MODULES = (
    "plot",
    "design",
    "design.control",
    "disciplines.step",
    "models.lrd",
    "models.fgn",
    "models.wavelets",
    "models.batch_queue",
    "models.accounting",
    "models.timers",
    "studies.kit.claims",
)

_Definition = ast.ClassDef | ast.FunctionDef


def api() -> str:
    """Write the page."""
    found = {name: _definition(name) for name in aqmlab.__all__}
    rows = [(f"[`{name}`](#{anchor})", _first_sentence(found[name][1])) for name, anchor in _anchors(found).items()]
    entries = [_entry(name, node, about) for name, (node, about) in found.items()]
    return _PAGE.format(
        modules=", ".join(f"`aqmlab.{name}`" for name in _MODULES),
        index=table(("name", "what it is"), rows),
        entries="\n".join(entries),
    )


def _anchors(names: Iterable[str]) -> dict[str, str]:
    """Return what each heading is called in links: names that differ in case alone are numbered."""
    anchors: dict[str, str] = {}
    for name in names:
        same = sum(other.lower() == name.lower() for other in anchors)
        anchors[name] = f"{name.lower()}-{same}" if same else name.lower()
    return anchors


def _definition(name: str) -> tuple[_Definition | None, str]:
    """Find where a name is defined: a class or a function, or ``None`` for a value; and its docstring."""
    package = ast.parse(Path(inspect.getfile(aqmlab)).read_text(encoding="utf-8"))
    (module,) = [
        node.module
        for node in ast.walk(package)
        if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]
    ]
    directory = Path(inspect.getfile(aqmlab)).parent
    stem = module.removeprefix("aqmlab.").replace(".", "/")
    file = next(file for suffix in (".pyi", ".py") if (file := directory / f"{stem}{suffix}").is_file())
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for node in body:
        if isinstance(node, _Definition) and node.name == name:
            return node, ast.get_docstring(node) or inspect.getdoc(getattr(aqmlab, name)) or ""
    (about,) = [text for code, text in _attributes(body) if code.split(" = ")[0].split(": ")[0] == name]
    return None, about


def _entry(name: str, node: _Definition | None, about: str) -> str:
    if node is None:
        return f"## `{name}`\n\n{docstring(about)}"
    parts = [f"## `{name}`\n\n```python\n{_signature(node)}\n```\n\n{docstring(about)}"]
    if isinstance(node, ast.ClassDef):
        members = _declared(node) if _is_part(name) else _members(node)
        if attributes := [(f"`{key}`", flowing(text)) for key, text in members]:
            parts.append(table(("attribute", "meaning"), attributes))
        parts += [
            f"### `{name}.{method.name}`\n\n```python\n{_signature(method)}\n```\n\n{docstring(text)}"
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


def _is_part(name: str) -> bool:
    made = getattr(aqmlab, name)
    return isinstance(made, type) and issubclass(made, Part)


def _declared(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the keys of a part of a spec, whose defaults and texts come from the engine, and its properties."""
    fields = getattr(aqmlab, node.name).model_fields
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and (field := fields.get(ast.unparse(each.target))):
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
