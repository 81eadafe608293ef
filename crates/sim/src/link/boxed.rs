//! A link of any kind, behind a table of functions: what the main loop asks before each event is noted beside it.
//!
//! A call through a table costs as much as what it asks for, so what may have changed comes with the answer of the call that
//! may have changed it.

use aqmlab_units::Time;

use super::{Link, Meter};
use crate::packet::{EndpointId, Owner, Packet};

/// Any link, and what it has noted.
pub(crate) struct Boxed<O> {
    link: Box<dyn Noting<O> + Send>,
    noted: Noted,
}

/// What a link said when it was last told of something.
#[derive(Clone, Copy, Debug)]
struct Noted {
    next_delivery: Time,
    /// At its last delivery.
    upcoming: EndpointId,
}

impl<O> Boxed<O> {
    /// `link` is empty.
    pub(crate) fn new(link: impl Link<O> + Send + 'static) -> Boxed<O> {
        let noted = Noted { next_delivery: Time::MAX, upcoming: EndpointId::default() };
        Boxed { link: Box::new(link), noted }
    }
}

/// A link that notes what has changed.
trait Noting<O>: Link<O> {
    /// [`Link::arrive`].
    fn arrive_noting(&mut self, packet: &Packet<O>, now: Time, noted: &mut Noted) -> bool;

    /// [`Link::deliver`].
    fn deliver_noting(&mut self, noted: &mut Noted) -> Packet<O>;
}

impl<O, L: Link<O>> Noting<O> for L {
    fn arrive_noting(&mut self, packet: &Packet<O>, now: Time, noted: &mut Noted) -> bool {
        let has_lost = self.arrive(packet, now);
        noted.next_delivery = self.next_delivery();
        has_lost
    }

    fn deliver_noting(&mut self, noted: &mut Noted) -> Packet<O> {
        let packet = self.deliver();
        *noted = Noted { next_delivery: self.next_delivery(), upcoming: self.upcoming() };
        packet
    }
}

impl<O> Link<O> for Boxed<O> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        self.link.opened(client, owner);
    }

    #[inline]
    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        self.link.arrive_noting(packet, now, &mut self.noted)
    }

    #[inline]
    fn take_lost(&mut self) -> Option<Packet<O>> {
        self.link.take_lost()
    }

    #[inline]
    fn next_delivery(&self) -> Time {
        self.noted.next_delivery
    }

    fn next_to(&self) -> EndpointId {
        self.link.next_to()
    }

    #[inline]
    fn upcoming(&self) -> EndpointId {
        self.noted.upcoming
    }

    /// What is boxed is one link, so that none of its packets goes on.
    #[inline]
    fn deliver(&mut self) -> Packet<O> {
        self.link.deliver_noting(&mut self.noted)
    }

    fn advance(&mut self, now: Time) {
        self.link.advance(now);
        self.noted.next_delivery = self.link.next_delivery();
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        self.link.meter(hop)
    }
}
