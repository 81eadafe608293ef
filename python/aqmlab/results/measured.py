"""What a run measures, by name."""

MEASURES = (
    "loss_percent",
    "mark_percent",
    "retransmit_percent",
    "completed_requests",
    "aborted_requests",
    "throughput_mbps",
    "utilisation",
    "queue_packets_mean",
    "queue_packets_p99",
    "queue_delay_ms",
    "packet_bytes_mean",
    "response_time_ms",
    "fraction_within_500ms",
    "bottleneck_packets",
)
"""What a run measures, in the order it is reported. None where there was nothing to measure: no packet, no request."""

PARTS = ("classes", "directions", "users", "sources")
"""What it measures of a part of the traffic: of each class of packets that the queue treats apart, of each direction of
each link, of the web users where there are others, of each source."""

COSTS = ("wall_s", "cpu_s", "x_real_time")
"""What a run took."""
