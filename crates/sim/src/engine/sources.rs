//! Traffic beside the web users: connections that follow a vector, and datagrams.

use aqmlab_tcp::{Event as TcpEvent, Stack};
use aqmlab_units::Time;
use aqmlab_workload::Completed;
use aqmlab_workload::sources::{
    Datagram, Source, SourceConfig, Vector, VectorAction, VectorEvent, VectorSource,
};

use super::connections::{Application, Opening, Packets};
use super::datagrams::{Datagrams, sent_at};
use super::flows::{Flow, FlowId, Pipe};
use super::{Engine, Event};
use crate::link::Link;
use crate::observer::Observer;
use crate::packet::{EndpointId, Owner, Packet};
use crate::record::ResponseTimes;
use crate::summary::{PacketSummary, ResponseTimeMs, SourceSummary, Window, per};

/// The sources of an experiment, and what became of their traffic.
#[derive(Debug)]
pub(super) struct Sources {
    all: Vec<Source>,
    /// What each of them does next.
    next: Vec<Option<Next>>,
    /// Flows under way, at their places.
    flows: Vec<Option<(u32, Flow)>>,
    free: Vec<u32>,
    /// What had become of each owner's packets when the measured window began.
    packets_before: Vec<Packets>,
    /// Flows so far: what tells a flow from an earlier one at its place.
    opened: u32,
    records: Vec<Record>,
}

#[derive(Debug)]
enum Next {
    Connection(Vector),
    Datagram(Datagram),
}

/// What became of a source's traffic in the measured window.
#[derive(Debug)]
struct Record {
    completed: u64,
    aborted: u64,
    times: ResponseTimes,
    /// Bytes of flows that are over, since the start of the run.
    ended: u64,
    /// Bytes delivered before the window.
    before: u64,
    datagrams: Datagrams,
}

impl Sources {
    pub(super) fn new(sources: Vec<Source>) -> Sources {
        let record = || Record {
            completed: 0,
            aborted: 0,
            times: ResponseTimes::new(),
            ended: 0,
            before: 0,
            datagrams: Datagrams::new(),
        };
        Sources {
            next: sources.iter().map(|_| None).collect(),
            records: sources.iter().map(|_| record()).collect(),
            packets_before: vec![Packets::default(); 1 + sources.len()],
            all: sources,
            flows: Vec::new(),
            free: Vec::new(),
            opened: 0,
        }
    }

    pub(super) fn numbers(&self) -> std::ops::Range<u8> {
        0..u8::try_from(self.all.len()).expect("the spec bounds the number of sources")
    }

    /// When source `number` does something next, if ever.
    fn plan(&mut self, number: u8) -> Option<Time> {
        let next = match &mut self.all[usize::from(number)] {
            Source::Connections(source) => source.next().map(Next::Connection),
            Source::Datagrams(source) => source.next().map(Next::Datagram),
        };
        let at = match &next {
            Some(Next::Connection(vector)) => Some(vector.start),
            Some(Next::Datagram(datagram)) => Some(datagram.at),
            None => None,
        };
        self.next[usize::from(number)] = next;
        at
    }

    /// The flow `id`, unless it is over, with its source and what is recorded about that.
    fn flow(&mut self, id: FlowId) -> Option<(&mut Flow, &VectorSource, &mut Record)> {
        let (serial, flow) = self.flows[id.place as usize].as_mut()?;
        if *serial != id.serial {
            return None;
        }
        let Source::Connections(source) = &self.all[usize::from(flow.source)] else {
            unreachable!("flows are connections");
        };
        let record = &mut self.records[usize::from(flow.source)];
        Some((flow, source, record))
    }

    /// The source of the flow `id`, which is under way.
    pub(super) fn number_of(&mut self, id: FlowId) -> u8 {
        self.flow(id).expect("a flow that is under way").0.source
    }

    fn begin(&mut self, flow: Flow) -> FlowId {
        self.opened = self.opened.wrapping_add(1);
        let place = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 flows at a time")
        });
        self.flows[place as usize] = Some((self.opened, flow));
        FlowId { place, serial: self.opened }
    }

    fn end(&mut self, id: FlowId) {
        self.flows[id.place as usize] = None;
        self.free.push(id.place);
    }

    /// Datagrams in the network.
    pub(super) fn datagrams_on_the_way(&self) -> u64 {
        self.records.iter().map(|record| record.datagrams.on_the_way).sum()
    }
}

impl<S: Stack, L: Link<O::Carried>, O: Observer<S>> Engine<S, L, O> {
    /// Find out when source `number` does something next.
    pub(super) fn plan_source(&mut self, number: u8) {
        if let Some(at) = self.sources.plan(number) {
            self.wheel.push(at, Event::Source(number));
        }
    }

