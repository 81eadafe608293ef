//! The machines that servers run on.
//!
//! A window of segments that a server releases at once reaches the link one frame time of its machine's interface
//! apart; without that every burst of slow start would fall upon the queue in one instant. What browsers send
//! (requests and acknowledgements, spread by their round-trip times) is not held up. A packet is at the link when its
//! first bit is sent, so that one that finds the interface idle need not wait as an event.
//!
//! An interface keeps order, so its packets could stand in a ring with only the foremost in a queue of events; with
//! sixteen rings and a heap that cost 4 % more instructions than giving each packet to the wheel.

use aqmlab_units::{Bytes, Time};

use crate::packet::Direction;
use crate::spec::HostsSpec;
use crate::transmitter::Transmitter;

/// The interfaces of the machines that servers run on, both sides.
#[derive(Debug)]
pub(super) struct Hosts {
    per_side: u32,
    interfaces: Vec<Transmitter>,
}

impl Hosts {
    pub(super) fn new(spec: &HostsSpec, overhead: Bytes) -> Hosts {
        let interface = Transmitter::new(spec.rate, overhead);
        Hosts {
            per_side: spec.servers_per_side,
            interfaces: vec![interface; 2 * spec.servers_per_side as usize],
        }
    }

    /// The machine on `side` that serves the connection known by `number`: all machines serve equally often.
    pub(super) fn of(&self, side: Direction, number: u64) -> u16 {
        let among = number % u64::from(self.per_side);
        u16::try_from(among + side as u64 * u64::from(self.per_side))
            .expect("the spec bounds the number of hosts")
    }

    /// `host` sends a packet of `size`: when it reaches the link, which is when its first bit is sent.
    #[inline]
    pub(super) fn send(&mut self, host: u16, size: Bytes, now: Time) -> Time {
        let (first, _) = self.interfaces[usize::from(host)].send(size, now);
        first
    }
}
