//! Web users and the servers that respond to them at once. The workload decides what a browser does.

use aqmlab_tcp::{Event as TcpEvent, Sender};
use aqmlab_units::Bytes;
use aqmlab_workload::{Connection, ConnectionId, UserAction, UserEvent};

use super::Application;
use crate::capture::ConnectionOrigin;
use crate::engine::connections::Opening;
use crate::engine::content::{ApplicationId, Content, UserId};
use crate::engine::emulated::UserConnection;
use crate::engine::observer::{Observer, Written};
use crate::engine::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Owner};
use crate::record::ExchangeRow;

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Application<S, L, O> for UserId {
    fn on_event(self, engine: &mut Engine<S, L, O>, id: EndpointId, event: TcpEvent) {
        let Content::Exchanges(_, connection) = &engine.connections.session(id).content else { return };
        if id.is_server() {
            let response = connection.exchange().response;
            engine.write(id, response);
            return engine.transmit(id);
        }
        let event = match event {
            TcpEvent::Opened => UserEvent::Opened,
            TcpEvent::Received => UserEvent::Received(connection.awaits()),
            TcpEvent::Aborted | TcpEvent::PeerClosed => UserEvent::Closed,
        };
        engine.tell_user(self, id, event);
    }

    fn on_wake(self, engine: &mut Engine<S, L, O>) {
        if engine.wake_browser(self) {
            return;
        }
        let Some(web) = &engine.web else { return };
        web.wake(&mut engine.users[self.index()], engine.now, &mut engine.actions);
        if let Some(&UserAction::Resume(name)) = engine.actions.first() {
            engine.actions.clear();
            engine.tell_user(self, EndpointId::from_number(name.0), UserEvent::Resumed);
        } else {
            engine.act(self, None);
        }
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    /// Pass an event at `client` to `user`, to whom the connection belongs.
    fn tell_user(&mut self, user: UserId, client: EndpointId, event: UserEvent) {
        let Content::Exchanges(_, connection) = &mut self.connections.session_mut(client).content else {
            return;
        };
        let name = ConnectionId(client.number());
        let (Some(web), state) = (&self.web, &mut self.users[user.index()]) else { return };
        web.on_event(state, connection, name, event, self.now, &mut self.actions);
        self.act(user, Some(client));
        self.transmit(client);
    }

    /// Apply the actions of `user`; `id` is the client of the event.
    fn act(&mut self, user: UserId, id: Option<EndpointId>) {
        let mut actions = std::mem::take(&mut self.actions);
        let client = || id.expect("only events of a connection ask for its use");
        for action in actions.drain(..) {
            match action {
                UserAction::Open(connection) => self.open(user, connection),
                UserAction::Write(request) => {
                    self.expect(client(), request);
                    self.write(client(), request);
                }
                UserAction::Close => self.connections.socket_mut(client()).tcp.close(),
                UserAction::Resume(_) => unreachable!("only a user who wakes resumes a connection"),
                UserAction::Completed(exchange) => {
                    let recovery = self.connections.take_recovery(client());
                    if self.recorder.counts(self.now) {
                        let row = ExchangeRow {
                            exchange: &exchange,
                            side: user.side(),
                            user: user.0.into(),
                            recovery,
                        };
                        self.recorder.completed(Owner::USERS, &row);
                        self.observer.completed(client(), &row, &mut self.recorder.tables);
                    }
                }
                UserAction::Aborted => self.recorder.aborted(Owner::USERS, self.now),
                UserAction::Sleep(pause) => {
                    self.wheel.push(
                        self.now + pause,
                        Event::Control(ControlEvent::Wake(ApplicationId::User(user))),
                    );
                }
            }
        }
        self.actions = actions;
    }

    /// `connect()`: open both ends and send the SYN.
    fn open(&mut self, user: UserId, connection: Connection) {
        let request = connection.exchange().request;
        let (side, number, min_rtt) = (user.side(), connection.number(), connection.min_rtt());
        let host = self.hosts.machine_for(side.other(), u64::from(user.0) + number);
        let about = UserConnection { user: user.0, number, min_rtt };
        let id = self.open_connection(Opening {
            origin: ConnectionOrigin::User(user.0),
            side,
            host: Some(host),
            access: self.hosts.for_user(host, min_rtt),
            stacks: self.stacks.of_user(&about),
            content: Content::Exchanges(user, connection),
        });
        self.expect(id, request);
        self.transmit(id);
    }

    /// Have both ends wait for their part of the exchange. The server can know the length of the request because
    /// the simulator's data have no content.
    fn expect(&mut self, client: EndpointId, request: Bytes) {
        let Content::Exchanges(_, connection) = &self.connections.session(client).content else { return };
        let response = connection.awaits();
        self.connections.socket_mut(client).tcp.await_data(in_segments(response));
        self.connections.socket_mut(client.peer()).tcp.await_data(in_segments(request));
    }

    /// Write a request at its client, or a response at its server.
    fn write(&mut self, id: EndpointId, size: Bytes) {
        self.connections.socket_mut(id).tcp.write(in_segments(size));
        self.observer.wrote(id, Written::Content, self.now);
    }
}

/// Return a size as the endpoints count it. Requests and responses stay below 2^31 bytes (the workload checks
/// it).
fn in_segments(size: Bytes) -> u32 {
    u32::try_from(size.get()).expect("an exchange stays below 2^32 bytes")
}
