//! A browsing user: thinks, fetches a page, thinks again.
//!
//! A page is one top-level exchange, then, when its response is complete, embedded objects from one server or
//! several. Connections are planned server by server, the page's own first: each new one is persistent with some
//! probability and then has a quota of requests, else it carries one; it takes as many of the objects that the
//! server still has to give as its quota allows, one after another. At most `max_parallel` connections are active
//! at once; a further one opens when one has done its share. The user closes each connection when its share is
//! done, except one: a persistent connection to the page's server with quota left, when the next page comes from
//! the same server. It stays open over the think time and fetches the next top-level object. (Only the last
//! connection planned for a server can have quota left, so there is at most one.) The page ends when all its
//! exchanges have.
//!
//! Which server the next visit goes to has no effect here: all servers are alike, infinitely fast, and a new visit
//! begins with new connections. So servers have no names.
//!
//! Nothing is drawn in the order in which things happen on the network. Page n draws from stream (n, 0) of its user,
//! all at its start; its i-th connection from stream (n, i).

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::config::MAX_SERVERS;
use crate::connection::Phase;
use crate::{Connection, ConnectionId, Web};

/// The state of one user.
#[derive(Clone, Debug)]
pub struct User {
    /// The key of the user's family of streams.
    key: u64,
    /// The think time that follows this page.
    think: Duration,
    /// Objects of this page that no connection has taken yet, for each server; the page's own first.
    remaining: [u8; MAX_SERVERS as usize],
    page: u32,
    /// The connection kept open for the next page.
    carrier: Option<ConnectionId>,
    /// Pages still to come from this server.
    pages_left: u16,
    /// Connections opened for this page so far, the carrier included.
    connections: u8,
    /// Connections that are opening or await a response.
    active: u8,
    max_parallel: u8,
    /// The top-level response has come: the embedded objects are known.
    top_level_done: bool,
}

/// An event of the network on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserEvent {
    /// The connection asked for by [`UserAction::Open`] is established.
    Opened,
    /// More bytes of the response have arrived. One report of the whole response or many of its parts give the
    /// same actions.
    Received(Bytes),
    /// The idle connection named by [`UserAction::Resume`] is at hand.
    Resumed,
    /// The connection broke or was closed by the other side before its work was done. It is gone: no event follows.
    Closed,
}

/// An action of a user. `Write` and `Close` concern the connection of the event that caused them.
#[derive(Clone, Debug)]
pub enum UserAction {
    /// Open this connection; report [`UserEvent::Opened`].
    Open(Connection),
    /// Send a request of this size.
    Write(Bytes),
    /// Close the connection: its work is done, and no event for it may follow.
    Close,
    /// Report [`UserEvent::Resumed`] for this connection, kept from an earlier page; or [`UserEvent::Closed`] if it died.
    Resume(ConnectionId),
    /// An exchange is complete.
    Completed(Completed),
    /// The exchange in progress ended without its response.
    Aborted,
    /// Think: call [`Web::wake`] after this time.
    Sleep(Duration),
}

/// A completed exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Size of the request.
    pub request: Bytes,
    /// Size of the response.
    pub response: Bytes,
    /// The begin of the user's wait: `connect()` for the first exchange of a connection, the write of the request for
    /// later ones.
    pub started: Time,
    /// From `started` to the last byte of the response.
    pub response_time: Duration,
    /// The first exchange of its connection, so that the handshake is part of the response time.
    pub first: bool,
    /// On a connection drawn to be persistent.
    pub persistent: bool,
    /// The number of its connection among its user's, independent of the network; 0 for a source.
    pub connection: u64,
    /// The top-level exchange of its page, not an embedded object.
    pub top_level: bool,
}

impl User {
    pub(crate) fn new(key: u64, max_parallel: u8) -> User {
        User {
            key,
            think: Duration::ZERO,
            remaining: [0; MAX_SERVERS as usize],
            page: 0,
            carrier: None,
            pages_left: 0,
            connections: 0,
            active: 0,
            max_parallel,
            top_level_done: false,
        }
    }

    /// Pages begun so far.
    pub fn pages(&self) -> u32 {
        self.page
    }

    /// The number of this page's part `part`: 0 is the page itself, from 1 on its connections.
    fn number(&self, part: u8) -> u64 {
        u64::from(self.page) << 8 | u64::from(part)
    }

    /// Draw the next page: how long to think after it, and what it consists of.
    fn turn_page(&mut self, web: &Web) {
        self.page += 1;
        let mut stream = Stream::numbered(self.key, self.number(0));
        self.think = web.think(&mut stream);
        if self.pages_left == 0 {
            self.pages_left = web.pages_per_visit(&mut stream);
        }
        self.pages_left -= 1;
        self.top_level_done = false;
        self.connections = 0;
        self.remaining[0] = 1;
        let embedded = web.embedded_per_page.draw(&mut stream);
        if embedded > 0 {
            let servers = web.servers_per_page.draw(&mut stream).min(embedded + 1);
            for _ in 0..embedded {
                let server = usize::try_from(stream.below(u64::from(servers))).expect("at most 8 servers");
                self.remaining[server] += 1;
            }
        }
    }
}

