//! The network alone, for packets from elsewhere: it does with them what the simulator's does with its own.

use aqmlab_aqm::Ecn;
use std::collections::HashMap;

use aqmlab_sim::{
    Capture, EmulatedNetwork, End, Outcome, Route, Sent, UserConnection, Watch, build, emulate,
};
use aqmlab_units::{Bytes, Duration, Stream, Time};
use serde_json::{Value, json};

use crate::watched::capture::{ALL, Seen, captured, packets};
use crate::{disciplines, put_in_series, read};

fn network(queue: &Value) -> EmulatedNetwork {
    impaired_network(queue, json!({}))
}

fn impaired_network(queue: &Value, impairments: Value) -> EmulatedNetwork {
    let mut link = impairments;
    link["rate"] = json!("2 Mbit/s");
    link["device_fifo"] = json!(4);
    let spec = json!({
        "link": link,
        "queue": queue,
        "users": {"per_side": 2},
        "protocol": {"warmup": "1 s", "duration": "20 s"},
    });
    let spec = read(&spec);
    emulate(&spec, 1, None).expect("a sound spec")
}

fn open(network: &mut EmulatedNetwork, user: u32, min_rtt_ms: u64) -> Route {
    let min_rtt = Duration::from_millis(min_rtt_ms);
    network.open(&UserConnection { user, number: 1, min_rtt })
}

fn at(ms: f64) -> Time {
    Time::from_secs_f64(1e-3 * ms)
}

#[test]
fn packets_of_real_hosts_are_neither_copied_nor_changed() {
    for (key, value) in [("duplicate", json!(0.01)), ("ecn", json!("bleach"))] {
        let spec = read(
            &json!({ "link": [{}, { key: value }], "users": { "per_side": 2 }, "tcp": { "ecn": true } }),
        );
        let refusal = emulate(&spec, 1, None).err().expect("it is refused").to_string();
        assert!(refusal.starts_with(&format!("link.{key}: needs world = \"simulated\"")), "{refusal}");
    }
}

#[test]
fn real_hosts_make_no_video_calls() {
    let spec = read(&json!({"users": {"per_side": 0}, "sources": [{"video_call": {"flows": 1}}]}));
    let refusal = emulate(&spec, 1, None).err().expect("it is refused").to_string();
    assert!(refusal.starts_with("sources[0].video_call: needs world = \"simulated\""), "{refusal}");
}

#[test]
fn an_idle_networks_delay_is_propagation_plus_one_frame_time() {
    let mut network = network(&json!({"droptail": {}}));
    let route = open(&mut network, 0, 40);
    let sent = |number| Sent { number, size: Bytes::new(962), ecn: Ecn::NotEct };
    network.send(route, End::Client, &sent(1), at(100.0));
    network.send(route, End::Server, &sent(2), at(100.0));
    let mut fates = Vec::new();
    network.advance(at(200.0), &mut |fate| fates.push(fate));
    // 1,000 bytes with the frame's overhead take 4 ms at 2 Mbit/s; the wire is half a millisecond long.
    let delivered = |number, ms, side| Outcome::Delivered { number, at: at(ms), side, ce: false };
    assert_eq!(fates, [delivered(2, 104.5, 0), delivered(1, 144.5, 1)]);
}

/// The fates of three thousand packets, more than the link carries, where the network advances after each
/// `batch` of them.
fn fates(queue: &Value, batch: u32) -> Vec<Outcome> {
    fates_in(network(queue), batch)
}

fn fates_in(mut network: EmulatedNetwork, batch: u32) -> Vec<Outcome> {
    let routes = [open(&mut network, 0, 200), open(&mut network, 1, 230)];
    let mut rng = Stream::named(1, "packets");
    let (mut now, mut fates) = (Time::ZERO, Vec::new());
    for number in 0..3000 {
        let place = usize::from(rng.below(2) == 1);
        let size = Bytes::new(40 + rng.below(1461));
        let ecn = if number % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        now += Duration::from_micros(rng.below(3000));
        network.send(routes[place], End::Client, &Sent { number, size, ecn }, now);
        if (number + 1).is_multiple_of(batch) {
            network.advance(now, &mut |fate| fates.push(fate));
        }
    }
    network.advance(network.end(), &mut |fate| fates.push(fate));
    fates
}

#[test]
fn late_polling_changes_no_instant_under_any_discipline() {
    for (name, queue) in disciplines() {
        // A batch is some 75 ms, less than any packet is on its way to the link.
        assert_eq!(fates(&queue, 1), fates(&queue, 50), "{name}");
    }
}

fn assert_each_once(fates: &[Outcome], name: &str) {
    let number = |fate: &Outcome| match *fate {
        Outcome::Delivered { number, .. } | Outcome::Lost { number } => number,
    };
    let mut numbers: Vec<u32> = fates.iter().map(number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..3000), "{name}");
}

#[test]
fn every_discipline_reports_each_packets_fate_once() {
    for (name, queue) in disciplines() {
        assert_each_once(&fates(&queue, 10), name);
    }
}

