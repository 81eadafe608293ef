//! The link for laws that decide when a packet arrives.
//!
//! All that such a discipline will do with a packet can be worked out at that moment: it will leave at max(now, when
//! the one before it leaves) + its time on the wire, or when a capacity whose rates are known ahead sends it. So a
//! departure is not an event but a number in a ring, packets on their way to the other end stand in the same ring (a
//! constant delay keeps them in order), and the length of the queue is how many in the ring have not left yet, less
//! those that the device holds.

use aqmlab_aqm::{Admission, AdmissionControl, DecidesAtEnqueue, QueueState};
use aqmlab_tcp::{Flags, HeaderOptions, WindowScale};
use aqmlab_units::{Bytes, Duration, Time};

use super::capacity::Capacity;
use crate::link::delay_histogram::Wait;
use crate::link::{AHEAD, DelayByOwner, Link, LinkCounters, Meter, Transmitter, Wire};
use crate::packet::{EndpointId, Owner, Packet};

/// One direction of a link of the capacity `C` under the law `A`.
#[derive(Debug)]
pub(crate) struct Computed<A, O = WindowScale, C = Transmitter> {
    control: AdmissionControl<A>,
    delay: Duration,
    /// Bytes of each frame's header that the discipline counts.
    header: Bytes,
    capacity: C,
    /// The device's places, the one being sent included.
    device: u64,
    /// Packets let in and not yet delivered: number n, counted from the start, stands at n modulo the capacity, a
    /// power of two.
    ring: Vec<Entry<O>>,
    /// The departure of each packet, at the same indices; in a ring of their own, since they are read alone. Behind the last
    /// one are [`AT_ONCE`] departures at [`Time::MAX`].
    departures: Vec<Time>,
    /// Packets let in, packets that have left the near end, packets that have reached the far end, since the start.
    queued: u64,
    sent: u64,
    delivered: u64,
    /// The time of the next delivery; [`Time::MAX`] without a packet in flight.
    next_delivery: Time,
    /// The time of the discipline's last dequeue, until a law that [uses it](DecidesAtEnqueue::USES_ON_EMPTY) knows that its
    /// queue is empty.
    emptying: Option<Time>,
    /// Bytes of all packets delivered so far, as the discipline counts them.
    delivered_through: Bytes,
    /// The queueing delays of the first `noted` packets that were queued, those not sent yet included.
    delays: DelayByOwner,
    noted: u64,
    /// The number of queued packets at which delays are noted or the ring may be full.
    look_at: u64,
    /// The last arrival, if it was dropped and not taken yet.
    lost: Option<Packet<O>>,
}

/// The number of departures that are compared at a time.
const AT_ONCE: u64 = 3;

/// The number of delays that are noted at a time: few enough to be still contiguous in the ring.
const NOTED_AT_ONCE: u64 = 32;

#[derive(Clone, Copy, Debug, Default)]
struct Entry<O> {
    /// Bytes let in up to and including this packet, as the discipline counts them.
    through: Bytes,
    /// From its arrival to its first bit on the wire.
    wait: Duration,
    /// From its arrival until the device takes it.
    sojourn: Duration,
    packet: Packet<O>,
}

impl<O> Entry<O> {
    #[inline(always)]
    fn waits(&self) -> Wait {
        Wait { time: self.wait, sojourn: self.sojourn, to: self.packet.to, class: 0 }
    }
}

impl<A: DecidesAtEnqueue, O: HeaderOptions> Computed<A, O> {
    /// A link of the constant rate of `wire`.
    pub(crate) fn new(control: AdmissionControl<A>, wire: &Wire) -> Computed<A, O> {
        let capacity = Transmitter::new(wire.context.rate, wire.context.overhead);
        Computed::with_capacity(control, wire, capacity)
    }
}

