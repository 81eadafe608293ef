//! Samples of the limits of connections.
//!
//! At random times, one in each [`EVERY`] of the measurement window, the limits of a few open connections of each
//! owner are sampled. So packets cost nothing: the limit follows from a connection's state at that time. Accounts
//! kept at each change cost 5 to 9 % of a run's instructions, these samples under 1 %.

use aqmlab_tcp::{LimitedBy, Sender};
use aqmlab_units::{Duration, Stream, Time};

use super::connections::{Connections, Socket, is_synchronized};
use super::hosts::{Hosts, Stacks};
use super::observer::Observer;
use super::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Owner};
use crate::summary::{LimitedByPercent, percent};

/// The mean time between two samples.
const EVERY: Duration = Duration::from_millis(10);
/// The number of an owner's connections in one sample. If more are open, the next sample takes the next ones, and
/// each counts for several.
const ASKED: usize = 4;
/// The backlog of an interface above which it limits a connection: Linux lets a connection fill the queue of its
/// interface by about as much (TCP small queues, `sk_pacing_shift`).
const INTERFACE_BACKLOG: Duration = Duration::from_millis(1);

/// The samples of all owners.
#[derive(Debug)]
pub(super) struct Limits {
    /// Draws the times.
    stream: Stream,
    /// Start of the interval of the next sample.
    next: Time,
    owners: Vec<Samples>,
}

/// The samples of one owner's connections.
#[derive(Clone, Debug, Default)]
struct Samples {
    /// Index of the connection sampled last among those that are open.
    next: usize,
    /// Weighted samples by [`Limit`].
    counts: [f64; Limit::NAMES.len()],
}

/// The limit of a sender: a [`LimitedBy`] by its number, or its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit(usize);

impl Limit {
    const APPLICATION: Limit = Limit(LimitedBy::Application as usize);
    const INTERFACE: Limit = Limit(LimitedBy::Pacing as usize + 1);
    /// The names of all limits in the order of their numbers.
    const NAMES: [&'static str; Limit::INTERFACE.0 + 1] = [
        "application",
        "receive_window",
        "send_buffer",
        "congestion_window",
        "recovery",
        "pacing",
        "interface",
    ];

    /// The limit of `socket`, the end `id`, at `now`; `limited_by` is that of its sender.
    pub(super) fn of<S: Sender>(
        socket: &Socket<S>,
        id: EndpointId,
        limited_by: LimitedBy,
        hosts: &Hosts,
        now: Time,
    ) -> Limit {
        let in_interface = || hosts.backlog(socket.interface(), id, now) > INTERFACE_BACKLOG;
        if socket.tcp.in_flight() > 0 && in_interface() { Limit::INTERFACE } else { limited_by.into() }
    }

    pub(super) fn name(self) -> &'static str {
        Limit::NAMES[self.0]
    }
}

impl From<LimitedBy> for Limit {
    fn from(limit: LimitedBy) -> Limit {
        Limit(limit as usize)
    }
}

impl Limits {
    /// Return the samples, of which the first is after `window_start`.
    pub(super) fn new(owners: usize, seed: u64, window_start: Time) -> Limits {
        Limits {
            stream: Stream::named(seed, "limits"),
            next: window_start,
            owners: vec![Samples::default(); owners],
        }
    }

    /// Draw the time of the next sample.
    fn moment(&mut self) -> Time {
        let at = self.next + Duration::from_nanos(self.stream.below(EVERY.as_nanos()));
        self.next += EVERY;
        at
    }

    fn sample<S: Sender>(&mut self, connections: &Connections<S>, hosts: &Hosts, stacks: &Stacks, now: Time) {
        for (owner, samples) in self.owners.iter_mut().enumerate() {
            let open = connections.open_of(owner);
            let count = open.len().min(ASKED);
            for _ in 0..count {
                samples.next = (samples.next + 1) % open.len();
                if let Some(limit) = limit(connections, open[samples.next], hosts, stacks, now) {
                    samples.counts[limit.0] += open.len() as f64 / count as f64;
                }
            }
        }
    }

    /// Limits of `owner`'s connections, as shares of the time for which they were open.
    pub(super) fn percent(&self, owner: Owner) -> LimitedByPercent {
        let counts = self.owners[owner.index()].counts;
        let all = counts.iter().sum();
        let [application, receive_window, send_buffer, congestion_window, recovery, pacing, interface] =
            counts.map(|count| percent(count, all));
        LimitedByPercent {
            application,
            receive_window,
            send_buffer,
            congestion_window,
            recovery,
            pacing,
            interface,
        }
    }
}

/// Return the limit of a connection, or `None` before its handshake is complete and after both ends have closed.
/// The end with data to send decides: the server, if both have.
fn limit<S: Sender>(
    connections: &Connections<S>,
    client: EndpointId,
    hosts: &Hosts,
    stacks: &Stacks,
    now: Time,
) -> Option<Limit> {
    let ends = [client, client.peer()];
    if !ends.iter().all(|&id| is_synchronized(connections.socket(id).tcp.state())) {
        return None;
    }
    let [client, server] = ends.map(|id| {
        let socket = connections.socket(id);
        Limit::of(socket, id, socket.tcp.limited_by(stacks.profile(socket.stack())), hosts, now)
    });
    Some(if server == Limit::APPLICATION { client } else { server })
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
