//! Guarantees of every discipline that queues by flow.

use aqmlab_aqm::{Admission, Counters, Ecn, Limit, Packet, QueueConfig};
use aqmlab_units::{Bytes, Stream, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::link;
use crate::rig::{Rig, config, jain};

/// Each discipline, with enough queues that no two flows share one, and room for the flows of these tests.
fn all() -> Vec<Value> {
    let mut disciplines = vec![
        json!({"sfq": {"flows": 8_192, "limit": "400 packets"}}),
        json!({"sfq": {"flows": 8_192, "limit": "400 packets", "turns": "deficit"}}),
        json!({"sfq": {"flows": 8_192, "limit": "400 packets", "drop": "head"}}),
    ];
    disciplines.extend(sparse_first());
    disciplines
}

/// Those that serve new flows first.
fn sparse_first() -> Vec<Value> {
    vec![
        json!({"fq_codel": {"flows": 8_192, "limit": "400 packets"}}),
        json!({"fq_codel": {"flows": 8_192, "limit": "400 packets", "drop_half": "bytes", "through_old": "if_any",
            "backlog": "all"}}),
        json!({"fq_pie": {"flows": 8_192, "limit": "400 packets", "no_room": "fattest"}}),
        json!({"fq_cobalt": {"flows": 64, "limit": "400 packets"}}),
        json!({"fq_cobalt": {"flows": 64, "limit": "600 kB", "through_old": "always"}}),
    ]
}

const FLOWS: u32 = 16;

/// Jain's index over the bytes that backlogged flows get, with packets of the sizes that `size` gives.
fn fairness(discipline: Value, size: impl Fn(u32) -> u64) -> f64 {
    let mut rig = Rig::new(discipline);
    for _ in 0..20_000 {
        rig.top_up(0..FLOWS, 20, &size);
        rig.send().expect("all flows have packets");
    }
    assert_eq!(rig.sent.len(), FLOWS as usize, "each flow is served");
    jain(rig.sent.values().map(|&(_, bytes)| bytes as f64))
}

#[test]
fn equal_backlogged_flows_share_equally() {
    for discipline in all() {
        let index = fairness(discipline.clone(), |_| 1500);
        assert!(index >= 0.98, "{discipline}: {index}");
    }
}

#[test]
fn flows_share_bytes_whatever_the_size_of_their_packets() {
    for discipline in all() {
        let index = fairness(discipline.clone(), |flow| 100 + 90 * u64::from(flow));
        assert!(index >= 0.98, "{discipline}: {index}");
    }
}

#[test]
fn turns_of_one_packet_share_packets_and_not_bytes() {
    let discipline = json!({"sfq": {"flows": 8_192, "limit": "400 packets", "turns": "packet"}});
    let index = fairness(discipline, |flow| if flow % 2 == 0 { 1500 } else { 100 });
    assert!(index < 0.7, "large packets get fifteen times as much: {index}");
}

/// The packets that leave before each packet of a flow that sends one every `every` departures, among `bulk` others.
fn packets_ahead(discipline: Value, bulk: u32, every: u32) -> Vec<u32> {
    let mut rig = Rig::new(discipline);
    let mut packets_ahead = Vec::new();
    let mut waiting: Option<(usize, u32)> = None;
    for departure in 0..5_000 {
        rig.top_up(0..bulk, 20, |_| 1500);
        // The bulk flows were new once too.
        if departure > 100 && departure % every == 0 && waiting.is_none() {
            waiting = Some((rig.arrive(bulk, 100, Ecn::NotEct), 0));
        }
        let sent = rig.send().expect("there is always a packet");
        waiting = match waiting {
            Some((serial, wait)) if serial == sent.serial => {
                packets_ahead.push(wait);
                None
            }
            Some((serial, wait)) => Some((serial, wait + 1)),
            None => None,
        };
    }
    assert_eq!(rig.lost(bulk), 0, "a sparse flow loses nothing");
    assert!(packets_ahead.len() > 100);
    packets_ahead
}

#[test]
fn a_sparse_flows_sojourn_is_at_most_one_round_of_bulk_flows() {
    for discipline in all() {
        for every in [2, 7, 40] {
            let longest = packets_ahead(discipline.clone(), 8, every).into_iter().max();
            // A turn of up to a quantum and a packet for each of the eight.
            assert!(longest <= Some(16), "{discipline}: {longest:?} packets first");
        }
    }
}

#[test]
fn a_flow_below_one_packet_a_round_precedes_bulk_flows() {
    for discipline in sparse_first() {
        let longest = packets_ahead(discipline.clone(), 8, 40).into_iter().max();
        assert_eq!(longest, Some(0), "{discipline}");
    }
}

#[test]
fn a_one_packet_flow_loses_none_while_another_overflows() {
    for discipline in all() {
        let mut rig = Rig::new(discipline.clone());
        for _ in 0..3_000 {
            (0..3).for_each(|_| {
                rig.arrive(0, 1500, Ecn::NotEct);
            });
            if rig.waiting(1) == 0 {
                rig.arrive(1, 1500, Ecn::NotEct);
            }
            rig.send();
        }
        assert_eq!(rig.lost(1), 0, "{discipline}");
        let counters = rig.queue.counters();
        assert!(rig.lost(0) > 1000, "{discipline}: the other flow overflows");
        let overflowed = counters.evicted + counters.dropped_by_limit;
        assert!(overflowed > 500, "{discipline}: {counters:?}");
        assert!(rig.sent[&1].0 > 1000, "{discipline}: it gets its half");
    }
}

/// Small queues of every kind, whose flows collide in the hash, and which overflow and drop.
fn small() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1_u32..40).prop_map(|n| format!("{n} packets")),
        (1_u32..40_000).prop_map(|n| format!("{n} B"))
    ];
    let sfq = (limit, 1_u32..20, 1_u32..30, any::<bool>(), 0_usize..3, 64_u32..3000, 0_u32..3).prop_map(
        |(limit, flows, depth, head, turns, quantum, perturb)| {
            let drop = if head { "head" } else { "tail" };
            let turns = ["packet", "deficit", "surplus"][turns];
            json!({"sfq": {
                "limit": limit, "flows": flows, "depth": depth, "drop": drop, "turns": turns,
                "quantum": format!("{quantum} B"), "perturb": format!("{perturb} ms"),
            }})
        },
    );
    let room = (1_u32..40, any::<bool>());
    let codel = (room.clone(), 1_u32..20, 64_u32..3000, any::<bool>(), 0_u32..2000, 1_u32..5000).prop_map(
        |((limit, packets), flows, quantum, all, target, interval)| {
            json!({"fq_codel": {
                "limit": if packets { format!("{limit} packets") } else { format!("{} B", limit * 1000) },
                "flows": flows, "quantum": format!("{quantum} B"), "backlog": if all { "all" } else { "flow" },
                "target": format!("{target} us"), "interval": format!("{interval} us"), "through_old": if all { "always" } else { "never" },
            }})
        },
    );
    let pie = (room, 1_u32..20, 64_u32..3000, any::<bool>(), 0_u32..2000, 100_u32..5000).prop_map(
        |((limit, packets), flows, quantum, fattest, qdelay_ref, t_update)| {
            json!({"fq_pie": {
                "limit": if packets { format!("{limit} packets") } else { format!("{} B", limit * 1000) },
                "flows": flows, "quantum": format!("{quantum} B"), "no_room": if fattest { "fattest" } else { "arrival" },
                "qdelay_ref": format!("{qdelay_ref} us"), "t_update": format!("{t_update} us"), "max_burst": "0 s",
                "alpha": 10, "beta": 100,
            }})
        },
    );
    // With this number of sets none is ever full; in a full one a flow can lose its queue to another and be reordered.
    let cobalt = (1_u32..40_000, 32_u32..64, 64_u32..3000, any::<bool>(), 0_u32..2000, 1_u32..5000).prop_map(
        |(limit, sets, quantum, spare_last, target, interval)| {
            json!({"fq_cobalt": {
                "limit": format!("{limit} B"), "flows": 8 * sets, "quantum": format!("{quantum} B"),
                "spare_last": spare_last, "target": format!("{target} us"), "interval": format!("{interval} us"),
                "p_inc": 0.2, "mtu": "0 B",
            }})
        },
    );
    prop_oneof![sfq, codel, pie, cobalt].prop_map(config)
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for_and_no_flow_is_reordered(
        config in small(),
        seed: u64,
        steps in prop::collection::vec(prop::option::weighted(0.6, (0_u32..12, 28_u64..1515, 0_usize..4)), 1..1500),
    ) {
        let at = |serial: usize| Time::from_nanos((1 + serial as u64) * 50_000);
        let mut queue = config.queue(&link(), Stream::named(seed, "queue"));
        let (mut lost, mut last) = (Vec::new(), std::collections::BTreeMap::new());
        let (mut offered, mut delivered, mut refused) = (0_u64, 0_u64, 0_u64);
        for (serial, step) in steps.into_iter().enumerate() {
            let now = at(serial);
            while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
                queue.on_timeout(due);
            }
            if let Some((flow, size, ecn)) = step {
                offered += 1;
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn];
                let packet = Packet { size: Bytes::new(size), ecn, flow };
                let admission = queue.enqueue(packet, serial, now, &mut |serial| lost.push(serial));
                refused += u64::from(!admission.is_queued());
                prop_assert!(admission != Admission::Marked || ecn.is_capable());
            } else if let Some(departure) = queue.dequeue(now, &mut |serial| lost.push(serial)) {
                delivered += 1;
                let (flow, serial) = (departure.packet.flow, departure.payload);
                prop_assert_eq!(departure.enqueued_at, at(serial));
                prop_assert!(last.insert(flow, serial) < Some(serial), "flow {} is reordered", flow);
            } else {
                prop_assert_eq!(queue.state().packets, 0, "dequeue empties the queue");
            }
            let counters: Counters = queue.counters();
            let waiting = queue.state().packets;
            prop_assert_eq!(counters.offered, offered);
            prop_assert_eq!(counters.refused(), refused);
            prop_assert_eq!(counters.queued, offered - refused);
            prop_assert_eq!(counters.dropped(), lost.len() as u64, "dropped packets are handed over");
            prop_assert_eq!(counters.delivered(waiting), delivered);
            prop_assert_eq!(waiting == 0, queue.state().bytes == Bytes::ZERO);
            let capacity = match config.limit() {
                Limit::Packets(most) => waiting <= most,
                Limit::Bytes(most) => queue.state().bytes <= most,
            };
            prop_assert!(capacity, "{:?} of {}", queue.state(), config.limit());
        }
        lost.sort_unstable();
        prop_assert!(lost.windows(2).all(|pair| pair[0] != pair[1]), "none is lost twice");
    }
}