#[test]
fn impairments_of_packets_of_real_hosts_are_those_of_the_link() {
    let fates = |impairments: Value, batch| {
        let network = impaired_network(&json!({"droptail": {"limit": "10 MB"}}), impairments);
        fates_in(network, batch)
    };
    for impairments in [
        json!({"loss": 0.05}),
        json!({"bit_error_rate": 1e-6, "jitter": "5 ms"}),
        json!({"reorder": {"probability": 0.1, "delay": "20 ms"}}),
        json!({"outages": [{"at": "1 s", "lasts": "100 ms", "every": "500 ms"}]}),
        json!({"outages": [{"at": "1 s", "lasts": "100 ms", "packets": "lost"}]}),
        json!({"delay_changes": [{"at": "1 s", "delay": "30 ms"}]}),
    ] {
        let each = fates(impairments.clone(), 1);
        assert_each_once(&each, &impairments.to_string());
        assert_eq!(each, fates(impairments.clone(), 50), "{impairments}");
        assert_ne!(each, fates(json!({}), 50), "{impairments}");
    }
    let lost = fates(json!({"loss": 0.05}), 1);
    let lost = lost.iter().filter(|fate| matches!(fate, Outcome::Lost { .. })).count();
    // Four standard deviations of a binomial share.
    assert!(lost.abs_diff(150) <= 48, "{lost} of 3,000");
}

/// Twenty-four bulk transfers each way over a link that carries less, their segments marked where they can be.
fn crowded(queue: &Value) -> Value {
    let flows = |direction: &str| json!({"bulk": {"name": direction, "flows": 24, "direction": direction, "rtt": {"fixed": "20 ms"}}});
    json!({
        "link": {"rate": "2 Mbit/s", "device_fifo": 4},
        "queue": queue,
        "users": {"per_side": 0},
        "sources": [flows("download"), flows("upload")],
        "tcp": {"ecn": true},
        "protocol": {"warmup": "0 s", "duration": "10 s"},
    })
}

/// The packets that `recorded` shows as they come to the first of their links, sent at those instants through the network of `spec`
/// without its sources: what became of them as a capture tells it, or as the network does.
fn replayed(mut spec: Value, recorded: &[Seen], capture: Option<&Capture>) -> Vec<Outcome> {
    spec["sources"] = json!([]);
    let spec = read(&spec);
    let mut network = emulate(&spec, 1, capture).expect("a sound spec");
    // Connections were opened in the order of their SYNs, which are those of side 0.
    let mut routes = HashMap::new();
    let mut fates = Vec::new();
    let last = u32::try_from(2 * spec.links.hops().len() - 1).expect("a few links");
    let comes_in = |packet: &&Seen| [0, last].contains(&packet.interface);
    for (number, packet) in (0..).zip(recorded.iter().filter(comes_in)) {
        let at = Time::ZERO + Duration::from_nanos(packet.nanos);
        network.advance(at, &mut |fate| fates.push(fate));
        let (from, ends) = match packet.interface {
            0 => (End::Client, [&packet.stored[12..16], &packet.stored[20..22]].concat()),
            _ => (End::Server, [&packet.stored[16..20], &packet.stored[22..24]].concat()),
        };
        let route = *routes.entry(ends).or_insert_with(|| network.open_program(Duration::ZERO));
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(packet.stored[1] & 0b11)];
        // What a SYN says of segments counts in the capture alone.
        let is_syn = packet.stored[33] & 0b10 != 0;
        let size = if is_syn { EmulatedNetwork::SHORTEST } else { Bytes::new(packet.length.into()) };
        let sent = Sent { number, size, ecn };
        if let Some(capture) = capture {
            capture.show(number, &packet.stored);
        }
        network.send(route, from, &sent, at);
    }
    network.advance(network.end(), &mut |fate| fates.push(fate));
    fates
}

#[test]
fn every_discipline_gives_packets_the_simulators_verdicts() {
    let mut decisions = HashMap::new();
    for (name, queue) in disciplines() {
        let spec = crowded(&queue);
        let recorded = packets(&captured(&spec, ALL).1);
        // Word by word: what became of it, how long it waited, and the discipline's variables.
        let capture = Capture::new(&read(&spec), ALL);
        replayed(spec.clone(), &recorded, Some(&capture));
        capture.finish();
        let emulated = packets(&capture.take());
        assert_eq!(emulated.len(), recorded.len(), "{name}");
        for (ours, theirs) in emulated.iter().zip(&recorded) {
            let text_of = |packet: &Seen| (packet.interface, packet.nanos, packet.comment.clone());
            assert_eq!(text_of(ours), text_of(theirs), "{name}");
        }
        // The network without a capture, whose links are of other kinds.
        for fate in replayed(spec, &recorded, None) {
            let text_of = |number: u32| &*recorded[number as usize].comment;
            match fate {
                Outcome::Lost { number } => assert!(text_of(number).contains("dropped"), "{name}"),
                Outcome::Delivered { number, ce, .. } => {
                    assert!(!text_of(number).contains("dropped"), "{name}");
                    assert_eq!(ce, text_of(number).contains("marked"), "{name}");
                }
            }
        }
        for word in ["marked", "dropped"] {
            let count = recorded.iter().filter(|packet| packet.comment.contains(word)).count();
            *decisions.entry(word).or_insert(0) += count;
        }
    }
    assert!(decisions["marked"] > 1000 && decisions["dropped"] > 1000, "{decisions:?}");
}

