//! The browsers of a side, which carry out their users' actions on sockets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;

use aqmlab_sim::{Spec, StackId, UserConnection};
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::{Connection, ConnectionId, User, UserAction, UserEvent, Web};
use hdrhistogram::Histogram;
use mio::Poll;
use mio::event::Event;

use super::{SideConfig, browser_token};
use crate::error::{Context, Error};
use crate::machine::clock::Clock;
use crate::mix::Mix;
use crate::network::sockets::{self, ReadOutcome};
use crate::network::stream::Stream;
use crate::packet::addresses::{self, BrowserEnd};
use crate::router::event_queue::{EventQueue, SideEvent};
use crate::side::request_table::{PendingRequest, RequestTable};

/// The browsers of one side.
pub(super) struct Browsers {
    side: usize,
    spec: Arc<Spec>,
    web: Arc<Web>,
    requests: Arc<RequestTable>,
    event_queue: Arc<EventQueue>,
    mix: Arc<Mix>,
    clock: Clock,
    /// The side's users by number: even numbers on side 0, odd numbers on side 1.
    users: Vec<Browser>,
    /// The wake-ups of users, by index in `users`, the next on top.
    wakes: BinaryHeap<Reverse<(Time, usize)>>,
    connections: Vec<Option<BrowserConnection>>,
    free: Vec<usize>,
    /// Connections that failed in `connect()`, whose users have not been notified yet.
    failed_slots: VecDeque<usize>,
    /// The user's actions after the current event: empty between events.
    actions: Vec<UserAction>,
    scratch: Vec<u8>,
    pub(super) wake_lateness_us: Histogram<u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) congestion: BTreeMap<String, u64>,
}

struct Browser {
    state: User,
    /// The number of connections opened so far.
    connection_count: u64,
}

/// A browser's end of a connection.
struct BrowserConnection {
    stream: Stream,
    browser: BrowserEnd,
    connection: Connection,
    /// The stack of the server's end.
    server_stack: StackId,
    is_connected: bool,
    /// Bytes of the request for which the socket had no room yet.
    unwritten_bytes: u64,
}

impl Browsers {
    pub(super) fn new(side: usize, common: &SideConfig, clock: Clock) -> Browsers {
        let populated = side < usize::from(common.spec.users.sides);
        let numbers =
            (0..2 * common.spec.users.per_side).filter(|number| populated && (number & 1) as usize == side);
        let mut wakes = BinaryHeap::new();
        let users = numbers.enumerate().map(|(place, number)| {
            let (state, first_wake) = common.web.user(number);
            wakes.push(Reverse((Time::ZERO + first_wake, place)));
            Browser { state, connection_count: 0 }
        });
        Browsers {
            side,
            users: users.collect(),
            wakes,
            spec: Arc::clone(&common.spec),
            web: Arc::clone(&common.web),
            requests: Arc::clone(&common.requests),
            event_queue: Arc::clone(&common.event_queue),
            mix: Arc::clone(&common.mix),
            clock,
            connections: Vec::new(),
            free: Vec::new(),
            failed_slots: VecDeque::new(),
            actions: Vec::new(),
            scratch: vec![0; 1 << 18],
            wake_lateness_us: Histogram::new(3).expect("three significant digits are allowed"),
            errors: BTreeMap::new(),
            congestion: BTreeMap::new(),
        }
    }

    /// Returns the time of the next wake-up.
    pub(super) fn next_wake(&self) -> Time {
        self.wakes.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }

    /// Wakes the users whose time has come.
    pub(super) fn wake(&mut self, poll: &Poll, now: Time) -> Result<(), Error> {
        while let Some(&Reverse((at, place))) = self.wakes.peek().filter(|Reverse((at, _))| *at <= now) {
            self.wakes.pop();
            let lateness = now.saturating_since(at).as_micros();
            self.wake_lateness_us.record(lateness).expect("the histogram resizes itself");
            self.web.wake(&mut self.users[place].state, now, &mut self.actions);
            if let Some(&UserAction::Resume(ConnectionId(slot))) = self.actions.first() {
                self.actions.clear();
                self.notify(poll, slot as usize, UserEvent::Resumed)?;
            } else {
                self.act(poll, place, None)?;
            }
            self.report_failures(poll)?;
        }
        Ok(())
    }

    /// Handles readiness of the connection in `slot`. The event may be of an earlier connection in this slot.
    pub(super) fn on_ready(&mut self, poll: &Poll, slot: usize, event: &Event) -> Result<(), Error> {
        if let Some(open) = &mut self.connections[slot] {
            open.stream.update(event);
        }
        if let Err(error) = self.advance(poll, slot)? {
            *self.errors.entry(error.to_string()).or_default() += 1;
            self.notify(poll, slot, UserEvent::Closed)?;
            self.close(slot);
        }
        self.report_failures(poll)
    }

