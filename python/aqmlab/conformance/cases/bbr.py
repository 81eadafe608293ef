"""BBR: the 22 cases of the appendix of draft-ietf-ccwg-bbr."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np

from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import Floats, Measure, NotSeen, Trace

PAYLOAD = 1448 / 1538
"""The data of a full segment relative to its frame."""

CHANGE_S = 12.0
"""The time at which the rate changes."""

PAUSE_S = 0.04
"""The pause of the application in ProbeBW_REFILL, a round trip."""


def _stays_in(trace: Trace, phase: str, before: str | None = None) -> list[tuple[int, int]]:
    """Return the stays in a phase that end in the run, by their rows; those before another phase if it is given."""
    found = trace.stays
    ended = [
        (at, end)
        for (name, at, end), (after, *_) in pairwise(found)
        if name == phase and (before is None or after == before)
    ]
    if not ended:
        raise NotSeen(f"{before or 'another phase'} does not follow {phase}")
    return ended


def others_after(phase: str, *expected: str) -> Measure:
    """Return a measure: the stays after a phase that are in other phases than those expected."""

    def measure(trace: Trace) -> float:
        _stays_in(trace, phase)
        names = [name for name, *_ in trace.stays]
        followers = [after for before, after in itertools.pairwise(names) if before == phase]
        return float(sum(name not in expected for name in followers))

    return measure


def others_than(*expected: str) -> Measure:
    """Return a measure: the stays in other phases than those expected."""

    def measure(trace: Trace) -> float:
        if not trace.has("phase"):
            raise NotSeen("the control reports no phase")
        return float(sum(name not in expected for name, *_ in trace.stays))

    return measure


def rounds_in_drain(trace: Trace) -> float:
    """Return the round trips of Drain, each until data sent after its start are acknowledged."""
    ((at, end), *_) = _stays_in(trace, "Drain")
    if trace.in_flight[end] <= _products(trace)[end]:
        raise NotSeen("the data in flight reach the bandwidth-delay product in Drain")
    sent, delivered = trace.column("sent_bytes"), trace.column("delivered_bytes")
    rounds, round_ends = 0, sent[at]
    for row in range(at, end + 1):
        if delivered[row] >= round_ends:
            rounds, round_ends = rounds + 1, sent[row]
    return float(rounds)


def _second_probe_down(trace: Trace) -> tuple[float, str]:
    """Return the duration of the second ProbeBW_DOWN, in seconds, and the phase after it."""
    found = trace.stays
    places = [place for place, (name, *_) in enumerate(found[:-1]) if name == "ProbeBW_DOWN"]
    if len(places) < 2:
        raise NotSeen("the second ProbeBW_DOWN does not end in the run")
    (_, at, end), (after, *_) = found[places[1]], found[places[1] + 1]
    if after == "ProbeRTT":
        raise NotSeen("ProbeRTT, which was due, ended ProbeBW_DOWN")
    return float(trace.time[end] - trace.time[at]), after


def probe_down_wait(trace: Trace) -> float:
    """Return the duration of the second ProbeBW_DOWN, in seconds."""
    duration_s, _ = _second_probe_down(trace)
    return duration_s


def probe_down_without_refill(trace: Trace) -> float:
    """Return 0 if ProbeBW_REFILL follows the second ProbeBW_DOWN, and 1 if another phase does."""
    _, after = _second_probe_down(trace)
    return float(after != "ProbeBW_REFILL")


def bandwidth_after_startup(rate_mbps: float) -> Measure:
    """Return a measure: the bandwidth at the end of Startup, relative to the path's."""

    def measure(trace: Trace) -> float:
        ((_, end), *_) = _stays_in(trace, "Startup")
        return float(trace.variable("max_bw_mbps")[end] / (PAYLOAD * rate_mbps))

    return measure


def rounds_of_plateau(trace: Trace) -> float:
    """Return the time from the last growth by a fourth to the end of Startup, in minimum round-trip times."""
    ((_, end), *_) = _stays_in(trace, "Startup")
    bandwidth = trace.variable("max_bw_mbps")[:end]
    grown = np.flatnonzero(bandwidth >= bandwidth[-1] / 1.25)
    return float((trace.time[end] - trace.time[grown[0]]) / trace.rtt_s)


