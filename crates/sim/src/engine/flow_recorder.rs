//! The recorder of flows: rows of chosen connections at regular instants. Packets cost nothing, except retransmissions.

use aqmlab_tcp::{CongestionControl, Sender, Seq};
use aqmlab_units::{Stream, Time};

use super::applications::Flows;
use super::connections::{Connections, Session, is_synchronized};
use super::content::Content;
use super::hosts::{Hosts, Stacks};
use super::limits::Limit;
use super::observer::Observer;
use super::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Owner};
use crate::record::{FlowRow, FlowTable};
use crate::spec::{FlowsSpec, Spec};

/// The chosen flows, and the accounts of their ends.
#[derive(Debug)]
pub(super) struct FlowRecorder {
    spec: FlowsSpec,
    /// The next instant of samples.
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
        let account = Account { flow, connection: self.opened, sent, delivered, retransmitted: 0 };
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

    /// Add a row for each end that has sent data. Returns the next instant.
    fn sample<S: Sender>(
        &mut self,
        connections: &Connections<S>,
        hosts: &Hosts,
        stacks: &Stacks,
        table: &mut FlowTable,
    ) -> Time {
        let now = self.next;
        for owner in (0..self.owners.len()).filter(|&owner| self.owners[owner]) {
            for &client in connections.open_of(owner) {
                for end in [client, client.peer()] {
                    if let Some(account) = &mut self.accounts[end.index()] {
                        account.sample(end, connections, hosts, stacks, (now, table));
                    }
                }
            }
        }
        self.next += self.spec.every;
        self.next
    }
}

impl Account {
    fn sample<S: Sender>(
        &mut self,
        end: EndpointId,
        connections: &Connections<S>,
        hosts: &Hosts,
        stacks: &Stacks,
        (now, table): (Time, &mut FlowTable),
    ) {
        let socket = connections.socket(end);
        if socket.tcp.highest_sent() <= Seq::new(1) || !is_synchronized(socket.tcp.state()) {
            return;
        }
        let profile = stacks.profile(socket.stack());
        let info = socket.tcp.info(profile);
        table.push(
            now,
            &FlowRow {
                direction: end.direction(),
                owner: connections.session(end).owner(),
                flow: self.flow,
                connection: self.connection,
                control: profile.congestion.name(),
                limited_by: Limit::of(socket, end, hosts, stacks, now).name(),
                variables: socket.tcp.congestion().variables(),
                info: &info,
                sent: self.sent.advance(info.sent) + self.retransmitted,
                delivered: self.delivered.advance(info.sender.delivered),
                retransmitted: self.retransmitted,
            },
        );
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
        let next = flows.sample(&self.connections, &self.hosts, &self.stacks, table);
        self.wheel.push(next, Event::Control(ControlEvent::SampleFlows));
    }
}
