//! Hosts and code points of sources, which CAKE sorts packets by.

use super::*;

/// The goodput of these sources, which send as much as they can, behind CAKE with these parameters at 8 Mbit/s.
fn goodput(mut cake: Value, sources: &Value) -> Vec<f64> {
    cake["bandwidth"] = "8 Mbit/s".into();
    let spec = json!({
        "link": {"rate": "10 Mbit/s", "device_fifo": 0},
        "queue": {"cake": cake},
        "users": {"per_side": 0},
        "sources": sources,
        "protocol": {"warmup": "10 s", "duration": "60 s"},
    });
    Run::to_the_end(&spec, 1).summary.sources.iter().map(|source| source.goodput_mbps).collect()
}

/// Transfers in one direction.
fn bulk(name: &str, flows: u32, direction: &str, label: (&str, &str)) -> Value {
    let mut source =
        json!({"bulk": {"name": name, "flows": flows, "direction": direction, "rtt": {"fixed": "20 ms"}}});
    source["bulk"][label.0] = label.1.into();
    source
}

#[test]
fn hosts_share_equally_and_their_flows_do_without_isolation() {
    for (direction, isolation) in [
        ("upload", "dual-srchost"),
        ("download", "dual-dsthost"),
        ("upload", "triple-isolate"),
        ("download", "triple-isolate"),
        ("upload", "flows"),
    ] {
        let sources = json!([
            bulk("film", 1, direction, ("host", "laptop")),
            bulk("backup", 2, direction, ("host", "phone")),
            bulk("photos", 2, direction, ("host", "phone")),
        ]);
        let by_source = goodput(json!({"isolation": isolation}), &sources);
        let (laptop, phone) = (by_source[0], by_source[1] + by_source[2]);
        // A single transfer does not always have packets waiting, and then the other host takes more than its half.
        let expected = if isolation == "flows" { 0.2..0.3 } else { 0.7..1.1 };
        assert!(expected.contains(&(laptop / phone)), "{isolation}: {by_source:?}");
    }
}

#[test]
fn flows_to_one_peer_share_what_it_gets() {
    let to = |name: &str, peer: &str| {
        let mut source = bulk(name, 2, "upload", ("host", "laptop"));
        source["bulk"]["peer"] = peer.into();
        source
    };
    let sources = json!([to("one", "near"), to("two", "far"), to("three", "far")]);
    for (isolation, expected) in [("dual-dsthost", [0.5, 0.25, 0.25]), ("dual-srchost", [0.333; 3])] {
        let by_source = goodput(json!({"isolation": isolation}), &sources);
        let all: f64 = by_source.iter().sum();
        let are_close =
            by_source.iter().zip(expected).all(|(rate, expected)| (rate / all - expected).abs() < 0.06);
        assert!(are_close, "{isolation}: {by_source:?}");
    }
}

#[test]
fn hosts_behind_a_nat_are_told_apart_with_nat_only() {
    for (direction, isolation) in [("upload", "dual-srchost"), ("download", "dual-dsthost")] {
        let at = |name: &str, flows: u32, host: &str, nat: Option<&str>| {
            let mut source = bulk(name, flows, direction, ("host", host));
            if let Some(nat) = nat {
                source["bulk"]["nat"] = nat.into();
            }
            source
        };
        let sources = json!([
            at("film", 2, "laptop", Some("router")),
            at("backup", 6, "phone", Some("router")),
            at("guest", 2, "neighbour", None),
        ]);
        let shares = |nat: bool| {
            let by_source = goodput(json!({"isolation": isolation, "nat": nat}), &sources);
            let all: f64 = by_source.iter().sum();
            by_source.into_iter().map(|rate| rate / all).collect::<Vec<f64>>()
        };
        // Three hosts have a third each; or the router has a half, a quarter of which is the film's.
        for (nat, expected) in [(true, [0.333, 0.333, 0.333]), (false, [0.125, 0.375, 0.5])] {
            let shares = shares(nat);
            let are_close =
                shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 0.06);
            assert!(are_close, "{direction}, nat = {nat}: {shares:?}");
        }
    }
}

