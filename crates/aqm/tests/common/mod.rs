//! What the tests of laws share: a link, a stream, and a random walk of the queue.

use aqmlab_aqm::{Admission, Aqm, Ecn, Gate, LinkContext, Packet, QueueState};
use aqmlab_units::{BitRate, Bytes, Stream, Time};

/// 100 Mbit/s Ethernet: 23,234 packets of 500 B a second.
pub(crate) fn link() -> LinkContext {
    LinkContext { rate: BitRate::from_mbit_per_sec(100), overhead: Bytes::new(38) }
}

pub(crate) fn rng() -> Stream {
    Stream::named(1, "law")
}

pub(crate) fn packet(size: u64, ecn: Ecn) -> Packet {
    Packet { size: Bytes::new(size), ecn, flow: 0 }
}

/// A random walk of the queue seen by 20,000 arrivals, the timeouts between them included.
pub(crate) fn walk<A: Aqm>(gate: &mut Gate<A>, ecn: Ecn) -> Vec<Admission> {
    let mut steps = Stream::named(2, "walk");
    let mut packets = 0_u32;
    (0..20_000)
        .map(|step| {
            let now = Time::from_nanos(step * 40_000);
            packets = (packets + u32::try_from(steps.below(3)).expect("small")).saturating_sub(1).min(25);
            let queue = QueueState { packets, bytes: Bytes::new(u64::from(packets) * 600) };
            if gate.law.poll_timeout().is_some_and(|due| due <= now) {
                gate.law.on_timeout(queue, now);
            }
            if packets == 0 {
                gate.law.on_empty(now);
            }
            gate.admit(&packet(40 + steps.below(1461), ecn), queue, now)
        })
        .collect()
}
