//! The recorder of flows: rows of chosen connections at regular instants, or after each change of their state.
//!
//! At regular instants packets cost nothing, except retransmissions. Changes are looked for after each event of a
//! recorded connection's end.

use aqmlab_tcp::{CongestionControl, CongestionState, ControlVariables, Info, Sender, Seq};
use aqmlab_units::{BitRate, Duration, Stream, Time};

use super::applications::Flows;
use super::connections::{Connections, Session, Socket, is_synchronized};
use super::content::Content;
use super::hosts::{Hosts, Stacks};
use super::limits::Limit;
use super::observer::Observer;
use super::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Owner};
use crate::record::{FlowRow, FlowTable};
use crate::spec::{FlowInstants, FlowsSpec, Spec};

/// With rows after changes, the time after which an event that only moves data adds a row too.
const TOTALS_EVERY: Duration = Duration::from_millis(10);

/// The chosen flows, and the accounts of their ends.
#[derive(Debug)]
pub(super) struct FlowRecorder {
    spec: FlowsSpec,
    /// The next instant of samples; with rows after changes the start or the end of all.
    next: Time,
    /// By owner: some of its flows are recorded.
    owners: Vec<bool>,
    /// Draws the recorded users: a user is recorded under every scheme or under none.
    users: u64,
    /// Connections opened so far.
    opened: u64,
    /// By endpoint.
    accounts: Vec<Option<Account>>,
}

/// The account of one end of a recorded connection.
#[derive(Clone, Copy, Debug)]
struct Account {
    flow: u64,
    connection: u64,
    sent: Total,
    delivered: Total,
    retransmitted: u64,
    /// The end of its data at its last row, if nothing was in flight then.
    settled: Option<Seq>,
    /// The time of its last row and the state in it, for rows after changes.
    last: Option<(Time, Watched)>,
}

/// The cause of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A regular instant, or the start or the end of the rows that follow changes.
    Instant,
    /// An event, which may have changed the state.
    Event,
}

/// The state whose changes make rows.
///
/// Round-trip times, windows of the peer and totals change with nearly every acknowledgement, and are not part of it.
#[derive(Clone, Copy, Debug)]
struct Watched {
    cwnd: u32,
    ssthresh: Option<u32>,
    pacing_rate: Option<BitRate>,
    state: CongestionState,
    min_rtt: Option<Duration>,
    lost: Option<u64>,
    marked: Option<u64>,
    retransmitted: u64,
    variables: ControlVariables,
}

impl Watched {
    fn new(info: &Info, variables: &ControlVariables, retransmitted: u64) -> Watched {
        let Info { sender, cwnd, ssthresh, pacing_rate, .. } = *info;
        Watched {
            cwnd,
            ssthresh,
            pacing_rate,
            state: sender.state,
            min_rtt: sender.min_rtt,
            lost: sender.lost,
            marked: sender.marked,
            retransmitted,
            variables: *variables,
        }
    }

    /// Returns true if it is the present state. It is asked after each event: to build that state for the comparison took half
    /// as many instructions again.
    fn holds(&self, info: &Info, variables: &ControlVariables, retransmitted: u64) -> bool {
        self.cwnd == info.cwnd
            && self.ssthresh == info.ssthresh
            && self.pacing_rate == info.pacing_rate
            && self.state == info.sender.state
            && self.min_rtt == info.sender.min_rtt
            && self.lost == info.sender.lost
            && self.marked == info.sender.marked
            && self.retransmitted == retransmitted
            && self.variables == *variables
    }
}

/// A total whose source counts modulo 2^32. It grows by less than that between two readings.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    bytes: u64,
    last: u32,
}

impl Total {
    fn advance(&mut self, now: u32) -> u64 {
        self.bytes += u64::from(now.wrapping_sub(self.last));
        self.last = now;
        self.bytes
    }
}

impl FlowRecorder {
    /// Return the recorder, if the spec records flows.
    pub(super) fn new(spec: &Spec, seed: u64) -> Option<Box<FlowRecorder>> {
        let flows = spec.record.flows.as_ref()?;
        let users = flows.users > 0.0;
        let owners = std::iter::once(users).chain(spec.sources.iter().map(|source| flows.records(source)));
        Some(Box::new(FlowRecorder {
            next: Time::ZERO + spec.protocol.warmup,
            owners: owners.collect(),
            users: Stream::key(seed, "record/flows/users"),
            spec: flows.clone(),
            opened: 0,
            accounts: Vec::new(),
        }))
    }

    /// A connection of `flow`, the number of a user or of a source's flow, is opened.
    fn opened(&mut self, client: EndpointId, owner: Owner, flow: u64) {
        self.opened += 1;
        let is_recorded = self.owners[owner.index()]
            && (owner != Owner::USERS || Stream::numbered(self.users, flow).uniform() < self.spec.users);
        let (sent, delivered) = Default::default();
        let connection = self.opened;
        let account =
            Account { flow, connection, sent, delivered, retransmitted: 0, settled: None, last: None };
        for end in [client, client.peer()] {
            if self.accounts.len() <= end.index() {
                self.accounts.resize(end.index() + 1, None);
            }
            self.accounts[end.index()] = is_recorded.then_some(account);
        }
    }

    /// `end` sends `bytes` of data again.
    pub(super) fn retransmitted(&mut self, end: EndpointId, bytes: u32) {
        if let Some(account) = &mut self.accounts[end.index()] {
            account.retransmitted += u64::from(bytes);
        }
    }

