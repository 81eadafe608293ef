//! Queues of flows: collisions in the hash, sparse flows, memory.

use aqmlab_aqm::{Ecn, Packet};
use aqmlab_units::{Bytes, Duration};
use serde_json::json;

use crate::rig::{Rig, cake};

/// The probabilities of 0, 1, ... flows in one of 128 sets, of `flows` flows.
fn binomial(flows: u32) -> Vec<f64> {
    let p: f64 = 1.0 / 128.0;
    let mut probabilities = vec![(1.0 - p).powi(i32::try_from(flows).expect("few"))];
    for k in 0..flows {
        let before = probabilities[k as usize];
        probabilities.push(before * f64::from(flows - k) / f64::from(k + 1) * p / (1.0 - p));
    }
    probabilities
}

#[test]
fn collisions_are_those_of_the_binomial() {
    for flows in [256_u32, 600, 1000] {
        // Of k flows in a set, those beyond the eighth share a queue.
        let mean_of_set: f64 =
            (0_u32..).zip(binomial(flows)).map(|(k, p)| p * f64::from(k.saturating_sub(8))).sum();
        let square: f64 =
            (0_u32..).zip(binomial(flows)).map(|(k, p)| p * f64::from(k.saturating_sub(8)).powi(2)).sum();
        let (runs, mean) = (40, 128.0 * mean_of_set);
        // Numbers of flows in sets are negatively correlated, so that this is at least the deviation.
        let deviation = (128.0 * (square - mean_of_set * mean_of_set) / f64::from(runs)).sqrt();
        let mut collisions = 0.0;
        for seed in 0..runs {
            let mut queue = cake(json!({"diffserv": "besteffort"}), u64::try_from(seed).expect("few"));
            for flow in 0..flows {
                let packet = Packet { size: Bytes::new(1000), ecn: Ecn::NotEct, flow };
                queue.enqueue(packet, 0, aqmlab_units::Time::ZERO, &mut |_| ());
            }
            queue.probe(&mut |name, value| {
                if name == "best_effort_way_cols" {
                    collisions += value;
                }
            });
        }
        let got = collisions / f64::from(runs);
        assert!(
            (got - mean).abs() < 4.0 * deviation + 0.02,
            "{flows} flows: {got}, not {mean} +- {deviation}"
        );
    }
}

#[test]
fn a_sparse_flow_passes_bulk_flows() {
    let mut rig = Rig::new(json!({"bandwidth": "10 Mbit/s"}));
    rig.saturate(&[1, 2, 3, 4], 1514, 100);
    for _ in 0..50 {
        rig.now += Duration::from_millis(20);
        rig.arrive(9, 200);
        assert_eq!(rig.depart().expect("packets wait").packet.flow, 9, "it is new, and goes first");
        for _ in 0..10 {
            let flow = rig.depart().expect("packets wait").packet.flow;
            rig.arrive(flow, 1514);
        }
    }
    assert!(rig.shows("best_effort_bk_flows", 4.0));
}

#[test]
fn memory_bounds_what_waits_and_the_longest_queue_pays() {
    let mut rig = Rig::new(json!({"bandwidth": "10 Mbit/s", "memlimit": "100 kB"}));
    (0..3).for_each(|_| rig.arrive(1, 1514));
    for arrived in 1..=100_u32 {
        rig.arrive(2, 1514);
        // A packet of 1514 B takes 2176 B.
        let waiting = (3 + arrived).min(45);
        assert_eq!(rig.queue.state().packets, waiting);
        assert!(rig.shows("memory_used_bytes", 2176.0 * f64::from(waiting)));
    }
    assert_eq!(rig.queue.counters().evicted, 58);
    let flows: Vec<u32> = std::iter::from_fn(|| rig.depart()).map(|left| left.packet.flow).collect();
    assert_eq!(flows.iter().filter(|&&flow| flow == 1).count(), 3, "the short queue lost nothing");
}

#[test]
fn memory_is_four_products_of_bandwidth_and_delay() {
    for (parameters, bytes) in [
        (json!({"bandwidth": "1 Gbit/s", "rtt": "30 ms"}), 15_000_000),
        (json!({"bandwidth": "200 Mbit/s"}), 10_000_000),
        (json!({"bandwidth": "10 Mbit/s"}), 4 << 20),
        (json!({"bandwidth": "10 Gbit/s"}), 10_240 * 1514),
        (json!({}), 10_240 * 1514),
        (json!({"memlimit": "32 MB"}), 32_000_000),
    ] {
        let mut rig = Rig::new(parameters.clone());
        (0..20_000).for_each(|_| rig.arrive(1, 1514));
        assert_eq!(u64::from(rig.queue.state().packets), (bytes / 2176).min(20_000), "{parameters}");
    }
}
