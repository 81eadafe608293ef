//! The time that packets need over the links of their paths without waiting.

use aqmlab_units::{Bytes, Duration, Time};

use crate::link::Transmitter;
use crate::packet::Owner;
use crate::side::Direction;
use crate::spec::{Hops, LinkSpec};

/// The links, as packets find them when they are idle, and the paths over them.
#[derive(Debug)]
pub(crate) struct Paths {
    links: Vec<IdleLink>,
    /// By owner; empty without a chain, where every path is the only link.
    hops: Vec<Hops>,
}

#[derive(Debug)]
struct IdleLink {
    delay: Duration,
    /// By direction.
    transmitters: [Transmitter; 2],
}

/// The time of a packet on its path without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IdleTime {
    /// Between the ends of the links' wires.
    pub(super) propagation: Duration,
    /// From its first bit to its last on each wire.
    pub(super) transmission: Duration,
}

impl Paths {
    /// Returns the paths over links of constant rates.
    pub(crate) fn new<'a>(links: impl IntoIterator<Item = &'a LinkSpec>, hops: Vec<Hops>) -> Paths {
        let idle = |link: &LinkSpec| IdleLink {
            delay: link.delay,
            transmitters: link.contexts().map(|context| Transmitter::new(context.rate, link.overhead)),
        };
        Paths { links: links.into_iter().map(idle).collect(), hops }
    }

    /// Returns the number of links.
    pub(super) fn links(&self) -> usize {
        self.links.len()
    }

    /// Returns the time of a packet of `size` in this direction on the path of `owner`.
    pub(super) fn idle_time(&self, owner: Owner, direction: Direction, size: Bytes) -> IdleTime {
        let links = match self.hops.get(owner.index()) {
            Some(&Hops { first, last }) => &self.links[first..=last],
            None => &self.links[..],
        };
        links.iter().fold(IdleTime::default(), |sum, link| {
            let (_, sent) = { link.transmitters[direction.index()] }.send(size, Time::ZERO);
            IdleTime {
                propagation: sum.propagation + link.delay,
                transmission: sum.transmission + (sent - Time::ZERO),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn idle_time_is_delay_and_bits_of_each_link_of_the_path() {
        let link = |ms, rate| LinkSpec {
            delay: Duration::from_millis(ms),
            rate: serde_json::from_value(rate).expect("a rate"),
            overhead: Bytes::ZERO,
            ..LinkSpec::default()
        };
        let asymmetric = json!({"up": "1 Mbit/s", "down": "5 Mbit/s"});
        let links = [link(1, json!("10 Mbit/s")), link(2, asymmetric), link(4, json!("10 Mbit/s"))];
        let paths = Paths::new(&links, vec![Hops { first: 0, last: 2 }, Hops { first: 1, last: 1 }]);
        let time = |owner, direction| paths.idle_time(owner, direction, Bytes::new(1250));
        let idle = |propagation, transmission| IdleTime {
            propagation: Duration::from_millis(propagation),
            transmission: Duration::from_millis(transmission),
        };
        assert_eq!(time(Owner::USERS, Direction::FORWARD), idle(7, 1 + 10 + 1));
        assert_eq!(time(Owner::USERS, Direction::REVERSE), idle(7, 1 + 2 + 1));
        assert_eq!(time(Owner::source(0), Direction::REVERSE), idle(2, 2));
        let alone = Paths::new(&links[1..2], Vec::new());
        assert_eq!(alone.idle_time(Owner::source(3), Direction::FORWARD, Bytes::new(125)), idle(2, 1));
    }
}
