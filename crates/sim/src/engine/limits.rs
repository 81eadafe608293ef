//! What limits connections, sampled.
//!
//! At random moments, one in each [`EVERY`] of the measured window, a few open connections of each owner are asked what
//! limits them. So a packet costs nothing for it: what limits a connection follows from what is known of it at that moment.
//! An account kept at each change cost 5 to 9 % of a run's instructions, and these samples cost under 1 %.

use aqmlab_tcp::{LimitedBy, Sender, State};
use aqmlab_units::{Duration, Stream, Time};

use super::connections::Connections;
use super::hosts::{Hosts, Stacks};
use super::observer::Observer;
use super::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Owner};
use crate::summary::{LimitedByPercent, percent};

/// The mean time between two samples.
const EVERY: Duration = Duration::from_millis(10);
/// The connections of an owner that are asked at a time. Of more, the next ones are asked the next time, and each counts for
/// several.
const ASKED: usize = 4;
/// An interface limits a connection while a segment would wait longer in it: by about as much Linux lets a connection fill the
/// queue of its interface (TCP small queues, `sk_pacing_shift`).
const INTERFACE_BACKLOG: Duration = Duration::from_millis(1);

/// The samples of all owners.
#[derive(Debug)]
pub(super) struct Limits {
    /// Draws the moments.
    stream: Stream,
    /// The piece of time that the next sample is in begins.
    next: Time,
    owners: Vec<Samples>,
}

/// The samples of one owner's connections.
#[derive(Clone, Debug, Default)]
struct Samples {
    /// The place of the connection that is asked next among those that are open.
    next: usize,
    /// Connections counted, by what limits them: as [`LimitedBy`] numbers it, and the interface last.
    counts: [f64; 6],
}

const INTERFACE: usize = LimitedBy::Pacing as usize + 1;

impl Limits {
    /// Nothing is sampled before `window_start`.
    pub(super) fn new(owners: usize, seed: u64, window_start: Time) -> Limits {
        Limits {
            stream: Stream::named(seed, "limits"),
            next: window_start,
            owners: vec![Samples::default(); owners],
        }
    }

    /// The moment of the next sample.
    fn moment(&mut self) -> Time {
        let at = self.next + Duration::from_nanos(self.stream.below(EVERY.as_nanos()));
        self.next += EVERY;
        at
    }

    fn sample<S: Sender>(&mut self, connections: &Connections<S>, hosts: &Hosts, stacks: &Stacks, now: Time) {
        for (owner, samples) in self.owners.iter_mut().enumerate() {
            let open = connections.open_of(owner);
            let asked = open.len().min(ASKED);
            for _ in 0..asked {
                samples.next = (samples.next + 1) % open.len();
                if let Some(limit) = limit(connections, open[samples.next], hosts, stacks, now) {
                    samples.counts[limit] += open.len() as f64 / asked as f64;
                }
            }
        }
    }

    /// The shares of the time for which connections of `owner` were open.
    pub(super) fn percent(&self, owner: Owner) -> LimitedByPercent {
        let counts = self.owners[owner.index()].counts;
        let all = counts.iter().sum();
        let [application, receive_window, congestion_window, recovery, pacing, interface] =
            counts.map(|count| percent(count, all));
        LimitedByPercent { application, receive_window, congestion_window, recovery, pacing, interface }
    }
}

/// What limits a connection; `None` before its handshake is complete, and after both ends have closed. The end with something
/// to send decides: the server, if both have.
fn limit<S: Sender>(
    connections: &Connections<S>,
    client: EndpointId,
    hosts: &Hosts,
    stacks: &Stacks,
    now: Time,
) -> Option<usize> {
    let ends = [client, client.peer()];
    let is_open =
        |state| !matches!(state, State::SynSent | State::SynReceived | State::Listen | State::Closed);
    if !ends.iter().all(|&id| is_open(connections.socket(id).tcp.state())) {
        return None;
    }
    let limits = ends.map(|id| {
        let socket = connections.socket(id);
        let in_interface = || hosts.backlog(socket.interface(), id, now) > INTERFACE_BACKLOG;
        if socket.tcp.in_flight() > 0 && in_interface() {
            INTERFACE
        } else {
            socket.tcp.limited_by(stacks.profile(socket.stack())) as usize
        }
    });
    let [client, server] = limits;
    Some(if server == LimitedBy::Application as usize { client } else { server })
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    pub(super) fn schedule_limits_sample(&mut self) {
        let at = self.limits.moment();
        self.wheel.push(at, Event::Control(ControlEvent::SampleLimits));
    }

    pub(super) fn sample_limits(&mut self) {
        self.limits.sample(&self.connections, &self.hosts, &self.stacks, self.now);
        self.schedule_limits_sample();
    }
}
