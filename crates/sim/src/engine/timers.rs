//! Timers of TCP that are almost never needed, kept out of the wheel.
//!
//! Nearly every retransmission timer is set, moved and stopped without expiring. So nobody follows it: each open
//! connection stands in a ring and is looked at once every `period`, which is the shortest time any stack sets its
//! timer to. What expires before the next look goes into the wheel; spurious expiries are harmless. Held-back
//! acknowledgements all wait equally long, so they stand in a ring too. Each ring has one event in the wheel.

use std::collections::VecDeque;

use aqmlab_tcp::{Endpoint, Profile, Stack};
use aqmlab_units::{Duration, Time};

use super::connections::Connections;
use crate::packet::EndpointId;

/// How many inspections ahead of its own a connection is asked for.
const AHEAD: usize = 8;

#[derive(Debug)]
pub(super) struct Timers {
    period: Duration,
    /// Clients of open connections and when to look at them, in order.
    to_inspect: VecDeque<(Time, EndpointId)>,
    /// Endpoints that hold back an acknowledgement and until when, in order.
    delayed_acks: VecDeque<(Time, EndpointId)>,
    /// `None` when every segment is acknowledged at once.
    delayed_ack: Option<Duration>,
    inspection_is_armed: bool,
    delayed_acks_are_armed: bool,
}

impl Timers {
    pub(super) fn new(profile: &Profile) -> Timers {
        Timers {
            period: profile.min_rto.min(profile.initial_rto),
            to_inspect: VecDeque::new(),
            delayed_acks: VecDeque::new(),
            delayed_ack: (profile.ack_every > 1).then_some(profile.delayed_ack),
            inspection_is_armed: false,
            delayed_acks_are_armed: false,
        }
    }

    /// A connection was opened. The time of the ring's event when it needs one.
    pub(super) fn watch(&mut self, client: EndpointId, now: Time) -> Option<Time> {
        let at = now + self.period;
        self.to_inspect.push_back((at, client));
        (!std::mem::replace(&mut self.inspection_is_armed, true)).then_some(at)
    }

    /// The next connection to look at now, and up to when its timers are of interest.
    pub(super) fn next_inspection<S: Stack>(
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
            connections.browser_mut(client).watched = false;
        }
        None
    }

    /// The time of the ring's next event.
    pub(super) fn rearm_inspection(&mut self) -> Option<Time> {
        let next = self.to_inspect.front().map(|&(at, _)| at);
        self.inspection_is_armed = next.is_some();
        next
    }

    /// `endpoint` may just have begun to hold back an acknowledgement. The time of the ring's event when it needs one.
    #[inline]
    pub(super) fn delayed_ack<S: Stack>(
        &mut self,
        id: EndpointId,
        endpoint: &Endpoint<S>,
        now: Time,
    ) -> Option<Time> {
        let deadline = endpoint.delayed_ack_deadline();
        if deadline != now + self.delayed_ack? {
            return None;
        }
        self.delayed_acks.push_back((deadline, id));
        (!std::mem::replace(&mut self.delayed_acks_are_armed, true)).then_some(deadline)
    }

    /// The next endpoint whose acknowledgement is due now. Those that have sent it meanwhile are passed over.
    pub(super) fn next_delayed_ack<S: Stack>(
        &mut self,
        connections: &Connections<S>,
        now: Time,
    ) -> Option<EndpointId> {
        while let Some(&(deadline, id)) = self.delayed_acks.front() {
            let is_held = connections.endpoint(id).tcp.delayed_ack_deadline() == deadline;
            if is_held && now < deadline {
                return None;
            }
            self.delayed_acks.pop_front();
            if is_held {
                return Some(id);
            }
        }
        None
    }

    /// The time of the ring's next event.
    pub(super) fn rearm_delayed_acks(&mut self) -> Option<Time> {
        let next = self.delayed_acks.front().map(|&(deadline, _)| deadline);
        self.delayed_acks_are_armed = next.is_some();
        next
    }
}