impl Web {
    /// The think time is over: begin a page.
    pub fn wake(&self, user: &mut User, now: Time, out: &mut Vec<UserAction>) {
        debug_assert!(user.active == 0, "a user wakes only from thinking");
        user.turn_page(self);
        match user.carrier.take() {
            Some(id) => {
                user.active = 1;
                user.connections = 1;
                out.push(UserAction::Resume(id));
            }
            None => self.open(user, 0, now, out),
        }
    }

    /// Something happened to the connection `conn` of `user`, which the driver calls `id`.
    pub fn on_event(
        &self,
        user: &mut User,
        conn: &mut Connection,
        id: ConnectionId,
        event: UserEvent,
        now: Time,
        out: &mut Vec<UserAction>,
    ) {
        match event {
            UserEvent::Opened => {
                debug_assert!(conn.phase == Phase::Opening, "a connection opens once");
                conn.phase = Phase::Waiting;
                out.push(UserAction::Write(conn.exchange().request));
            }
            UserEvent::Received(n) => {
                if conn.receive(n) {
                    self.complete(user, conn, id, now, out);
                }
            }
            UserEvent::Resumed => {
                debug_assert!(conn.phase == Phase::Idle, "only an idle connection resumes");
                user.remaining[0] -= conn.plan(user.remaining[0]);
                self.request(conn, true, now, out);
            }
            UserEvent::Closed => self.lose(user, conn, now, out),
        }
    }

    /// Open a connection to `server` for what it still has to give.
    fn open(&self, user: &mut User, server: usize, now: Time, out: &mut Vec<UserAction>) {
        user.active += 1;
        user.connections += 1;
        let number = user.number(user.connections);
        let mut conn = Connection::draw(self, Stream::numbered(user.key, number), number, server == 0, now);
        user.remaining[server] -= conn.plan(user.remaining[server]);
        conn.next_exchange(self, !user.top_level_done);
        out.push(UserAction::Open(conn));
    }

    /// Write the next request on a connection that is established.
    fn request(&self, conn: &mut Connection, top_level: bool, now: Time, out: &mut Vec<UserAction>) {
        conn.first = false;
        conn.phase = Phase::Waiting;
        conn.started = now;
        conn.next_exchange(self, top_level);
        out.push(UserAction::Write(conn.exchange().request));
    }

    /// The response on `conn` is complete.
    fn complete(
        &self,
        user: &mut User,
        conn: &mut Connection,
        id: ConnectionId,
        now: Time,
        out: &mut Vec<UserAction>,
    ) {
        let exchange = conn.exchange();
        out.push(UserAction::Completed(Completed {
            request: exchange.request,
            response: exchange.response,
            started: conn.started,
            response_time: now - conn.started,
            first: conn.first,
            persistent: conn.is_persistent(),
            connection: conn.number(),
            top_level: conn.top_level,
        }));
        user.top_level_done = true;
        conn.planned -= 1;
        if conn.planned > 0 {
            self.request(conn, false, now, out);
        } else {
            user.active -= 1;
            if conn.to_page_server && conn.quota > 0 && user.pages_left > 0 {
                conn.phase = Phase::Idle;
                user.carrier = Some(id);
            } else {
                out.push(UserAction::Close);
            }
        }
        self.go_on(user, now, out);
    }

    /// The connection broke.
    fn lose(&self, user: &mut User, conn: &Connection, now: Time, out: &mut Vec<UserAction>) {
        if conn.phase == Phase::Idle {
            // Lost while the user thinks, it is only missed; lost when asked to resume, another takes its place.
            if user.carrier.take().is_none() {
                user.active = 0;
                user.connections = 0;
                self.open(user, 0, now, out);
            }
            return;
        }
        // The page continues without the objects of this response. Without its top-level response a page has no
        // objects to ask for.
        out.push(UserAction::Aborted);
        user.active -= 1;
        if conn.top_level {
            user.remaining = [0; MAX_SERVERS as usize];
        }
        self.go_on(user, now, out);
    }

    /// Open what may be opened; when nothing is left to do, the page ends.
    fn go_on(&self, user: &mut User, now: Time, out: &mut Vec<UserAction>) {
        while user.active < user.max_parallel {
            let Some(server) = user.remaining.iter().position(|&objects| objects > 0) else { break };
            self.open(user, server, now, out);
        }
        if user.active == 0 {
            out.push(UserAction::Sleep(user.think));
        }
    }
}

#[cfg(test)]
mod tests;
