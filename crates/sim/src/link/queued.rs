//! The link for disciplines that decide when a packet leaves, or in which order packets do.
//!
//! The discipline hands a packet down when a place in the device becomes free, which is when another has left; from
//! there on its departure is known. So all that must be followed is the packets below the discipline, in a ring, and
//! it is followed lazily: what happened since the last look is made up for before the next arrival.
//!
//! Some capacities have no room for a packet as soon as the device has a place: then the discipline keeps it until they do.

use std::collections::VecDeque;

use aqmlab_aqm::{Ecn, FlowLabel, Qdisc, QueueState};
use aqmlab_tcp::{Flags, HeaderOptions, WindowScale};
use aqmlab_units::{Bytes, Duration, Time};

use super::capacity::Capacity;
use crate::link::delay_histogram::Wait;
use crate::link::{
    AHEAD, DelayByOwner, Forwarding, Link, LinkCounters, Meter, Transmitter, Wire, WireCounts,
};
use crate::packet::{EndpointId, Owner, Packet};

/// One direction of a link of the capacity `C` under the discipline `Q`.
#[derive(Debug)]
pub(crate) struct Queued<Q, O = WindowScale, C = Transmitter> {
    queue: Q,
    delay: Duration,
    /// Bytes of each frame's header that the discipline counts.
    header: Bytes,
    capacity: C,
    /// The time at which the capacity has room for the discipline's next packet, if the device has a place for it before.
    ready: Time,
    /// The device's places, the one being sent included.
    device: usize,
    /// Packets that the discipline has handed down and that have not been delivered.
    device_fifo: VecDeque<DeviceFifo<O>>,
    /// The number of them, from the front, that have left.
    gone: usize,
    policed: u64,
    sent: u64,
    sent_bytes: Bytes,
    /// True if frames have [padding](Capacity::padding): asking a boxed capacity about each took 9 of 1,520 instructions.
    is_padded: bool,
    padding: Bytes,
    delays: DelayByOwner,
    lost: Vec<Packet<O>>,
}

/// A packet below the discipline.
#[derive(Clone, Copy, Debug)]
struct DeviceFifo<O> {
    departure: Time,
    /// From its arrival to its first bit on the wire.
    wait: Duration,
    /// Of that, in the discipline's queue.
    sojourn: Duration,
    /// Its class in the discipline.
    class: u8,
    packet: Packet<O>,
}

impl<Q: Qdisc<Packet<O>>, O: HeaderOptions> Queued<Q, O> {
    /// A link of the constant rate of `wire`.
    pub(crate) fn new(queue: Q, wire: &Wire) -> Queued<Q, O> {
        let capacity = Transmitter::new(wire.context.rate, wire.context.overhead);
        Queued::with_capacity(queue, wire, capacity)
    }
}

impl<Q: Qdisc<Packet<O>>, O: HeaderOptions, C: Capacity> Queued<Q, O, C> {
    pub(crate) fn with_capacity(queue: Q, wire: &Wire, capacity: C) -> Queued<Q, O, C> {
        let is_padded = capacity.is_padded();
        Queued {
            delays: DelayByOwner::new(wire.owners, queue.classes()),
            queue,
            delay: wire.delay,
            header: wire.context.header,
            capacity,
            ready: Time::MAX,
            device: 1 + wire.device_fifo as usize,
            device_fifo: VecDeque::new(),
            gone: 0,
            policed: 0,
            sent: 0,
            sent_bytes: Bytes::ZERO,
            is_padded,
            padding: Bytes::ZERO,
            lost: Vec::new(),
        }
    }

    /// The foremost packet that is still in the device leaves.
    #[inline]
    fn depart(&mut self) {
        let DeviceFifo { wait, sojourn, class, packet, .. } = self.device_fifo[self.gone];
        self.gone += 1;
        self.sent += 1;
        self.sent_bytes += packet.size();
        if self.is_padded {
            self.padding += self.capacity.padding(packet.size() + self.header);
        }
        self.delays.record(Wait { time: wait, sojourn, to: packet.to, class });
    }

    /// Returns the time until which packets wait before an empty device: until the discipline or the capacity lets one pass.
    fn held_until(&self) -> Time {
        if self.queue.state().packets == 0 {
            return Time::MAX;
        }
        self.queue.poll_timeout().unwrap_or(Time::MAX).min(self.ready())
    }

    /// Returns the time at which the capacity has room for a packet, if it is waited for.
    #[inline(always)]
    fn ready(&self) -> Time {
        // For a capacity that always has room, the compiler leaves this out.
        if self.capacity.ready().is_some() { self.ready } else { Time::MAX }
    }

