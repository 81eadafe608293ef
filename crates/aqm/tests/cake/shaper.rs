//! The shaper: overhead, spacing of departures, what it does when it is idle.

use aqmlab_units::Duration;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rig::Rig;

/// The length on the link of an IP packet of `ip` bytes: tc-cake(8) for each keyword.
fn length(layer: &str, ip: u64) -> u64 {
    let atm = |length: u64| length.div_ceil(48) * 53;
    let ptm = |length: u64| length + length.div_ceil(64);
    match layer {
        // The queue counts Ethernet's header.
        "raw" => ip + 14,
        "ip" => ip,
        "conservative" => atm(ip + 48),
        "ipoa-vcmux" => atm(ip + 8),
        "ipoa-llcsnap" => atm(ip + 16),
        "bridged-vcmux" => atm(ip + 24),
        "bridged-llcsnap" | "pppoe-vcmux" => atm(ip + 32),
        "pppoa-vcmux" => atm(ip + 10),
        "pppoa-llc" => atm(ip + 14),
        "pppoe-llcsnap" => atm(ip + 40),
        "pppoe-ptm" => ptm(ip + 30),
        "bridged-ptm" => ptm(ip + 22),
        "docsis" => (ip + 18).max(64),
        "ethernet" => (ip + 38).max(84),
        _ => panic!("no keyword {layer}"),
    }
}

const LAYERS: [&str; 15] = [
    "raw",
    "ip",
    "conservative",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "bridged-vcmux",
    "bridged-llcsnap",
    "pppoe-vcmux",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-llcsnap",
    "pppoe-ptm",
    "bridged-ptm",
    "docsis",
    "ethernet",
];

/// The length that a shaper of 8 Mbit/s, on which a byte takes a microsecond, charges for an IP packet.
fn charged(mut parameters: Value, ip: u64) -> u64 {
    parameters["bandwidth"] = json!("8 Mbit/s");
    let mut rig = Rig::new(parameters);
    (0..2).for_each(|_| rig.arrive(1, ip + 14));
    let start = rig.now;
    rig.depart();
    assert_eq!(rig.now, start, "the first packet leaves at once");
    rig.depart();
    (rig.now - start).as_micros()
}

#[test]
fn each_keyword_adds_its_overhead() {
    for layer in LAYERS {
        for ip in [28, 40, 41, 47, 52, 66, 67, 576, 1434, 1492, 1499, 1500] {
            assert_eq!(charged(json!({"link_layer": layer}), ip), length(layer, ip), "{layer}, {ip} B");
        }
    }
}

proptest! {
    #[test]
    fn own_overheads_replace_those_of_keywords(
        ip in 28..1500_u64, overhead in -28..256_i64, mpu in 0..256_u64, tags in 0..3_u64, cells in 0..3_usize,
    ) {
        let atm = ["noatm", "atm", "ptm"][cells];
        let framed = ip.saturating_add_signed(overhead + 4 * i64::try_from(tags).expect("few")).max(mpu);
        let expected = [framed, framed.div_ceil(48) * 53, framed + framed.div_ceil(64)][cells];
        let own = json!({
            "overhead": format!("{overhead} B"), "mpu": format!("{mpu} B"), "ether_vlan": tags, "atm": atm,
        });
        prop_assert_eq!(charged(own.clone(), ip), expected);
        let mut over_keyword = own;
        over_keyword["link_layer"] = json!("pppoe-llcsnap");
        prop_assert_eq!(charged(over_keyword, ip), expected);
    }
}

#[test]
fn a_million_departures_do_not_drift() {
    // 1514 B at 18 Mbit/s take 672,888.9 ns.
    let mut rig = Rig::new(json!({"bandwidth": "18 Mbit/s"}));
    (0..4).for_each(|_| rig.arrive(1, 1514));
    let start = rig.now;
    for sent in 0..1_000_000_u64 {
        assert!(rig.depart().is_some());
        if sent % 1000 == 0 {
            let exact = u128::from(sent) * 1514 * 8_000_000_000 / 18_000_000;
            let off = u128::from((rig.now - start).as_nanos()).abs_diff(exact);
            assert!(off <= 1_000, "{off} ns after {sent} packets");
        }
        rig.arrive(1, 1514);
    }
}

#[test]
fn a_packet_after_idleness_leaves_at_once() {
    let mut rig = Rig::new(json!({"bandwidth": "8 Mbit/s"}));
    for pause_us in [0, 400, 1_513, 1_514, 10_000] {
        let start = rig.now + Duration::from_micros(5_000);
        rig.now = start;
        rig.arrive(1, 1514);
        rig.depart();
        assert_eq!(rig.now, start);
        rig.now += Duration::from_micros(pause_us);
        rig.arrive(1, 1514);
        rig.depart();
        assert_eq!(
            (rig.now - start).as_micros(),
            pause_us.max(1_514),
            "and none is sent faster than the rate"
        );
    }
}

#[test]
fn unlimited_bandwidth_holds_nothing_back() {
    let mut rig = Rig::new(json!({}));
    let start = rig.now;
    (0..100).for_each(|_| rig.arrive(1, 1514));
    for _ in 0..100 {
        assert!(rig.depart().is_some() && rig.now == start);
    }
    assert!(rig.depart().is_none());
}

#[test]
fn an_estimated_rate_is_fifteen_sixteenths_of_arrivals() {
    // 1500 B each 1.2 ms with jitter are 10 Mbit/s.
    let mut rig = Rig::new(json!({"autorate_ingress": true, "bandwidth": "100 Mbit/s"}));
    for step in 0..5_000_u64 {
        rig.now += Duration::from_micros(if step % 2 == 0 { 1_100 } else { 1_300 });
        rig.arrive(1, 1500);
        rig.queue.dequeue(rig.now, &mut |_| ());
    }
    let (estimate, threshold) = (rig.probe("capacity_estimate_mbps"), rig.probe("best_effort_thresh_mbps"));
    assert!((9.0..11.5).contains(&estimate), "{estimate} Mbit/s");
    assert!((threshold / estimate - 15.0 / 16.0).abs() < 0.03, "{threshold} of {estimate} Mbit/s");
}

#[test]
fn drops_of_incoming_packets_take_their_time_on_the_link() {
    // A flow that does not respond, twice as fast as the shaper, for ten seconds.
    let run = |ingress: bool| {
        let mut rig = Rig::new(json!({"bandwidth": "8 Mbit/s", "ingress": ingress, "memlimit": "100 kB"}));
        let start = rig.now;
        let mut next = start;
        while rig.now < start + Duration::from_secs(10) {
            while next <= rig.now {
                rig.arrive(1, 1000);
                next += Duration::from_micros(500);
            }
            if rig.depart().is_none() {
                rig.now = next;
            }
        }
        let counters = rig.queue.counters();
        (rig.sent[&1], counters.evicted + counters.dropped_at_dequeue)
    };
    let (outgoing, _) = run(false);
    let (incoming, dropped) = run(true);
    assert!((9_990_000..10_010_000).contains(&outgoing), "{outgoing} B in 10 s");
    // The fail-safe clock allows two thirds of the rate however many packets are dropped.
    assert!(dropped > 5_000 && (6_600_000..6_700_000).contains(&incoming), "{incoming} B, {dropped} dropped");
}
