"""Claims of Le et al. (2003) beyond the registered ones, among them all on 105 % load."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.builders import better, fewer, little_change, much_better
from aqmlab.studies.kit.claims.predicates import SAME, approximately
from aqmlab.studies.kit.claims.quantities import Column, change_percent, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, added_claim
from aqmlab.studies.le.comparisons import compare, run_names
from aqmlab.studies.le.quantities import LARGEST, MBPS, about_beyond, about_percent
from aqmlab.studies.le.schemes import BASE, CONTROLLED, PI_24, PI_240, REM_24, UNCONGESTED
from aqmlab.studies.le2003.schemes import ARED, ARED_120, ARED_ECN, DROPPING, LOADS, USERS, of_users

_MBPS_PER_USER = Column(
    what="throughput for each user, Mbit/s", measure=lambda result: MBPS.measure(result) / result.cell.users_per_side
)

ADDED_CLAIMS: Sequence[ReviewedClaim] = (
    added_claim(
        "le2003-50",
        "Section 3.2, figure 2",
        "from 7,000 to 35,000 users the throughput of the uncongested network is proportional to their number",
        "total active users varied from 7,000 to 35,000",
        (
            approximately(change_percent(_MBPS_PER_USER, of_users(users), of_users(USERS[0])), 0, limit=SAME)
            for users in USERS[1:]
        ),
    ),
    added_claim(
        "le2003-51",
        "Section 3.2, figure 4",
        "the largest response in an experiment has some 10^9 bytes, on an axis of nine decades",
        "responses as large as 10^9 bytes will also be generated",
        approximately(quantity(LARGEST, UNCONGESTED.at(98)), 9, axis=9),
    ),
    added_claim(
        "le2003-52",
        "Section 4.1, figure 8",
        "at 90 % load PI answers all but some 10 % of the requests within 500 ms",
        "except for the 10% of responses requiring more than 500 milliseconds",
        about_percent(500, 90, *run_names(90, (PI_24, PI_240))),
    ),
    added_claim(
        "le2003-53",
        "Section 5.1, figure 24",
        "at 98 % load about 1 % of the requests take longer than 5 s under PI and REM with ECN",
        "The 1% of responses experiencing response times longer than 5 seconds",
        about_beyond(5, 1, *run_names(98, CONTROLLED)),
    ),
    added_claim(
        "le2003-54",
        "Section 7",
        "without ECN PI is better than drop-tail, REM and ARED at 105 % load too",
        "PI results in a modest improvement over drop-tail",
        compare(105, better, PI_24, (BASE, REM_24, ARED)),
    ),
    added_claim(
        "le2003-55",
        "Section 7",
        "with ECN PI and REM are much better than drop-tail from 90 to 105 % load",
        "significant response time improvement at offered loads at or above 90%",
        compare((90, 98, 105), much_better, CONTROLLED, BASE),
    ),
    added_claim(
        "le2003-56",
        "Section 7",
        "at every load ARED is worse than the other schemes, with ECN and without",
        "ARED consistently resulted in the poorest response time performance",
        (
            compare(load, better, others, scheme)
            for load in LOADS
            for scheme, others in ((ARED, (BASE, PI_24, REM_24)), (ARED_ECN, (BASE, *CONTROLLED)))
        ),
    ),
    added_claim(
        "le2003-57",
        "Section 1, table 2",
        "at every load ARED carries less than PI, REM and drop-tail",
        "resulted in the lowest link utilizations",
        compare(LOADS, fewer, (ARED, ARED_120), (BASE, *DROPPING[:4]), column=MBPS),
    ),
    added_claim(
        "le2003-58",
        "Section 1, table 2",
        "at 80 % load all schemes carry about the same",
        "all schemes resulted in similar loss rates and link utilization",
        compare(80, little_change, DROPPING, BASE, column=MBPS),
    ),
)
