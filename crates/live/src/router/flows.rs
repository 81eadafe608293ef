//! The router's table of connections. A closed connection stays for a while, because its last packets are still in flight. A
//! connection of programs stays from its first packet to the end of the run.

use std::collections::{HashMap, VecDeque};

use aqmlab_sim::Route;
use aqmlab_units::{Duration, Time};

use crate::mix::Offers;
use crate::packet::ProgramFlow;
use crate::packet::addresses::BrowserEnd;

/// A connection of a browser or a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowEntry {
    pub(super) route: Route,
    /// The largest windows that its ends may advertise.
    pub(super) offers: Offers,
}

/// The connections by their ends.
#[derive(Debug, Default)]
pub(super) struct FlowTable {
    entries: HashMap<BrowserEnd, FlowEntry>,
    /// Closed connections, with the time at which each expires.
    closed: VecDeque<(Time, BrowserEnd)>,
    programs: HashMap<ProgramFlow, Route>,
}

/// The time for which a closed connection stays. It is twice the kernel's wait for a connection's last packets
/// (`TCP_TIMEWAIT_LEN`), and shorter than the time until a user takes the same port again.
const CLOSED_LIFETIME: Duration = Duration::from_secs(120);

impl FlowTable {
    pub(super) fn open(&mut self, browser: BrowserEnd, entry: FlowEntry) {
        self.entries.insert(browser, entry);
    }

    pub(super) fn find(&self, browser: BrowserEnd) -> Option<FlowEntry> {
        self.entries.get(&browser).copied()
    }

    /// Returns the connection `flow` of programs. On its first packet `open` opens it under the next number.
    pub(super) fn program_route(&mut self, flow: ProgramFlow, open: impl FnOnce(usize) -> Route) -> Route {
        let number = self.programs.len();
        *self.programs.entry(flow).or_insert_with(|| open(number))
    }

    pub(super) fn close(&mut self, browser: BrowserEnd, now: Time) {
        self.closed.push_back((now + CLOSED_LIFETIME, browser));
    }

    /// Removes and returns the closed connections that have expired.
    pub(super) fn remove_expired(&mut self, now: Time) -> Vec<Route> {
        let mut expired = Vec::new();
        while let Some((_, browser)) = self.closed.pop_front_if(|&mut (until, _)| until <= now) {
            expired.extend(self.entries.remove(&browser).map(|entry| entry.route));
        }
        expired
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
        let mut flows = FlowTable::default();
        let browser = BrowserEnd::new(0, 0);
        let route = network.open(&UserConnection { user: 0, number: 1, min_rtt: Duration::ZERO });
        let entry = FlowEntry { route, offers: [None; 2] };
        flows.open(browser, entry);
        flows.close(browser, Time::from_secs_f64(1.0));
        assert_eq!(flows.remove_expired(Time::from_secs_f64(120.9)), []);
        assert_eq!(flows.find(browser), Some(entry));
        assert_eq!(flows.remove_expired(Time::from_secs_f64(121.0)), [route]);
        assert_eq!(flows.find(browser), None);
    }
}
