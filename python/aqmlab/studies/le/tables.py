"""Tables of both studies of Le et al.: comparison with published rows, users, response sizes, ARED's weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from aqmlab.cells import calibration_model
from aqmlab.store.result import Result
from aqmlab.studies.kit.measures import completed_requests, loss_percent, throughput_mbps
from aqmlab.studies.kit.study import StudyResults, Table, Value
from aqmlab.studies.le.measures import average_percent, completed_percent
from aqmlab.studies.le.published import Published, PublishedRow
from aqmlab.studies.le.schemes import WORKLOAD, PaperScheme
from aqmlab.studies.le.workload import ResponseSizes

PAPERS_DURATION_S = 5400.0
"""The papers' measurement of 90 minutes, in seconds."""


def compare_published(
    results: StudyResults,
    *,
    name: str,
    title: str,
    rows_of: str,
    schemes: Iterable[PaperScheme],
    loads: Iterable[int],
    rtt: str = "uniform",
) -> Table:
    """Compare the papers' three measures of each scheme with ours, means over the seeds.

    Parameters
    ----------
    results
        Results of all runs.
    name, title
        Name and title of the table.
    rows_of
        The published table.
    schemes, loads, rtt
        Its rows; those without a run are omitted.
    """
    published = Published.read()
    rows: list[list[Value]] = []
    for scheme in schemes:
        for load in loads:
            if (run := scheme.at(load, rtt)) in results:
                theirs = _published_row(published, rows_of, scheme, load)
                rows.append([load, scheme.text, *_comparison_cells(results[run], theirs, published)])
    columns: tuple[str, ...] = ("load, %", "scheme")
    for measure, difference in (("loss, %", "points"), ("completed, M", "%"), ("Mbit/s", "Mbit/s")):
        columns += (measure, "published", f"difference, {difference}")
    aims = published.aims
    known = [row for row in rows if row[3] is not None]
    inside = sum(row[-1] == "" for row in known)
    near = (
        f" Tolerances are {aims.loss_points:g} point or {aims.loss_percent:g} % of the published value for loss,"
        f" {aims.completed_percent:g} % for completed requests and {aims.throughput_mbps:g} Mbit/s for throughput. The"
        " last column names the measures outside of them. Published rows with all three measures inside:"
        f" {inside} of {len(known)}."
        if known
        else " The sources that we have print no numbers for these rows."
    )
    return Table(
        name=name,
        title=title,
        columns=(*columns, "outside"),
        rows=rows,
        about="Completed requests are millions in 90 minutes, for the users of both sides. Ours are scaled from the"
        f" measured time.{near}",
    )


def _published_row(published: Published, table: str, scheme: PaperScheme, load: int) -> PublishedRow | None:
    rows = (row for row in published.rows if (row.table, row.scheme) == (table, scheme.text))
    return next((row for row in rows if row.load_percent == load), None)


def _comparison_cells(ours: Sequence[Result], theirs: PublishedRow | None, published: Published) -> list[Value]:
    means = (
        fmean(map(loss_percent, ours)),
        fmean(map(per_90_minutes, ours)) / 1e6,
        fmean(map(throughput_mbps, ours)),
    )
    if theirs is None:
        return [
            value for mean, digits in zip(means, _DIGITS, strict=True) for value in (round(mean, digits), None, None)
        ] + [""]
    numbers = (theirs.loss_percent, theirs.completed_millions, theirs.throughput_mbps)
    differences = (means[0] - numbers[0], 100 * (means[1] / numbers[1] - 1), means[2] - numbers[2])
    cells: list[Value] = []
    for mean, number, difference, digits in zip(means, numbers, differences, _DIGITS, strict=True):
        # Adding 0 turns -0 into 0.
        cells += [round(mean, digits), number, round(difference, digits) + 0.0]
    measured = {"loss_percent": means[0], "completed_requests": 1e6 * means[1], "throughput_mbps": means[2]}
    return [*cells, ", ".join(published.aims.missed(measured, theirs))]


