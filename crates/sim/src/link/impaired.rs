//! A link whose wire impairs packets: they may be lost, late, duplicated or changed after they were sent.
//!
//! ```text
//!   arrival -> [ link: queue, device, shortest delay ] -> fate -> [ late packets, by time of arrival ] -> delivery
//! ```
//!
//! Each delivery of the link inside is an event of its own, in which the fate of its packet is decided.

mod fates;
mod losses;

use std::collections::BTreeMap;

use aqmlab_aqm::{FlowLabel, QueueState};
use aqmlab_tcp::HeaderOptions;
use aqmlab_units::Time;

pub(crate) use self::fates::Fates;
pub use self::losses::Losses;
use super::{Boxed, DelayByOwner, Forwarding, Link, LinkCounters, Meter};
use crate::packet::{EndpointId, Owner, Packet};

/// One direction of a link, and the impairments of its wire.
pub(crate) struct Impaired<O> {
    link: Boxed<O>,
    fates: Fates,
    /// Packets whose fate is decided, by the time of their arrival and the order of their departures.
    arrivals: BTreeMap<(Time, u64), Packet<O>>,
    /// The number of entries that `arrivals` ever had.
    entries: u64,
    /// The latest arrival of a packet that is not late.
    latest: Time,
    /// The effect on the packet before, which was not taken yet.
    event: Option<WireEvent<O>>,
    counts: WireCounts,
}

/// An effect of a wire that changes the number of packets in the network.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WireEvent<O> {
    /// The packet is lost.
    Lost(Packet<O>),
    /// A second copy of the packet is on its way.
    Copied(Packet<O>),
}

/// Packets that a wire has impaired since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WireCounts {
    /// Packets lost.
    pub(crate) lost: u64,
    /// Packets that arrived twice.
    pub(crate) duplicated: u64,
    /// Packets that others may have overtaken.
    pub(crate) reordered: u64,
    /// Packets whose ECN field was changed.
    pub(crate) ecn_changed: u64,
}

impl<O: HeaderOptions> Impaired<O> {
    pub(crate) fn new(link: Boxed<O>, fates: Fates) -> Impaired<O> {
        Impaired {
            link,
            fates,
            arrivals: BTreeMap::new(),
            entries: 0,
            latest: Time::ZERO,
            event: None,
            counts: WireCounts::default(),
        }
    }

    /// Returns the time of the first arrival of a packet whose fate is decided.
    fn next_arrival(&self) -> Time {
        self.arrivals.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at)
    }

    /// Take the next packet from the link inside, and decide its fate.
    fn take_next(&mut self) {
        let now = self.link.next_delivery();
        let mut packet = self.link.deliver();
        let ecn = packet.ecn();
        let fate = self.fates.decide(packet.size(), &mut packet.segment.flags, now);
        if fate.is_lost {
            self.counts.lost += 1;
            self.event = Some(WireEvent::Lost(packet));
            return;
        }
        self.counts.ecn_changed += u64::from(packet.ecn() != ecn);
        let mut at = now + fate.later;
        if self.fates.keeps_order() {
            at = at.max(self.latest);
            self.latest = at;
        }
        self.counts.reordered += u64::from(fate.is_late());
        self.insert(at + fate.late, packet);
        if fate.is_duplicated {
            self.counts.duplicated += 1;
            self.event = Some(WireEvent::Copied(packet));
            self.insert(at + fate.late, packet);
        }
    }

    fn insert(&mut self, at: Time, packet: Packet<O>) {
        self.arrivals.insert((at, self.entries), packet);
        self.entries += 1;
    }
}

impl<O: HeaderOptions> Link<O> for Impaired<O> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        self.link.opened(client, owner);
    }

    fn label_flow(&mut self, to: EndpointId, label: FlowLabel) -> FlowLabel {
        self.link.label_flow(to, label)
    }

    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        self.link.arrive(packet, now)
    }

    fn pop_drop(&mut self) -> Option<Packet<O>> {
        self.link.pop_drop()
    }

    fn pop_wire_event(&mut self) -> Option<WireEvent<O>> {
        self.event.take()
    }

    fn next_delivery(&self) -> Time {
        self.link.next_delivery().min(self.next_arrival())
    }

    /// At one time, packets whose fate is decided come first: they departed earlier.
    fn is_held_back(&self) -> bool {
        self.link.next_delivery() < self.next_arrival()
    }

    fn next_to(&self) -> EndpointId {
        let (_, packet) = self.arrivals.first_key_value().expect("a packet was announced");
        packet.to
    }

    fn peek_prefetch(&self) -> EndpointId {
        self.link.peek_prefetch()
    }

    fn forward_to_next_hop(&mut self) -> Forwarding {
        if !self.is_held_back() {
            return Forwarding::AtDestination;
        }
        if self.link.is_held_back() {
            return self.link.forward_to_next_hop();
        }
        self.take_next();
        Forwarding::Forwarded
    }

    fn deliver(&mut self) -> Packet<O> {
        let (_, packet) = self.arrivals.pop_first().expect("a packet was announced");
        packet
    }

    fn advance(&mut self, now: Time) {
        self.link.advance(now);
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        (hop == 0).then_some(self)
    }
}

impl<O> Impaired<O> {
    fn inner(&self) -> &dyn Meter {
        self.link.meter(0).expect("there is a link")
    }
}

impl<O> Meter for Impaired<O> {
    fn state(&self) -> QueueState {
        self.inner().state()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.inner().probe(out);
    }

    fn counters(&self) -> LinkCounters {
        LinkCounters { wire: self.counts, ..self.inner().counters() }
    }

    fn delays(&self) -> DelayByOwner {
        self.inner().delays()
    }

    fn inside(&self) -> u64 {
        self.inner().inside() + self.arrivals.len() as u64
    }

    fn full_until(&self) -> Option<Time> {
        self.inner().full_until()
    }
}
