//! A link of any kind, behind a table of functions: what the main loop asks before each event is noted beside it.
//!
//! A call through a table costs as much as what it asks for, so what may have changed comes with the answer of the call that
//! may have changed it.

use aqmlab_aqm::FlowLabel;
use aqmlab_units::Time;

use super::{Forwarding, Link, Meter, WireEvent};
use crate::packet::{EndpointId, Owner, Packet};

/// Any link, and what it has noted.
pub(crate) struct Boxed<O> {
    link: Box<dyn CachingLink<O> + Send>,
    cached: Cached,
}

/// The state of a link after its last event.
#[derive(Clone, Copy, Debug)]
struct Cached {
    next_delivery: Time,
    is_held_back: bool,
    /// At its last delivery.
    peek_prefetch: EndpointId,
}

impl<O> Boxed<O> {
    /// `link` is empty.
    pub(crate) fn new(link: impl Link<O> + Send + 'static) -> Boxed<O> {
        let peek_prefetch = EndpointId::default();
        let cached = Cached { next_delivery: Time::MAX, is_held_back: false, peek_prefetch };
        Boxed { link: Box::new(link), cached }
    }
}

/// A link that notes what has changed.
trait CachingLink<O>: Link<O> {
    /// [`Link::arrive`].
    fn arrive_cached(&mut self, packet: &Packet<O>, now: Time, cached: &mut Cached) -> bool;

    /// [`Link::deliver`].
    fn deliver_cached(&mut self, cached: &mut Cached) -> Packet<O>;
}

impl<O, L: Link<O>> CachingLink<O> for L {
    fn arrive_cached(&mut self, packet: &Packet<O>, now: Time, cached: &mut Cached) -> bool {
        let has_lost = self.arrive(packet, now);
        (cached.next_delivery, cached.is_held_back) = (self.next_delivery(), self.is_held_back());
        has_lost
    }

    fn deliver_cached(&mut self, cached: &mut Cached) -> Packet<O> {
        let packet = self.deliver();
        *cached = Cached {
            next_delivery: self.next_delivery(),
            is_held_back: self.is_held_back(),
            peek_prefetch: self.peek_prefetch(),
        };
        packet
    }
}

impl<O> Link<O> for Boxed<O> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        self.link.opened(client, owner);
    }

    fn label_flow(&mut self, to: EndpointId, label: FlowLabel) -> FlowLabel {
        self.link.label_flow(to, label)
    }

    #[inline]
    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        self.link.arrive_cached(packet, now, &mut self.cached)
    }

    #[inline]
    fn pop_drop(&mut self) -> Option<Packet<O>> {
        self.link.pop_drop()
    }

    fn pop_wire_event(&mut self) -> Option<WireEvent<O>> {
        self.link.pop_wire_event()
    }

    #[inline]
    fn next_delivery(&self) -> Time {
        self.cached.next_delivery
    }

    #[inline]
    fn is_held_back(&self) -> bool {
        self.cached.is_held_back
    }

    fn next_to(&self) -> EndpointId {
        self.link.next_to()
    }

    #[inline]
    fn peek_prefetch(&self) -> EndpointId {
        self.cached.peek_prefetch
    }

    /// A boxed link is a single one, so that no packet leaves for another.
    #[inline]
    fn forward_to_next_hop(&mut self) -> Forwarding {
        if !self.cached.is_held_back {
            return Forwarding::AtDestination;
        }
        let forwarding = self.link.forward_to_next_hop();
        self.cached.next_delivery = self.link.next_delivery();
        self.cached.is_held_back = self.link.is_held_back();
        forwarding
    }

    #[inline]
    fn deliver(&mut self) -> Packet<O> {
        self.link.deliver_cached(&mut self.cached)
    }

    fn advance(&mut self, now: Time) {
        self.link.advance(now);
        self.cached.next_delivery = self.link.next_delivery();
        self.cached.is_held_back = self.link.is_held_back();
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        self.link.meter(hop)
    }
}