def rounds_after_loss(trace: Trace) -> float:
    """Return the time from the first loss recovery to the end of Startup, or of the run, in round trips."""
    begin = trace.recovery(1).time_s
    ends = [end for name, _, end in trace.stays if name == "Startup"]
    if not ends:
        raise NotSeen("the flow has no Startup")
    end = ends[0]
    return float((trace.time[min(end, len(trace.time) - 1)] - begin) / trace.rtt_s)


def pacing_gain(phase: str) -> Measure:
    """Return a measure: the median pacing rate in a phase, relative to the bandwidth."""

    def measure(trace: Trace) -> float:
        rows = np.concatenate([np.arange(at + 1, end) for at, end in _stays_in(trace, phase)])
        return float(np.nanmedian(trace.variable("pacing_rate_mbps")[rows] / trace.variable("bw_mbps")[rows]))

    return measure


def _products(trace: Trace) -> Floats:
    """Return the bandwidth-delay product in segments, by row."""
    delay_s = trace.column("min_rtt_ms") / 1e3
    return trace.variable("max_bw_mbps") * 1e6 / 8 * delay_s / trace.mss


def inflight_at_end(phase: str) -> Measure:
    """Return a measure: the most data in flight at the end of a phase, in bandwidth-delay products."""
    # A ProbeRTT, which is due at a time, may end any phase.
    return lambda trace: float(
        max(trace.in_flight[end] / _products(trace)[end] for _, end in _stays_in(trace, phase, before="ProbeBW_CRUISE"))
    )


def probe_rtt_interval(trace: Trace) -> float:
    """Return the shortest time from the end of a ProbeRTT to the start of the next one, in seconds."""
    found = _stays_in(trace, "ProbeRTT")
    if len(found) < 2:
        raise NotSeen("there is one ProbeRTT only")
    return float(min(trace.time[after[0]] - trace.time[before[1]] for before, after in itertools.pairwise(found)))


def probe_rtt_duration(trace: Trace) -> float:
    """Return the shortest ProbeRTT, in seconds."""
    return float(min(trace.time[end] - trace.time[at] for at, end in _stays_in(trace, "ProbeRTT")))


def probe_rtt_window(trace: Trace) -> float:
    """Return the median window at the end of a ProbeRTT, in bandwidth-delay products."""
    products = _products(trace)
    return float(np.median([trace.cwnd[end - 1] / products[end - 1] for _, end in _stays_in(trace, "ProbeRTT")]))


def probe_rtt_after_pause(trace: Trace) -> float:
    """Return the entries into ProbeRTT in the two seconds after a pause of at least five."""
    idle = trace.in_flight == 0
    ends = np.flatnonzero(idle[:-1] & ~idle[1:]) + 1
    starts = np.flatnonzero(~idle[:-1] & idle[1:]) + 1
    pauses = [
        trace.time[end] for end in ends if any(end - at > 0 and trace.time[end] - trace.time[at] > 5 for at in starts)
    ]
    if not pauses:
        raise NotSeen("the flow does not pause for 5 s")
    if not trace.has("phase"):
        raise NotSeen("the control reports no phase")
    entries = [trace.time[at] for name, at, _ in trace.stays if name == "ProbeRTT"]
    return float(sum(pauses[0] <= entry < pauses[0] + 2 for entry in entries))


def utilization(rate_mbps: float) -> Measure:
    """Return a measure: the data delivered in the second half of the run, relative to the path's rate."""

    def measure(trace: Trace) -> float:
        half = len(trace.time) // 2
        delivered = trace.column("delivered_bytes")
        mbps = 8e-6 * (delivered[-1] - delivered[half]) / (trace.time[-1] - trace.time[half])
        return float(mbps / (PAYLOAD * rate_mbps))

    return measure


def smallest_window(trace: Trace) -> float:
    """Return the smallest window after Startup, in segments."""
    ((_, end), *_) = _stays_in(trace, "Startup")
    return float(trace.cwnd[end:].min())


