"""A variant, and its application to an experiment."""

from __future__ import annotations

from dataclasses import dataclass

from aqmlab._core import SpecError
from aqmlab.spec import schemes
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.overrides import UnknownPath
from aqmlab.spec.schemes import Scheme

VARIANT_SEPARATOR = " + "
"""The text between a scheme and its changes."""

ECN = "tcp.ecn"
"""The change that belongs to a scheme: two forms of ECN do not make two experiments."""


@dataclass(frozen=True)
class Variant:
    """A scheme, and changes of the spec."""

    label: str
    """The name of its table, or the text as typed."""
    scheme: Scheme | None
    """The scheme; ``None`` keeps the experiment's queue."""
    changes: tuple[str, ...] = ()
    """The changes of the form ``path=value``."""

    @property
    def paths(self) -> list[str]:
        """The paths of the spec that it sets, but for the queue."""
        has_ecn = self.scheme is not None and self.scheme.ecn is not None
        return [*map(path_of, self.changes), *([ECN] if has_ecn else [])]

    def label_in(self, experiment: Experiment) -> str:
        """Return the label in tables."""
        if self.changes or self.scheme is None or self.label != self.scheme.label:
            return self.label
        return self.scheme.label_in(experiment)

    def label_with(self, experiment: Experiment) -> str:
        """Return how it is shown with the queue of an experiment, which has other parameters than its scheme."""
        if not self.changes:
            return schemes.label_of(experiment)
        ecn = (self.scheme and self.scheme.ecn) or False
        return VARIANT_SEPARATOR.join([schemes.label(experiment.queue, ecn=ecn), *self.changes])

    def apply_to(self, experiment: Experiment) -> Experiment:
        """Return the experiment with this scheme and these changes.

        Raises
        ------
        SpecError
            When a key of a change does not exist or has a wrong value.
        """
        return self._with_changes(experiment, self.changes)

    def comparison_experiment(self, experiment: Experiment) -> Experiment:
        """Return the experiment of its comparison: without its changes, except for its form of ECN."""
        return self._with_changes(experiment, tuple(change for change in self.changes if path_of(change) == ECN))

    def _with_changes(self, experiment: Experiment, changes: tuple[str, ...]) -> Experiment:
        base = self.scheme.apply_to(experiment) if self.scheme else experiment
        try:
            return base.with_changes(changes) if changes else base
        except SpecError as error:
            message = error.message if isinstance(error, UnknownPath) else str(error)
            raise SpecError(f"{self.label}: {message}") from None


def path_of(change: str) -> str:
    """Return the path of a change as typed."""
    return "".join(change.partition("=")[0].split())