impl<A: DecidesAtEnqueue, O: HeaderOptions, C: Capacity> Computed<A, O, C> {
    /// `capacity` is [known ahead](Capacity::is_known_ahead).
    pub(crate) fn with_capacity(control: AdmissionControl<A>, wire: &Wire, capacity: C) -> Computed<A, O, C> {
        Computed {
            control,
            delay: wire.delay,
            header: wire.context.header,
            capacity,
            device: 1 + u64::from(wire.device_fifo),
            ring: vec![Entry::default(); 64],
            departures: vec![Time::MAX; 64],
            queued: 0,
            sent: 0,
            delivered: 0,
            next_delivery: Time::MAX,
            emptying: None,
            delivered_through: Bytes::ZERO,
            delays: DelayByOwner::new(wire.owners, &[]),
            noted: 0,
            look_at: NOTED_AT_ONCE,
            lost: None,
        }
    }

    /// Let go what has left by `now`, and tell the law when that empties its queue.
    #[inline(always)]
    fn settle(&mut self, now: Time) {
        // The number of departures is unpredictable. Counting without a branch avoids mispredictions, and comparing
        // several at once avoids that one comparison waits for the one before.
        loop {
            let left: u64 =
                (0..AT_ONCE).map(|ahead| u64::from(self.departure(self.sent + ahead) <= now)).sum();
            self.sent += left;
            if left < AT_ONCE {
                break;
            }
        }
        if A::USES_ON_EMPTY
            && self.waiting() <= self.device
            && let Some(at) = self.emptying.take()
        {
            self.control.law.on_empty(at);
        }
    }

    /// Packets in queue and device.
    #[inline]
    fn waiting(&self) -> u64 {
        self.queued - self.sent
    }

    #[inline]
    fn entry(&self, n: u64) -> &Entry<O> {
        &self.ring[place(n, self.ring.len())]
    }

    #[inline]
    fn departure(&self, n: u64) -> Time {
        self.departures[place(n, self.departures.len())]
    }

    /// The place of a packet that is let in.
    #[inline(always)]
    fn push(&mut self, departure: Time) -> &mut Entry<O> {
        if self.queued == self.look_at {
            self.look();
        }
        if self.inside() == 0 {
            self.next_delivery = departure + self.delay;
        }
        let (room, queued) = (self.ring.len(), self.queued);
        self.queued = queued + 1;
        self.departures[place(queued, room)] = departure;
        self.departures[place(queued + AT_ONCE, room)] = Time::MAX;
        &mut self.ring[place(queued, room)]
    }

    /// Note waits, and make room for the next packets.
    #[cold]
    #[inline(never)]
    fn look(&mut self) {
        if self.queued.is_multiple_of(NOTED_AT_ONCE) {
            self.note();
        }
        if self.inside() + AT_ONCE == self.ring.len() as u64 {
            self.grow();
        }
        // Deliveries only make room: until then there is some.
        let full_at = self.delivered + self.ring.len() as u64 - AT_ONCE;
        self.look_at = full_at.min((self.queued / NOTED_AT_ONCE + 1) * NOTED_AT_ONCE);
    }

    /// Note the waits of the packets let in since this was last done: they stand side by side.
    fn note(&mut self) {
        let first = place(self.noted, self.ring.len());
        let count = place(self.queued - self.noted, self.ring.len());
        self.delays.record_each(self.ring[first..first + count].iter().map(Entry::waits));
        self.noted = self.queued;
    }

    /// Twice the room, each packet at its place in the larger ring.
    #[cold]
    fn grow(&mut self) {
        let first = self.delivered.min(self.noted);
        let kept: Vec<(Time, Entry<O>)> =
            (first..self.queued).map(|n| (self.departure(n), *self.entry(n))).collect();
        self.ring = vec![Entry::default(); 2 * self.ring.len()];
        self.departures = vec![Time::MAX; self.ring.len()];
        for (n, (departure, entry)) in (first..).zip(kept) {
            let place = place(n, self.ring.len());
            self.departures[place] = departure;
            self.ring[place] = entry;
        }
    }
}

/// The place of packet number `n` in a ring of `room`, a power of two.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "reduced to the ring's length")]
fn place(n: u64, room: usize) -> usize {
    n as usize & (room - 1)
}