    /// Source `number` does what it has announced.
    #[inline(never)]
    pub(super) fn run_source(&mut self, number: u8) {
        let next = self.sources.next[usize::from(number)].take();
        self.plan_source(number);
        match next {
            Some(Next::Connection(vector)) => self.begin_flow(number, &vector),
            Some(Next::Datagram(datagram)) => {
                let record = &mut self.sources.records[usize::from(number)];
                let packet = record.datagrams.send(number, &datagram, self.window_start);
                let at_link = self.hosts.send_datagram(number, datagram.flow, datagram.size, self.now);
                self.reach_link_at(at_link, packet);
            }
            None => unreachable!("a source runs when it has announced something"),
        }
    }

    #[inline(never)]
    pub(super) fn receive_datagram(&mut self, packet: &Packet<O::Carried>) {
        let datagrams = &mut self.sources.records[packet.to.source()].datagrams;
        datagrams.receive(sent_at(&packet.segment), packet.size(), self.now, self.window_start);
    }

    #[inline(never)]
    pub(super) fn lose_datagram(&mut self, packet: &Packet<O::Carried>) {
        let datagrams = &mut self.sources.records[packet.to.source()].datagrams;
        datagrams.lose(sent_at(&packet.segment), self.window_start);
    }

    fn begin_flow(&mut self, number: u8, vector: &Vector) {
        let Source::Connections(source) = &self.sources.all[usize::from(number)] else {
            unreachable!("only these have vectors");
        };
        let id = self.sources.begin(Flow {
            source: number,
            number: vector.number,
            side: usize::from(vector.side),
            min_rtt: vector.min_rtt,
            client: EndpointId::default(),
            state: source.open(vector, self.now),
            to_acceptor: Pipe::default(),
            to_initiator: Pipe::default(),
        });
        self.connect_flow(id);
    }

    /// `connect()` for a flow's first connection, or for one that replaces another.
    fn connect_flow(&mut self, id: FlowId) {
        let (flow, ..) = self.sources.flow(id).expect("a flow that is under way");
        (flow.to_acceptor, flow.to_initiator) = (Pipe::default(), Pipe::default());
        // Numbers that no user has.
        let host_number = 1 << 63 | u64::from(flow.source) << 48 | flow.number;
        let (side, owner) = (flow.side, Owner::source(flow.source));
        let opening = Opening {
            application: Application::Flow(id),
            owner,
            side,
            host: None,
            approaches: self.hosts.for_source(owner, flow.min_rtt),
            stacks: [
                self.stacks.of_client(owner, side, host_number),
                self.stacks.of_server(owner, 1 - side, host_number, 0),
            ],
        };
        let client = self.open_connection(opening);
        self.hosts.give_machines(client, owner);
        if let Some((flow, ..)) = self.sources.flow(id) {
            flow.client = client;
        }
        self.transmit(client);
    }

    /// Something happened at the client of a flow's connection.
    pub(super) fn on_flow_event(&mut self, id: FlowId, event: TcpEvent) {
        match event {
            TcpEvent::Opened => self.drive_flow(id, Some(VectorEvent::Opened)),
            TcpEvent::Received => self.drive_flow(id, None),
            TcpEvent::Aborted => self.drive_flow(id, Some(VectorEvent::Closed)),
            // Servers close only in answer.
            TcpEvent::PeerClosed => {}
        }
    }

    pub(super) fn wake_flow(&mut self, id: FlowId) {
        self.drive_flow(id, Some(VectorEvent::Woken));
    }

    /// Tell a flow what happened, then what has come meanwhile, and do what it wants.
    #[inline(never)]
    pub(super) fn drive_flow(&mut self, id: FlowId, mut event: Option<VectorEvent>) {
        let mut actions = std::mem::take(&mut self.flow_actions);
        let mut client = None;
        while let Some((flow, source, _)) = self.sources.flow(id) {
            client = Some(flow.client);
            if let Some(event) = event {
                source.on_event(&mut flow.state, event, self.now, &mut actions);
                for action in actions.drain(..) {
                    self.act_for_flow(id, action);
                }
                if self.sources.flow(id).is_some_and(|(flow, ..)| flow.state.is_over()) {
                    self.end_flow(id);
                }
            }
            event = self.look_at_flow(id);
            if event.is_none() {
                break;
            }
        }
        self.flow_actions = actions;
        for client in client.into_iter().chain(self.sources.flow(id).map(|(flow, ..)| flow.client)) {
            self.transmit(client);
            self.transmit(client.peer());
        }
    }

