//! Probes: datagrams with their sending time from a side to the router, which does not forward them. The time until the router
//! reads a probe is the delay of all packets that the side sends.

use std::io::Write;

use aqmlab_units::{Duration, Time};
use socket2::Socket;

use crate::error::{Context, Error};
use crate::machine::clock::Clock;
use crate::network::sockets;
use crate::packet::{addresses, probe};

/// The interval of probes. A hundred a second add little to the packets of a run, and a minute of them is enough for a
/// 99.9th percentile.
const INTERVAL: Duration = Duration::from_millis(10);

/// The sender of a side's probes.
#[derive(Debug)]
pub(crate) struct Prober {
    socket: Socket,
    /// The time of the next probe.
    pub(crate) next_probe: Time,
}

impl Prober {
    /// Creates the prober of `side`. The calling thread must be in the side's namespace.
    pub(crate) fn new(side: usize) -> Result<Prober, Error> {
        let socket = sockets::sender(addresses::probe(side), addresses::probe(1 - side));
        Ok(Prober { socket: socket.context(|| "a socket for probes".to_owned())?, next_probe: Time::ZERO })
    }

    /// Sends a probe if one is due by `now`.
    pub(crate) fn send(&mut self, now: Time, clock: &Clock) {
        if now < self.next_probe {
            return;
        }
        self.next_probe = now + INTERVAL;
        // The interface counts a probe for which it has no room.
        self.socket.write_all(&probe::data(clock.now())).ok();
    }
}
