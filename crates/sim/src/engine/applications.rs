//! What runs above TCP: servers that answer at once, and browsers that do what their users decide.

use aqmlab_tcp::{EcnPolicy, Event as TcpEvent, Stack};
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::{Connection, ConnectionId, UserAction, UserEvent};

use super::connections::{Application, Opening};
use super::{Engine, Event};
use crate::capture::{NewConnection, Opener};
use crate::link::Link;
use crate::observer::{Observer, Row};
use crate::packet::{Direction, EndpointId, Owner};

impl<S: Stack, L: Link<O::Carried>, O: Observer<S>> Engine<S, L, O> {
    /// What a server does: answer a user's request at once, and others as their vector says; close when the client has
    /// closed.
    pub(super) fn on_server_event(&mut self, id: EndpointId, event: TcpEvent) {
        match event {
            TcpEvent::Received => match &self.connections.session(id).application {
                Application::User(_, connection) => {
                    let response = connection.exchange().response;
                    self.connections.endpoint_mut(id).tcp.write(in_segments(response));
                    self.observer.wrote(id, self.now);
                    self.transmit(id);
                }
                Application::Flow(flow) => self.drive_flow(*flow, None),
                Application::Nobody => {}
            },
            TcpEvent::PeerClosed => {
                self.connections.endpoint_mut(id).tcp.close();
                self.transmit(id);
            }
            TcpEvent::Opened => self.follow_wait(id),
            TcpEvent::Aborted => {}
        }
    }

    /// ECN+/Wait holds a server's data back for less than inspections are apart.
    fn follow_wait(&mut self, id: EndpointId) {
        let endpoint = self.connections.endpoint(id);
        let deadline = endpoint.tcp.retransmit_deadline();
        if self.stacks.profile(endpoint.stack()).ecn == EcnPolicy::PlusWait && deadline < Time::MAX {
            self.wheel.push(deadline, Event::Retransmit(id));
        }
    }

    /// What a browser does is the user's to decide, and what a source's client does its vector's.
    pub(super) fn on_client_event(&mut self, id: EndpointId, event: TcpEvent) {
        let (number, connection) = match &mut self.connections.session_mut(id).application {
            Application::User(number, connection) => (*number, connection),
            &mut Application::Flow(flow) => return self.on_flow_event(flow, event),
            Application::Nobody => return,
        };
        let event = match event {
            TcpEvent::Opened => UserEvent::Opened,
            TcpEvent::Received => UserEvent::Received(connection.awaits()),
            TcpEvent::Aborted => UserEvent::Closed,
            // Servers close only in answer.
            TcpEvent::PeerClosed => return,
        };
        let user = &mut self.users[number as usize];
        let name = ConnectionId(id.number());
        self.web.on_event(user, connection, name, event, self.now, &mut self.actions);
        self.act(number, Some(id));
        self.transmit(id);
    }

    /// Do what user `number` wants; `id` is the client that the event was about.
    pub(super) fn act(&mut self, number: u32, id: Option<EndpointId>) {
        let mut actions = std::mem::take(&mut self.actions);
        let about = || id.expect("only events of a connection ask for its use");
        for action in actions.drain(..) {
            match action {
                UserAction::Open(connection) => self.open(number, connection),
                UserAction::Write(request) => self.write_request(about(), request),
                UserAction::Close => self.connections.endpoint_mut(about()).tcp.close(),
                UserAction::Resume(_) => unreachable!("only a user who wakes resumes a connection"),
                UserAction::Completed(exchange) => {
                    let side = side_of(number);
                    let recovery = self.connections.take_recovery(about());
                    if self.now > self.window_start {
                        self.completed += 1;
                        self.times.record(&exchange);
                        let row = Row { exchange: &exchange, side, recovery };
                        self.observer.completed(about(), &row, &mut self.tables);
                        if self.spec.record.exchanges {
                            self.tables.exchanges.push(&exchange, 0, side, recovery);
                        }
                    }
                }
                UserAction::Aborted => self.aborted += u64::from(self.now > self.window_start),
                UserAction::Sleep(pause) => self.wheel.push(self.now + pause, Event::Wake(number)),
            }
        }
        self.actions = actions;
    }

    /// `connect()`: both ends come into being and the SYN leaves.
    fn open(&mut self, number: u32, connection: Connection) {
        let request = connection.exchange().request;
        let side = side_of(number);
        let user = u64::from(number);
        let host = self.hosts.of(1 - side, user + connection.number());
        let opening = Opening {
            side,
            host: Some(host),
            approaches: self.hosts.for_user(host, connection.min_rtt()),
            stacks: [
                self.stacks.of_client(Owner::USERS, side, user),
                self.stacks.of_server(Owner::USERS, 1 - side, user, connection.number()),
            ],
            application: Application::User(number, connection),
            owner: Owner::USERS,
        };
        let id = self.open_connection(opening);
        self.expect(id, request);
        self.transmit(id);
    }

    /// Both ends of a connection whose timers are looked at from now on.
    pub(super) fn open_connection(&mut self, opening: Opening) -> EndpointId {
        let opener = match &opening.application {
            Application::User(number, _) => Opener::User(*number),
            Application::Flow(id) => Opener::Source(self.sources.number_of(*id)),
            Application::Nobody => unreachable!("somebody opens a connection"),
        };
        let Opening { owner, host, stacks, .. } = opening;
        let id = self.connections.open(opening, &self.stacks, self.now);
        self.observer.opened(id, matches!(opener, Opener::User(_)), self.now);
        for link in &mut self.links {
            link.opened(id, owner);
        }
        if let Some(capture) = &self.capture {
            let mss = stacks.map(|stack| self.stacks.profile(stack).mss);
            capture.opened(&NewConnection { client: id, opener, host, mss });
        }
        if !S::SHORT_TIMERS
            && !std::mem::replace(&mut self.connections.session_mut(id).watched, true)
            && let Some(first) = self.timers.watch(id, self.now)
        {
            self.wheel.push(first, Event::Inspect);
        }
        id
    }

    /// A request leaves the client.
    fn write_request(&mut self, id: EndpointId, request: Bytes) {
        self.expect(id, request);
        self.connections.endpoint_mut(id).tcp.write(in_segments(request));
        self.observer.wrote(id, self.now);
    }

    /// Both ends wait for their part of the exchange. The server can know how much to expect because the simulator's
    /// data carry no content of their own.
    fn expect(&mut self, id: EndpointId, request: Bytes) {
        let Application::User(_, connection) = &self.connections.session(id).application else { return };
        let response = connection.awaits();
        self.connections.endpoint_mut(id).tcp.await_data(in_segments(response));
        self.connections.endpoint_mut(id.peer()).tcp.await_data(in_segments(request));
    }

    /// A connection kept from an earlier page is used again.
    pub(super) fn resume(&mut self, number: u32, id: EndpointId) {
        let Application::User(_, connection) = &mut self.connections.session_mut(id).application else {
            return;
        };
        let user = &mut self.users[number as usize];
        let name = ConnectionId(id.number());
        self.web.on_event(user, connection, name, UserEvent::Resumed, self.now, &mut self.actions);
        self.act(number, Some(id));
        self.transmit(id);
    }
}

/// Even users are on side 0, odd ones on side 1.
fn side_of(number: u32) -> Direction {
    (number & 1) as Direction
}

/// A size as the endpoints count it. Requests and responses stay below 2^31 bytes (the workload checks it).
fn in_segments(size: Bytes) -> u32 {
    u32::try_from(size.get()).expect("an exchange stays below 2^32 bytes")
}
