"""Notes on results: facts that a reader of their tables needs, one function a note."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aqmlab.results.result import Result
from aqmlab.spec.schemes import BETWEEN_DIRECTIONS, BETWEEN_LINKS


def notes(results: Sequence[Result]) -> list[str]:
    """Return the notes on results that are shown together."""
    return [text for note in _NOTES if (text := note(results)) is not None]


def _several_queues(results: Sequence[Result]) -> str | None:
    """Explain labels that name several queues, of which a scheme is one."""
    labels = "\n".join({result.cell.label for result in results})
    forms = []
    if BETWEEN_DIRECTIONS in labels:
        forward, reverse = results[0].cell.direction_names
        forms.append(f"a{BETWEEN_DIRECTIONS}b names the queue {forward}, then the queue {reverse}")
    if BETWEEN_LINKS in labels:
        forms.append(f"a{BETWEEN_LINKS}b names the queues of link 1, link 2 and so on")
    return f"In labels, {'; '.join(forms)}." if forms else None


_NOTES: tuple[Callable[[Sequence[Result]], str | None], ...] = (_several_queues,)
