//! Delayed acknowledgements: a ring for each stack.
//!
//! All delayed acknowledgements of one stack wait equally long, so that the ring keeps their order. The wheel has one
//! event, for the first of the ring.

use std::collections::VecDeque;

use aqmlab_tcp::{Profile, Sender};
use aqmlab_units::{Duration, Time};

use crate::engine::connections::Connections;
use crate::packet::EndpointId;

/// The held-back acknowledgements of the hosts with one stack.
#[derive(Debug)]
pub(super) struct DelayedAcks {
    /// For how long.
    delay: Duration,
    /// The endpoints with held ACKs and their deadlines, in order.
    held: VecDeque<(Time, EndpointId)>,
    is_armed: bool,
}

impl DelayedAcks {
    pub(super) fn new(profile: &Profile) -> DelayedAcks {
        DelayedAcks { delay: profile.delayed_ack, held: VecDeque::new(), is_armed: false }
    }

    /// Delay the acknowledgement of `id` until `deadline`. Returns true if the ring needs an event.
    pub(super) fn hold(&mut self, id: EndpointId, deadline: Time, now: Time) -> bool {
        if deadline != now + self.delay {
            return false;
        }
        self.held.push_back((deadline, id));
        !std::mem::replace(&mut self.is_armed, true)
    }

    /// The next endpoint whose acknowledgement is due now. Those that have sent it meanwhile are passed over.
    pub(super) fn next<S: Sender>(&mut self, connections: &Connections<S>, now: Time) -> Option<EndpointId> {
        while let Some(&(deadline, id)) = self.held.front() {
            let is_held = connections.socket(id).tcp.delayed_ack_deadline() == deadline;
            if is_held && now < deadline {
                return None;
            }
            self.held.pop_front();
            if is_held {
                return Some(id);
            }
        }
        None
    }

    /// The time of the ring's next event.
    pub(super) fn rearm(&mut self) -> Option<Time> {
        let next = self.held.front().map(|&(deadline, _)| deadline);
        self.is_armed = next.is_some();
        next
    }
}
