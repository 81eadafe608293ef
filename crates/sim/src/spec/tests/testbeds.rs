//! Testbeds, and what a spec of today has in their place.

use aqmlab_units::BitRate;

use super::*;

/// The spec of the papers as it was when it was the default: keys of stored results depend on it.
const UNC_2003: &str = r#"{"link":{"rate":"100 Mbit/s","delay":"500 us","overhead":"38 B","mtu":"1500 B","device_fifo":256},"queue":{"droptail":{"limit":"240 packets"}},"hosts":{"servers_per_side":8,"rate":"100 Mbit/s"}"#;

#[test]
fn a_spec_of_the_testbed_is_what_it_was_to_the_byte() {
    let text = in_full(&with(json!({"testbed": "unc-2003"})).expect("a sound spec"));
    assert!(text.starts_with(UNC_2003), "{text}");
    let spec = Spec::from_json(&text).expect("a spec in full is sound");
    assert_eq!((spec.tcp.profile.as_str(), spec.tcp.values), ("unc-testbed", Profile::unc_testbed()));
    assert_eq!(spec.protocol.warmup, Duration::from_secs(15 * 60));
    assert_eq!(spec.protocol.duration, Duration::from_secs(90 * 60));
}

#[test]
fn what_is_written_goes_over_the_testbed() {
    let parts = json!({"testbed": "unc-2003", "link": {"device_fifo": 3}, "tcp": {"profile": "linux-6"}});
    let spec = with(parts).expect("a sound spec");
    assert_eq!((spec.links.first().device_fifo, spec.hosts.rate), (3, BitRate::from_mbit_per_sec(100)));
    assert_eq!(spec.tcp.values, Profile::linux_6());
}

#[test]
fn a_testbed_fills_in_each_link_in_series() {
    let parts = json!({"testbed": "unc-2003", "link": [{"device_fifo": 3}, {"rate": "1 Mbit/s"}]});
    let spec = with(parts).expect("a sound spec");
    let devices: Vec<u32> = spec.links.hops().iter().map(|hop| hop.link.device_fifo).collect();
    assert_eq!(devices, [3, 256]);
}

#[test]
fn a_testbed_that_cannot_be_is_refused() {
    for (parts, message) in [
        (
            json!({"testbed": "unc-2004"}),
            "testbed: unknown `unc-2004` (did you mean `unc-2003`?): choose unc-2003",
        ),
        (json!({"testbed": 2003}), "testbed: must be a text, got 2003"),
        (json!({"testbed": "unc-2003", "link": 5}), "link: must be a table, got 5"),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn every_value_of_a_testbed_has_its_source_and_its_key() {
    for testbed in Testbed::ALL {
        let spec = with(json!({"testbed": testbed.name})).expect("a sound spec");
        let in_full = serde_json::to_value(&spec).expect("a JSON form");
        for TestbedValue { path, source, .. } in testbed.values {
            assert!(!source.is_empty(), "{path}");
            // A load becomes a number of users before the engine reads it.
            let path = if *path == "users.load" { "users.per_side" } else { path };
            let at = format!("/{}", path.replace('.', "/"));
            assert!(in_full.pointer(&at).is_some(), "{path}");
        }
    }
}

#[test]
fn interfaces_are_faster_than_the_fastest_link_on_the_way() {
    let rate = |mbits| BitRate::from_mbit_per_sec(mbits);
    for (parts, expected) in [
        (json!({"link": {"rate": "20 Mbit/s"}}), rate(1_000)),
        (json!({"link": {"rate": "1 Gbit/s"}}), rate(10_000)),
        (json!({"link": {"rate": {"up": "20 Mbit/s", "down": "250 Mbit/s"}}}), rate(2_500)),
        (
            json!({"link": {"rate": "1 Mbit/s", "rate_changes": [{"at": "1 s", "rate": "1 Gbit/s"}]}}),
            rate(10_000),
        ),
        (json!({"link": [{"rate": "1 Mbit/s"}, {"rate": "400 Mbit/s"}]}), rate(4_000)),
    ] {
        let spec = with(parts).expect("a sound spec");
        assert_eq!(spec.hosts.rate, expected);
    }
    let bulk = |name: &str, path: [u32; 2]| json!({"bulk": {"name": name, "flows": 1, "path": path}});
    let spec = with(json!({
        "link": [{"rate": "1 Mbit/s"}, {"rate": "400 Mbit/s"}],
        "sources": [bulk("slow", [1, 2]), bulk("fast", [1, 3]), {"datagrams": {"rate": "12 Gbit/s", "packet": "962 B"}}],
    }))
    .expect("a sound spec");
    let interfaces: Vec<_> = spec.sources.iter().map(|source| source.interface).collect();
    assert_eq!(interfaces[..2], [rate(1_000), rate(4_000)]);
    // What datagrams need.
    assert!(interfaces[2] > rate(12_000));
}