    /// Fill the device from the queue. An empty queue is asked too, since CoDel leaves its dropping state then (RFC 8289, 5.5).
    #[inline]
    fn fill_device(&mut self, now: Time) {
        self.ready = Time::MAX;
        if self.capacity.ready().is_some() {
            self.capacity.waiting(self.queue.state(), now);
        }
        while self.device_fifo.len() - self.gone < self.device || self.capacity.is_open() {
            if let Some(ready) = self.capacity.ready()
                && ready > now
            {
                self.ready = ready;
                return;
            }
            let Some(departure) = self.queue.dequeue(now, &mut |packet| self.lost.push(packet)) else {
                return;
            };
            let mut packet = departure.payload;
            let class = self.queue.class_of(&packet.seen_by_law(self.header));
            // The discipline marks its own description of the packet.
            if departure.packet.ecn == Ecn::Ce {
                packet.segment.flags |= Flags::CE;
            }
            let (first_bit, departs) = self.capacity.send(departure.packet.size, now);
            let (wait, sojourn) = (first_bit - departure.enqueued_at, now - departure.enqueued_at);
            self.device_fifo.push_back(DeviceFifo { departure: departs, wait, sojourn, class, packet });
        }
    }
}

impl<Q: Qdisc<Packet<O>>, O: HeaderOptions, C: Capacity> Link<O> for Queued<Q, O, C> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        self.delays.opened(client, owner);
    }

    fn label_flow(&mut self, to: EndpointId, label: FlowLabel) -> FlowLabel {
        self.queue.label_flow(to.number(), label)
    }

    #[inline]
    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        self.advance(now);
        if self.capacity.ready().is_some() && self.queue.state().packets == 0 {
            self.capacity.idle(now);
        }
        let seen = packet.seen_by_law(self.header);
        if !self.capacity.admit(seen.size, now) {
            self.policed += 1;
            self.lost.push(*packet);
            return true;
        }
        let lost = &mut |packet| self.lost.push(packet);
        if self.queue.reads_headers()
            && let Some(header) = packet.tcp_header()
        {
            self.queue.enqueue_segment(seen, &header, *packet, now, lost);
        } else {
            self.queue.enqueue(seen, *packet, now, lost);
        }
        self.fill_device(now);
        !self.lost.is_empty()
    }

    #[inline]
    fn pop_drop(&mut self) -> Option<Packet<O>> {
        self.lost.pop()
    }

    #[inline]
    fn next_delivery(&self) -> Time {
        match self.device_fifo.front() {
            Some(device_fifo) => device_fifo.departure + self.delay,
            None => self.held_until(),
        }
    }

    #[inline]
    fn is_held_back(&self) -> bool {
        self.device_fifo.is_empty()
    }

    #[inline]
    fn forward_to_next_hop(&mut self) -> Forwarding {
        if !self.is_held_back() {
            return Forwarding::AtDestination;
        }
        self.advance(self.held_until());
        Forwarding::Forwarded
    }

    #[inline]
    fn next_to(&self) -> EndpointId {
        self.device_fifo[0].packet.to
    }

    #[inline]
    fn peek_prefetch(&self) -> EndpointId {
        self.device_fifo.get(AHEAD).map_or(EndpointId::default(), |device_fifo| device_fifo.packet.to)
    }

    #[inline]
    fn deliver(&mut self) -> Packet<O> {
        if self.gone == 0 {
            // Its departure is not handled yet: it makes room in the device for the packet that is delivered next.
            self.advance(self.device_fifo[0].departure);
        }
        let DeviceFifo { packet, departure, .. } =
            self.device_fifo.pop_front().expect("a packet was announced");
        self.gone -= 1;
        if self.device_fifo.is_empty() && self.queue.state().packets > 0 {
            // Packets that the discipline held back until a time since its departure have left.
            self.advance(departure + self.delay);
        }
        packet
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        loop {
            let departure =
                self.device_fifo.get(self.gone).map_or(Time::MAX, |device_fifo| device_fifo.departure);
            let timer = self.queue.poll_timeout().unwrap_or(Time::MAX);
            let leaves = departure.min(self.ready());
            if leaves.min(timer) > now {
                return;
            }
            // At one time the departure comes first, as under laws that decide at arrival.
            if leaves <= timer {
                if departure == leaves {
                    self.depart();
                }
                self.fill_device(leaves);
            } else {
                self.queue.on_timeout(timer);
                // The decision of a kernel may be that a packet leaves.
                self.fill_device(timer);
            }
        }
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        (hop == 0).then_some(self)
    }
}

impl<Q: Qdisc<Packet<O>>, O: HeaderOptions, C: Capacity> Meter for Queued<Q, O, C> {
    fn state(&self) -> QueueState {
        self.queue.state()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.queue.probe(out);
    }

    fn counters(&self) -> LinkCounters {
        let in_device = (self.device_fifo.len() - self.gone) as u64;
        LinkCounters {
            queue: self.queue.counters(),
            policed: self.policed,
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            padding: self.padding,
            wire: WireCounts::default(),
            held: u64::from(self.queue.state().packets) + in_device,
        }
    }

    fn delays(&self) -> DelayByOwner {
        self.delays.clone()
    }

    fn inside(&self) -> u64 {
        u64::from(self.queue.state().packets) + self.device_fifo.len() as u64
    }

    fn full_until(&self) -> Option<Time> {
        let in_device = self.device_fifo.len() - self.gone;
        (in_device >= self.device).then(|| self.device_fifo[self.gone].departure)
    }
}
