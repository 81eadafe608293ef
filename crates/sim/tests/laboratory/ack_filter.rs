//! CAKE's filter of acknowledgements before a slow uplink.

use aqmlab_sim::emulate;

use super::*;

/// A download whose acknowledgements fill the uplink: one for two segments would take a sixtieth of 10 Mbit/s.
fn spec(filter: &str, tcp: &Value) -> Value {
    json!({
        "link": {"rate": {"up": "40 kbit/s", "down": "10 Mbit/s"}, "device_fifo": 0},
        "tcp": tcp,
        "queue": {"cake": {"ack_filter": filter}},
        "users": {"per_side": 0},
        "sources": [bulk("download"), {"datagrams": {"name": "call", "rate": "10 kbit/s", "packet": "200 B"}}],
        "protocol": {"warmup": "5 s", "duration": "20 s"},
    })
}

fn bulk(direction: &str) -> Value {
    json!({"bulk": {"name": direction, "flows": 2, "direction": direction, "rtt": {"fixed": "20 ms"}}})
}

#[test]
fn a_slow_uplink_carries_a_fast_download_with_the_filter() {
    for tcp in [json!({"profile": "linux-6"}), json!({"profile": "freebsd-4.5"})] {
        let goodput = ["no-ack-filter", "ack-filter", "ack-filter-aggressive"].map(|filter| {
            let run = Run::to_the_end(&spec(filter, &tcp), 1);
            let uplink = &run.summary.counters[0];
            // The queue of an uplink evicts nothing else.
            assert_eq!(filter == "no-ack-filter", uplink.evicted == 0, "{filter}, {tcp}");
            run.summary.sources[0].goodput_mbps
        });
        assert!(goodput[1] > goodput[0] && goodput[2] > 1.4 * goodput[0], "{tcp}: {goodput:?} Mbit/s");
    }
}

#[test]
fn a_network_of_real_hosts_refuses_the_filter() {
    let spec = read(&spec("ack-filter", &json!({})));
    let refused = emulate(&spec, 1, None).err().expect("it is refused").to_string();
    assert!(refused.starts_with("queue.cake.ack_filter: needs world = \"simulated\""), "{refused}");
}