    /// Connects, writes and reads until the socket would block. The inner error is the connection's.
    fn advance(&mut self, poll: &Poll, slot: usize) -> Result<io::Result<()>, Error> {
        loop {
            let Some(open) = &mut self.connections[slot] else { return Ok(Ok(())) };
            if !open.is_connected {
                match sockets::is_connected(&open.stream.socket) {
                    Ok(true) => open.is_connected = true,
                    Ok(false) => return Ok(Ok(())),
                    Err(error) => return Ok(Err(error)),
                }
                self.notify(poll, slot, UserEvent::Opened)?;
                continue;
            }
            if open.unwritten_bytes > 0 {
                match open.stream.write(open.unwritten_bytes) {
                    Ok(left) => open.unwritten_bytes = left,
                    Err(error) => return Ok(Err(error)),
                }
            }
            match open.stream.read(&mut self.scratch, open.connection.awaits()) {
                Ok(ReadOutcome::Bytes(bytes)) => {
                    let bytes = bytes.min(open.connection.awaits());
                    self.notify(poll, slot, UserEvent::Received(bytes))?;
                }
                Ok(ReadOutcome::Nothing) => return Ok(Ok(())),
                Ok(ReadOutcome::End) => return Ok(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// Notifies the user of the connection in `slot` of an event.
    fn notify(&mut self, poll: &Poll, slot: usize, event: UserEvent) -> Result<(), Error> {
        let open = self.connections[slot].as_mut().expect("users have events of existing connections only");
        let place = (open.browser.user >> 1) as usize;
        let name = ConnectionId(u32::try_from(slot).expect("fewer than 2^32 sockets"));
        let now = self.clock.now();
        let state = &mut self.users[place].state;
        self.web.on_event(state, &mut open.connection, name, event, now, &mut self.actions);
        self.act(poll, place, Some(slot))
    }

    /// Carries out the actions of the user at `place`. `about` is the connection of the event, if the event has one.
    fn act(&mut self, poll: &Poll, place: usize, about: Option<usize>) -> Result<(), Error> {
        let mut actions = std::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            let slot = || about.expect("only events of a connection ask for its use");
            match action {
                UserAction::Open(connection) => self.open(poll, place, connection)?,
                UserAction::Write(request) => self.write(slot(), request),
                UserAction::Close => self.close(slot()),
                UserAction::Resume(_) => unreachable!("only a user who wakes resumes a connection"),
                UserAction::Completed(exchange) => {
                    let at = exchange.started + exchange.response_time;
                    self.send_event(SideEvent::Completed { user: self.number(place), exchange, at });
                }
                UserAction::Aborted => self.send_event(SideEvent::Aborted { at: self.clock.now() }),
                UserAction::Sleep(pause) => self.wakes.push(Reverse((self.clock.now() + pause, place))),
            }
        }
        self.actions = actions;
        Ok(())
    }

    /// Opens a connection for the user at `place`.
    fn open(&mut self, poll: &Poll, place: usize, connection: Connection) -> Result<(), Error> {
        let user = self.number(place);
        let connection_count = &mut self.users[place].connection_count;
        let browser = BrowserEnd::new(user, *connection_count);
        *connection_count += 1;
        let about = UserConnection { user, number: connection.number(), min_rtt: connection.min_rtt() };
        let server = addresses::server(1 - self.side, about.machine(&self.spec));
        let ends = self.mix.assignment.of_user(&about);
        self.send_event(SideEvent::Opening { browser, connection: about, offers: self.mix.offers(ends) });
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // A machine without free sockets fails the run: this is no event of the experiment.
        let [client_stack, server_stack] = ends;
        let what = || "a socket of a browser".to_owned();
        let socket =
            sockets::bind(browser.address(), &self.mix.stack(client_stack).congestion).context(what)?;
        sockets::watch(poll, &socket, browser_token(slot)).context(|| "epoll".to_owned())?;
        if let Err(error) = sockets::connect(&socket, server) {
            *self.errors.entry(error.to_string()).or_default() += 1;
            self.failed_slots.push_back(slot);
        }
        // Counted now, because a route could replace the control.
        let congestion = sockets::congestion(&socket).context(what)?;
        *self.congestion.entry(congestion).or_default() += 1;
        self.connections[slot] = Some(BrowserConnection {
            stream: Stream::new(socket, self.event_queue.engine()),
            browser,
            connection,
            server_stack,
            is_connected: false,
            unwritten_bytes: 0,
        });
        Ok(())
    }

    fn report_failures(&mut self, poll: &Poll) -> Result<(), Error> {
        while let Some(slot) = self.failed_slots.pop_front() {
            self.notify(poll, slot, UserEvent::Closed)?;
            self.close(slot);
        }
        Ok(())
    }

    /// Writes a request, or the part for which there is room. An error of the socket comes with its next read.
    fn write(&mut self, slot: usize, request: Bytes) {
        let open = self.connections[slot].as_mut().expect("a user writes to connections that are there");
        let pending_request =
            PendingRequest { exchange: open.connection.exchange(), stack: open.server_stack };
        self.requests.insert(open.browser, pending_request);
        open.unwritten_bytes = open.stream.write(request.get()).unwrap_or(0);
    }

    fn close(&mut self, slot: usize) {
        if let Some(BrowserConnection { browser, .. }) = self.connections[slot].take() {
            self.free.push(slot);
            self.send_event(SideEvent::Closed { browser });
        }
    }

    fn number(&self, place: usize) -> u32 {
        let place = u32::try_from(place).expect("users are counted in 32 bits");
        place << 1 | u32::from(self.side == 1)
    }

    fn send_event(&self, event: SideEvent) {
        self.event_queue.push(event);
    }
}