def rounds_to_bandwidth(rate_mbps: float) -> Measure:
    """Return a measure: the time from the change of the rate until max_bw is nine tenths of it, in round trips."""

    def measure(trace: Trace) -> float:
        change = trace.at(CHANGE_S)
        found = np.flatnonzero(trace.variable("max_bw_mbps")[change:] >= 0.9 * PAYLOAD * rate_mbps)
        if not len(found):
            raise NotSeen("the new rate is not found in the run")
        return float((trace.time[change + int(found[0])] - CHANGE_S) / trace.rtt_s)

    return measure


def last_bandwidth(rate_mbps: float) -> Measure:
    """Return a measure: max_bw at the end of the run, relative to the path's rate."""
    return lambda trace: float(trace.variable("max_bw_mbps")[-1] / (PAYLOAD * rate_mbps))


def late_loss(trace: Trace) -> float:
    """Return the data lost in the second half of the run, relative to those sent."""
    half = len(trace.time) // 2
    lost, sent = (np.diff(trace.column(name)[[half, -1]])[0] for name in ("lost_bytes", "sent_bytes"))
    return float(lost / sent)


def bound_after(state: str, time_s: float) -> Measure:
    """Return a measure: the long-term bound after the first loss recovery from a time on, relative to before."""

    def measure(trace: Trace) -> float:
        entries = [at for at in trace.entries(state) if trace.time[at] >= time_s]
        if not entries:
            raise NotSeen(f"the flow does not enter the state {state}")
        outside = np.flatnonzero(~np.isin(trace.state[entries[0] :], ("recovery", "loss")))
        if not len(outside):
            raise NotSeen("the loss recovery does not end in the run")
        before, after = trace.column("inflight_longterm_bytes")[[entries[0] - 1, entries[0] + int(outside[0])]]
        if np.isnan(before):
            raise NotSeen("the data in flight have no long-term bound before the recovery")
        # Without a bound the data in flight are not bounded by a smaller one.
        return float(np.inf if np.isnan(after) else after / before)

    return measure


def _first_entry(trace: Trace, phase: str) -> int:
    """Return the first row of the first stay in a phase."""
    entries = trace.entries_into(phase)
    if not entries:
        raise NotSeen(f"the flow does not enter {phase}")
    return entries[0]


def _loss_in_probe_up(trace: Trace) -> int:
    """Return the row of the first loss recovery from ProbeBW_UP on, which the loss may end at once."""
    up = _first_entry(trace, "ProbeBW_UP")
    losses = [at for at in trace.entries("recovery") if at >= up]
    if not losses:
        raise NotSeen("no losses come from ProbeBW_UP on")
    if any(name != "ProbeBW_UP" and up < at < losses[0] for name, at, _ in trace.stays):
        raise NotSeen("ProbeBW_UP ends before the losses")
    return losses[0]


def _first_row_of(trace: Trace, row: int, *phases: str) -> int:
    """Return the first row in one of some phases from a row on, or the last row."""
    return next((max(at, row) for name, at, end in trace.stays if name in phases and row < end), len(trace.time) - 1)


def _end_of_probe_up(trace: Trace, row: int) -> int:
    """Return the first row after a ProbeBW_UP: with few data in flight, ProbeBW_DOWN ends at once."""
    return _first_row_of(trace, row, "ProbeBW_DOWN", "ProbeBW_CRUISE")


def rounds_from_loss_to_probe_down(trace: Trace) -> float:
    """Return the time from the losses in ProbeBW_UP to ProbeBW_DOWN, or to the end of the run, in round trips."""
    loss = _loss_in_probe_up(trace)
    return float((trace.time[_end_of_probe_up(trace, loss)] - trace.time[loss]) / trace.rtt_s)


def bound_after_probe_up(trace: Trace) -> float:
    """Return the long-term bound after the losses in ProbeBW_UP, in bandwidth-delay products."""
    down = _end_of_probe_up(trace, _loss_in_probe_up(trace))
    bound = trace.column("inflight_longterm_bytes")[down] / trace.mss / _products(trace)[down]
    # Without a bound the data in flight are not bounded by a smaller one.
    return float(np.inf if np.isnan(bound) else bound)


