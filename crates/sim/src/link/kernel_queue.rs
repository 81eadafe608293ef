//! A queue whose discipline runs in a Linux kernel: the packets are there, and the kernel decides which of them leaves, and when.
//!
//! ```text
//! arrival -> KernelQueue -- arrivals --> KernelPort --> the kernel's discipline
//!  device <- KernelQueue <-- outcomes -- KernelPort <-- the kernel's discipline
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aqmlab_aqm::{Admission, Counters, Departure, Ecn, Packet as Seen, Qdisc, QueueState};
use aqmlab_units::{Bytes, Time};

/// A packet that its owner knows by a number.
pub(crate) trait Numbered {
    fn number(&self) -> u32;

    /// True if the packet has been marked on its way.
    fn is_marked(&self) -> bool;
}

/// The kernel's decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelDecision {
    /// It leaves, with this ECN field.
    Sent(Ecn),
    /// It was dropped on its arrival.
    Refused,
    /// It was dropped on the arrival of another packet.
    Evicted,
    /// It was dropped when the line was free.
    DroppedAtDequeue,
}

/// The connection of a queue with the kernel, which both hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelPort(Arc<Mutex<Exchange>>);

#[derive(Debug, Default)]
struct Exchange {
    /// Packets for the kernel, and whether they are marked.
    arrivals: VecDeque<(u32, bool)>,
    /// Decisions that the queue has not applied yet, on the packets of these numbers.
    decisions: VecDeque<(Time, u32, KernelDecision)>,
}

impl KernelPort {
    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the number of the next packet for the kernel, and whether it is marked.
    pub(crate) fn take_arrival(&self) -> Option<(u32, bool)> {
        self.lock().arrivals.pop_front()
    }

    /// Passes the decision on packet `number` to the queue, which applies it when it is advanced.
    pub(crate) fn decide(&self, number: u32, decision: KernelDecision, now: Time) {
        self.lock().decisions.push_back((now, number, decision));
    }
}

/// The packets whose queue is in the kernel.
#[derive(Debug)]
pub(crate) struct KernelQueue<P> {
    port: KernelPort,
    /// Packets in the kernel, by number.
    held: BTreeMap<u32, Departure<P>>,
    /// Packets that the kernel has sent, for the link.
    sent: VecDeque<Departure<P>>,
    /// Packets that the kernel has dropped, for the next call that reports drops.
    dropped: Vec<P>,
    counters: Counters,
    state: QueueState,
}

impl<P> KernelQueue<P> {
    pub(crate) fn new(port: KernelPort) -> KernelQueue<P> {
        KernelQueue {
            port,
            held: BTreeMap::new(),
            sent: VecDeque::new(),
            dropped: Vec::new(),
            counters: Counters::default(),
            state: QueueState::default(),
        }
    }

    fn apply(&mut self, number: u32, decision: KernelDecision) {
        let mut departure =
            self.held.remove(&number).expect("the kernel decides once on each packet that it has");
        let size = departure.packet.size;
        let counters = &mut self.counters;
        match decision {
            KernelDecision::Sent(ecn) => {
                counters.marked += u64::from(ecn == Ecn::Ce && departure.packet.ecn != Ecn::Ce);
                departure.packet.ecn = ecn;
                self.sent.push_back(departure);
                return;
            }
            KernelDecision::Refused => {
                // It was counted as queued until the kernel decided, at the same instant.
                counters.queued -= 1;
                counters.queued_bytes = counters.queued_bytes - size;
                counters.dropped_forced += 1;
            }
            KernelDecision::Evicted => counters.evicted += 1,
            KernelDecision::DroppedAtDequeue => counters.dropped_at_dequeue += 1,
        }
        self.release(size);
        self.dropped.push(departure.payload);
    }

    /// Removes a packet from the length of the queue.
    fn release(&mut self, size: Bytes) {
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - size;
    }
}

impl<P: Numbered> Qdisc<P> for KernelQueue<P> {
    fn enqueue(&mut self, packet: Seen, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        self.dropped.drain(..).for_each(lost);
        self.counters.count(Admission::Queued, packet.size);
        self.state.packets += 1;
        self.state.bytes += packet.size;
        let number = payload.number();
        self.port.lock().arrivals.push_back((number, payload.is_marked()));
        self.held.insert(number, Departure { packet, payload, enqueued_at: now });
        Admission::Queued
    }

    fn dequeue(&mut self, _now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        self.dropped.drain(..).for_each(lost);
        let departure = self.sent.pop_front()?;
        self.release(departure.packet.size);
        Some(departure)
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.port.lock().decisions.front().map(|&(at, ..)| at)
    }

    fn on_timeout(&mut self, now: Time) {
        let due = |exchange: &mut Exchange| exchange.decisions.pop_front_if(|&mut (at, ..)| at <= now);
        while let Some((_, number, decision)) = { due(&mut self.port.lock()) } {
            self.apply(number, decision);
        }
    }

    /// The kernel's variables are in its own statistics.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

#[cfg(test)]
mod tests {
    use aqmlab_units::Duration;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Payload(u32);

    impl Numbered for Payload {
        fn number(&self) -> u32 {
            self.0
        }

        fn is_marked(&self) -> bool {
            false
        }
    }

    #[test]
    fn packets_leave_as_the_kernel_decides() {
        let port = KernelPort::default();
        let mut queue = KernelQueue::new(port.clone());
        let packet = Seen { size: Bytes::new(1500), ecn: Ecn::Ect0, flow: 1 };
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut lost = Vec::new();
        for number in 1..=5 {
            queue.enqueue(packet, Payload(number), at(number.into()), &mut |payload| lost.push(payload));
            assert_eq!(port.take_arrival(), Some((number, false)));
        }
        assert_eq!(queue.poll_timeout(), None);
        port.decide(5, KernelDecision::Refused, at(5));
        port.decide(1, KernelDecision::Evicted, at(5));
        port.decide(2, KernelDecision::DroppedAtDequeue, at(6));
        port.decide(4, KernelDecision::Sent(Ecn::Ce), at(6));
        while let Some(due) = queue.poll_timeout() {
            queue.on_timeout(due);
        }
        let departure = queue.dequeue(at(6), &mut |payload| lost.push(payload)).expect("one was sent");
        assert_eq!(
            (departure.payload, departure.packet.ecn, departure.enqueued_at),
            (Payload(4), Ecn::Ce, at(4))
        );
        assert_eq!(queue.dequeue(at(6), &mut |_| ()), None);
        assert_eq!(lost, [5, 1, 2].map(Payload));
        assert_eq!(queue.state(), QueueState { packets: 1, bytes: Bytes::new(1500) });
        let counters = queue.counters();
        assert_eq!((counters.offered, counters.queued, counters.marked), (5, 4, 1));
        assert_eq!((counters.dropped_forced, counters.evicted, counters.dropped_at_dequeue), (1, 1, 1));
        assert_eq!(counters.delivered(queue.state().packets), 1);
    }
}
