"""Laws of the user's own, found by ``module:Class``: their modules, their parameters, and what made their results.

A module is looked for on ``sys.path`` and in the current directory, and read anew when its file has changed. The hash
of its source goes into the resolved spec as ``source``, so that a law that was changed is another cell. A class of a
notebook or a script is taken as it is there, and hashed by itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked
from pydantic.fields import FieldInfo

from aqmlab import catalogue, faults, source
from aqmlab._core import LinkContext, SpecError, Stream
from aqmlab.law import Law

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*"
"""What a law of the user's own is called: ``module:Class``."""

Make = Callable[[LinkContext, Stream], object]
"""Makes the law of one queue."""

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)

_KEPT = {
    "limit": "it is the queue's: set the class attribute limit",
    "ecn": "it is the hosts' business",
    "source": "it is the hash of the module",
}
"""What no parameter may be called, and why."""


@dataclass(frozen=True)
class _NoParameters:
    pass


@dataclass(frozen=True)
class OwnLaw:
    """A law class, and the source it is from."""

    name: str
    """``module:Class``."""
    law: type[Law]
    source: str
    """The hash of its module's source, or of its own where it has none; empty where nothing is stored."""

    @cached_property
    def _config(self) -> Any:
        config = getattr(self.law, "Config", _NoParameters)
        if not (isinstance(config, type) and dataclasses.is_dataclass(config)):
            raise ValueError(f"{self.name}: Config must be a dataclass, got {config!r}")
        return checked(config, config=_STRICT, frozen=config.__dataclass_params__.frozen)  # type: ignore[attr-defined]

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._config)

    @property
    def _fields(self) -> dict[str, FieldInfo]:
        fields: dict[str, FieldInfo] = self._config.__pydantic_fields__
        return fields

    def check(self) -> None:
        """Raise a ``ValueError`` when this is no law."""
        if not (isinstance(self.law, type) and issubclass(self.law, Law)):
            raise ValueError(f"{self.name} must be a class derived from aqmlab.Law, got {self.law!r}")
        if self.law.on_enqueue is Law.on_enqueue and self.law.on_dequeue is Law.on_dequeue:
            raise ValueError(f"{self.name} judges nothing: give it on_enqueue or on_dequeue")
        for name, field in self._fields.items():
            if name in _KEPT:
                raise ValueError(f"{self.name}: no parameter may be called {name}: {_KEPT[name]}")
            if field.is_required():
                raise ValueError(f"{self.name}: the parameter {name} needs a default")

    @cached_property
    def discipline(self) -> catalogue.Discipline:
        """What the catalogue would say of it."""
        summary = (self.law.__doc__ or "").strip().partition("\n")[0]
        limit = catalogue.Parameter(
            name="limit",
            unit="packets or bytes",
            default=str(self.law.limit),
            meaning="The most that may wait.",
            source=self.name,
        )
        return catalogue.Discipline(
            name=self.name,
            family="own",
            decides_at="enqueue" if self.law.on_dequeue is Law.on_dequeue else "dequeue",
            summary=summary,
            parameters=(*(self._parameter(*item) for item in self._fields.items()), limit),
            page=inspect.cleandoc(self.law.__doc__ or ""),
        )

    def _parameter(self, name: str, field: FieldInfo) -> catalogue.Parameter:
        unit, meaning, *_ = (*(text for text in field.metadata if isinstance(text, str)), "", "")
        default = field.get_default(call_default_factory=True)
        return catalogue.Parameter(
            name=name,
            unit=unit or getattr(field.annotation, "__name__", ""),
            default=str(default).removesuffix(".0"),
            meaning=meaning,
            source=self.name,
        )

    def configure(self, parameters: Mapping[str, Any]) -> Any:
        """Return the ``Config`` with these parameters instead of its defaults.

        Raises
        ------
        SpecError
            When one of them has no such value.
        """
        given = {name: value for name, value in parameters.items() if name not in _KEPT}
        try:
            # As JSON a text may stand for a member of an enumeration, and a list for a tuple.
            return self._adapter.validate_json(json.dumps(given, default=str))
        except ValidationError as error:
            raise SpecError(self._one_line(error)) from None
        except Exception as error:
            raise faults.raised(self.law, "Config", error) from error

    def _one_line(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        what = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        path = ".".join(str(step) for step in ("queue", self.name, *first["loc"]))
        if not first["loc"]:
            return f"{path}: {what}"
        by_name = {parameter.name: parameter for parameter in self.discipline.parameters}
        parameter = by_name[str(first["loc"][0])]
        return f"{path}: {what}, got {first['input']!r} ({parameter.unit}; default {parameter.default})"

    def in_full(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with all defaults, and the hash of the source."""
        config: dict[str, Any] = self._adapter.dump_python(self.configure(parameters), mode="json")
        return {**config, "limit": parameters.get("limit", self.law.limit), "source": self.source}

    def maker(self, parameters: Mapping[str, Any]) -> Make:
        """Return what makes a law with these parameters."""
        self.configure(parameters)

        def make(link: LinkContext, rng: Stream) -> object:
            # A Config of its own for each law: what one does to it is nothing to the other direction's.
            config = self.configure(parameters)
            try:
                return self.law(config, link, rng)
            except Exception as error:
                raise faults.raised(self.law, "__init__", error) from error

        return make


def is_own(name: str) -> bool:
    """Say whether a discipline's name is a law of the user's own, which no name of the catalogue looks like."""
    return ":" in name


def discipline(name: str) -> catalogue.Discipline:
    """Return what is to be known of a discipline, the catalogue's or the user's.

    Raises
    ------
    ValueError
        When there is none of this name.
    LawError
        When the user's module cannot be imported.
    """
    return find(name).discipline if is_own(name) else catalogue.discipline(name)


def of_class(law: type[Law]) -> OwnLaw:
    """Return a class as a law; a ``ValueError`` says why it is none."""
    own = OwnLaw(f"{law.__module__}:{law.__qualname__}" if isinstance(law, type) else repr(law), law, source="")
    own.check()
    return own


def hand_over(law: type[Law]) -> str:
    """Return the name by which a class may stand in a spec; a ``ValueError`` says why it may not.

    A class of a module is found by it. One of a notebook, a script or a function is remembered, the last of each name.
    """
    of_class(law)
    name = f"{law.__module__}:{law.__name__}"
    is_found = law.__module__ != "__main__" and law.__qualname__ == law.__name__ and exists(name)
    if not is_found:
        with _lock:
            _handed_over[name] = OwnLaw(name, law, source.digest(law))
    return name


def find(name: str) -> OwnLaw:
    """Import a law by its name; errors are those of :func:`discipline`."""
    if not re.fullmatch(NAME, name):
        raise ValueError(f"write a law of your own as module:Class, got {name!r}")
    module_name, _, class_name = name.partition(":")
    with _lock:
        if module_name == "__main__":
            law = getattr(sys.modules["__main__"], class_name, None)
            if law is not None:
                hand_over(law)
        if name in _handed_over:
            return _handed_over[name]
        if module_name == "__main__":
            raise ValueError(
                f"no class is called {class_name!r} here: a law of a notebook or script is known in it alone"
            )
        module = _module(module_name)
        if class_name not in module.laws:
            law = module.namespace.get(class_name)
            if law is None:
                classes = [each for each, value in module.namespace.items() if _is_law(value)]
                there_are = f"; its laws are {', '.join(classes)}" if classes else ", and no law"
                raise ValueError(f"{module.file} has no class {class_name!r}{there_are}")
            own = OwnLaw(name, law, module.digest)
            own.check()
            module.laws[class_name] = own
        return module.laws[class_name]


def exists(name: str) -> bool:
    """Say whether there is a module for a law of this name."""
    with _lock, _current_directory_on_path():
        return _find_spec(name.partition(":")[0]) is not None


def _is_law(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Law) and value is not Law


def maker(name: str, parameters: Mapping[str, Any]) -> Make | None:
    """Return what makes the law of a resolved spec; ``None`` when it is one of the catalogue.

    Raises
    ------
    SpecError
        When the law's source is no longer the one that was resolved.
    """
    if not is_own(name):
        return None
    own = find(name)
    if own.source != parameters["source"]:
        raise SpecError(f"queue.{name}: its source has changed since this cell was prepared")
    return own.maker(parameters)


@dataclass(frozen=True)
class _Module:
    """A module as it was read from its file."""

    file: str
    digest: str
    namespace: dict[str, Any]
    laws: dict[str, OwnLaw]


_lock = threading.RLock()
_modules: dict[str, _Module] = {}
_handed_over: dict[str, OwnLaw] = {}
_being_read: set[str] = set()


def _module(name: str) -> _Module:
    with _current_directory_on_path():
        spec = _find_spec(name)
        if spec is None or not (spec.origin and spec.origin.endswith(".py")):
            raise ValueError(f"no module is called {name!r}: neither on sys.path nor in {Path.cwd()}")
        source = Path(spec.origin).read_bytes()
        digest = hashlib.sha256(source).hexdigest()[:16]
        known = _modules.get(name)
        if known is None or (known.file, known.digest) != (spec.origin, digest):
            if name in _being_read:
                raise ValueError(f'{spec.origin} runs itself when it is imported: write if __name__ == "__main__":')
            _being_read.add(name)
            try:
                _modules[name] = _Module(spec.origin, digest, _execute(name, spec, source), {})
            finally:
                _being_read.remove(name)
        return _modules[name]


def _find_spec(name: str) -> ModuleSpec | None:
    parent, _, _ = name.rpartition(".")
    importlib.invalidate_caches()
    try:
        path = list(importlib.import_module(parent).__path__) if parent else None
    except (ImportError, AttributeError):
        return None
    return PathFinder.find_spec(name, path)


def _execute(name: str, spec: ModuleSpec, source: bytes) -> dict[str, Any]:
    """Run exactly this source: Python's own import may take a cached one, or one imported before the file changed."""
    assert spec.origin is not None, "a module with a file"
    module = module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(compile(source, spec.origin, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise faults.not_imported(spec.origin, error) from error
    finally:
        known = _modules.get(name)
        if before is not None and (known is None or before.__dict__ is not known.namespace):
            # Somebody else's import stays what it was.
            sys.modules[name] = before
    return module.__dict__


@contextmanager
def _current_directory_on_path() -> Iterator[None]:
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        sys.path.remove(here)