def _refill_with_pause(trace: Trace) -> int:
    """Return the first row of the ProbeBW_REFILL in which the application pauses."""
    refill = _first_entry(trace, "ProbeBW_REFILL")
    pause = trace.in_flight[refill : trace.at(trace.time[refill] + 2 * PAUSE_S)]
    if pause.min() > _products(trace)[refill] / 2:
        raise NotSeen("the pause does not empty the path")
    return refill


def bandwidth_kept_in_pause(trace: Trace) -> float:
    """Return the smallest max_bw from the pause to the end of the next ProbeBW_UP, relative to that before."""
    refill = _refill_with_pause(trace)
    end = _first_row_of(trace, refill, "ProbeBW_DOWN")
    bandwidth = trace.variable("max_bw_mbps")
    return float(bandwidth[refill:end].min() / bandwidth[refill])


def rounds_of_refill(trace: Trace) -> float:
    """Return the time from the pause to ProbeBW_UP, or to the end of the run, in minimum round-trip times."""
    refill = _refill_with_pause(trace)
    end = _first_row_of(trace, refill, "ProbeBW_UP")
    return float((trace.time[end] - trace.time[refill]) / trace.rtt_s)


def rounds_from_pause_to_probe_down(trace: Trace) -> float:
    """Return the time from the end of the pause to ProbeBW_DOWN, or to the end of the run, in round trips."""
    refill = _refill_with_pause(trace)
    end = _first_row_of(trace, refill, "ProbeBW_DOWN")
    return float((trace.time[end] - trace.time[refill] - PAUSE_S) / trace.rtt_s)


STANDARD = read_standard(
    "bbr",
    {
        "bbr-1-startup-bandwidth": bandwidth_after_startup(20),
        "bbr-1-startup-rounds": rounds_of_plateau,
        "bbr-2-startup-loss": rounds_after_loss,
        "bbr-3-drain-gain": pacing_gain("Drain"),
        "bbr-3-drain-inflight": inflight_at_end("Drain"),
        "bbr-4-drain-time": rounds_in_drain,
        "bbr-5-probe-up-plateau": others_after("ProbeBW_UP", "ProbeBW_DOWN", "ProbeRTT"),
        "bbr-6-probe-up-loss": rounds_from_loss_to_probe_down,
        "bbr-6-probe-up-bound": bound_after_probe_up,
        "bbr-7-application-limited": others_than("Startup", "ProbeRTT"),
        "bbr-7-probe-up": others_after("ProbeBW_UP", "ProbeRTT"),
        "bbr-8-probe-down-gain": pacing_gain("ProbeBW_DOWN"),
        "bbr-8-probe-down-inflight": inflight_at_end("ProbeBW_DOWN"),
        "bbr-9-probe-down-wait": probe_down_wait,
        "bbr-9-probe-down-refill": probe_down_without_refill,
        "bbr-10-probe-rtt-interval": probe_rtt_interval,
        "bbr-10-probe-rtt-duration": probe_rtt_duration,
        "bbr-10-probe-rtt-window": probe_rtt_window,
        "bbr-11-idle": probe_rtt_after_pause,
        "bbr-12-aggregation-startup": bandwidth_after_startup(20),
        "bbr-13-aggregation-cruise": utilization(20),
        "bbr-14-small-path": smallest_window,
        "bbr-14-small-path-rate": utilization(0.5),
        "bbr-15-more-bandwidth": rounds_to_bandwidth(100),
        "bbr-16-less-bandwidth": last_bandwidth(10),
        "bbr-17-policer-loss": late_loss,
        "bbr-17-policer-rate": utilization(20),
        "bbr-18-spurious-recovery": bound_after("recovery", 10),
        "bbr-19-spurious-timeout": bound_after("loss", 9),
        "bbr-20-probe-rtt-in-startup": others_after("ProbeRTT", "Startup"),
        "bbr-21-probe-up-loss": others_after("ProbeBW_UP", "ProbeBW_DOWN", "ProbeRTT"),
        "bbr-22-pause-bandwidth": bandwidth_kept_in_pause,
        "bbr-22-pause-refill": rounds_of_refill,
        "bbr-22-pause-probe-up": rounds_from_pause_to_probe_down,
    },
)
