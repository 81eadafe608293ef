//! What runs above TCP: servers that answer at once, and browsers that do what their users decide.

use aqmlab_tcp::{EcnPolicy, Event as TcpEvent};
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::{Action, Connection, ConnectionId, Event as WebEvent};

use super::{Engine, Event};
use crate::link::Link;
use crate::packet::{Direction, EndpointId};

impl<L: Link> Engine<L> {
    /// What a server does: answer each request at once, close when the client has closed.
    pub(super) fn on_server_event(&mut self, id: EndpointId, event: TcpEvent) {
        match event {
            TcpEvent::Received => {
                let response = self.connections.browser(id).connection.exchange().response;
                self.connections.endpoint_mut(id).tcp.write(in_segments(response));
                self.transmit(id);
            }
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
        let deadline = self.connections.endpoint(id).tcp.retransmit_deadline();
        if self.profile.ecn == EcnPolicy::PlusWait && deadline < Time::MAX {
            self.wheel.push(deadline, Event::Retransmit(id));
        }
    }

    /// What a browser does is the user's to decide.
    pub(super) fn on_client_event(&mut self, id: EndpointId, event: TcpEvent) {
        let browser = self.connections.browser_mut(id);
        let event = match event {
            TcpEvent::Opened => WebEvent::Opened,
            TcpEvent::Received => WebEvent::Received(browser.connection.awaits()),
            TcpEvent::Aborted => WebEvent::Closed,
            // Servers close only in answer.
            TcpEvent::PeerClosed => return,
        };
        let number = browser.user;
        let user = &mut self.users[number as usize];
        let name = ConnectionId(id.number());
        self.web.on_event(user, &mut browser.connection, name, event, self.now, &mut self.actions);
        self.act(number, Some(id));
        self.transmit(id);
    }

    /// Do what user `number` wants; `id` is the client that the event was about.
    pub(super) fn act(&mut self, number: u32, id: Option<EndpointId>) {
        let mut actions = std::mem::take(&mut self.actions);
        let about = || id.expect("only events of a connection ask for its use");
        for action in actions.drain(..) {
            match action {
                Action::Open(connection) => self.open(number, connection),
                Action::Write(request) => self.write_request(about(), request),
                Action::Close => self.connections.endpoint_mut(about()).tcp.close(),
                Action::Resume(_) => unreachable!("only a user who wakes resumes a connection"),
                Action::Completed(exchange) => {
                    let side = side_of(number);
                    let recovery = self.connections.take_recovery(about());
                    if self.now > self.window_start {
                        self.completed += 1;
                        self.times.record(&exchange);
                        if self.spec.record.exchanges {
                            self.tables.exchanges.push(&exchange, side, recovery);
                        }
                    }
                }
                Action::Aborted => self.aborted += u64::from(self.now > self.window_start),
                Action::Sleep(pause) => self.wheel.push(self.now + pause, Event::Wake(number)),
            }
        }
        self.actions = actions;
    }

    /// `connect()`: both ends come into being and the SYN leaves.
    fn open(&mut self, number: u32, connection: Connection) {
        let request = connection.exchange().request;
        let side = side_of(number);
        let host = self.hosts.of(1 - side, u64::from(number) + connection.number());
        let id = self.connections.open(number, side, connection, host, &self.profile, self.now);
        self.expect(id, request);
        if !std::mem::replace(&mut self.connections.browser_mut(id).watched, true)
            && let Some(first) = self.timers.watch(id, self.now)
        {
            self.wheel.push(first, Event::Inspect);
        }
        self.transmit(id);
    }

    /// A request leaves the client.
    fn write_request(&mut self, id: EndpointId, request: Bytes) {
        self.expect(id, request);
        self.connections.endpoint_mut(id).tcp.write(in_segments(request));
    }

    /// Both ends wait for their part of the exchange. The server can know how much to expect because the simulator's
    /// data carry no content of their own.
    fn expect(&mut self, id: EndpointId, request: Bytes) {
        let response = self.connections.browser(id).connection.awaits();
        self.connections.endpoint_mut(id).tcp.await_data(in_segments(response));
        self.connections.endpoint_mut(id.peer()).tcp.await_data(in_segments(request));
    }

    /// A connection kept from an earlier page is used again.
    pub(super) fn resume(&mut self, number: u32, id: EndpointId) {
        let user = &mut self.users[number as usize];
        let browser = self.connections.browser_mut(id);
        let name = ConnectionId(id.number());
        self.web.on_event(
            user,
            &mut browser.connection,
            name,
            WebEvent::Resumed,
            self.now,
            &mut self.actions,
        );
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
