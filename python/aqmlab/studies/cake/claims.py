"""Columns of the claims of ``study.toml``, and the names of the runs."""

from __future__ import annotations

import math

from aqmlab.store.result import Result
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.claims.written import Vocabulary, reviewed_claims
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.kit.study import description

UP, DOWN = 0, 1

FLOWS = {("A", "a"): 1, ("A", "b"): 1, ("A", "c"): 2, ("B", "c"): 1, ("B", "d"): 1}
"""The number of flows between two hosts."""

CODE_POINTS = ("CS1", "DF", "CS5", "EF")
"""The code points of downloads: background, default and two of high priority."""

ISOLATIONS = ("fq_codel", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
"""FQ-CoDel, and the isolations of CAKE."""

CLASSES = ("fq_codel", "besteffort", "diffserv4")
"""FQ-CoDel, and CAKE without and with classes. With `diffserv3`, CS5 would have no priority."""

FILTERS = ("no-ack-filter", "ack-filter", "ack-filter-aggressive")

SHAPERS = (("pppoe-llcsnap", 95), ("raw", 95), ("raw", 85))
"""The word for the line, and the shaper's part of the rate of cells, in percent."""

LOADS = ("frames", "small")
"""The traffic beside the call: transfers with full frames, or small packets."""


def between(pair: tuple[str, str]) -> str:
    """Return the name of the source with the flows between two hosts."""
    return f"{pair[0]} to {pair[1]}"


def shaper(word: str, percent: int) -> str:
    """Return the name of a shaper of the line with cells."""
    return f"{word} {percent}"


def flow_share_percent(pair: tuple[str, str]) -> Measure:
    """Return the share of one flow between two hosts in the goodput of all, in percent."""

    def read(result: Result) -> float:
        mine = kit.of_source(between(pair), "goodput_mbps")(result) / FLOWS[pair]
        return 100 * mine / kit.goodput_mbps(result)

    return read


def class_share_percent(*code_points: str) -> Measure:
    """Return the share of the downloads with these code points in the goodput of all, in percent."""
    return lambda result: 100 * sum(kit.goodput_mbps(result, each) for each in code_points) / kit.goodput_mbps(result)


def utilisation_percent(result: Result) -> float:
    """Return the utilization of the link in the direction of the downloads, in percent."""
    return 100 * kit.of_data("utilisation")(result)


def datagram_loss_percent(name: str) -> Measure:
    """Return the share of a source's packets that were lost, in percent."""

    def read(result: Result) -> float:
        sent, lost = (kit.of_source(name, what)(result) for what in ("packets_sent", "packets_lost"))
        return 100 * lost / sent if sent else math.nan

    return read


SHARES = {
    pair: Column(what=f"share of a flow from {between(pair)}, %", measure=flow_share_percent(pair)) for pair in FLOWS
}
CLASS_SHARES = (
    *(Column(what=f"share of {each}, %", measure=class_share_percent(each)) for each in CODE_POINTS),
    Column(what="share of CS5 and EF, %", measure=class_share_percent("CS5", "EF")),
)
USED = Column(what="utilisation, %", measure=utilisation_percent)
STREAM_LOSS = Column(what="loss of the stream, %", measure=datagram_loss_percent("stream"))
STREAM_DELAY = Column(what="p99 of the stream's delay, ms", measure=kit.of_source("stream", "delay_ms_p99"))
DOWNLOADS = Column(what="goodput of downloads, Mbit/s", measure=kit.of_source("downloads", "goodput_mbps"))
UPLOADS = Column(what="goodput of uploads, Mbit/s", measure=kit.of_source("uploads", "goodput_mbps"))
CALL_DELAY = Column(what="p99 of the call's delay, ms", measure=kit.of_source("call", "delay_ms_p99"))
CALL_LOSS = Column(what="loss of the call, %", measure=datagram_loss_percent("call"))

CLAIMS = reviewed_claims(
    description(__package__).claim,
    Vocabulary(
        columns=(*SHARES.values(), *CLASS_SHARES, USED, STREAM_LOSS, STREAM_DELAY, DOWNLOADS, UPLOADS, CALL_DELAY),
        joint="/",
    ),
)