#[test]
fn packets_cross_a_chain_of_unlike_links_as_in_the_simulator() {
    let mut spec = crowded(&json!({"pie": {}}));
    put_in_series(
        &mut spec,
        &json!([{}, {"rate": "1.5 Mbit/s", "queue": {"droptail": {"limit": 12}}}, {"queue": {"fq_codel": {}}}]),
    );
    let recorded = packets(&captured(&spec, ALL).1);
    let capture = Capture::new(&read(&spec), ALL);
    replayed(spec, &recorded, Some(&capture));
    capture.finish();
    // What became of it, and whether it came marked by a queue before.
    let text_of = |packets: &[Seen]| {
        let text_of =
            packets.iter().map(|seen| (seen.interface, seen.nanos, seen.comment.clone(), seen.stored[1]));
        text_of.collect::<Vec<_>>()
    };
    assert_eq!(text_of(&packets(&capture.take())), text_of(&recorded));
    // At the first link, and at the narrow second in both directions; what comes back through that the first has room for.
    for interface in [0, 2, 3] {
        let dropped = |seen: &&Seen| seen.interface == interface && seen.comment.contains("dropped");
        assert!(recorded.iter().filter(dropped).count() > 10, "{interface}");
    }
}

#[test]
fn packets_cross_any_kind_of_capacity_as_in_the_simulator() {
    let bucket = json!({"rate": "2 Mbit/s", "burst": "20 kB", "line": "10 Mbit/s"});
    for kind in [
        json!({"token_bucket": bucket}),
        json!({"policer": bucket}),
        json!({"cable": {"rate": "2 Mbit/s", "line": "10 Mbit/s"}}),
        json!({"wifi": {"rate": "10 Mbit/s", "stations": 3}}),
        json!({"pon": {"rate": "5 Mbit/s"}}),
        json!({"cellular": {"rate": "5 Mbit/s", "users": 2}}),
        json!({"leo": {"rate": "2 Mbit/s", "offset": "1 s", "every": "1 s"}}),
        json!({"trace": {"seconds": [0, 1.5, 2], "mbps": [3, 0, 1]}}),
        json!({"mahimahi": {"opportunities": [3, 9, 9, 20]}}),
    ] {
        let mut spec = crowded(&json!({"pie": {}}));
        spec["link"]["rate"] = json!({"up": kind, "down": "2 Mbit/s"});
        spec["link"]["overhead"] = json!("4 B");
        let recorded = packets(&captured(&spec, ALL).1);
        let capture = Capture::new(&read(&spec), ALL);
        replayed(spec, &recorded, Some(&capture));
        capture.finish();
        let fates = |packets: &[Seen]| -> Vec<_> {
            packets.iter().map(|seen| (seen.interface, seen.nanos, seen.comment.clone())).collect()
        };
        assert_eq!(fates(&packets(&capture.take())), fates(&recorded), "{kind}");
        assert!(recorded.len() > 1_000, "{kind}: {} packets", recorded.len());
    }
}

#[test]
fn a_network_may_have_no_users_and_a_simulation_may_not() {
    let spec = read(&json!({"users": {"per_side": 0}}));
    assert!(emulate(&spec, 1, None).is_ok());
    let refused = build(&spec, 1, None, Watch::Nothing).err().expect("nothing loads the link");
    assert_eq!(refused.to_string(), "users.per_side: must be at least 1 where there are no sources, got 0");
}

#[test]
fn a_stopped_run_ends_and_counts_up_to_its_stop() {
    let mut network = network(&json!({"droptail": {}}));
    let route = network.open_program(Duration::ZERO);
    network.advance(at(1000.0), &mut |_| ());
    network.send(
        route,
        End::Client,
        &Sent { number: 1, size: Bytes::new(962), ecn: Ecn::NotEct },
        at(1000.0),
    );
    network.advance(at(1500.0), &mut |_| ());
    network.end_by(at(2000.0));
    assert_eq!(network.end(), at(2000.0));
    network.advance(at(5000.0), &mut |_| ());
    // 962 bytes in one of the second's two directions: 3.8 kbit/s each way on average.
    let summary = network.summary();
    assert!((summary.throughput_mbps - 962.0 * 8e-6 / 2.0).abs() < 1e-9, "{}", summary.throughput_mbps);
    network.end_by(at(3000.0));
    assert_eq!(network.end(), at(2000.0));
}
