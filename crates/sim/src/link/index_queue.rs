//! A queue of packet indices: the discipline orders the indices, and a slab next to it holds the packets.
//!
//! Each discipline is therefore compiled once for all kinds of packets. A queue that held the packets would be compiled
//! for each kind. Its price is a call through a table and two memory accesses a packet.

use aqmlab_aqm::{Admission, Departure, Packet as Seen, Qdisc, TcpHeader, forward_qdisc};
use aqmlab_units::Time;

use crate::slab::Slab;

/// A queue for packets that carry a `P`.
pub(crate) struct IndexQueue<P> {
    queue: Box<dyn Qdisc<usize> + Send>,
    parked: Slab<P>,
}

impl<P> IndexQueue<P> {
    /// `queue` is empty.
    pub(crate) fn new(queue: Box<dyn Qdisc<usize> + Send>) -> IndexQueue<P> {
        IndexQueue { queue, parked: Slab::default() }
    }
}

impl<P: Copy> Qdisc<P> for IndexQueue<P> {
    fn enqueue(&mut self, packet: Seen, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let number = self.parked.put(payload);
        self.queue.enqueue(packet, number, now, &mut |number| lost(self.parked.take(number)))
    }

    fn enqueue_segment(
        &mut self,
        packet: Seen,
        header: &TcpHeader,
        payload: P,
        now: Time,
        lost: &mut dyn FnMut(P),
    ) -> Admission {
        let number = self.parked.put(payload);
        let lost = &mut |number| lost(self.parked.take(number));
        self.queue.enqueue_segment(packet, header, number, now, lost)
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        let Departure { packet, payload, enqueued_at } =
            self.queue.dequeue(now, &mut |number| lost(self.parked.take(number)))?;
        Some(Departure { packet, payload: self.parked.take(payload), enqueued_at })
    }

    forward_qdisc!(queue);

    fn class_of(&self, packet: &Seen) -> u8 {
        self.queue.class_of(packet)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use aqmlab_aqm::{Ecn, LinkContext, QueueConfig, catalogue};
    use aqmlab_units::{BitRate, Bytes, Stream};

    use super::*;

    /// Three packets arrive while two leave, over and over, of twenty flows, into room for 25; at the end all leave.
    fn every_packet_comes_back_as_itself_once(name: &str) {
        let text = format!(r#"{{"{name}": {{"limit": "25 packets"}}}}"#);
        let config: QueueConfig = serde_json::from_str(&text).expect("every discipline has a limit");
        let rate = BitRate::from_mbit_per_sec(10);
        let link = LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::ZERO, peak: None };
        let config = config.resolve(&link).expect("possible parameters");
        let mut queue = IndexQueue::new(config.queue(&link, Stream::named(1, "queue")));
        let (mut lost, mut left) = (Vec::new(), Vec::new());
        for step in 0..10_000_u32 {
            let now = Time::from_nanos(u64::from(step) * 500_000);
            while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
                queue.on_timeout(due);
            }
            if step < 9_500 && step % 5 < 3 {
                let packet = Seen {
                    size: Bytes::new(100 + u64::from(step) % 1400),
                    ecn: Ecn::NotEct,
                    flow: step % 20,
                };
                queue.enqueue(packet, step, now, &mut |payload| lost.push(payload));
            } else if let Some(departure) = queue.dequeue(now, &mut |payload| lost.push(payload)) {
                let Departure { packet, payload, enqueued_at } = departure;
                assert_eq!(enqueued_at, Time::from_nanos(u64::from(payload) * 500_000), "{name}");
                assert_eq!(
                    (packet.size.get(), packet.flow),
                    (100 + u64::from(payload) % 1400, payload % 20),
                    "{name}"
                );
                left.push(payload);
            }
        }
        assert_eq!(queue.state().packets, 0, "{name}");
        assert!(!lost.is_empty() && !left.is_empty(), "{name}");
        let back: BTreeSet<u32> = lost.iter().chain(&left).copied().collect();
        assert_eq!(back, (0..9_500).filter(|step| step % 5 < 3).collect(), "{name}");
        assert_eq!(back.len(), lost.len() + left.len(), "{name}: none comes back twice");
        assert!(queue.parked.most() <= 26, "{name}: numbers are used again");
    }

    #[test]
    fn every_packet_is_returned_once_under_every_discipline() {
        for entry in catalogue() {
            every_packet_comes_back_as_itself_once(entry.name);
        }
    }
}
