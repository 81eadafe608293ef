//! Hosts with different TCP stacks in one experiment.

use crate::*;

fn with_tcp(tcp: Value) -> Run {
    let mut spec = congested(&law("pi"));
    spec["tcp"] = tcp;
    Run::to_the_end(&spec, 1)
}

#[test]
fn a_mix_of_one_stack_equals_the_common_stack() {
    let common = with_tcp(json!({"profile": "freebsd-4.5"}));
    let mixed = with_tcp(json!({"mix": [
        {"share": 1, "role": "client", "profile": "freebsd-4.5"},
        {"share": 0.3, "role": "server", "profile": "freebsd-4.5"},
        {"share": 0.7, "role": "server", "profile": "freebsd-4.5"},
    ]}));
    assert_eq!(format!("{mixed:?}"), format!("{common:?}"));
}

#[test]
fn hosts_of_2001_are_the_same_beside_hosts_of_today() {
    // Hosts that there are as good as none of, and those of a source that sends nothing while anybody looks.
    let rare = json!({"share": 1e-12, "profile": "linux-6"});
    let silent = json!({"share": 1, "source": "silent", "profile": "linux-6"});
    for values in [
        json!({"profile": "freebsd-4.5"}),
        json!({"profile": "unc-testbed", "window_scaling": true, "receive_window": 1_000_000}),
        json!({"profile": "ns2-reno", "ecn": "rfc3168"}),
    ] {
        let run = |neighbours: Value| {
            let mut spec = congested(&law("red"));
            spec["tcp"] = values.clone();
            spec["tcp"]["mix"] = neighbours;
            // Odd, so that no two timers expire in one nanosecond: which is first then is the stack's to say.
            spec["link"]["rate"] = "2013457 bit/s".into();
            spec["sources"] = json!([
                {"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}},
                {"bulk": {"name": "silent", "flows": 1, "start": "1 h"}},
            ]);
            Run::to_the_end(&spec, 1)
        };
        let solo = run(json!([]));
        assert!(solo.summary.counters.iter().all(|link| link.dropped() > 0), "losses to recover from");
        for neighbours in [&rare, &silent] {
            let shared = run(json!([neighbours]));
            assert_eq!(format!("{shared:?}"), format!("{solo:?}"), "{values} beside {neighbours}");
        }
    }
}

#[test]
fn the_hosts_with_the_smaller_window_wait_longer() {
    // Without a queue to speak of: a window of one segment takes a round trip for each.
    let mut spec = congested(&law("droptail"));
    spec["link"] = json!({"rate": "100 Mbit/s"});
    spec["tcp"] = json!({"mix": [{"share": 1, "side": 0, "role": "client", "receive_window": 1460}]});
    let exchanges = Run::to_the_end(&spec, 1).tables.exchanges;
    let mean_of_side = |side: u8| {
        let times = exchanges.side.iter().zip(&exchanges.response_time_ms);
        let side_times: Vec<f64> = times.filter(|&(&its, _)| its == side).map(|(_, &time)| time).collect();
        side_times.iter().sum::<f64>() / side_times.len() as f64
    };
    assert!(mean_of_side(0) > 1.5 * mean_of_side(1), "{} ms, {} ms", mean_of_side(0), mean_of_side(1));
}

#[test]
fn a_source_with_its_own_stack_competes_with_the_common_one() {
    let goodput = |mix: Value| {
        let bulk = |name: &str| json!({"bulk": {"name": name, "flows": 1, "rtt": {"fixed": "40 ms"}}});
        let spec = json!({
            "link": {"rate": "10 Mbit/s", "device_fifo": 0},
            "queue": {"droptail": {"limit": 100}},
            "tcp": {"receive_window": 65535, "mix": mix},
            "users": {"per_side": 0},
            "sources": [bulk("one"), bulk("other")],
            "protocol": {"warmup": "5 s", "duration": "20 s"},
        });
        Run::to_the_end(&spec, 1).summary.sources.iter().map(|source| source.goodput_mbps).collect::<Vec<_>>()
    };
    // 8 kB in a round trip of 40 ms and what waits: far below 1.6 Mbit/s.
    let [one, other] = goodput(json!([{"share": 1, "source": "one", "receive_window": 8192}]))[..] else {
        panic!("two sources")
    };
    assert!(one < 1.6 && other > 7.0, "{one} and {other} Mbit/s");
    let [one, other] = goodput(json!([]))[..] else { panic!("two sources") };
    assert!(one > 3.0 && other > 3.0, "{one} and {other} Mbit/s");
}
