//! The table of connections. A closed connection of a browser stays for a while, for its last packets are still in flight.
//! A connection of a program is known from its first packet to the end.

use std::collections::{HashMap, VecDeque};

use aqmlab_sim::Route;
use aqmlab_units::{Duration, Time};

use crate::mix::Offers;
use crate::packet::ProgramFlow;
use crate::packet::addresses::BrowserEnd;

/// A connection of a browser's or a source's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) route: Route,
    /// The windows that its ends may offer.
    pub(super) offers: Offers,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct KnownFlows {
    known: HashMap<BrowserEnd, Known>,
    /// Those that are closed, and until when they are known.
    closed: VecDeque<(Time, BrowserEnd)>,
    programs: HashMap<ProgramFlow, Route>,
}

/// Twice what the kernel waits for the last packets of a connection (`TCP_TIMEWAIT_LEN`), and less than it takes to come to a
/// user's port again.
const KNOWN_FOR: Duration = Duration::from_secs(120);

impl KnownFlows {
    pub(super) fn open(&mut self, browser: BrowserEnd, known: Known) {
        self.known.insert(browser, known);
    }

    pub(super) fn known(&self, browser: BrowserEnd) -> Option<Known> {
        self.known.get(&browser).copied()
    }

    /// The connection `flow` of programs, which is begun by `open`, told its number, if this is the first of it.
    pub(super) fn of_program(&mut self, flow: ProgramFlow, open: impl FnOnce(usize) -> Route) -> Route {
        let number = self.programs.len();
        *self.programs.entry(flow).or_insert_with(|| open(number))
    }

    pub(super) fn close(&mut self, browser: BrowserEnd, now: Time) {
        self.closed.push_back((now + KNOWN_FOR, browser));
    }

    /// Those that are not known any more.
    pub(super) fn forget(&mut self, now: Time) -> Vec<Route> {
        let mut forgotten = Vec::new();
        while let Some((_, browser)) = self.closed.pop_front_if(|&mut (until, _)| until <= now) {
            forgotten.extend(self.known.remove(&browser).map(|known| known.route));
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_sim::{Spec, UserConnection, emulate};

    use super::*;

    #[test]
    fn a_closed_connection_is_known_for_two_minutes() {
        let spec = Spec::from_json(r#"{"users": {"per_side": 1}}"#).expect("a sound spec");
        let mut network = emulate(&spec, 1, None).expect("a sound spec");
        let mut flows = KnownFlows::default();
        let browser = BrowserEnd::new(0, 0);
        let route = network.open(&UserConnection { user: 0, number: 1, min_rtt: Duration::ZERO });
        let known = Known { route, offers: [None; 2] };
        flows.open(browser, known);
        flows.close(browser, Time::from_secs_f64(1.0));
        assert_eq!(flows.forget(Time::from_secs_f64(120.9)), []);
        assert_eq!(flows.known(browser), Some(known));
        assert_eq!(flows.forget(Time::from_secs_f64(121.0)), [route]);
        assert_eq!(flows.known(browser), None);
    }
}