_DIGITS = (2, 2, 1)


def per_90_minutes(result: Result) -> float:
    """Return the requests completed, scaled to the papers' 90 minutes."""
    return completed_requests(result) * PAPERS_DURATION_S / result.cell.duration_s


def users(rtts: Iterable[str]) -> Table:
    """Return the points of the shipped calibrations, their line, and its number of users beside the papers'."""
    rows: list[list[Value]] = []
    for rtt in rtts:
        fitted = calibration_model.load_calibrations()[WORKLOAD, rtt, 2]
        for per_side, mbps in zip(fitted.users_per_side, fitted.throughput_mbps, strict=True):
            line = per_side * fitted.mbps_per_user
            rows.append([rtt, per_side, round(mbps, 2), round(line, 2), round(100 * (mbps / line - 1), 2), None])
        rows.append([rtt, fitted.users(100, 100e6), None, 100.0, None, calibration_model.PUBLISHED_USERS[rtt]])
    return Table(
        name="users",
        title="Users and the throughput of the uncongested network",
        columns=(
            "round-trip times",
            "users on each side",
            "measured, Mbit/s",
            "line, Mbit/s",
            "off the line, %",
            "published users for 100 Mbit/s",
        ),
        rows=rows,
        about="The calibration of the package, measured with `aqmlab calibrate`, is a line through the origin.",
    )


def response_sizes(result: Result) -> Table:
    """Return the quantiles of the generated response sizes beside those of the workload's tables."""
    sizes = ResponseSizes.of(result)
    rows: list[list[Value]] = [
        [
            f"{100 * fraction:g} %",
            round(sizes.input_quantile(fraction)),
            round(sizes.generated_quantile(fraction)),
            published,
        ]
        for fraction, published in (
            (0.1, None),
            (0.25, None),
            (0.5, "about 1,000"),
            (0.75, None),
            (0.9, "slightly over 10,000"),
            (0.95, None),
            (0.99, None),
            (0.999, None),
        )
    ]
    rows.append(["largest", round(sizes.largest_possible), sizes.largest, "up to 10^9"])
    return Table(
        name="sizes",
        title="Response sizes",
        columns=("quantile", "tables of the workload, B", "generated, B", "published, B"),
        rows=rows,
        about=f"One run on the uncongested network has {sizes.count:,} responses. On persistent connections a response"
        f" above {sizes.cap:,} B is drawn again; the tables' quantiles do not include this.",
    )


def weights(results: StudyResults, schemes: Iterable[PaperScheme], loads: Iterable[int]) -> Table:
    """Return the results of ARED with other weights and thresholds, which the paper describes in words alone."""
    rows: list[list[Value]] = []
    for scheme in schemes:
        for load in loads:
            ours = results[scheme.at(load)]
            times = [fmean(result.summary["response_time_ms"][name] for result in ours) for name in ("p50", "p90")]
            rows.append(
                [
                    load,
                    scheme.text,
                    round(fmean(map(loss_percent, ours)), 2),
                    round(fmean(map(per_90_minutes, ours)) / 1e6, 2),
                    round(fmean(map(throughput_mbps, ours)), 1),
                    *(round(time) for time in times),
                    round(fmean(map(completed_percent(500), ours)), 1),
                    round(fmean(map(average_percent(50, 2000), ours)), 1),
                ]
            )
    return Table(
        name="weights",
        title="ARED with other weights and thresholds",
        columns=(
            "load, %",
            "scheme",
            "loss, %",
            "completed, M",
            "Mbit/s",
            "median, ms",
            "90 %, ms",
            "within 500 ms, %",
            "mean share to 2 s, %",
        ),
        rows=rows,
        about="Section 4.3 of the paper says that none of these is better than 12/36 with 1/8192, without numbers. The"
        " last column is the share of requests completed within a time, averaged over the times from 50 ms to 2 s.",
    )
