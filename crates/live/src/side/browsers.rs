//! Browsers: what their users want, done with sockets.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;

use aqmlab_sim::{Spec, StackId, UserConnection};
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::{Connection, ConnectionId, User, UserAction, UserEvent, Web};
use hdrhistogram::Histogram;
use mio::Poll;
use socket2::Socket;

use super::{Common, browser_token};
use crate::error::{Context, Error};
use crate::machine::clock::Clock;
use crate::mix::Mix;
use crate::network::sockets::{self, Lookup};
use crate::packet::addresses::{self, BrowserEnd};
use crate::router::event_queue::{EventQueue, SideEvent};
use crate::side::request_table::{PendingRequest, RequestTable};

/// The browsers of one side.
pub(super) struct Browsers {
    side: usize,
    spec: Arc<Spec>,
    web: Arc<Web>,
    book: Arc<RequestTable>,
    board: Arc<EventQueue>,
    mix: Arc<Mix>,
    clock: Clock,
    /// Users in the order of their numbers, of which this side has every other.
    users: Vec<Browser>,
    /// The wake-ups of users, the next on top.
    wakes: BinaryHeap<Reverse<(Time, usize)>>,
    connections: Vec<Option<Open>>,
    free: Vec<usize>,
    /// Connections that could not even begin, whose users do not know yet.
    failed: VecDeque<usize>,
    /// The user's actions on the current event: empty between events.
    actions: Vec<UserAction>,
    scratch: Vec<u8>,
    pub(super) wake_lateness_us: Histogram<u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) congestion: BTreeMap<String, u64>,
}

struct Browser {
    state: User,
    /// Connections opened so far.
    opened: u64,
}

/// A browser's end of a connection.
struct Open {
    socket: Socket,
    browser: BrowserEnd,
    connection: Connection,
    /// The stack of its server.
    server_stack: StackId,
    is_connected: bool,
    /// Bytes of the request that the socket had no room for yet.
    to_write: u64,
}

