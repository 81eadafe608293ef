//! Connections of sources, whose two ends follow a vector.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use aqmlab_sim::{SourceConnection, SourceFlow, StackId};
use aqmlab_units::{Bytes, Duration, Time};
use aqmlab_workload::sources::{
    ConnectionState, End, Source, Vector, VectorAction, VectorEvent, VectorSource,
};
use mio::event::Event;
use socket2::Socket;

use super::{FlowEnd, PolledSocket, RunningSources, WakeUp};
use crate::error::{Context, Error};
use crate::network::namespaces;
use crate::network::sockets::{self, ReadOutcome};
use crate::network::stream::Stream;
use crate::packet::addresses::{self, BrowserEnd, OWN_ECN_PORT, SOURCE_PORT};
use crate::router::event_queue::SideEvent;

/// The active flows, in their slots.
#[derive(Default)]
pub(super) struct Flows {
    slots: Vec<Option<Flow>>,
    free: Vec<usize>,
    /// The slot of each connection's flow.
    by_end: HashMap<BrowserEnd, usize>,
    /// The number of connections of each source so far.
    connection_counts: Vec<u64>,
    /// The number of flows so far.
    flow_count: u64,
    /// The number of connections so far.
    connection_count: u64,
}

impl Flows {
    pub(super) fn new(sources: usize) -> Flows {
        Flows { connection_counts: vec![0; sources], ..Flows::default() }
    }

    /// Returns the flows under way.
    pub(super) fn active(&self) -> impl Iterator<Item = &Flow> {
        self.slots.iter().flatten()
    }
}

/// The state of a vector. A lost connection is replaced by another.
pub(super) struct Flow {
    serial: u64,
    pub(super) source: u8,
    /// The number of the flow in its source.
    pub(super) number: u64,
    pub(super) side: u8,
    min_rtt: Duration,
    state: ConnectionState,
    pub(super) connection: Option<Connection>,
}

pub(super) struct Connection {
    end: BrowserEnd,
    /// Its number among all connections of sources, from 1.
    pub(super) number: u64,
    /// The stacks of the initiator and of the acceptor.
    pub(super) stacks: [StackId; 2],
    /// The initiator's socket; none after its close, until the acceptor has noticed it.
    pub(super) client: Option<Stream>,
    /// The acceptor's socket; none before the connection is accepted.
    pub(super) server: Option<Stream>,
    is_connected: bool,
    /// Bytes for which the sockets had no room yet.
    to_acceptor: u64,
    to_initiator: u64,
}

/// The progress of a connection.
enum Progress {
    Event(VectorEvent),
    Nothing,
    /// Both ends are closed.
    Gone,
}

impl Connection {
    /// Connects, writes and reads until an event occurs or the sockets would block.
    fn advance(&mut self, state: &ConnectionState, scratch: &mut [u8]) -> io::Result<Progress> {
        let event = |event: fn(Bytes) -> VectorEvent, found| match found {
            ReadOutcome::Bytes(bytes) => Ok(Progress::Event(event(bytes))),
            ReadOutcome::Nothing => Ok(Progress::Nothing),
            ReadOutcome::End => Err(io::ErrorKind::UnexpectedEof.into()),
        };
        let Some(client) = &mut self.client else {
            let server = self.server.as_mut();
            return match server.map(|server| server.read(scratch, Bytes::ZERO)).transpose()? {
                Some(ReadOutcome::Nothing) => Ok(Progress::Nothing),
                _ => Ok(Progress::Gone),
            };
        };
        if !self.is_connected {
            self.is_connected = sockets::is_connected(&client.socket)?;
            return Ok(if self.is_connected {
                Progress::Event(VectorEvent::Opened)
            } else {
                Progress::Nothing
            });
        }
        self.to_acceptor = client.write(self.to_acceptor)?;
        if let Some(server) = &mut self.server {
            self.to_initiator = server.write(self.to_initiator)?;
            let outcome = server.read(scratch, state.awaits_at_acceptor())?;
            let progress = event(VectorEvent::Delivered, outcome)?;
            if !matches!(progress, Progress::Nothing) {
                return Ok(progress);
            }
        }
        event(VectorEvent::Received, client.read(scratch, state.awaits_at_initiator())?)
    }

    /// Returns the bytes that a guest's kernel has read at the acceptor and at the initiator.
    fn counts(&self, state: &ConnectionState) -> io::Result<[Bytes; 2]> {
        let count = |end: &Option<Stream>, awaited| {
            end.as_ref().map_or(Ok(Bytes::ZERO), |stream| stream.count(awaited))
        };
        Ok([
            count(&self.server, state.awaits_at_acceptor())?,
            count(&self.client, state.awaits_at_initiator())?,
        ])
    }
}

/// Returns source `number` of `sources`, which must have connections.
fn vectors(sources: &[Source], number: u8) -> &VectorSource {
    match &sources[usize::from(number)] {
        Source::Connections(source) => source,
        Source::Datagrams(_) | Source::VideoCalls(_) => unreachable!("flows are connections"),
    }
}