impl<A: DecidesAtEnqueue, O: HeaderOptions, C: Capacity> Link<O> for Computed<A, O, C> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        if self.delays.is_another(client, owner) {
            // What is not noted yet may be of the connection that had this number before.
            self.note();
            self.delays.opened(client, owner);
        }
    }

    #[inline(always)]
    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        self.advance(now);
        let seen = packet.seen_by_law(self.header);
        let marks = match self.control.admit(&seen, self.state(), now) {
            Admission::DroppedEarly | Admission::DroppedForced | Admission::DroppedByLimit => {
                self.lost = Some(*packet);
                return true;
            }
            Admission::Marked => Flags::CE,
            Admission::Queued => Flags::NONE,
        };
        // The packet goes down to the device when a place is free there: when the packet `device` places ahead of it
        // has left.
        let is_free = self.waiting() < self.device;
        let goes_down = if is_free { now } else { self.departure(self.queued - self.device) };
        if A::USES_ON_EMPTY {
            // This packet is the last in the queue, so the queue is empty when it leaves, unless another arrives first.
            self.emptying = Some(goes_down);
        }
        let (first_bit, departure) = self.capacity.send(seen.size, now);
        let through = self.control.counters.queued_bytes;
        let entry = self.push(departure);
        (entry.through, entry.packet) = (through, *packet);
        (entry.wait, entry.sojourn) = (first_bit - now, goes_down - now);
        entry.packet.segment.flags |= marks;
        false
    }

    #[inline]
    fn pop_drop(&mut self) -> Option<Packet<O>> {
        self.lost.take()
    }

    #[inline]
    fn next_delivery(&self) -> Time {
        self.next_delivery
    }

    #[inline]
    fn next_to(&self) -> EndpointId {
        self.entry(self.delivered).packet.to
    }

    #[inline]
    fn peek_prefetch(&self) -> EndpointId {
        self.entry(self.delivered + AHEAD as u64).packet.to
    }

    #[inline(always)]
    fn deliver(&mut self) -> Packet<O> {
        debug_assert!(self.delivered < self.queued, "nothing is on its way");
        // Queue and law are brought up to date at the next arrival or reading. Until then the packet's entry stays
        // where it is.
        let Entry { through, packet, .. } = *self.entry(self.delivered);
        self.delivered += 1;
        self.delivered_through = through;
        self.next_delivery = if self.delivered == self.queued {
            Time::MAX
        } else {
            self.departure(self.delivered) + self.delay
        };
        packet
    }

    #[inline(always)]
    fn advance(&mut self, now: Time) {
        while let Some(at) = self.control.law.poll_timeout()
            && at <= now
        {
            // The law's timer sees the queue at its own time, without the packets that left before.
            self.settle(at);
            let state = self.state();
            self.control.law.on_timeout(state, at);
        }
        self.settle(now);
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        (hop == 0).then_some(self)
    }
}

impl<A: DecidesAtEnqueue, O: HeaderOptions, C: Capacity> Meter for Computed<A, O, C> {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "limits are 32 bits wide")]
    fn state(&self) -> QueueState {
        let waiting = self.waiting();
        // The device's packets are no longer in the discipline's queue.
        if waiting <= self.device {
            return QueueState::default();
        }
        // The bytes behind the last packet that the device holds.
        let below = self.entry(self.sent + self.device - 1).through;
        QueueState {
            packets: (waiting - self.device) as u32,
            bytes: self.control.counters.queued_bytes - below,
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.control.law.probe(out);
    }

    fn counters(&self) -> LinkCounters {
        // A later packet may have the entry of one that was delivered.
        let through = if self.sent > self.delivered {
            self.entry(self.sent - 1).through
        } else {
            self.delivered_through
        };
        let headers = Bytes::new(self.header.get() * self.sent);
        LinkCounters {
            queue: self.control.counters,
            policed: 0,
            sent: self.sent,
            sent_bytes: through - headers,
            padding: Bytes::ZERO,
            wire: crate::link::WireCounts::default(),
            held: self.waiting(),
        }
    }

    fn delays(&self) -> DelayByOwner {
        let waits = |packets: std::ops::Range<u64>| packets.map(|n| self.entry(n).waits());
        self.delays.corrected(waits(self.noted..self.sent), waits(self.sent..self.noted))
    }

    fn inside(&self) -> u64 {
        self.queued - self.delivered
    }
}
