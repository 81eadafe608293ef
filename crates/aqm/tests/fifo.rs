//! FIFO: it accounts for every packet, keeps their order, and drops packets beyond its limit.

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Aqm, Counters, Droptail, Ecn, Fifo, Limit, Packet, Qdisc, QueueState, Verdict};
use aqmlab_units::{Bytes, Stream, Time};
use proptest::prelude::*;

fn packet(size: u64, ecn: Ecn) -> Packet {
    Packet { size: Bytes::new(size), ecn, flow: 0 }
}

/// A law without reason: every verdict at random, on arrival and on departure.
struct Whim(Stream);

impl Whim {
    fn verdict(&mut self) -> Verdict {
        match self.0.below(4) {
            0 => Verdict::Mark,
            1 => Verdict::Drop,
            _ => Verdict::Pass,
        }
    }
}

impl Aqm for Whim {
    fn on_enqueue(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        self.verdict()
    }

    fn on_dequeue(&mut self, _pkt: &Packet, _enqueued_at: Time, _queue: QueueState, _now: Time) -> Verdict {
        self.verdict()
    }
}

/// Each step: an arrival of this size and ECN field, or (`None`) a departure.
fn steps() -> impl Strategy<Value = Vec<Option<(u64, Ecn)>>> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ce)];
    prop::collection::vec(prop::option::weighted(0.6, (1_u64..1501, ecn)), 1..500)
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (1_u32..20).prop_map(Limit::Packets),
        (1_u64..20_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ]
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for(steps in steps(), limit in limits(), seed: u64) {
        let mut fifo = Fifo::new(Whim(Stream::named(seed, "whim")), limit);
        let mut inside: VecDeque<usize> = VecDeque::new();
        let mut lost: Vec<usize> = Vec::new();
        let (mut offered, mut delivered, mut marked, mut bytes_in, mut bytes_out) = (0_u64, 0_u64, 0_u64, 0, 0);
        for (step, arrival) in steps.into_iter().enumerate() {
            let now = Time::from_nanos(step as u64);
            if let Some((size, ecn)) = arrival {
                offered += 1;
                let admission = fifo.enqueue(packet(size, ecn), step, now, &mut |packet| lost.push(packet));
                if admission.is_queued() {
                    inside.push_back(step);
                    bytes_in += size;
                }
                marked += u64::from(admission == Admission::Marked);
                prop_assert!(admission != Admission::Marked || ecn.is_capable());
            } else if let Some(departure) = fifo.dequeue(now, &mut |packet| lost.push(packet)) {
                delivered += 1;
                bytes_out += departure.packet.size.get();
                // Some before it may have been dropped; none may have overtaken.
                prop_assert_eq!(departure.enqueued_at, Time::from_nanos(departure.payload as u64));
                while inside.pop_front() != Some(departure.payload) {
                    prop_assert!(!inside.is_empty(), "packet {} left out of order", departure.payload);
                }
            } else {
                inside.clear();
            }
            let counters: Counters = fifo.counters();
            let waiting = fifo.state().packets;
            let dropped = counters.refused() + counters.dropped_at_dequeue;
            prop_assert_eq!(dropped, lost.len() as u64, "dropped packets are handed over");
            prop_assert_eq!(fifo.counters().offered, offered);
            prop_assert_eq!(offered, delivered + dropped + u64::from(waiting));
            prop_assert_eq!(fifo.counters().delivered(waiting), delivered);
            prop_assert_eq!(fifo.counters().dropped(), dropped);
            prop_assert_eq!(fifo.counters().queued_bytes, Bytes::new(bytes_in));
            prop_assert!(fifo.counters().marked >= marked);
            prop_assert!(bytes_in >= bytes_out + fifo.state().bytes.get());
            prop_assert_eq!(fifo.state().packets == 0, fifo.state().bytes == Bytes::ZERO);
            prop_assert_eq!(waiting as usize, inside.len());
        }
    }

    #[test]
    fn drop_tail_drops_only_what_has_no_room(steps in steps(), limit in limits()) {
        let mut fifo = Fifo::new(Droptail, limit);
        let mut sizes: VecDeque<u64> = VecDeque::new();
        for (size, ecn) in steps.into_iter().map(|step| step.unwrap_or((0, Ecn::NotEct))) {
            if size == 0 {
                let left = fifo.dequeue(Time::ZERO, &mut drop).map(|departure| departure.packet.size.get());
                prop_assert_eq!(left, sizes.pop_front());
                continue;
            }
            let room = match limit {
                Limit::Packets(most) => sizes.len() < most as usize,
                Limit::Bytes(most) => sizes.iter().sum::<u64>() + size <= most.get(),
            };
            let admission = fifo.enqueue(packet(size, ecn), (), Time::ZERO, &mut drop);
            prop_assert_eq!(admission, if room { Admission::Queued } else { Admission::DroppedByLimit });
            if room {
                sizes.push_back(size);
            }
        }
    }
}

/// Drops each packet that is about to leave, but for one size.
struct Only(u64, Vec<Time>);

impl Aqm for Only {
    fn on_dequeue(&mut self, pkt: &Packet, _enqueued_at: Time, queue: QueueState, _now: Time) -> Verdict {
        assert!(queue.packets < 3, "the packet about to leave no longer waits");
        if pkt.size.get() == self.0 { Verdict::Mark } else { Verdict::Drop }
    }

    fn on_empty(&mut self, now: Time) {
        self.1.push(now);
    }
}

#[test]
fn a_departure_goes_on_until_a_packet_passes() {
    let mut fifo = Fifo::new(Only(700, Vec::new()), Limit::Packets(10));
    for size in [500, 600, 700] {
        fifo.enqueue(packet(size, Ecn::Ect0), size, Time::ZERO, &mut drop);
    }
    let departure = fifo.dequeue(Time::from_nanos(5), &mut drop).expect("the third packet passes");
    assert_eq!((departure.payload, departure.packet.ecn), (700, Ecn::Ce));
    assert_eq!((fifo.counters().dropped_at_dequeue, fifo.counters().marked), (2, 1));
    assert_eq!(fifo.law().1, [Time::from_nanos(5)], "the law is notified once of the empty queue");
}

#[test]
fn a_packet_that_cannot_be_marked_is_dropped_when_it_leaves() {
    let mut fifo = Fifo::new(Only(700, Vec::new()), Limit::Packets(10));
    fifo.enqueue(packet(700, Ecn::NotEct), (), Time::ZERO, &mut drop);
    assert_eq!(fifo.dequeue(Time::ZERO, &mut drop), None);
    assert_eq!((fifo.counters().dropped_at_dequeue, fifo.counters().marked), (1, 0));
}

/// Marks each packet that arrives.
struct Always;

impl Aqm for Always {
    fn on_enqueue(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        Verdict::Mark
    }
}

#[test]
fn a_packet_marked_on_enqueue_leaves_with_ce() {
    let mut fifo = Fifo::new(Always, Limit::Packets(10));
    assert_eq!(fifo.enqueue(packet(500, Ecn::Ect1), (), Time::ZERO, &mut drop), Admission::Marked);
    assert_eq!(fifo.enqueue(packet(500, Ecn::NotEct), (), Time::ZERO, &mut drop), Admission::DroppedEarly);
    assert_eq!(fifo.dequeue(Time::ZERO, &mut drop).map(|departure| departure.packet.ecn), Some(Ecn::Ce));
    assert_eq!(fifo.dequeue(Time::ZERO, &mut drop), None);
}
