//! One alarm an endpoint, for the earliest time that it asked for. When that comes and the deadline has moved on, the alarm
//! is set again.

use aqmlab_units::Time;

use crate::packet::EndpointId;

/// For each endpoint the time of the event that counts; [`Time::MAX`] when there is none.
#[derive(Debug, Default)]
pub(super) struct Alarms(Vec<Time>);

impl Alarms {
    /// The connection of this client is open: both its ends may ask for alarms.
    pub(super) fn opened(&mut self, client: EndpointId) {
        let ends = client.index().max(client.peer().index()) + 1;
        if self.0.len() < ends {
            self.0.resize(ends, Time::MAX);
        }
    }

    /// Set the alarm of `id` to `deadline`. Returns true if it needs an event.
    #[inline]
    pub(super) fn set(&mut self, id: EndpointId, deadline: Time) -> bool {
        let set = &mut self.0[id.index()];
        let is_earlier = deadline < *set;
        if is_earlier {
            *set = deadline;
        }
        is_earlier
    }

    /// Handle an event for `id`. Returns true if the alarm is due.
    pub(super) fn ring(&mut self, id: EndpointId, now: Time) -> bool {
        let counts = self.0[id.index()] == now;
        if counts {
            self.0[id.index()] = Time::MAX;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_earliest_event_counts() {
        let (mut alarms, id) = (Alarms::default(), EndpointId::from_number(5));
        let [soon, later] = [1, 2].map(Time::from_nanos);
        alarms.opened(id.peer());
        assert!(alarms.set(id, later));
        assert!(alarms.set(id, soon));
        assert!(!alarms.set(id, later), "the event at `soon` will look");
        assert!(alarms.ring(id, soon));
        assert!(alarms.set(id, later), "nothing else would look again");
        assert!(alarms.ring(id, later) && !alarms.ring(id, later));
    }
}
