//! Connections of sources: the two ends of each do what its vector says.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use aqmlab_sim::{SourceConnection, SourceFlow, StackId};
use aqmlab_units::{Bytes, Duration};
use aqmlab_workload::sources::{Source, Vector, VectorAction, VectorConnection, VectorEvent, VectorSource};
use socket2::Socket;

use super::{RunningSources, Wake, Watched};
use crate::error::{Context, Error};
use crate::network::namespaces;
use crate::network::sockets::{self, Lookup};
use crate::packet::addresses::{self, BrowserEnd};
use crate::router::event_queue::SideEvent;

/// The flows under way, in their slots.
#[derive(Default)]
pub(super) struct Flows {
    slots: Vec<Option<Flow>>,
    free: Vec<usize>,
    /// The flow of an accepted connection.
    by_end: HashMap<BrowserEnd, usize>,
    /// By source, the connections so far.
    opened: Vec<u64>,
    /// Flows so far.
    begun: u64,
}

impl Flows {
    pub(super) fn new(sources: usize) -> Flows {
        Flows { opened: vec![0; sources], ..Flows::default() }
    }
}

/// One vector, on one connection after another if connections are lost.
struct Flow {
    serial: u64,
    source: u8,
    /// Its own number among those of the source.
    number: u64,
    side: u8,
    min_rtt: Duration,
    state: VectorConnection,
    connection: Option<Connection>,
}

struct Connection {
    end: BrowserEnd,
    /// The stack of the acceptor.
    server_stack: StackId,
    /// None when it is closed and the acceptor does not know yet.
    client: Option<Socket>,
    /// None before it is accepted.
    server: Option<Socket>,
    is_connected: bool,
    /// Bytes that the sockets had no room for yet.
    to_acceptor: u64,
    to_initiator: u64,
}

/// The result of a look at a connection.
enum Look {
    Event(VectorEvent),
    Nothing,
    /// Both ends are closed.
    Gone,
}

impl Connection {
    /// Connect, write and read until there is something to tell.
    fn look(&mut self, scratch: &mut [u8]) -> io::Result<Look> {
        let event = |event: fn(Bytes) -> VectorEvent, found| match found {
            Lookup::Bytes(bytes) => Ok(Look::Event(event(Bytes::new(bytes as u64)))),
            Lookup::Nothing => Ok(Look::Nothing),
            Lookup::End => Err(io::ErrorKind::UnexpectedEof.into()),
        };
        let Some(client) = &self.client else {
            return match self.server.as_ref().map(|server| sockets::read(server, scratch)).transpose()? {
                Some(Lookup::Nothing) => Ok(Look::Nothing),
                _ => Ok(Look::Gone),
            };
        };
        if !self.is_connected {
            self.is_connected = sockets::is_connected(client)?;
            return Ok(if self.is_connected { Look::Event(VectorEvent::Opened) } else { Look::Nothing });
        }
        self.to_acceptor = sockets::write(client, self.to_acceptor)?;
        if let Some(server) = &self.server {
            self.to_initiator = sockets::write(server, self.to_initiator)?;
            let look = event(VectorEvent::Delivered, sockets::read(server, scratch)?)?;
            if !matches!(look, Look::Nothing) {
                return Ok(look);
            }
        }
        event(VectorEvent::Received, sockets::read(client, scratch)?)
    }
}

/// Source `number` of `all`, which has connections.
fn vectors(all: &[Source], number: u8) -> &VectorSource {
    match &all[usize::from(number)] {
        Source::Connections(source) => source,
        Source::Datagrams(_) => unreachable!("flows are connections"),
    }
}

impl RunningSources {
    /// `connect()` for a new flow of source `source`.
    pub(super) fn begin(&mut self, source: u8, vector: &Vector) -> Result<(), Error> {
        let state = vectors(&self.all, source).open(vector, self.clock.now());
        let flows = &mut self.flows;
        flows.begun += 1;
        let &Vector { number, side, min_rtt, .. } = vector;
        let flow = Flow { serial: flows.begun, source, number, side, min_rtt, state, connection: None };
        let slot = flows.free.pop().unwrap_or_else(|| {
            flows.slots.push(None);
            flows.slots.len() - 1
        });
        flows.slots[slot] = Some(flow);
        self.connect(slot)
    }

