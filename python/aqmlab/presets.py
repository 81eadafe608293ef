"""The two networks of Le, Aikat, Jeffay and Smith (SIGCOMM 2003)."""

from aqmlab.spec import ChainLink, Experiment, Link, QueueSpec

BOTTLENECK = Link(rate="100 Mbit/s")
"""Fast Ethernet between the two routers: what the users congest."""

UNCONGESTED = Link(rate="1 Gbit/s")
"""Gigabit Ethernet between the two routers: the same users with nothing in their way."""


def uncongested(experiment: Experiment) -> Experiment:
    """Return the same users and hosts on the uncongested network: what the bottleneck costs them, by difference.

    A load of the experiment still means percent of *its* link; give the users' number to compare like with like. In a
    chain every link is as fast, and keeps its delay.
    """
    queue = QueueSpec.model_validate({"droptail": {"limit": 2400}})
    tcp = experiment.tcp.model_copy(update={"ecn": False})
    chain = experiment.chain and tuple(
        ChainLink(rate=UNCONGESTED.rate, delay=link.delay or experiment.link.delay) for link in experiment.chain
    )
    return experiment.model_copy(update={"link": UNCONGESTED, "queue": queue, "chain": chain, "tcp": tcp})
