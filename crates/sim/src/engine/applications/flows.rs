//! Connections of sources: their two ends follow their vector.

use aqmlab_tcp::{Event as TcpEvent, Sender};
use aqmlab_units::{Duration, Time};
use aqmlab_workload::Completed;
use aqmlab_workload::sources::{ConnectionState, End, Vector, VectorAction, VectorEvent, Watched};

use super::Application;
use super::pipe::Pipe;
use crate::capture::ConnectionOrigin;
use crate::engine::connections::{Connections, Opening};
use crate::engine::content::{ApplicationId, Content, FlowId};
use crate::engine::emulated::SourceFlow;
use crate::engine::observer::{Observer, Written};
use crate::engine::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Owner};
use crate::record::ExchangeRow;
use crate::side::Side;

/// A connection of a source.
#[derive(Debug)]
pub(in crate::engine) struct Flow {
    /// The number of its source, and its number among the flows of the source.
    pub(in crate::engine) source: u8,
    number: u64,
    side: Side,
    min_rtt: Duration,
    state: ConnectionState,
    client: EndpointId,
    /// Data to the acceptor, and to the initiator.
    to_acceptor: Pipe,
    to_initiator: Pipe,
}

impl Flow {
    /// Return the flow of `vector`, one of source `source`, without a connection yet.
    pub(in crate::engine) fn new(source: u8, vector: &Vector, state: ConnectionState) -> Flow {
        Flow {
            source,
            number: vector.number,
            side: Side::numbered(vector.side),
            min_rtt: vector.min_rtt,
            state,
            client: EndpointId::default(),
            to_acceptor: Pipe::default(),
            to_initiator: Pipe::default(),
        }
    }

    /// Return its number among the flows of its source, and what its viewer has seen by `now` and has not been
    /// reported, if it is a player.
    pub(in crate::engine) fn unreported(&self, now: Time) -> Option<(u64, Watched)> {
        Some((self.number, self.state.unreported(now)?))
    }

    fn owner(&self) -> Owner {
        Owner::source(self.source)
    }

    /// Bytes that have arrived in order over its current connection.
    pub(in crate::engine) fn delivered<S: Sender>(&self, connections: &Connections<S>) -> u64 {
        let (client, server) = (connections.socket(self.client), connections.socket(self.client.peer()));
        self.to_acceptor.delivered(&server.tcp) + self.to_initiator.delivered(&client.tcp)
    }
}

/// The active flows, in slots.
#[derive(Debug, Default)]
pub(in crate::engine) struct Flows {
    slots: Vec<Option<(u32, Flow)>>,
    free: Vec<u32>,
    /// Number of flows started so far.
    begun: u32,
}