    /// The first connection of the flow in `slot`, or one that takes the place of another.
    fn connect(&mut self, slot: usize) -> Result<(), Error> {
        let &mut Flow { source, number, side, min_rtt, .. } = self.flow(slot);
        let opened = &mut self.flows.opened[usize::from(source)];
        let end = BrowserEnd::of_source(source, side, *opened);
        *opened += 1;
        let mix = Arc::clone(&self.setting.mix);
        let ends = mix.who.of_flow(&SourceFlow { source, number, side });
        let connection = SourceConnection { source, side, min_rtt };
        self.say(SideEvent::OpeningOfSource { end, connection, offers: mix.offers(ends) });
        let [own, server_stack] = ends;
        namespaces::go_to(&self.setting.networks[usize::from(side)])?;
        let what = || "a socket of a source".to_owned();
        let client = sockets::bind(end.address(), &mix.stack(own).congestion).context(what)?;
        self.count(sockets::congestion(&client).context(what)?);
        sockets::watch(&self.poll, &client, Watched::Flow(slot).token()).context(what)?;
        sockets::connect(&client, addresses::source_peer(usize::from(1 - side))).context(what)?;
        self.flows.by_end.insert(end, slot);
        self.flow(slot).connection = Some(Connection {
            end,
            server_stack,
            client: Some(client),
            server: None,
            is_connected: false,
            to_acceptor: 0,
            to_initiator: 0,
        });
        Ok(())
    }

    /// An end of a connection has this congestion control.
    fn count(&mut self, congestion: String) {
        *self.congestion.entry(congestion).or_default() += 1;
    }

    fn flow(&mut self, slot: usize) -> &mut Flow {
        self.flows.slots[slot].as_mut().expect("a flow that is under way")
    }

    /// Connections have come.
    pub(super) fn accept(&mut self, listener: &Socket) -> Result<(), Error> {
        while let Some((socket, peer)) =
            sockets::accept(listener).context(|| "a socket of a source".to_owned())?
        {
            let end = BrowserEnd::at(*peer.ip(), peer.port());
            // It may have been given up meanwhile.
            let Some(&slot) = end.and_then(|end| self.flows.by_end.get(&end)) else { continue };
            sockets::watch(&self.poll, &socket, Watched::Flow(slot).token())
                .context(|| "epoll".to_owned())?;
            let mix = Arc::clone(&self.setting.mix);
            if let Some(connection) = &mut self.flow(slot).connection {
                let congestion = &mix.stack(connection.server_stack).congestion;
                let congestion = sockets::set_congestion(&socket, congestion);
                connection.server = Some(socket);
                self.count(congestion.context(|| "a socket of a source".to_owned())?);
            }
            self.on_ready(slot)?;
        }
        Ok(())
    }

    /// The pause of a flow is over, if it is still under way.
    pub(super) fn resume(&mut self, slot: usize, serial: u64) -> Result<(), Error> {
        if self.flows.slots[slot].as_ref().is_some_and(|flow| flow.serial == serial) {
            self.tell(slot, VectorEvent::Woken)?;
            self.on_ready(slot)?;
        }
        Ok(())
    }

    /// Something may be done at the flow in `slot`; or not, if it has just taken the place of another.
    pub(super) fn on_ready(&mut self, slot: usize) -> Result<(), Error> {
        while let Some(connection) = self.flows.slots[slot].as_mut().and_then(|flow| flow.connection.as_mut())
        {
            match connection.look(&mut self.scratch) {
                Ok(Look::Nothing) => break,
                Ok(Look::Event(event)) => self.tell(slot, event)?,
                Ok(Look::Gone) => self.leave(slot),
                Err(error) => {
                    *self.errors.entry(error.to_string()).or_default() += 1;
                    let is_over = connection.client.is_none();
                    self.leave(slot);
                    if !is_over {
                        self.tell(slot, VectorEvent::Closed)?;
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

    /// Tell the flow in `slot` what happened, and do what it wants.
    fn tell(&mut self, slot: usize, event: VectorEvent) -> Result<(), Error> {
        let now = self.clock.now();
        let mut actions = std::mem::take(&mut self.actions);
        // Not by methods: the flow and its source are lent apart.
        let Flow { source, state, .. } = self.flows.slots[slot].as_mut().expect("a flow that is under way");
        let source = *source;
        vectors(&self.all, source).on_event(state, event, now, &mut actions);
        if let VectorEvent::Delivered(bytes) | VectorEvent::Received(bytes) = event {
            self.say(SideEvent::Delivered { source, bytes, at: now });
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
            (VectorAction::Write(_) | VectorAction::Answer(_) | VectorAction::Close, None) => {
                unreachable!("only what is connected writes and closes")
            }
            (VectorAction::Sleep(pause), _) => {
                self.wakes.push(Reverse((now + pause, Wake::Flow { slot, serial })));
            }
            (VectorAction::Completed(exchange), _) => {
                let at = exchange.started + exchange.response_time;
                let flow = SourceFlow { source, number, side };
                self.say(SideEvent::CompletedOfSource { flow, exchange, at });
            }
            (VectorAction::Aborted, _) => self.say(SideEvent::AbortedOfSource { source, at: now }),
            (VectorAction::Open, _) => self.connect(slot)?,
        }
        Ok(())
    }

    /// The connection of the flow in `slot` is no more.
    fn leave(&mut self, slot: usize) {
        if let Some(Connection { end, .. }) = self.flow(slot).connection.take() {
            self.flows.by_end.remove(&end);
            self.say(SideEvent::Closed { browser: end });
        }
    }
}
