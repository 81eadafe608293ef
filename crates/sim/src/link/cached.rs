//! A link that is far to ask: when it delivers next is noted beside it whenever that may have changed.
//!
//! The main loop asks both directions before each event. Of a boxed link that is a call through a table, which cannot be
//! inlined; what is noted here is read where it stands.

use aqmlab_units::Time;

use super::{Link, Meter};
use crate::packet::{EndpointId, Owner, Packet};

/// A link and when it delivers next.
#[derive(Debug)]
pub(crate) struct Cached<L> {
    link: L,
    next_delivery: Time,
}

impl<L> Cached<L> {
    /// `link` is empty.
    pub(crate) fn new(link: L) -> Cached<L> {
        Cached { link, next_delivery: Time::MAX }
    }
}

impl<O, L: Link<O>> Link<O> for Cached<L> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        self.link.opened(client, owner);
    }

    #[inline]
    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        let has_lost = self.link.arrive(packet, now);
        self.next_delivery = self.link.next_delivery();
        has_lost
    }

    #[inline]
    fn take_lost(&mut self) -> Option<Packet<O>> {
        self.link.take_lost()
    }

    #[inline]
    fn next_delivery(&self) -> Time {
        self.next_delivery
    }

    #[inline]
    fn upcoming(&self, ahead: u64) -> EndpointId {
        self.link.upcoming(ahead)
    }

    /// What is cached is one link.
    #[inline]
    fn deliver(&mut self) -> Packet<O> {
        let packet = self.link.deliver();
        self.next_delivery = self.link.next_delivery();
        packet
    }

    fn advance(&mut self, now: Time) {
        self.link.advance(now);
        self.next_delivery = self.link.next_delivery();
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        self.link.meter(hop)
    }
}
