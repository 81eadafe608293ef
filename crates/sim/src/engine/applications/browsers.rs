//! Web users who load pages of today, and their servers. The workload decides what browsers and servers send, and what of
//! it the bytes that arrive are.

use aqmlab_tcp::quic::{HandshakeForm, Priority, StreamId};
use aqmlab_tcp::{Event as TcpEvent, Sender};
use aqmlab_units::Duration;
use aqmlab_workload::ConnectionId;
use aqmlab_workload::pages::{
    self, Browser, BrowserAction, BrowserEvent, NewConnection, PageLoads, Pages, Progress, QuicHandshake,
    StreamResponse,
};

use crate::capture::ConnectionOrigin;
use crate::engine::connections::{Opening, is_synchronized};
use crate::engine::content::{ApplicationId, Content, UserId};
use crate::engine::emulated::UserConnection;
use crate::engine::observer::{Observer, Written};
use crate::engine::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Owner};
use crate::record::ExchangeRow;

/// The users of an experiment who load pages of today.
#[derive(Debug)]
pub(in crate::engine) struct PageUsers {
    model: Pages,
    browsers: Vec<Browser>,
    /// The pages loaded in the measured window.
    pub(in crate::engine) loads: PageLoads,
    /// Actions for the current event; empty between events.
    actions: Vec<BrowserAction>,
    /// The connections that these actions concern.
    concerned: Vec<u16>,
}

impl PageUsers {
    pub(in crate::engine) fn new(model: Pages) -> PageUsers {
        let (browsers, loads) = (Vec::new(), PageLoads::default());
        PageUsers { model, browsers, loads, actions: Vec::new(), concerned: Vec::new() }
    }