    fn act_for_flow(&mut self, id: FlowId, action: VectorAction) {
        let now = self.now;
        let in_window = now > self.window_start;
        let Some((flow, _, record)) = self.sources.flow(id) else { return };
        match action {
            VectorAction::Write(size) => flow.to_acceptor.add(size),
            VectorAction::Answer(size) => flow.to_initiator.add(size),
            VectorAction::Sleep(pause) => self.wheel.push(now + pause, Event::WakeFlow(id)),
            VectorAction::Completed(exchange) => self.complete_for_flow(id, &exchange),
            VectorAction::Aborted => {
                record.aborted += u64::from(in_window);
                self.aborted += u64::from(in_window && self.users.is_empty());
            }
            VectorAction::Close => {
                let client = flow.client;
                self.connections.endpoint_mut(client).tcp.close();
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
        let Some((flow, _, record)) = self.sources.flow(id) else { return };
        let recovery = self.connections.take_recovery(flow.client);
        if self.now > self.window_start {
            record.completed += 1;
            record.times.record(exchange);
            if self.users.is_empty() {
                self.completed += 1;
                self.times.record(exchange);
            }
            if self.spec.record.exchanges {
                self.tables.exchanges.push(exchange, flow.source + 1, flow.side, recovery);
            }
        }
    }

    /// Give TCP what may be sent, and find out what has come.
    fn look_at_flow(&mut self, id: FlowId) -> Option<VectorEvent> {
        let (flow, ..) = self.sources.flow(id)?;
        let client = flow.client;
        flow.to_acceptor.pump(&mut self.connections.endpoint_mut(client).tcp);
        flow.to_initiator.pump(&mut self.connections.endpoint_mut(client.peer()).tcp);
        let awaited = flow.state.awaits_at_acceptor();
        let server = &mut self.connections.endpoint_mut(client.peer()).tcp;
        if let Some(come) = flow.to_acceptor.report(server, awaited) {
            return Some(VectorEvent::Delivered(come));
        }
        let awaited = flow.state.awaits_at_initiator();
        let come = flow.to_initiator.report(&mut self.connections.endpoint_mut(client).tcp, awaited)?;
        Some(VectorEvent::Received(come))
    }

    /// The connection of a flow is the flow's no more.
    fn leave_connection(&mut self, id: FlowId) {
        let Some((flow, _, record)) = self.sources.flow(id) else { return };
        record.ended += delivered(flow, &self.connections);
        self.connections.session_mut(flow.client).application = Application::Nobody;
    }

    fn end_flow(&mut self, id: FlowId) {
        self.leave_connection(id);
        self.sources.end(id);
    }

    /// Bytes of each source that have arrived in order since the start of the run.
    fn delivered_by_source(&self) -> Vec<u64> {
        let mut delivered_by: Vec<u64> = self.sources.records.iter().map(|record| record.ended).collect();
        for (_, flow) in self.sources.flows.iter().flatten() {
            delivered_by[usize::from(flow.source)] += delivered(flow, &self.connections);
        }
        delivered_by
    }

    /// The measured window begins.
    pub(super) fn note_delivered(&mut self) {
        let delivered = self.delivered_by_source();
        for (record, before) in self.sources.records.iter_mut().zip(delivered) {
            record.before = before;
        }
        self.sources.packets_before = self.connections.packets();
    }

    /// Packets of each owner's connections that were sent, and that were lost, in the measured window so far.
    fn sent_and_lost(&self) -> impl Iterator<Item = (u64, u64)> {
        let pairs = self.connections.packets().into_iter().zip(&self.sources.packets_before);
        pairs.map(|(now, before)| (now.sent() - before.sent(), now.lost - before.lost))
    }

    /// What became of the web users' packets, where there are others.
    pub(super) fn users_summary(&self, window: &Window) -> Option<PacketSummary> {
        let has_both = !self.users.is_empty() && !self.spec.sources.is_empty();
        let (sent, lost) = self.sent_and_lost().next().filter(|_| has_both)?;
        Some(PacketSummary::new(sent, lost, window, Owner::USERS))
    }

    /// What became of each source's traffic in the measured window so far.
    pub(super) fn source_summaries(&self, window: &Window) -> Vec<SourceSummary> {
        let delivered = self.delivered_by_source().into_iter();
        let packets = self.sent_and_lost().skip(1);
        let sources = (0..).zip(&self.spec.sources).zip(&self.sources.records).zip(delivered.zip(packets));
        let summaries = sources.map(|(((number, source), record), (delivered, packets))| {
            let config = &source.config;
            let bytes = delivered - record.before + record.datagrams.delivered_bytes;
            let is_datagrams = matches!(config, SourceConfig::Datagrams(_));
            let (sent, lost) = if is_datagrams { record.datagrams.sent_and_lost() } else { packets };
            SourceSummary {
                name: config.name().to_owned(),
                kind: config.kind(),
                goodput_mbps: per(8e-6 * bytes as f64, window.seconds()),
                completed: record.completed,
                aborted: record.aborted,
                response_time_ms: ResponseTimeMs::new(&record.times),
                response_time_ms_max: (record.completed > 0).then(|| record.times.longest().as_millis_f64()),
                packets: PacketSummary::new(sent, lost, window, Owner::source(number)),
                datagrams: is_datagrams.then(|| record.datagrams.summary()),
            }
        });
        summaries.collect()
    }
}

fn delivered<S: Stack>(flow: &Flow, connections: &super::Connections<S>) -> u64 {
    let (client, server) = (connections.endpoint(flow.client), connections.endpoint(flow.client.peer()));
    flow.to_acceptor.delivered(&server.tcp) + flow.to_initiator.delivered(&client.tcp)
}
