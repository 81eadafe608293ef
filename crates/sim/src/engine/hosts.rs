//! The machines that servers run on.
//!
//! A window of segments that a server releases at once reaches the link one frame time of its machine's interface
//! apart; without that every burst of slow start would fall upon the queue in one instant. What browsers send
//! (requests and acknowledgements, spread by their round-trip times) is not held up.
//!
//! An interface keeps order, so its packets could stand in a ring with only the foremost in a queue of events; with
//! sixteen rings and a heap that cost 4 % more instructions than giving each packet to the wheel.

use aqmlab_units::{Bytes, Duration, Time};

use crate::packet::Direction;
use crate::spec::HostsSpec;

/// The interfaces of the machines that servers run on, both sides.
#[derive(Debug)]
pub(super) struct Hosts {
    per_side: u32,
    /// Nanoseconds per byte in units of 2^-20 ns.
    ns_per_byte: u64,
    overhead: Bytes,
    busy_until: Vec<Time>,
}

impl Hosts {
    pub(super) fn new(spec: &HostsSpec, overhead: Bytes) -> Hosts {
        Hosts {
            per_side: spec.servers_per_side,
            ns_per_byte: spec.rate.ns_per_byte(),
            overhead,
            busy_until: vec![Time::ZERO; 2 * spec.servers_per_side as usize],
        }
    }

    /// The machine on `side` that serves the connection known by `number`: all machines serve equally often.
    pub(super) fn of(&self, side: Direction, number: u64) -> u16 {
        let among = number % u64::from(self.per_side);
        u16::try_from(among + side as u64 * u64::from(self.per_side))
            .expect("the spec bounds the number of hosts")
    }

    /// `host` sends a packet of `size`: when its last bit reaches the link.
    #[inline]
    pub(super) fn send(&mut self, host: u16, size: Bytes, now: Time) -> Time {
        let busy_until = &mut self.busy_until[usize::from(host)];
        let bits = (size + self.overhead).get() * self.ns_per_byte;
        *busy_until = (*busy_until).max(now) + Duration::from_nanos(bits >> 20);
        *busy_until
    }
}