    /// Add the next user. Returns the time of its first page.
    pub(in crate::engine) fn add(&mut self, number: u32) -> Duration {
        let (browser, first_wake) = self.model.user(number);
        self.browsers.push(browser);
        first_wake
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    /// Handle `event` of TCP or QUIC at `id`, an end of the connection in `slot` of a user's browser.
    pub(in crate::engine) fn on_browser_event(
        &mut self,
        user: UserId,
        slot: u16,
        id: EndpointId,
        event: TcpEvent,
    ) {
        let event = match event {
            TcpEvent::Opened => BrowserEvent::Opened,
            TcpEvent::Received if self.connections.socket_mut(id).tcp.quic_mut().is_some() => {
                return self.on_streams(user, slot, id);
            }
            TcpEvent::Received if id.is_server() => BrowserEvent::AtServer(self.progress(id)),
            TcpEvent::Received => BrowserEvent::AtClient(self.progress(id)),
            TcpEvent::Aborted | TcpEvent::PeerClosed => BrowserEvent::Closed,
        };
        self.tell_browser(user, slot, event);
    }

    /// Streams of QUIC are complete at `id`.
    fn on_streams(&mut self, user: UserId, slot: u16, id: EndpointId) {
        while let Some(stream) = self.complete_stream(id) {
            let event = if id.is_server() {
                BrowserEvent::RequestComplete(stream)
            } else {
                BrowserEvent::ResponseComplete(stream)
            };
            self.tell_browser(user, slot, event);
        }
    }

    /// Take the number of a stream that is complete at `id`.
    fn complete_stream(&mut self, id: EndpointId) -> Option<u16> {
        self.connections.socket_mut(id).tcp.quic_mut()?.poll_complete()?.number()
    }

    fn tell_browser(&mut self, user: UserId, slot: u16, event: BrowserEvent) {
        let Some(mut users) = self.pages.take() else { return };
        let browser = &mut users.browsers[user.index()];
        users.model.on_event(browser, slot, event, self.now, &mut users.actions);
        users.concerned.push(slot);
        self.act_for_browser(&mut users, user);
        self.pages = Some(users);
    }

    /// A user's think time is over. Returns false if users load no pages of today.
    pub(in crate::engine) fn wake_browser(&mut self, user: UserId) -> bool {
        let Some(mut users) = self.pages.take() else { return false };
        self.observer.began_page(user, self.now);
        users.model.wake(&mut users.browsers[user.index()], self.now, &mut users.actions);
        self.act_for_browser(&mut users, user);
        self.pages = Some(users);
        true
    }

    /// The bytes that TCP has carried to `end`, and sent from the server of its connection.
    fn progress(&self, end: EndpointId) -> Progress {
        let server = if end.is_server() { end } else { end.peer() };
        // Data are numbered from 1.
        let data = |next: u32| next.saturating_sub(1);
        Progress {
            received: data(self.connections.socket(end).tcp.received().get()),
            sent: data(self.connections.socket(server).tcp.highest_sent().get()),
        }
    }

    /// Apply the actions of a user's browser and of its servers, then have TCP send.
    fn act_for_browser(&mut self, users: &mut PageUsers, user: UserId) {
        let mut actions = std::mem::take(&mut users.actions);
        for action in actions.drain(..) {
            let browser = &mut users.browsers[user.index()];
            match action {
                BrowserAction::Open(connection) => {
                    let client = self.open_for_browser(user, connection);
                    browser.name(connection.slot, ConnectionId(client.number()));
                    users.concerned.push(connection.slot);
                }
                BrowserAction::Write(slot, bytes) => {
                    if let Some(client) = client(browser, slot) {
                        let what = written(browser, slot);
                        self.write_page(client, what, bytes);
                    }
                    users.concerned.push(slot);
                }
                BrowserAction::Answer(slot, bytes) => {
                    if let Some(client) = client(browser, slot) {
                        let what = written(browser, slot);
                        self.write_records(client.peer(), what, bytes);
                    }
                    users.concerned.push(slot);
                }
                BrowserAction::Request(slot, bytes, priority) => {
                    if let Some(client) = client(browser, slot) {
                        self.request_on_stream(client, bytes, priority);
                    }
                    users.concerned.push(slot);
                }
                BrowserAction::Respond(response) => {
                    if let Some(client) = client(browser, response.slot) {
                        self.respond_on_stream(client.peer(), response);
                    }
                    users.concerned.push(response.slot);
                }
                BrowserAction::Completed(connection, exchange, fetched) => {
                    self.observer.fetched(user, &fetched);
                    let client = EndpointId::from_number(connection.0);
                    let recovery = self.connections.take_recovery(client);
                    if self.recorder.counts(self.now) {
                        let (side, user) = (user.side(), user.0.into());
                        let row = ExchangeRow { exchange: &exchange, side, user, recovery };
                        self.recorder.completed(Owner::USERS, &row);
                    }
                }
                BrowserAction::Aborted => self.recorder.aborted(Owner::USERS, self.now),
                BrowserAction::Close(connections) => {
                    for connection in connections {
                        self.close_for_browser(EndpointId::from_number(connection.0));
                    }
                }
                BrowserAction::Loaded(load) => {
                    if self.recorder.counts(self.now) {
                        users.loads.add(load);
                        if load.is_complete {
                            self.observer.loaded(user, &load, &mut self.recorder.tables);
                        }
                    }
                }
                BrowserAction::Sleep(pause) => {
                    let wake = ControlEvent::Wake(ApplicationId::User(user));
                    self.wheel.push(self.now + pause, Event::Control(wake));
                }
            }
        }
        users.actions = actions;
        users.concerned.sort_unstable();
        users.concerned.dedup();
        for slot in users.concerned.drain(..) {
            self.continue_connection(&users.browsers[user.index()], slot);
        }
    }

    /// `connect()`: open both ends.
    fn open_for_browser(&mut self, user: UserId, connection: NewConnection) -> EndpointId {
        let NewConnection { slot, number, min_rtt, quic } = connection;
        let side = user.side();
        let host = self.hosts.machine_for(side.other(), u64::from(user.0) + number);
        let about = UserConnection { user: user.0, number, min_rtt };
        self.open_connection(Opening {
            origin: ConnectionOrigin::User(user.0),
            side,
            host: Some(host),
            access: self.hosts.for_user(host, min_rtt),
            stacks: match quic.map(handshake_form) {
                None => self.stacks.of_user(&about),
                Some(form) => self.stacks.of_user_over_quic(&about, form),
            },
            content: Content::Page(user, slot),
        })
    }

    fn write_page(&mut self, id: EndpointId, what: Written, bytes: u32) {
        self.connections.socket_mut(id).tcp.write(bytes);
        self.observer.wrote(id, what, self.now);
    }

    /// A server writes a TLS record at a time, and TCP sends it at once as far as the windows permit: it ends with a short
    /// segment then. Records that wait leave together.
    fn write_records(&mut self, id: EndpointId, what: Written, bytes: u32) {
        self.observer.wrote(id, what, self.now);
        let mut left = bytes;
        while left > 0 {
            let tcp = &mut self.connections.socket_mut(id).tcp;
            let room = pages::FULL_RECORD.saturating_sub(tcp.unsent());
            let part = if room == 0 { left } else { left.min(room) };
            tcp.write(part);
            left -= part;
            if part == room {
                self.transmit(id);
            }
        }
    }

    fn request_on_stream(&mut self, client: EndpointId, bytes: u32, priority: pages::Priority) {
        if let Some(quic) = self.connections.socket_mut(client).tcp.quic_mut() {
            let stream = quic.open_stream(of_stream(priority));
            quic.write_stream(stream, bytes);
            quic.finish_stream(stream);
        }
        self.observer.wrote(client, Written::Content, self.now);
    }

    fn respond_on_stream(&mut self, server: EndpointId, response: StreamResponse) {
        if let Some(quic) = self.connections.socket_mut(server).tcp.quic_mut() {
            let stream = StreamId::opened(response.stream);
            quic.prioritize_stream(stream, of_stream(response.priority));
            quic.write_stream(stream, response.bytes);
            quic.finish_stream(stream);
        }
        self.observer.wrote(server, Written::Content, self.now);
    }

    /// The page has ended. A connection whose handshake is under way is closed when that is over.
    fn close_for_browser(&mut self, client: EndpointId) {
        self.connections.session_mut(client).content = Content::Nothing;
        if is_synchronized(self.connections.socket(client).tcp.state()) {
            self.connections.socket_mut(client).tcp.close();
            self.transmit(client);
        }
    }

    /// Have both ends of the connection in `slot` wait for what they await, and send what they have.
    fn continue_connection(&mut self, browser: &Browser, slot: u16) {
        let Some(client) = client(browser, slot) else { return };
        let awaited =
            [(client, browser.awaits_at_client(slot)), (client.peer(), browser.awaits_at_server(slot))];
        for (end, awaited) in awaited {
            let arrived = self.progress(end).received;
            if let Some(more) =
                awaited.and_then(|awaited| awaited.checked_sub(arrived)).filter(|&more| more > 0)
            {
                self.connections.socket_mut(end).tcp.await_data(more);
            }
        }
        self.transmit(client);
        self.transmit(client.peer());
    }
}

/// The client of the connection in `slot`.
fn client(browser: &Browser, slot: u16) -> Option<EndpointId> {
    browser.connection_name(slot).map(|name| EndpointId::from_number(name.0))
}

/// The content that an end of the connection in `slot` writes.
fn written(browser: &Browser, slot: u16) -> Written {
    if browser.is_greeting(slot) { Written::TlsHandshake } else { Written::Content }
}

/// Streams of QUIC take turns of a frame of HTTP/2, so that responses share a connection as over HTTP/2. There are servers that
/// take turns of a packet.
fn of_stream(priority: pages::Priority) -> Priority {
    Priority { urgency: priority.urgency, turn: priority.incremental.then_some(pages::FRAME) }
}

fn handshake_form(handshake: QuicHandshake) -> HandshakeForm {
    match handshake {
        QuicHandshake::Full => HandshakeForm::Full,
        QuicHandshake::Resumed => HandshakeForm::Resumed,
        QuicHandshake::ZeroRtt => HandshakeForm::ZeroRtt,
    }
}
