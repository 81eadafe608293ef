//! The law in a queue: what it promises, and that every packet is accounted for.

use aqmlab_aqm::{Admission, Ecn, Fifo, Limit, Packet, Qdisc};
use aqmlab_units::{Bytes, Stream, Time};
use rust_aqm::{Ramp, RampConfig};

/// A queue of at most 30 packets under a ramp from 10 to 20.
fn queue() -> Fifo<Ramp, u32> {
    Fifo::new(Ramp::new(RampConfig { from: 10, to: 20 }, Stream::named(1, "ramp")), Limit::Packets(30))
}

fn packet(ecn: Ecn) -> Packet {
    Packet { size: Bytes::new(1500), ecn, flow: 0 }
}

#[test]
fn nothing_is_signalled_below_the_ramp_and_everything_above_it() {
    let mut queue = queue();
    let mut lost = Vec::new();
    let admissions: Vec<Admission> = (0..40)
        .map(|n| {
            queue.enqueue(packet(Ecn::Ect0), n, Time::from_nanos(n.into()), &mut |payload| lost.push(payload))
        })
        .collect();
    assert!(admissions[..=10].iter().all(|admission| *admission == Admission::Queued));
    assert!(admissions[20..30].iter().all(|admission| *admission == Admission::Marked));
    assert!(admissions[30..].iter().all(|admission| *admission == Admission::DroppedByLimit));
    assert_eq!(lost, (30..40).collect::<Vec<u32>>(), "what found no room is handed back");
}

#[test]
fn every_packet_is_delivered_dropped_or_still_waiting() {
    let (mut queue, mut lost, mut delivered) = (queue(), 0_u64, 0_u64);
    let mut coin = Stream::named(2, "coin");
    for n in 0..10_000 {
        let now = Time::from_nanos(1000 * u64::from(n));
        if coin.uniform() < 0.6 {
            queue.enqueue(packet(Ecn::NotEct), n, now, &mut |_| lost += 1);
        } else {
            delivered += u64::from(queue.dequeue(now, &mut |_| lost += 1).is_some());
        }
    }
    let counters = queue.counters();
    assert!(counters.dropped_early > 100, "the law had reason to signal");
    assert_eq!(counters.offered, delivered + lost + u64::from(queue.state().packets));
    assert_eq!((counters.dropped(), counters.delivered(queue.state().packets)), (lost, delivered));
}