impl Flows {
    fn begin(&mut self, flow: Flow) -> FlowId {
        self.begun = self.begun.wrapping_add(1);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 flows at a time")
        });
        self.slots[slot as usize] = Some((self.begun, flow));
        FlowId { slot, serial: self.begun }
    }

    /// Return the flow `id`, unless it has ended.
    #[inline]
    fn get(&mut self, id: FlowId) -> Option<&mut Flow> {
        let (serial, flow) = self.slots[id.slot as usize].as_mut()?;
        (*serial == id.serial).then_some(flow)
    }

    /// Return the number of flow `id`, which is active, among those of its source.
    pub(in crate::engine) fn number(&self, id: FlowId) -> u64 {
        self.slots[id.slot as usize].as_ref().map_or(0, |(_, flow)| flow.number)
    }

    fn end(&mut self, id: FlowId) {
        self.slots[id.slot as usize] = None;
        self.free.push(id.slot);
    }

    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.slots.iter().flatten().map(|(_, flow)| flow)
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Application<S, L, O> for FlowId {
    fn on_event(self, engine: &mut Engine<S, L, O>, _id: EndpointId, event: TcpEvent) {
        engine.drive(
            self,
            match event {
                TcpEvent::Opened => Some(VectorEvent::Opened),
                TcpEvent::Received => None,
                TcpEvent::Aborted | TcpEvent::PeerClosed => Some(VectorEvent::Closed),
            },
        );
    }

    fn on_wake(self, engine: &mut Engine<S, L, O>) {
        engine.drive(self, Some(VectorEvent::Woken));
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    pub(in crate::engine) fn begin_flow(&mut self, flow: Flow) {
        let id = self.flows.begin(flow);
        self.connect_flow(id);
    }

    /// `connect()` for a flow's first connection, or for a replacement.
    fn connect_flow(&mut self, id: FlowId) {
        let flow = self.flows.get(id).expect("a flow that is under way");
        (flow.to_acceptor, flow.to_initiator) = (Pipe::default(), Pipe::default());
        let (source, side, owner, min_rtt) = (flow.source, flow.side, flow.owner(), flow.min_rtt);
        let about = SourceFlow { source, number: flow.number, side: side.number() };
        let client = self.open_connection(Opening {
            origin: ConnectionOrigin::Source(source),
            side,
            host: None,
            access: self.hosts.for_source(owner, min_rtt),
            stacks: self.stacks.of_flow(&about),
            content: Content::Units(id),
        });
        self.hosts.give_machines(client, owner);
        if let Some(flow) = self.flows.get(id) {
            flow.client = client;
        }
        self.transmit(client);
    }

    /// Pass an event to a flow, then the data that have arrived meanwhile, and apply its actions.
    #[inline(never)]
    fn drive(&mut self, id: FlowId, mut event: Option<VectorEvent>) {
        let mut actions = std::mem::take(&mut self.flow_actions);
        let mut client = None;
        while let Some(flow) = self.flows.get(id) {
            client = Some(flow.client);
            if let Some(event) = event {
                let source = self.sources.of_vectors(flow.source);
                source.on_event(&mut flow.state, event, self.now, &mut actions);
                for action in actions.drain(..) {
                    self.act_for_flow(id, action);
                }
                if self.flows.get(id).is_some_and(|flow| flow.state.is_over()) {
                    self.end_flow(id);
                }
            }
            event = self.look_at_flow(id);
            if event.is_none() {
                break;
            }
        }
        self.flow_actions = actions;
        for client in client.into_iter().chain(self.flows.get(id).map(|flow| flow.client)) {
            self.transmit(client);
            self.transmit(client.peer());
        }
    }

    fn act_for_flow(&mut self, id: FlowId, action: VectorAction) {
        let Some(flow) = self.flows.get(id) else { return };
        match action {
            VectorAction::Write(size) => {
                flow.to_acceptor.add(size);
                self.observer.wrote(flow.client, Written::Content, self.now);
            }
            VectorAction::Answer(size) => {
                flow.to_initiator.add(size);
                self.observer.wrote(flow.client.peer(), Written::Content, self.now);
            }
            VectorAction::Withdraw(End::Initiator) => {
                flow.to_acceptor.withdraw(&mut self.connections.socket_mut(flow.client).tcp);
            }
            VectorAction::Withdraw(End::Acceptor) => {
                flow.to_initiator.withdraw(&mut self.connections.socket_mut(flow.client.peer()).tcp);
            }
            VectorAction::Sleep(pause) => {
                self.wheel
                    .push(self.now + pause, Event::Control(ControlEvent::Wake(ApplicationId::Flow(id))));
            }
            VectorAction::Completed(exchange) => self.complete_for_flow(id, &exchange),
            VectorAction::Aborted => self.recorder.aborted(flow.owner(), self.now),
            VectorAction::Watched(watched) => {
                let is_measured = self.now > self.window_start;
                self.sources.watched(flow.source, flow.number, &watched, is_measured);
            }
            VectorAction::Close => {
                let client = flow.client;
                self.connections.socket_mut(client).tcp.close();
                self.end_flow(id);
                self.transmit(client);
            }
            VectorAction::Open => {
                self.leave_connection(id);
                self.connect_flow(id);
            }
        }
    }

    fn complete_for_flow(&mut self, id: FlowId, exchange: &Completed) {
        let Some(flow) = self.flows.get(id) else { return };
        let recovery = self.connections.take_recovery(flow.client);
        if self.recorder.counts(self.now) {
            let row = ExchangeRow { exchange, side: flow.side, user: flow.number, recovery };
            self.recorder.completed(flow.owner(), &row);
            self.observer.completed(flow.client, &row, &mut self.recorder.tables);
        }
    }

    /// Write the data that TCP may have, and return the data that have arrived as an event.
    fn look_at_flow(&mut self, id: FlowId) -> Option<VectorEvent> {
        let flow = self.flows.get(id)?;
        let client = flow.client;
        flow.to_acceptor.pump(&mut self.connections.socket_mut(client).tcp);
        flow.to_initiator.pump(&mut self.connections.socket_mut(client.peer()).tcp);
        let awaited = flow.state.awaits_at_acceptor();
        let server = &mut self.connections.socket_mut(client.peer()).tcp;
        if let Some(come) = flow.to_acceptor.report(server, awaited) {
            return Some(VectorEvent::Delivered(come));
        }
        let awaited = flow.state.awaits_at_initiator();
        let come = flow.to_initiator.report(&mut self.connections.socket_mut(client).tcp, awaited)?;
        Some(VectorEvent::Received(come))
    }

    /// Detach the connection from its flow. It still has to end, without content.
    fn leave_connection(&mut self, id: FlowId) {
        let Some(flow) = self.flows.get(id) else { return };
        self.sources.delivered(flow.source, flow.delivered(&self.connections));
        self.connections.session_mut(flow.client).content = Content::Nothing;
    }

    fn end_flow(&mut self, id: FlowId) {
        self.leave_connection(id);
        self.flows.end(id);
    }
}
