//! Rates and kinds of capacity: the answers to mistakes, and the rates that disciplines know.

use super::*;

#[test]
fn a_capacity_that_cannot_be_is_refused() {
    let bucket = |table: Value| json!({"link": {"rate": {"token_bucket": table}}});
    let sound = json!({"rate": "20 Mbit/s", "burst": "64 kB"});
    for (parts, message) in [
        (
            json!({"link": {"rate": {"bucket": sound}}}),
            "link.rate.bucket: unknown key; allowed are up, down, token_bucket, ",
        ),
        (
            json!({"link": {"rate": {"token_bucket": sound, "policer": sound}}}),
            "link.rate: must be a table of exactly one entry, got 2",
        ),
        (
            json!({"link": {"rate": {"up": {"token_bucket": {"rate": 5}}, "down": "5 Mbit/s"}}}),
            r#"link.rate.up.token_bucket.rate: "5": write a unit, such as "5 Mbit/s""#,
        ),
        (
            json!({"link": {"rate": {"up": "5 Mbit/s", "policer": sound}}}),
            "link.rate.policer: unknown key; allowed are up, down",
        ),
        (bucket(json!({"rate": "20 Mbit/s"})), "link.rate.token_bucket: must have `burst`, which is missing"),
        (
            bucket(json!({"rate": "2 bit/s", "burst": "64 kB"})),
            "link.rate.token_bucket.rate: must be between 1 kbit/s and ",
        ),
        (
            bucket(json!({"rate": "20 Mbit/s", "burst": "1500 B"})),
            "link.rate.token_bucket.burst: must be at least the longest frame, 1538 B, got 1500 B",
        ),
        (
            bucket(json!({"rate": "20 Mbit/s", "burst": "64 kB", "line": "10 Mbit/s"})),
            "link.rate.token_bucket.line: must be at least rate = 20 Mbit/s, got 10 Mbit/s",
        ),
        (
            bucket(
                json!({"rate": "20 Mbit/s", "burst": "64 kB", "peak": {"rate": "10 Mbit/s", "burst": "2 kB"}}),
            ),
            "link.rate.token_bucket.peak.rate: must be above rate = 20 Mbit/s and below line = 1 Gbit/s, got 10 Mbit/s",
        ),
        (
            bucket(
                json!({"rate": "20 Mbit/s", "burst": "64 kB", "peak": {"rate": "50 Mbit/s", "burst": "1 kB"}}),
            ),
            "link.rate.token_bucket.peak.burst: must be at least the longest frame, 1538 B, got 1000 B",
        ),
        (
            json!({"link": {"rate": {"wifi": {"rate": "20 Mbit/s", "others": "1 ms"}}}}),
            "link.rate.wifi.others: has no effect: there is no other station, got 1 ms",
        ),
        (
            json!({"link": {"rate": {"pon": {"rate": "20 Mbit/s", "interval": "1.1 ms"}}}}),
            "link.rate.pon.interval: must be a multiple of 125 us, got 1.1 ms",
        ),
        (
            json!({"link": {"rate": {"cellular": {"rate": "20 Mbit/s", "average": "2 s"}}}}),
            "link.rate.cellular.average: has no effect: there is no other user, got 2 s",
        ),
        (
            json!({"link": {"rate": {"leo": {"rate": "20 Mbit/s", "handover": "16 s"}}}}),
            "link.rate.leo.handover: must be at most 1 s, got 16 s",
        ),
        (
            json!({"link": {"rate": {"leo": {"rate": "20 Mbit/s", "handover": "0 s", "loss": 0.2}}}}),
            "link.rate.leo.loss: has no effect: handover = 0 s, got 0.2",
        ),
        (
            json!({"link": {"rate": {"trace": {"seconds": [0], "mbps": [1], "delay_ms": [-1]}}}}),
            "link.rate.trace: row 1: must have a delay_ms from 0 to 60000 and a loss from 0 to 1, got -1 and 0",
        ),
        (
            json!({"link": {"rate": {"cable": {"rate": "20 Mbit/s", "burst": "1500 B"}}}}),
            "link.rate.cable.burst: must be at least the longest frame, 1538 B, got 1500 B",
        ),
        (
            json!({"link": {"rate": {"cable": {"rate": "20 Mbit/s", "collision": 1}}}}),
            "link.rate.cable.collision: must be between 0 and 0.99, got 1",
        ),
        (
            json!({"link": {"rate": {"policer": sound}, "rate_changes": [{"at": "1 s", "rate": "1 Mbit/s"}]}}),
            "link.rate: must be a bit rate on a link with rate_changes, got policer",
        ),
        (
            json!({"link": {"rate": {"policer": sound}}, "queue": {"kernel": "codel"}}),
            "link.queue.kernel: needs a link with a bit rate, got one with policer",
        ),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn a_trace_that_cannot_be_is_refused() {
    let of = |kind: &str, table: Value| json!({"link": {"rate": {kind: table}, "overhead": "4 B"}});
    let rates = |seconds: Value, mbps: Value| of("trace", json!({"seconds": seconds, "mbps": mbps}));
    let lines = |lines: Value| of("mahimahi", json!({"opportunities": lines}));
    for (parts, message) in [
        (
            rates(json!([]), json!([])),
            "link.rate.trace: must have 1 to 1000000 times and as many rates, got 0 and 0",
        ),
        (
            rates(json!([0, 1]), json!([5])),
            "link.rate.trace: must have 1 to 1000000 times and as many rates, got 2 and 1",
        ),
        (rates(json!([1]), json!([5])), "link.rate.trace: row 1: must be at 0 s, got 1 s"),
        (rates(json!([0, 2, 2]), json!([5, 6, 7])), "link.rate.trace: row 3: must be after 2 s, got 2 s"),
        (
            rates(json!([0]), json!([-1])),
            "link.rate.trace: row 1: must be from 0 to 1209600 s and from 0 to 1000000 Mbit/s, got ",
        ),
        (rates(json!([0, 1]), json!([0, 0])), "link.rate.trace: must have a rate above 0"),
        (
            rates(json!([0, 1]), json!([0.0001, 0])),
            "link.rate.trace: must have a mean rate between 1 kbit/s and 1000 Gbit/s, got 50 bit/s",
        ),
        (lines(json!([])), "link.rate.mahimahi.opportunities: must have 1 to 1000000 opportunities, got 0"),
        (lines(json!([3, 2])), "link.rate.mahimahi.opportunities[1]: must be at least 3, got 2"),
        (lines(json!([0, 0])), "link.rate.mahimahi.opportunities[1]: must be above 0, got 0"),
        (
            lines(json!([-1])),
            "link.rate.mahimahi.opportunities[0]: must be a whole number from 0 to 4294967295, got -1",
        ),
        (
            json!({"link": {"rate": {"mahimahi": {"opportunities": [1]}}}}),
            "link.rate.mahimahi.opportunities: needs link.mtu and link.overhead of 1504 B together, as 1500 B and 4 B, got 1538 B",
        ),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn the_discipline_knows_the_rate_that_empties_its_queue() {
    let of = |kind: &str| {
        let rate = json!({kind: {"rate": "20 Mbit/s", "burst": "64 kB", "line": "50 Mbit/s"}});
        let spec = with(json!({"link": {"rate": {"up": rate, "down": "5 Mbit/s"}}})).expect("a sound spec");
        let [up, down] = spec.links.first().contexts().map(|link| link.rate);
        let means = spec.links.first().mean_rates();
        [up, down, means[0], means[1]].map(|rate| rate.bits_per_sec() / 1_000_000)
    };
    assert_eq!(of("token_bucket"), [20, 5, 20, 5]);
    assert_eq!(of("policer"), [50, 5, 20, 5]);
}

#[test]
fn equal_rates_of_both_directions_are_one_rate() {
    let of = |rate: Value| in_full(&with(json!({"link": {"rate": rate}})).expect("a sound spec"));
    assert_eq!(of(json!({"up": "5 Mbit/s", "down": "5000 kbit/s"})), of(json!("5 Mbit/s")));
}

#[test]
fn changes_of_a_rate_that_cannot_be_are_refused() {
    let changes = |changes: Value| json!({"link": {"rate_changes": changes}});
    for (parts, message) in [
        (changes(json!([{"at": "1 s"}])), "link.rate_changes[0]: must have `rate`, which is missing"),
        (
            changes(json!([{"at": "0 s", "rate": "1 Mbit/s"}])),
            "link.rate_changes[0].at: must be after the start of the run, 0 s, got 0 s",
        ),
        (
            changes(json!([{"at": "2 s", "rate": "1 Mbit/s"}, {"at": "2 s", "rate": "2 Mbit/s"}])),
            "link.rate_changes[1].at: must be after the change before, 2 s, got 2 s",
        ),
        (
            changes(json!([{"at": "2 s", "rate": "1 bit/s"}])),
            "link.rate_changes[0].rate: must be between 1 kbit/s and 1000 Gbit/s, got 1 bit/s",
        ),
        (
            changes(json!([{"at": "2 s", "rate": {"up": "1 bit/s", "down": "1 Mbit/s"}}])),
            "link.rate_changes[0].rate.up: must be between 1 kbit/s and 1000 Gbit/s, got 1 bit/s",
        ),
        (
            json!({"link": [{}, {"rate_changes": [{"at": "400 h", "rate": "1 Mbit/s"}]}]}),
            "link[1].rate_changes[0].at: must be above 0 s and at most 1209600 s, got 1440000 s",
        ),
    ] {
        assert_refused(parts, message);
    }
}
