"""The entry of a custom law: its checks, its form in the catalogue, and the factory of its instances."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aqmlab._core import LinkContext, Stream
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import errors, hooks
from aqmlab.disciplines.custom.law import Law
from aqmlab.disciplines.custom.parameters import Parameters

LawFactory = Callable[[LinkContext, Stream], object]
"""Makes the law of one queue."""

_RESERVED = {
    "limit": "it belongs to the queue: set the class attribute limit",
    catalogue.NOECN: "it belongs to the queue",
    "ecn": "it belongs to the hosts",
    "source": "it is the hash of the module",
}
"""Reserved names of parameters, with the reasons."""

_QUEUE_PARAMETERS = ("limit", catalogue.NOECN)
"""The reserved names that a queue's table may have."""


@dataclass(frozen=True)
class CustomLaw:
    """A law class with its name and the hash of its source."""

    name: str
    """The name in the form ``module:Class``."""
    law: type[Law]
    source: str
    """The hash of its module's source, or of its own source without a module; empty if nothing is stored."""

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self.name, self.law, f"queue.{self.name}", _RESERVED)

    def check(self) -> None:
        """Raise a ``ValueError`` when the class is not a valid law."""
        if not (isinstance(self.law, type) and issubclass(self.law, Law)):
            raise ValueError(f"{self.name} must be a class derived from aqmlab.Law, got {self.law!r}")
        if misspelt_hooks := hooks.misspelt_hooks(self.law, Law):
            raise ValueError(f"{self.name}: {misspelt_hooks}")
        if self.law.on_enqueue is Law.on_enqueue and self.law.on_dequeue is Law.on_dequeue:
            raise ValueError(f"{self.name} judges nothing: give it on_enqueue or on_dequeue")
        if hooks.lacks_timeout(self.law):
            raise ValueError(f"{self.name}: on_timeout is never called, since nothing sets next_timeout")
        self._parameters.check()

    @cached_property
    def discipline(self) -> catalogue.Discipline:
        """Its entry in the form of the catalogue."""
        summary = (self.law.__doc__ or "").strip().partition("\n")[0]
        limit = catalogue.Parameter(
            name="limit",
            unit="packets or bytes",
            default=str(self.law.limit),
            meaning="The capacity of the queue.",
            source=self.name,
        )
        return catalogue.Discipline(
            name=self.name,
            family="custom",
            decides_at="enqueue" if self.law.on_dequeue is Law.on_dequeue else "dequeue",
            summary=summary,
            parameters=(*self._parameters.entries, limit),
            page=inspect.cleandoc(self.law.__doc__ or ""),
        )

    def with_defaults(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with all defaults, and the hash of the source."""
        queue_parameters = {
            "limit": self.law.limit,
            **{name: parameters[name] for name in _QUEUE_PARAMETERS if name in parameters},
        }
        return {**self._parameters.values(parameters), **queue_parameters, "source": self.source}

    def maker(self, parameters: Mapping[str, Any]) -> LawFactory:
        """Return a function that makes a law with these parameters."""
        self._parameters.configure(parameters)

        def make(link: LinkContext, rng: Stream) -> object:
            # Each direction has a Config of its own, because a law may change it.
            config = self._parameters.configure(parameters)
            try:
                return self.law(config, link, rng)
            except errors.CONTROL_EXCEPTIONS:
                raise
            except BaseException as error:
                raise errors.raised(self.law, "__init__", error) from error

        return make
