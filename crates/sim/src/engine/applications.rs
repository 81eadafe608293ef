//! Applications above TCP at the two ends of a connection: they receive TCP's events, write data and close.

mod browsers;
mod flows;
mod pipe;
mod users;

use aqmlab_tcp::{Event as TcpEvent, Sender};

pub(super) use self::browsers::PageUsers;
pub(super) use self::flows::{Flow, Flows};
use super::connections::Opening;
use super::content::{ApplicationId, Content};
use super::observer::{ConnectionUse, Observer};
use super::{ControlEvent, Engine, Event};
use crate::capture::NewConnection;
use crate::labels::label;
use crate::link::Link;
use crate::packet::EndpointId;

/// An application, by its identifier. Its state is in the engine.
pub(super) trait Application<S: Sender, L, O: Observer<S>> {
    /// Handle `event` of TCP at `id`, an end of one of its connections: the client is connected or has lost its
    /// connection, or the data that this end waits for have arrived.
    fn on_event(self, engine: &mut Engine<S, L, O>, id: EndpointId, event: TcpEvent);

    /// Continue after a pause.
    fn on_wake(self, engine: &mut Engine<S, L, O>);
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    /// Handle `event` of TCP at `id`. All servers do the same: they close after their client.
    pub(super) fn on_tcp_event(&mut self, id: EndpointId, event: TcpEvent) {
        match (event, id.is_server()) {
            (TcpEvent::PeerClosed, true) => {
                self.connections.socket_mut(id).tcp.close();
                self.transmit(id);
            }
            (TcpEvent::Opened, true) => self.follow_wait(id),
            // Servers close only after their client, and the client handles the loss of a connection.
            (TcpEvent::PeerClosed, false) | (TcpEvent::Aborted, true) => {}
            (TcpEvent::Received, _) | (TcpEvent::Opened | TcpEvent::Aborted, false) => {
                self.observer.passed_to_application(id, self.now);
                match self.connections.session(id).content {
                    Content::Exchanges(user, _) => user.on_event(self, id, event),
                    Content::Page(user, slot) => self.on_browser_event(user, slot, id, event),
                    Content::Units(flow) => flow.on_event(self, id, event),
                    Content::Nothing if event == TcpEvent::Opened => self.close_unused(id),
                    Content::Nothing => {}
                }
            }
        }
    }

    /// Close a connection that has opened after its user has left.
    fn close_unused(&mut self, client: EndpointId) {
        self.connections.socket_mut(client).tcp.close();
        self.transmit(client);
    }

    pub(super) fn wake(&mut self, application: ApplicationId) {
        match application {
            ApplicationId::User(user) => user.on_wake(self),
            ApplicationId::Flow(flow) => flow.on_wake(self),
        }
    }

    /// Open both ends of a connection and start its timers.
    fn open_connection(&mut self, opening: Opening) -> EndpointId {
        let Opening { origin, host, stacks, .. } = opening;
        let id = self.connections.open(opening, &self.stacks, self.now);
        let connection_use = match self.connections.session(id).content {
            Content::Page(user, _) => ConnectionUse::Page(user),
            _ => ConnectionUse::Exchanges,
        };
        self.observer.opened(id, origin.owner(), connection_use, self.now);
        for link in &mut self.links {
            link.opened(id, origin.owner());
        }
        if let Some(labels) = &self.labels {
            label(&mut self.links, labels.of_connection(id, origin, host));
        }
        if let Some(capture) = &self.capture {
            let mss = stacks.map(|stack| self.stacks.profile(stack).mss);
            capture.opened(&NewConnection { client: id, origin, host, mss });
        }
        self.record_opened(id);
        let session = self.connections.session_mut(id);
        if let Some((at, event)) = self.timers.opened::<S>(id, session, self.now) {
            self.wheel.push(at, Event::Control(ControlEvent::Timer(event)));
        }
        id
    }
}
