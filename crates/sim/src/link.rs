//! One direction of a link: a queue discipline, a device FIFO below it, the wire, and the way to the other end.
//!
//! ```text
//!   arrival -> [ discipline's queue ] -> [ device FIFO + the packet being sent ] -> wire -> propagation -> delivery
//!               judged, limited           counts for nobody
//! ```
//!
//! The discipline of every law that decides when a packet arrives can be worked out at that moment: the packet will
//! leave at max(now, when the one before it leaves) + its time on the wire. So a departure is not an event but a
//! number in a ring, packets on their way to the other end stand in the same ring (a constant delay keeps them in
//! order), and the length of the queue is how many in the ring have not left yet, less those that the device holds.

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Aqm, Counters, Gate, LinkContext, QueueState};
use aqmlab_tcp::Flags;
use aqmlab_units::{Bytes, Duration, Time};

use crate::packet::Packet;

/// The physical parameters of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// Bit rate and bytes of overhead a frame.
    pub(crate) context: LinkContext,
    /// From the last bit sent to its arrival at the other end.
    pub(crate) delay: Duration,
    /// Packets that the device holds below the discipline, besides the one being sent.
    pub(crate) device_fifo: u32,
}

/// One direction of a link under the law `A`.
#[derive(Debug)]
pub(crate) struct Link<A> {
    gate: Gate<A>,
    wire: Wire,
    /// Nanoseconds per byte in units of 2^-20 ns: one multiplication instead of a division for each packet.
    ns_per_byte: u64,
    /// The device's places, the one being sent included.
    device: usize,
    /// Packets let in and not yet delivered, in order.
    ring: VecDeque<Entry>,
    /// How many of them, at the front, have left the wire's near end.
    departed: usize,
    busy_until: Time,
    /// When the discipline last handed a packet down, while the law has not been told that its queue is empty.
    emptying: Option<Time>,
    /// IP bytes of all packets delivered so far.
    delivered_through: Bytes,
    delivered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    departure: Time,
    /// IP bytes let in up to and including this packet.
    through: Bytes,
    packet: Packet,
}

/// What a link has done since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounters {
    pub(crate) queue: Counters,
    /// Packets that have been sent.
    pub(crate) sent: u64,
    /// Their IP bytes.
    pub(crate) sent_bytes: Bytes,
    /// Packets in the discipline's queue, in the device or being sent.
    pub(crate) held: u64,
}

impl<A: Aqm> Link<A> {
    pub(crate) fn new(gate: Gate<A>, wire: Wire) -> Link<A> {
        let rate = u128::from(wire.context.rate.bits_per_sec());
        let ns_per_byte = ((8_000_000_000_u128 << 20) + rate / 2) / rate;
        Link {
            gate,
            wire,
            ns_per_byte: u64::try_from(ns_per_byte).expect("a byte takes at most 8 s"),
            device: 1 + wire.device_fifo as usize,
            ring: VecDeque::new(),
            departed: 0,
            busy_until: Time::ZERO,
            emptying: None,
            delivered_through: Bytes::ZERO,
            delivered: 0,
        }
    }

    /// A packet arrives. False when it is dropped.
    #[inline]
    pub(crate) fn arrive(&mut self, mut packet: Packet, now: Time) -> bool {
        self.advance(now);
        let seen = packet.seen_by_law();
        let state = self.state();
        match self.gate.admit(&seen, state, now) {
            Admission::DroppedByLaw | Admission::DroppedByLimit => return false,
            Admission::Marked => packet.segment.flags |= Flags::CE,
            Admission::Queued => {}
        }
        // The packet goes down to the device when a place is free there: when the packet `device` places ahead of
        // it has left.
        let waiting = self.waiting();
        let goes_down =
            if waiting < self.device { now } else { self.ring[self.ring.len() - self.device].departure };
        self.emptying = Some(goes_down);
        let bits = (seen.size + self.wire.context.overhead).get() * self.ns_per_byte;
        self.busy_until = self.busy_until.max(now) + Duration::from_nanos(bits >> 20);
        let through = self.gate.counters.queued_bytes;
        self.ring.push_back(Entry { departure: self.busy_until, through, packet });
        true
    }

    /// When the next packet reaches the other end; [`Time::MAX`] when none is on its way.
    #[inline]
    pub(crate) fn next_delivery(&self) -> Time {
        self.ring.front().map_or(Time::MAX, |entry| entry.departure + self.wire.delay)
    }

    /// Take the packet that [`Link::next_delivery`] announced.
    #[inline]
    pub(crate) fn deliver(&mut self) -> Option<Packet> {
        // Timers due before it left must find it in the queue.
        self.advance(self.ring.front()?.departure);
        let entry = self.ring.pop_front()?;
        self.departed -= 1;
        self.delivered_through = entry.through;
        self.delivered += 1;
        Some(entry.packet)
    }

    /// Bring queue and law up to `now`: everything due before or at it has happened.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(at) = self.gate.law.poll_timeout()
            && at <= now
        {
            self.settle(at);
            let state = self.state();
            self.gate.law.on_timeout(state, at);
        }
        self.settle(now);
    }

    /// Let go what has left by `now`, and tell the law when that empties its queue.
    #[inline]
    fn settle(&mut self, now: Time) {
        while self.ring.get(self.departed).is_some_and(|entry| entry.departure <= now) {
            self.departed += 1;
        }
        if self.waiting() <= self.device
            && let Some(at) = self.emptying.take()
        {
            self.gate.law.on_empty(at);
        }
    }

    /// Packets in queue and device.
    #[inline]
    fn waiting(&self) -> usize {
        self.ring.len() - self.departed
    }

    /// What waits in the discipline's queue, as of the last [`Link::advance`].
    #[inline]
    pub(crate) fn state(&self) -> QueueState {
        let waiting = self.waiting();
        if waiting <= self.device {
            return QueueState::default();
        }
        // The last packet that the device holds has this many bytes up to it.
        let below = self.ring[self.departed + self.device - 1].through;
        QueueState {
            packets: u32::try_from(waiting - self.device).expect("fewer than 2^32 packets wait"),
            bytes: self.gate.counters.queued_bytes - below,
        }
    }

    pub(crate) fn law(&self) -> &A {
        &self.gate.law
    }

    /// Counters as of the last [`Link::advance`].
    pub(crate) fn counters(&self) -> LinkCounters {
        let last_sent = self.departed.checked_sub(1).and_then(|index| self.ring.get(index));
        LinkCounters {
            queue: self.gate.counters,
            sent: self.delivered + self.departed as u64,
            sent_bytes: last_sent.map_or(self.delivered_through, |entry| entry.through),
            held: self.waiting() as u64,
        }
    }

    /// Packets that have left and not arrived, and packets that wait: all that is inside.
    pub(crate) fn inside(&self) -> u64 {
        self.ring.len() as u64
    }
}