impl RunningSources {
    /// Starts a new flow of source `source`.
    pub(super) fn begin(&mut self, source: u8, vector: &Vector) -> Result<(), Error> {
        let state = vectors(&self.sources, source).open(vector, self.clock.now());
        let flows = &mut self.flows;
        flows.flow_count += 1;
        let &Vector { number, side, min_rtt, .. } = vector;
        let flow = Flow { serial: flows.flow_count, source, number, side, min_rtt, state, connection: None };
        let slot = flows.free.pop().unwrap_or_else(|| {
            flows.slots.push(None);
            flows.slots.len() - 1
        });
        flows.slots[slot] = Some(flow);
        self.connect(slot)
    }

    /// Opens a connection for the flow in `slot`: its first, or one that replaces a lost connection.
    fn connect(&mut self, slot: usize) -> Result<(), Error> {
        let &mut Flow { source, number, side, min_rtt, .. } = self.flow(slot);
        let count = &mut self.flows.connection_counts[usize::from(source)];
        let end = BrowserEnd::for_source(source, side, *count);
        *count += 1;
        self.flows.connection_count += 1;
        let connection_number = self.flows.connection_count;
        let mix = Arc::clone(&self.config.mix);
        let ends = mix.assignment.of_flow(&SourceFlow { source, number, side });
        let connection = SourceConnection { source, side, min_rtt };
        self.send_event(SideEvent::OpeningOfSource { end, connection, offers: mix.offers(ends) });
        let [client_stack, server_stack] = ends;
        namespaces::enter_network(&self.config.networks[usize::from(side)])?;
        let what = || "a socket of a source".to_owned();
        let client = sockets::bind(end.address(), &mix.stack(client_stack).congestion).context(what)?;
        sockets::watch(&self.poll, &client, PolledSocket::Flow(slot, FlowEnd::Initiator).token())
            .context(what)?;
        let port = if mix.stack(server_stack).has_own_ecn { OWN_ECN_PORT } else { SOURCE_PORT };
        sockets::connect(&client, addresses::source_peer(usize::from(1 - side), port)).context(what)?;
        self.count(sockets::congestion(&client).context(what)?);
        self.flows.by_end.insert(end, slot);
        self.flow(slot).connection = Some(Connection {
            end,
            number: connection_number,
            stacks: ends,
            client: Some(Stream::new(client, self.config.event_queue.engine())),
            server: None,
            is_connected: false,
            to_acceptor: 0,
            to_initiator: 0,
        });
        Ok(())
    }

    /// Counts a connection end with this congestion control.
    fn count(&mut self, congestion: String) {
        *self.congestion.entry(congestion).or_default() += 1;
    }

    fn flow(&mut self, slot: usize) -> &mut Flow {
        self.flows.slots[slot].as_mut().expect("a flow that is under way")
    }

    /// Accepts the connections that have arrived.
    pub(super) fn accept(&mut self, listener: &Socket) -> Result<(), Error> {
        while let Some((socket, peer)) =
            sockets::accept(listener).context(|| "a socket of a source".to_owned())?
        {
            let end = BrowserEnd::from_address(*peer.ip(), peer.port());
            // The initiator may have given up the connection already.
            let Some(&slot) = end.and_then(|end| self.flows.by_end.get(&end)) else { continue };
            sockets::watch(&self.poll, &socket, PolledSocket::Flow(slot, FlowEnd::Acceptor).token())
                .context(|| "epoll".to_owned())?;
            let mix = Arc::clone(&self.config.mix);
            let event_queue = Arc::clone(&self.config.event_queue);
            if let Some(connection) = &mut self.flow(slot).connection {
                let congestion = &mix.stack(connection.stacks[1]).congestion;
                let congestion = sockets::set_congestion(&socket, congestion);
                connection.server = Some(Stream::new(socket, event_queue.engine()));
                self.count(congestion.context(|| "a socket of a source".to_owned())?);
            }
            self.on_ready(slot)?;
        }
        Ok(())
    }

    /// Ends the pause of the flow in `slot`, if the slot still has the flow with this serial number.
    pub(super) fn resume(&mut self, slot: usize, serial: u64) -> Result<(), Error> {
        if self.flows.slots[slot].as_ref().is_some_and(|flow| flow.serial == serial) {
            self.notify(slot, VectorEvent::Woken)?;
            self.on_ready(slot)?;
        }
        Ok(())
    }

    /// Updates the readiness of an end of the flow in `slot`.
    pub(super) fn update(&mut self, slot: usize, end: FlowEnd, event: &Event) {
        let flow = self.flows.slots[slot].as_mut();
        let Some(connection) = flow.and_then(|flow| flow.connection.as_mut()) else { return };
        let stream = match end {
            FlowEnd::Initiator => &mut connection.client,
            FlowEnd::Acceptor => &mut connection.server,
        };
        if let Some(stream) = stream {
            stream.update(event);
        }
    }

