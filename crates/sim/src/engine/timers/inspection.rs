//! Retransmission timers by inspection: a ring of the open connections, each inspected once every `period`.
//!
//! The period is the shortest time that any stack sets its timer to. The ring has one event in the wheel.

use std::collections::VecDeque;

use aqmlab_tcp::{Profile, Sender};
use aqmlab_units::{Duration, Time};

use crate::engine::connections::Connections;
use crate::packet::EndpointId;

/// The number of inspections by which a connection is prefetched.
const AHEAD: usize = 8;

#[derive(Debug)]
pub(super) struct Inspection {
    period: Duration,
    /// Clients of open connections and when to look at them, in order.
    to_inspect: VecDeque<(Time, EndpointId)>,
    is_armed: bool,
}

impl Inspection {
    pub(super) fn new<'a>(profiles: impl Iterator<Item = &'a Profile>) -> Inspection {
        let shortest = profiles.map(|profile| profile.min_rto.min(profile.initial_rto)).min();
        let period = shortest.expect("hosts have a stack");
        Inspection { period, to_inspect: VecDeque::new(), is_armed: false }
    }

    /// A connection was opened. The time of the ring's event when it needs one.
    pub(super) fn watch(&mut self, client: EndpointId, now: Time) -> Option<Time> {
        let at = now + self.period;
        self.to_inspect.push_back((at, client));
        (!std::mem::replace(&mut self.is_armed, true)).then_some(at)
    }

    /// The next connection to look at now, and up to when its timers are of interest.
    pub(super) fn next<S: Sender>(
        &mut self,
        connections: &mut Connections<S>,
        now: Time,
    ) -> Option<(EndpointId, Time)> {
        while let Some(&(at, client)) = self.to_inspect.front()
            && at <= now
        {
            self.to_inspect.pop_front();
            if let Some(&(_, ahead)) = self.to_inspect.get(AHEAD) {
                connections.prefetch_both(ahead);
            }
            if connections.is_open(client) {
                self.to_inspect.push_back((now + self.period, client));
                return Some((client, now + self.period));
            }
            connections.session_mut(client).watched = false;
        }
        None
    }

    /// The time of the ring's next event.
    pub(super) fn rearm(&mut self) -> Option<Time> {
        let next = self.to_inspect.front().map(|&(at, _)| at);
        self.is_armed = next.is_some();
        next
    }
}
