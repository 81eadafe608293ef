"""The engine, as Python sees it: a spec goes in as JSON, Arrow tables come out."""

from typing import final

__all__ = ["RecordBatch", "Simulation", "SpecError", "catalogue", "engine_version", "profiles", "resolve"]

class SpecError(ValueError):
    """A mistake in a spec: ``path: what is allowed, got value``."""

@final
class RecordBatch:
    """A table that any Arrow library can take over without copying (the Arrow PyCapsule interface)."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Simulation:
    """One run of one resolved spec with one seed."""

    def __new__(cls, resolved_json: str, seed: int) -> Simulation: ...
    @property
    def now(self) -> float:
        """The virtual clock, in seconds since the start of the warm-up."""

    @property
    def end(self) -> float:
        """The end of the measured window on that clock, in seconds."""

    def advance(self, seconds: float) -> None:
        """Simulate so many seconds more, but not past the end. Releases the GIL."""

    def take(self, table: str) -> RecordBatch | None:
        """Take the rows of ``queue``, ``link`` or ``exchanges`` recorded since the last call."""

    def response_times(self) -> RecordBatch:
        """Return the log histogram of response times by response size."""

    def summary(self) -> str:
        """Return the results of the measured window as JSON."""

def resolve(spec_json: str) -> str:
    """Check a spec, fill in every default, and return it as canonical JSON."""

def catalogue() -> str:
    """Return the queue disciplines and their parameters as JSON."""

def profiles() -> str:
    """Return the TCP stack profiles and their values as JSON."""

def engine_version() -> str:
    """Return what identifies the engine: two engines of one version give the same bytes."""