impl Browsers {
    pub(super) fn new(side: usize, common: &Common, clock: Clock) -> Browsers {
        let populated = side < usize::from(common.spec.users.sides);
        let numbers =
            (0..2 * common.spec.users.per_side).filter(|number| populated && (number & 1) as usize == side);
        let mut wakes = BinaryHeap::new();
        let users = numbers.enumerate().map(|(place, number)| {
            let (state, first_wake) = common.web.user(number);
            wakes.push(Reverse((Time::ZERO + first_wake, place)));
            Browser { state, opened: 0 }
        });
        Browsers {
            side,
            users: users.collect(),
            wakes,
            spec: Arc::clone(&common.spec),
            web: Arc::clone(&common.web),
            book: Arc::clone(&common.book),
            board: Arc::clone(&common.board),
            mix: Arc::clone(&common.mix),
            clock,
            connections: Vec::new(),
            free: Vec::new(),
            failed: VecDeque::new(),
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

    /// Users wake whose time has come.
    pub(super) fn wake(&mut self, poll: &Poll, now: Time) -> Result<(), Error> {
        while let Some(&Reverse((at, place))) = self.wakes.peek().filter(|Reverse((at, _))| *at <= now) {
            self.wakes.pop();
            let lateness = now.saturating_since(at).as_micros();
            self.wake_lateness_us.record(lateness).expect("the histogram resizes itself");
            self.web.wake(&mut self.users[place].state, now, &mut self.actions);
            if let Some(&UserAction::Resume(ConnectionId(slot))) = self.actions.first() {
                self.actions.clear();
                self.tell(poll, slot as usize, UserEvent::Resumed)?;
            } else {
                self.act(poll, place, None)?;
            }
            self.report_failures(poll)?;
        }
        Ok(())
    }

    /// Something may be done at the connection in `slot`; or not, if it has just taken the place of another.
    pub(super) fn on_ready(&mut self, poll: &Poll, slot: usize) -> Result<(), Error> {
        if let Err(error) = self.go_on(poll, slot)? {
            *self.errors.entry(error.to_string()).or_default() += 1;
            self.tell(poll, slot, UserEvent::Closed)?;
            self.close(slot);
        }
        self.report_failures(poll)
    }

    /// Connect, write and read as far as that goes. The error within is the connection's.
    fn go_on(&mut self, poll: &Poll, slot: usize) -> Result<io::Result<()>, Error> {
        loop {
            let Some(open) = &mut self.connections[slot] else { return Ok(Ok(())) };
            if !open.is_connected {
                match sockets::is_connected(&open.socket) {
                    Ok(true) => open.is_connected = true,
                    Ok(false) => return Ok(Ok(())),
                    Err(error) => return Ok(Err(error)),
                }
                self.tell(poll, slot, UserEvent::Opened)?;
                continue;
            }
            if open.to_write > 0 {
                match sockets::write(&open.socket, open.to_write) {
                    Ok(left) => open.to_write = left,
                    Err(error) => return Ok(Err(error)),
                }
            }
            match sockets::read(&open.socket, &mut self.scratch) {
                Ok(Lookup::Bytes(bytes)) => {
                    let bytes = Bytes::new(bytes as u64).min(open.connection.awaits());
                    self.tell(poll, slot, UserEvent::Received(bytes))?;
                }
                Ok(Lookup::Nothing) => return Ok(Ok(())),
                Ok(Lookup::End) => return Ok(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// Something happened to the connection in `slot`: tell its user.
    fn tell(&mut self, poll: &Poll, slot: usize, event: UserEvent) -> Result<(), Error> {
        let open = self.connections[slot].as_mut().expect("users have events of existing connections only");
        let place = (open.browser.user >> 1) as usize;
        let name = ConnectionId(u32::try_from(slot).expect("fewer than 2^32 sockets"));
        let now = self.clock.now();
        let state = &mut self.users[place].state;
        self.web.on_event(state, &mut open.connection, name, event, now, &mut self.actions);
        self.act(poll, place, Some(slot))
    }

    /// Do what the user at `place` wants; `about` is the connection that the event was about.
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
                    self.say(SideEvent::Completed { user: self.number(place), exchange, at });
                }
                UserAction::Aborted => self.say(SideEvent::Aborted { at: self.clock.now() }),
                UserAction::Sleep(pause) => self.wakes.push(Reverse((self.clock.now() + pause, place))),
            }
        }
        self.actions = actions;
        Ok(())
    }

    /// `connect()`.
    fn open(&mut self, poll: &Poll, place: usize, connection: Connection) -> Result<(), Error> {
        let user = self.number(place);
        let opened = &mut self.users[place].opened;
        let browser = BrowserEnd::new(user, *opened);
        *opened += 1;
        let about = UserConnection { user, number: connection.number(), min_rtt: connection.min_rtt() };
        let server = addresses::server(1 - self.side, about.machine(&self.spec));
        let ends = self.mix.who.of_user(&about);
        self.say(SideEvent::Opening { browser, connection: about, offers: self.mix.offers(ends) });
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // That there are no more sockets is the machine's to mend, and no part of the experiment.
        let [own, server_stack] = ends;
        let what = || "a socket of a browser".to_owned();
        let socket = sockets::bind(browser.address(), &self.mix.stack(own).congestion).context(what)?;
        let congestion = sockets::congestion(&socket).context(what)?;
        *self.congestion.entry(congestion).or_default() += 1;
        sockets::watch(poll, &socket, browser_token(slot)).context(|| "epoll".to_owned())?;
        if let Err(error) = sockets::connect(&socket, server) {
            *self.errors.entry(error.to_string()).or_default() += 1;
            self.failed.push_back(slot);
        }
        self.connections[slot] =
            Some(Open { socket, browser, connection, server_stack, is_connected: false, to_write: 0 });
        Ok(())
    }

    fn report_failures(&mut self, poll: &Poll) -> Result<(), Error> {
        while let Some(slot) = self.failed.pop_front() {
            self.tell(poll, slot, UserEvent::Closed)?;
            self.close(slot);
        }
        Ok(())
    }

    /// A request leaves, or as much of it as there is room for; what is wrong is noticed when it is read.
    fn write(&mut self, slot: usize, request: Bytes) {
        let open = self.connections[slot].as_mut().expect("a user writes to connections that are there");
        let asked = PendingRequest { exchange: open.connection.exchange(), stack: open.server_stack };
        self.book.ask(open.browser, asked);
        open.to_write = sockets::write(&open.socket, request.get()).unwrap_or(0);
    }

    fn close(&mut self, slot: usize) {
        if let Some(Open { browser, .. }) = self.connections[slot].take() {
            self.free.push(slot);
            self.say(SideEvent::Closed { browser });
        }
    }

    fn number(&self, place: usize) -> u32 {
        let place = u32::try_from(place).expect("users are counted in 32 bits");
        place << 1 | u32::from(self.side == 1)
    }

    fn say(&self, news: SideEvent) {
        self.board.tell(news);
    }
}
