"""Measures of one result, by congestion control: shares, goodput, delay and loss; and harm against a solo run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aqmlab.results.measures.harm import harm_if_less_is_better, harm_if_more_is_better
from aqmlab.store.result import Result
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.findings import Measure


def share_percent(result: Result) -> float:
    """Return the goodput of a Prague flow relative to that of it and a flow of the other source, in percent."""
    return first_share_percent(result)


def first_share_percent(result: Result) -> float:
    """Return the goodput of a flow of the first source relative to that of one flow of each source, in percent."""
    first, second = (mbps / flows for mbps, flows in zip(_goodputs(result), _flows(result), strict=True))
    return 100 * first / (first + second)


def goodput_mbps(control: str) -> Measure:
    """Return the goodput of a flow of a control, in Mbit/s; the mean if there are several."""

    def read(result: Result) -> float:
        found = [number for number, name in enumerate(_names(result)) if name.startswith(control)]
        goodputs, flows = _goodputs(result), _flows(result)
        return sum(goodputs[number] for number in found) / sum(flows[number] for number in found)

    return read


def delay_ms(control: str, statistic: str) -> Measure:
    """Return the mean or a percentile of the queueing delay of the data of a control's first source, in ms."""
    return lambda result: _delay_ms(kit.sources(result, control)[0], statistic)


def delay_of(number: int, statistic: str) -> Measure:
    """Return the same of a source by its number."""
    return lambda result: _delay_ms(kit.sources(result)[number], statistic)


def loss_of(number: int) -> Measure:
    """Return the loss of a source's packets by its number, in both directions, in percent."""
    return lambda result: _loss_percent(kit.sources(result)[number : number + 1])


def loss_percent(control: str) -> Measure:
    """Return the loss of the packets of a control's flows, in both directions, in percent."""
    return lambda result: _loss_percent(kit.sources(result, control))


def utilisation_percent(result: Result) -> float:
    """Return the utilization of the link in the direction of the data, in percent."""
    return 100 * kit.of_data("utilisation")(result)


def harm_to_goodput(control: str, solo: Result, shared: Result) -> float:
    """Return the harm of the other traffic to the goodput of a flow: 0 is none, and 1 the largest."""
    measure = goodput_mbps(control)
    return _number(harm_if_more_is_better(measure(solo), measure(shared)))


def harm_to_delay(control: str, solo: Result, shared: Result) -> float:
    """Return the harm of the other traffic to the mean queueing delay of a flow's data."""
    measure = delay_ms(control, "mean")
    return _number(harm_if_less_is_better(measure(solo), measure(shared)))


def harm_to_loss(control: str, solo: Result, shared: Result) -> float:
    """Return the harm of the other traffic to the loss of a flow; 0 if neither run has losses."""
    measure = loss_percent(control)
    before, after = measure(solo), measure(shared)
    return 0.0 if before == after == 0 else _number(harm_if_less_is_better(before, after))


def _number(harm: float | None) -> float:
    return math.nan if harm is None else harm


def _delay_ms(source: Mapping[str, Any], statistic: str) -> float:
    return float(source["queue_delay_ms_each_way"][kit.DATA][statistic])


def _loss_percent(sources: Sequence[Mapping[str, Any]]) -> float:
    sent, lost = (sum(int(source[what]) for source in sources) for what in ("packets_sent", "packets_lost"))
    return 100 * lost / sent


def _names(result: Result) -> list[str]:
    return [source["name"] for source in kit.sources(result)]


def _goodputs(result: Result) -> list[float]:
    return [float(source["goodput_mbps"]) for source in kit.sources(result)]


def _flows(result: Result) -> list[int]:
    return [int(source["bulk"]["flows"]) for source in result.cell.resolved["sources"]]
