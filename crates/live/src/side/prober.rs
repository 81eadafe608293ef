//! Probes: datagrams by which a side tells the router when it sent them, and which go no farther. How long after that the router
//! reads one is how late it reads what else the side sends.

use std::io::Write;

use aqmlab_units::{Duration, Time};
use socket2::Socket;

use crate::error::{Context, Error};
use crate::machine::clock::Clock;
use crate::network::sockets;
use crate::packet::{addresses, probe};

/// From one to the next: a hundred a second are little beside the packets of a run, and a minute of them is enough for a
/// 99.9th percentile.
const EVERY: Duration = Duration::from_millis(10);

/// The sender of a side's probes.
#[derive(Debug)]
pub(crate) struct Prober {
    socket: Socket,
    /// The time of the next probe.
    pub(crate) next: Time,
}

impl Prober {
    /// That of `side`, on a thread in its namespace.
    pub(crate) fn new(side: usize) -> Result<Prober, Error> {
        let socket = sockets::sender(addresses::probe(side), addresses::probe(1 - side));
        Ok(Prober { socket: socket.context(|| "a socket for probes".to_owned())?, next: Time::ZERO })
    }

    /// Send the one that is due by `now`, if one is.
    pub(crate) fn send(&mut self, now: Time, clock: &Clock) {
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        // One for which there is no room is lost with what the interface counts as lost.
        self.socket.write_all(&probe::data(clock.now())).ok();
    }
}