    /// Returns true if rows follow changes, which are to be looked for.
    pub(super) fn follows_changes(&self) -> bool {
        self.spec.every == FlowInstants::Changes
    }

    /// Add the rows of one instant. Returns the next instant, which is the `end` of the run if rows follow changes.
    fn sample<S: Sender>(
        &mut self,
        connections: &Connections<S>,
        (hosts, stacks): (&Hosts, &Stacks),
        end: Time,
        table: &mut FlowTable,
    ) -> Option<Time> {
        let now = self.next;
        for owner in 0..self.owners.len() {
            if self.owners[owner] {
                for &client in connections.open_of(owner) {
                    self.add_row(client, connections, (hosts, stacks), (now, table), Cause::Instant);
                    self.add_row(client.peer(), connections, (hosts, stacks), (now, table), Cause::Instant);
                }
            }
        }
        self.next = match self.spec.every {
            FlowInstants::Every(period) => now + period,
            FlowInstants::Changes => end,
        };
        (self.next > now).then_some(self.next)
    }

    /// Add a row of `end`, if it is recorded, has sent data and has something to report.
    fn add_row<S: Sender>(
        &mut self,
        end: EndpointId,
        connections: &Connections<S>,
        (hosts, stacks): (&Hosts, &Stacks),
        (now, table): (Time, &mut FlowTable),
        cause: Cause,
    ) {
        let follows_changes = self.follows_changes();
        let Some(account) = self.accounts.get_mut(end.index()).and_then(Option::as_mut) else { return };
        let socket = connections.socket(end);
        if socket.tcp.highest_sent() <= Seq::new(1) || !is_synchronized(socket.tcp.state()) {
            return;
        }
        if !follows_changes && account.only_receives(socket, connections.socket(end.peer())) {
            return;
        }
        let profile = stacks.profile(socket.stack());
        let info = socket.tcp.info(profile);
        let variables = socket.tcp.congestion().variables();
        let has_changed = follows_changes && account.take_change(&info, &variables, now);
        if cause == Cause::Event && !has_changed {
            return;
        }
        table.push(
            now,
            &FlowRow {
                direction: end.direction(),
                owner: connections.session(end).owner(),
                flow: account.flow,
                connection: account.connection,
                control: profile.congestion.name(),
                limited_by: Limit::of(socket, end, socket.tcp.limited_by(profile), hosts, now).name(),
                variables,
                info: &info,
                sent: account.sent.advance(info.sent) + account.retransmitted,
                delivered: account.delivered.advance(info.sender.delivered),
                retransmitted: account.retransmitted,
            },
        );
    }
}

impl Account {
    /// Returns true if `socket` has nothing in flight, as at its last row, while its peer sends: that row still holds.
    fn only_receives<S: Sender>(&mut self, socket: &Socket<S>, peer: &Socket<S>) -> bool {
        let settled = (socket.tcp.in_flight() == 0).then(|| socket.tcp.highest_sent());
        let before = std::mem::replace(&mut self.settled, settled);
        settled.is_some() && settled == before && peer.tcp.in_flight() > 0
    }

    /// Returns true if the state differs from that of the last row, or data have moved for a while since then. The next
    /// call compares with this state.
    #[inline]
    fn take_change(&mut self, info: &Info, variables: &ControlVariables, now: Time) -> bool {
        let have_moved = || self.sent.last != info.sent || self.delivered.last != info.sender.delivered;
        let is_due = self.last.as_ref().is_none_or(|(at, last)| {
            !last.holds(info, variables, self.retransmitted) || (now >= *at + TOTALS_EVERY && have_moved())
        });
        if is_due {
            self.last = Some((now, Watched::new(info, variables, self.retransmitted)));
        }
        is_due
    }
}

/// Return the number of the user or of the source's flow whose content a connection has.
fn flow_number(session: &Session, flows: &Flows) -> u64 {
    match session.content {
        Content::Exchanges(user, _) | Content::Page(user, _) => u64::from(user.0),
        Content::Units(flow) => flows.number(flow),
        Content::Nothing => unreachable!("a connection is opened with content"),
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    /// Record a new connection, if flows are recorded.
    pub(super) fn record_opened(&mut self, client: EndpointId) {
        if let Some(flows) = &mut self.recorder.flows {
            let session = self.connections.session(client);
            flows.opened(client, session.owner(), flow_number(session, &self.flows));
        }
    }

    pub(super) fn sample_flows(&mut self) {
        let flows = self.recorder.flows.as_mut().expect("flows are recorded");
        let table = &mut self.recorder.tables.flows;
        let stacks = (&self.hosts, &self.stacks);
        if let Some(next) = flows.sample(&self.connections, stacks, self.end, table) {
            self.wheel.push(next, Event::Control(ControlEvent::SampleFlows));
        }
    }

    /// Record the state of `id` after an event, if rows follow changes.
    #[cold]
    #[inline(never)]
    pub(super) fn record_change(&mut self, id: EndpointId) {
        if self.now >= self.window_start {
            let flows = self.recorder.flows.as_mut().expect("flows are recorded");
            let rows = (self.now, &mut self.recorder.tables.flows);
            flows.add_row(id, &self.connections, (&self.hosts, &self.stacks), rows, Cause::Event);
        }
    }
}