#[test]
fn bulk_transfers_leave_the_rate_to_best_effort() {
    for direction in ["upload", "download"] {
        let sources = json!([
            bulk("backup", 2, direction, ("dscp", "CS1")),
            bulk("film", 2, direction, ("dscp", "DF"))
        ]);
        let tins = goodput(json!({"diffserv": "diffserv3"}), &sources);
        // A sixteenth, and what the transfers of Best Effort leave when they slow down.
        assert!((0.06..0.09).contains(&(tins[0] / (tins[0] + tins[1]))), "{tins:?}");
        let one = goodput(json!({"diffserv": "besteffort"}), &sources);
        assert!((one[0] / one[1] - 1.0).abs() < 0.1, "{one:?}");
    }
}

#[test]
fn voice_passes_a_full_queue_and_has_a_class() {
    let delay = |dscp: &str| {
        let spec = json!({
            "link": {"rate": "10 Mbit/s", "device_fifo": 0},
            "queue": {"cake": {"bandwidth": "8 Mbit/s", "isolation": "flowblind", "rtt": "300 ms"}},
            "users": {"per_side": 0},
            "sources": [
                bulk("upload", 4, "upload", ("dscp", "DF")),
                {"datagrams": {"name": "call", "rate": "100 kbit/s", "packet": "200 B", "dscp": dscp}},
            ],
            "protocol": {"warmup": "5 s", "duration": "30 s"},
        });
        let run = Run::to_the_end(&spec, 1);
        let classes = &run.summary.classes;
        let names: Vec<&str> = classes.iter().map(|class| class.name).collect();
        assert_eq!(names, ["Bulk", "Best Effort", "Voice"]);
        known(run.summary.sources[1].datagrams.expect("it sends datagrams").delay_ms_p99)
    };
    let (voice, best_effort) = (delay("EF"), delay("DF"));
    assert!(voice < 5.0 && best_effort > 15.0, "{voice} and {best_effort} ms");
}

#[test]
fn washed_packets_have_no_code_point_behind_the_queue() {
    // Transfers of CS1 and of Best Effort pass a queue that separates them, and another one that is the bottleneck.
    let shares = |wash: bool| {
        let first = json!({"cake": {"bandwidth": "9 Mbit/s", "diffserv": "diffserv3", "wash": wash}});
        let mut spec = json!({
            "users": {"per_side": 0},
            "sources": [bulk("backup", 2, "upload", ("dscp", "CS1")), bulk("film", 2, "upload", ("dscp", "DF"))],
            "protocol": {"warmup": "5 s", "duration": "30 s"},
        });
        spec["link"] = json!([
            {"rate": "10 Mbit/s", "device_fifo": 0, "queue": first},
            {"rate": "10 Mbit/s", "device_fifo": 0, "queue": {"cake": {"bandwidth": "4 Mbit/s"}}},
        ]);
        let run = Run::to_the_end(&spec, 1);
        let rates: Vec<f64> = run.summary.sources.iter().map(|source| source.goodput_mbps).collect();
        rates[0] / (rates[0] + rates[1])
    };
    let (kept, washed) = (shares(false), shares(true));
    assert!(kept < 0.15 && (0.35..0.65).contains(&washed), "{kept} and {washed}");
}

#[test]
fn non_queue_building_packets_have_the_low_latency_queue() {
    for (label, class) in
        [(("dscp", "45"), 0), (("dscp", "EF"), 1), (("ecn", "ect1"), 0), (("ecn", "ect0"), 1)]
    {
        let mut call = json!({"datagrams": {"rate": "1 Mbit/s", "packet": "500 B"}});
        call["datagrams"][label.0] = label.1.into();
        let spec = json!({
            "link": {"rate": "10 Mbit/s"},
            "queue": {"docsis_lld": {}},
            "users": {"per_side": 0},
            "sources": [call],
            "protocol": {"warmup": "1 s", "duration": "2 s"},
        });
        let classes = Run::to_the_end(&spec, 1).summary.classes;
        let packets: Vec<u64> = classes.iter().map(|class| class.packets).collect();
        assert!(packets[class] > 400 && packets[1 - class] == 0, "{label:?}: {packets:?}");
    }
}
