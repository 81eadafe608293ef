"""Schemes as typed: ``name`` or ``name:key=value,key=value``.

The name of a custom law contains a colon, ``module:Class``: a bare word after the first colon is a class, and a word
with an equals sign is a parameter.
A discipline of the Linux kernel has the options that ``tc`` takes, ``kernel:codel target 5ms``.
The keys are the discipline's parameters, ``ecn``, which applies to the TCP stack of the hosts, and the bare word
``noecn``, as in ``tc``: the discipline drops packets instead of marking them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines import catalogue, kernel
from aqmlab.disciplines.custom import finder, registry
from aqmlab.disciplines.custom.law import Law
from aqmlab.spec.experiment import EcnForm, Experiment, QueueSpec, ecn_form

DIRECTION_SEPARATOR, LINK_SEPARATOR = " / ", " | "
"""The separators in a label between the disciplines of two directions, and between those of two links."""


@dataclass(frozen=True)
class Scheme:
    """A queue discipline with its parameters, and the ECN setting of the hosts."""

    label: str
    """The scheme as typed."""
    queue: QueueSpec
    ecn: bool | EcnForm | None
    """The form of ECN that the hosts negotiate. ``None`` leaves it to the experiment."""

    def label_in(self, experiment: Experiment) -> str:
        """Return the label for output: the scheme as typed, with the other disciplines of links and directions."""
        return _by_links(experiment, self.label, self.queue, ecn=self.ecn or False)

    def apply_to(self, experiment: Experiment) -> Experiment:
        """Return the experiment with this scheme instead of its own.

        ``queue_back`` and the links' own queues stay.

        Raises
        ------
        SpecError
            When every link has a queue of its own.
        """
        if all(link.queue is not None for link in experiment.links):
            raise SpecError(f"{self.label}: no link takes it: every link has a queue of its own")
        tcp = experiment.tcp if self.ecn is None else experiment.tcp.model_copy(update={"ecn": self.ecn})
        return experiment.model_copy(update={"queue": self.queue, "tcp": tcp})


def parse(scheme: str | type[Law]) -> Scheme:
    """Parse a scheme; the class of a law becomes a scheme with its defaults and the label ``module:Class``.

    Raises
    ------
    SpecError
        When there is no such discipline, or it has no such parameter.

    Examples
    --------
    >>> parse("ared:min_th=12,max_th=36,w_q=1/8192").queue.parameters
    {'min_th': 12, 'max_th': 36, 'w_q': 0.0001220703125}
    """
    try:
        text = registry.register(scheme) if isinstance(scheme, type) else scheme
    except ValueError as error:
        raise SpecError(str(error)) from None
    if " + " in text:
        raise SpecError(
            f"{text}: must be a scheme: changes of the spec after + make a variant, which is not accepted here"
        )
    name, colon, rest = partition(text)
    if name == kernel.NAME and colon:
        return Scheme(label=text, queue=QueueSpec.model_validate({name: rest}), ecn=None)
    try:
        discipline = registry.discipline(name)
        parameters = _assignments(rest) if colon else {}
        ecn = _ecn(parameters.pop("ecn")) if "ecn" in parameters else None
        catalogue.check_parameters(discipline, parameters)
    except ValueError as error:
        # Errors about a custom law already begin with its name.
        message = str(error).removeprefix(name).lstrip(": ") if registry.is_custom(name) else str(error)
        raise SpecError(f"{text}: {message}") from None
    return Scheme(label=text, queue=QueueSpec.model_validate({name: parameters}), ecn=ecn)


def label(queue: QueueSpec, *, ecn: bool | EcnForm) -> str:
    """Return the text of a scheme, as it would be typed."""
    if queue.discipline == kernel.NAME:
        return f"{kernel.NAME}:{queue.parameters[kernel.TC]}"
    parameters = {**queue.parameters, "ecn": ecn} if ecn else queue.parameters
    text = ",".join(_assignment(key, value) for key, value in parameters.items())
    return f"{queue.discipline}:{text}" if text else queue.discipline


def label_of(experiment: Experiment) -> str:
    """Return the text of an experiment's disciplines, as it would be typed, for each link if they differ.

    Examples
    --------
    >>> label_of(Experiment(queue={"fq_codel": {}}, queue_back={"droptail": {"limit": 50}}))
    'fq_codel / droptail:limit=50'
    """
    ecn = experiment.tcp.ecn
    return _by_links(experiment, label(experiment.queue, ecn=ecn), experiment.queue, ecn=ecn)


def _by_links(experiment: Experiment, common: str, queue: QueueSpec, *, ecn: bool | EcnForm) -> str:
    """Return the text of the disciplines of each link, with ``common`` as the text of ``queue``."""
    links = []
    for forward, reverse in experiment.model_copy(update={"queue": queue}).queues:
        text = common if forward is queue else label(forward, ecn=ecn)
        # ECN is a setting of the hosts, so that it appears once.
        links.append(text if forward == reverse else f"{text}{DIRECTION_SEPARATOR}{label(reverse, ecn=False)}")
    return LINK_SEPARATOR.join(links) if len(set(links)) > 1 else links[0]


def partition(text: str) -> tuple[str, str, str]:
    """Split a scheme into the discipline's name, the colon and the parameters."""
    match = re.match(rf"({finder.NAME})(:|$)", text)
    if match is None or text.startswith(f"{kernel.NAME}:"):
        return text.partition(":")
    name = match[1]
    if name.partition(":")[0] in catalogue.disciplines() and not finder.exists(name):
        # The word after the colon is a parameter without its value.
        return text.partition(":")
    return name, match[2], text[match.end() :]


def _ecn(value: object) -> bool | EcnForm:
    try:
        return ecn_form(value)
    except ValueError as error:
        raise ValueError(f"ecn {error}, got {value!r}") from None


def _assignment(key: str, value: object) -> str:
    return key if key == catalogue.NOECN and value is True else f"{key}={text_of(value)}"


def _assignments(text: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for assignment in text.split(","):
        key, equals, value = (assignment if assignment != catalogue.NOECN else f"{assignment}=true").partition("=")
        if not (key and equals and value):
            raise ValueError(f"write key=value, got {assignment!r}")
        if key in parameters:
            raise ValueError(f"{key} is given twice")
        parameters[key] = _value(value)
    return parameters


_MAX_NUMBER_LENGTH = 100
"""The largest number of characters of a number; a longer one is text, which the engine refuses for a parameter."""


def _value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    if len(text) > _MAX_NUMBER_LENGTH:
        return text
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"\d+/0*[1-9]\d*", text, re.ASCII):
        return float(Fraction(text))
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        return float(text)
    return text


def text_of(value: object) -> str:
    """Return the value of a parameter as it would be typed."""
    return str(value).lower() if isinstance(value, bool) else str(value)
