//! Packets on their way, each with a number by which what is known of it is found again.
//!
//! The number travels with the packet, where its options stand. Telling packets apart by what is in them would not do:
//! duplicate acknowledgements are alike, and which of them a queue has dropped decides what comes next.

use aqmlab_tcp::{HeaderOptions, Options};
use aqmlab_units::Time;

use super::attribution::{Attribution, Part};
use crate::packet::Packet;
use crate::slab::Slab;

/// A packet's options and its number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tagged<O> {
    number: u32,
    options: O,
}

impl<O: Default> Tagged<O> {
    /// No options.
    pub(crate) fn new(number: u32) -> Tagged<O> {
        Tagged { number, options: O::default() }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl<O: HeaderOptions> HeaderOptions for Tagged<O> {
    fn len(&self) -> u16 {
        self.options.len()
    }

    fn modern(&self) -> Option<&Options> {
        self.options.modern()
    }
}

/// The trace of a packet in flight.
#[derive(Clone, Debug)]
pub(super) struct Transit {
    /// Its sending.
    pub(super) attribution: Attribution,
    /// The time at which its first bit leaves its machine, and its arrival at the link.
    pub(super) first_bit: Time,
    pub(super) at_link: Time,
    /// The part to which its propagation is booked, from its machine to the link and from there to the receiver.
    pub(super) way: Part,
}

/// All packets on their way.
#[derive(Debug, Default)]
pub(super) struct InTransit(Slab<Transit>);

impl InTransit {
    /// Give a packet its number.
    pub(super) fn depart<O: Copy>(&mut self, packet: Packet<O>, transit: Transit) -> Packet<Tagged<O>> {
        let number = u32::try_from(self.0.put(transit)).expect("fewer than 2^32 packets on their way");
        let options = Tagged { number, options: packet.segment.options };
        packet.with_options(options)
    }

    /// A packet has come to the end of its way, or has been dropped: as its sender sent it, marks apart, and what is
    /// known of it.
    pub(super) fn arrive<O: Copy>(&mut self, packet: &Packet<Tagged<O>>) -> (Packet<O>, Transit) {
        let Tagged { number, options } = packet.segment.options;
        (packet.with_options(options), self.0.take(number as usize))
    }
}