    /// Counts the bytes that a guest's kernel has read before `due`. It has read those of up to a millisecond after it too, because
    /// `epoll` waits for whole milliseconds.
    pub(super) fn count_delivered(&mut self, due: Time) -> Result<(), Error> {
        let before = Time::from_nanos(due.as_nanos().saturating_sub(1));
        for slot in 0..self.flows.slots.len() {
            let Some(Flow { state, connection: Some(connection), .. }) = &self.flows.slots[slot] else {
                continue;
            };
            let counts = connection.counts(state).context(|| "the bytes of a connection".to_owned())?;
            let [to_acceptor, to_initiator] = counts;
            if to_acceptor > Bytes::ZERO {
                self.notify_of(slot, VectorEvent::Delivered(to_acceptor), before)?;
            }
            if to_initiator > Bytes::ZERO {
                self.notify_of(slot, VectorEvent::Received(to_initiator), before)?;
            }
        }
        Ok(())
    }

    /// Handles readiness of the flow in `slot`. The event may be of an earlier flow in this slot.
    pub(super) fn on_ready(&mut self, slot: usize) -> Result<(), Error> {
        while let Some(Flow { state, connection: Some(connection), .. }) = &mut self.flows.slots[slot] {
            match connection.advance(state, &mut self.scratch) {
                Ok(Progress::Nothing) => break,
                Ok(Progress::Event(event)) => self.notify(slot, event)?,
                Ok(Progress::Gone) => self.remove_connection(slot),
                Err(error) => {
                    *self.errors.entry(error.to_string()).or_default() += 1;
                    let is_over = connection.client.is_none();
                    self.remove_connection(slot);
                    if !is_over {
                        self.notify(slot, VectorEvent::Closed)?;
                    }
                }
            }
        }
        let is_over = |flow: &mut Flow| flow.state.is_over() && flow.connection.is_none();
        if self.flows.slots[slot].take_if(is_over).is_some() {
            self.flows.free.push(slot);
        }
        Ok(())
    }

    /// Notifies the flow in `slot` of an event that occurs now.
    fn notify(&mut self, slot: usize, event: VectorEvent) -> Result<(), Error> {
        self.notify_of(slot, event, self.clock.now())
    }

    /// Notifies the flow in `slot` of an event at `now`, and carries out its actions.
    fn notify_of(&mut self, slot: usize, event: VectorEvent, now: Time) -> Result<(), Error> {
        let mut actions = std::mem::take(&mut self.actions);
        // Fields instead of methods: the flow and its source are borrowed at the same time.
        let Flow { source, state, .. } = self.flows.slots[slot].as_mut().expect("a flow that is under way");
        let source = *source;
        vectors(&self.sources, source).on_event(state, event, now, &mut actions);
        if let VectorEvent::Delivered(bytes) | VectorEvent::Received(bytes) = event {
            self.send_event(SideEvent::Delivered { source, bytes, at: now });
        }
        for action in actions.drain(..) {
            self.act(slot, action)?;
        }
        self.actions = actions;
        Ok(())
    }

    fn act(&mut self, slot: usize, action: VectorAction) -> Result<(), Error> {
        let now = self.clock.now();
        let flow = self.flow(slot);
        let &mut Flow { source, number, side, serial, .. } = flow;
        match (action, &mut flow.connection) {
            (VectorAction::Write(size), Some(connection)) => connection.to_acceptor += size.get(),
            (VectorAction::Answer(size), Some(connection)) => connection.to_initiator += size.get(),
            (VectorAction::Close, Some(connection)) => connection.client = None,
            (VectorAction::Withdraw(End::Initiator), Some(connection)) => connection.to_acceptor = 0,
            (VectorAction::Withdraw(End::Acceptor), Some(connection)) => connection.to_initiator = 0,
            (
                VectorAction::Write(_)
                | VectorAction::Answer(_)
                | VectorAction::Withdraw(_)
                | VectorAction::Close,
                None,
            ) => {
                unreachable!("only what is connected writes and closes")
            }
            (VectorAction::Sleep(pause), _) => {
                self.wakes.push(Reverse((now + pause, WakeUp::Flow { slot, serial })));
            }
            (VectorAction::Completed(exchange), _) => {
                let at = exchange.started + exchange.response_time;
                let flow = SourceFlow { source, number, side };
                self.send_event(SideEvent::CompletedOfSource { flow, exchange, at });
            }
            (VectorAction::Aborted, _) => self.send_event(SideEvent::AbortedOfSource { source, at: now }),
            (VectorAction::Open, _) => self.connect(slot)?,
            (VectorAction::Watched(_), _) => unreachable!("live runs refuse videos"),
        }
        Ok(())
    }

    /// Removes the connection of the flow in `slot`.
    fn remove_connection(&mut self, slot: usize) {
        if let Some(Connection { end, .. }) = self.flow(slot).connection.take() {
            self.flows.by_end.remove(&end);
            self.send_event(SideEvent::Closed { browser: end });
        }
    }
}
