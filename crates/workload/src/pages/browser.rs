//! The browser of a user: loads a page over HTTP/1.1, HTTP/2 and HTTP/3, thinks, loads the next.
//!
//! The browser knows a resource when the resource that refers to it is complete, and fetches it at once. To an origin with
//! HTTP/2 or HTTP/3 it has one connection, over which all requests go. To one with HTTP/1.1 it has up to six, each with one
//! request at a time, the most urgent first. A page ends with its last resource; then all connections close, because each page is the
//! first view of another site. A resource whose connection breaks is given up, with all that it refers to.

mod driver;
mod http3;

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};

pub use self::driver::{BrowserAction, BrowserEvent, Fetched};
pub use self::http3::StreamResponse;
use super::connection::{Complete, Connection, NewConnection, QuicHandshake};
use super::model::Pages;
use super::page::{DOCUMENT, Page, ResourceId, Version};
use super::quality::PageLoad;
use crate::{Completed, ConnectionId};

/// The most connections to an origin with HTTP/1.1, as in all common browsers.
pub(crate) const MOST_CONNECTIONS: usize = 6;

/// The state of a user.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The key of the user's family of streams.
    key: u64,
    /// Pages begun so far.
    page: u32,
    /// The time that follows this page.
    think: Duration,
    /// The page that is being loaded.
    load: Option<Box<Load>>,
}

/// A page that is being loaded.
#[derive(Clone, Debug)]
struct Load {
    page: Page,
    started: Time,
    /// Of each resource.
    fetches: Vec<Fetch>,
    connections: Vec<Connection>,
    /// Resources at origins with HTTP/1.1 that have no connection yet.
    queued: VecDeque<ResourceId>,
    /// Resources that are known and not complete.
    outstanding: usize,
    /// Of these, those that block rendering.
    blocking: usize,
    first_render: Option<Time>,
    requests: u32,
    /// Bytes of the resources that have come, and the sum of their bytes times their times of arrival in seconds.
    bytes: u64,
    byte_seconds: f64,
    is_complete: bool,
}

/// The request for a resource.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    /// The time at which the browser knew of the resource.
    known: Time,
    /// The time at which the request was written.
    requested: Time,
    /// It waited for the handshakes of its connection, so that its response time begins with these.
    first: bool,
}

impl Browser {
    pub(crate) fn new(key: u64) -> Browser {
        Browser { key, page: 0, think: Duration::ZERO, load: None }
    }

    /// The driver calls the connection in `slot` so.
    pub fn name(&mut self, slot: u16, name: ConnectionId) {
        if let Some(connection) = self.connection_mut(slot) {
            connection.name = Some(name);
        }
    }

    /// The driver's name of the connection in `slot`.
    pub fn connection_name(&self, slot: u16) -> Option<ConnectionId> {
        self.connection(slot)?.name
    }

    /// The handshake of TLS over the connection in `slot` is under way.
    pub fn is_greeting(&self, slot: u16) -> bool {
        self.connection(slot).is_some_and(Connection::is_greeting)
    }

    /// Bytes that have to come to the server in all before there is something to do.
    pub fn awaits_at_server(&self, slot: u16) -> Option<u32> {
        self.connection(slot)?.awaits_at_server()
    }

    /// Bytes that have to come to the client in all before there is something to do.
    pub fn awaits_at_client(&self, slot: u16) -> Option<u32> {
        self.connection(slot)?.awaits_at_client()
    }

    fn connection(&self, slot: u16) -> Option<&Connection> {
        self.load.as_ref()?.connections.get(usize::from(slot))
    }

    fn connection_mut(&mut self, slot: u16) -> Option<&mut Connection> {
        self.load.as_mut()?.connections.get_mut(usize::from(slot))
    }

    /// The number of connection `index` to `origin` on this page; that of the origin itself is 0.
    fn number(page: u32, origin: u16, index: u8) -> u64 {
        u64::from(page) << 24 | u64::from(origin) << 8 | u64::from(index)
    }
}

/// The part of a number that no origin has: the page's own stream.
const PAGE_STREAM: u64 = 0xff_ffff;

impl Pages {
    /// The think time is over: begin a page.
    pub fn wake(&self, browser: &mut Browser, now: Time, out: &mut Vec<BrowserAction>) {
        debug_assert!(browser.load.is_none(), "a user wakes only from thinking");
        browser.page += 1;
        let (key, number) = (browser.key, browser.page);
        let mut stream = Stream::numbered(key, u64::from(number) << 24 | PAGE_STREAM);
        browser.think = self.think(&mut stream);
        let origin_stream = |origin| Stream::numbered(key, Browser::number(number, origin, 0));
        let page = Page::draw(self, &mut stream, origin_stream);
        let mut load = Load::new(page, now);
        let mut fetcher = Fetcher { pages: self, key, number, now, out };
        fetcher.discover(&mut load, DOCUMENT);
        browser.load = Some(Box::new(load));
    }

    /// Something happened to the connection in `slot` of `browser`.
    pub fn on_event(
        &self,
        browser: &mut Browser,
        slot: u16,
        event: BrowserEvent,
        now: Time,
        out: &mut Vec<BrowserAction>,
    ) {
        let (key, number) = (browser.key, browser.page);
        let Some(load) = &mut browser.load else { return };
        let mut fetcher = Fetcher { pages: self, key, number, now, out };
        match event {
            BrowserEvent::Opened if load.connections[usize::from(slot)].version == Version::Http3 => {
                fetcher.open_streams(load, slot);
            }
            BrowserEvent::Opened => {
                let hello = load.connections[usize::from(slot)].greet(&self.tls);
                fetcher.out.push(BrowserAction::Write(slot, hello));
            }
            BrowserEvent::AtServer(progress) => {
                let connection = &mut load.connections[usize::from(slot)];
                let bytes = connection.answer(progress, &load.page.resources, &self.tls);
                if bytes > 0 {
                    fetcher.out.push(BrowserAction::Answer(slot, bytes));
                }
            }
            BrowserEvent::AtClient(progress) => {
                while let Some(complete) =
                    load.connections[usize::from(slot)].take_complete(progress.received)
                {
                    match complete {
                        Complete::Handshake => fetcher.ready(load, slot),
                        Complete::Resource(resource) => fetcher.complete(load, slot, resource),
                    }
                }
            }
            BrowserEvent::RequestComplete(stream) => fetcher.respond(load, slot, stream),
            BrowserEvent::ResponseComplete(stream) => fetcher.complete_stream(load, slot, stream),
            BrowserEvent::Closed => fetcher.lose(load, slot),
        }
        if load.outstanding == 0 {
            let names = load.connections.iter().filter(|one| !one.is_lost()).filter_map(|one| one.name);
            out.push(BrowserAction::Close(names.collect()));
            out.push(BrowserAction::Loaded(load.result(now)));
            out.push(BrowserAction::Sleep(browser.think));
            browser.load = None;
        }
    }
}

impl Load {
    fn new(page: Page, now: Time) -> Load {
        Load {
            fetches: vec![Fetch { known: now, requested: now, first: true }; page.resources.len()],
            page,
            started: now,
            connections: Vec::new(),
            queued: VecDeque::new(),
            outstanding: 0,
            blocking: 0,
            first_render: None,
            requests: 0,
            bytes: 0,
            byte_seconds: 0.0,
            is_complete: true,
        }
    }

    /// Connections to `origin` that are not lost, with their slots.
    fn connections_to(&self, origin: u16) -> impl Iterator<Item = (u16, &Connection)> {
        (0..).zip(&self.connections).filter(move |(_, one)| one.origin == origin && !one.is_lost())
    }

    /// `resource` is there or given up: it blocks rendering no longer.
    fn settle(&mut self, resource: ResourceId, now: Time) {
        self.outstanding -= 1;
        self.blocking -= usize::from(self.page.resources[usize::from(resource)].blocking);
        if self.blocking == 0 && self.first_render.is_none() {
            self.first_render = Some(now);
        }
    }

    fn result(&self, now: Time) -> PageLoad {
        PageLoad {
            duration: now - self.started,
            first_render: self.first_render.unwrap_or(now) - self.started,
            byte_index_s: if self.bytes > 0 { self.byte_seconds / self.bytes as f64 } else { 0.0 },
            requests: self.requests,
            bytes: self.bytes,
            version: self.page.origins[0].version,
            is_complete: self.is_complete,
        }
    }
}

/// The rules by which a browser fetches the resources of a page, at one instant.
struct Fetcher<'a> {
    pages: &'a Pages,
    key: u64,
    number: u32,
    now: Time,
    out: &'a mut Vec<BrowserAction>,
}

impl Fetcher<'_> {
    /// The browser gets to know `resource`, and fetches it.
    fn discover(&mut self, load: &mut Load, resource: ResourceId) {
        let place = usize::from(resource);
        load.fetches[place].known = self.now;
        load.outstanding += 1;
        load.blocking += usize::from(load.page.resources[place].blocking);
        let origin = load.page.resources[place].origin;
        match load.page.origins[usize::from(origin)].version {
            Version::Http1 => {
                load.queued.push_back(resource);
                self.serve_queue(load, origin);
            }
            Version::Http2 | Version::Http3 => {
                let existing = load.connections_to(origin).next().map(|(slot, _)| slot);
                let slot = existing.unwrap_or_else(|| self.open(load, resource));
                let connection = &mut load.connections[usize::from(slot)];
                connection.take_on(resource);
                if connection.can_request(&load.page.resources[place]) {
                    self.request(load, slot, resource, false);
                }
            }
        }
    }

    /// Find connections for the resources of `origin`, which speaks HTTP/1.1, that have none.
    fn serve_queue(&mut self, load: &mut Load, origin: u16) {
        loop {
            let resources = &load.page.resources;
            let is_here = |resource: ResourceId| resources[usize::from(resource)].origin == origin;
            let waiting = || load.queued.iter().copied().filter(|&resource| is_here(resource));
            let next =
                waiting().min_by_key(|&resource| resources[usize::from(resource)].priority(resource).urgency);
            let Some(next) = next else { return };
            let idle = load.connections_to(origin).find(|(_, connection)| connection.is_idle());
            if let Some((slot, _)) = idle {
                load.queued.retain(|&resource| resource != next);
                let connection = &mut load.connections[usize::from(slot)];
                let first = connection.is_fresh();
                connection.take_on(next);
                self.request(load, slot, next, first);
                continue;
            }
            let opening =
                load.connections_to(origin).filter(|(_, connection)| connection.is_opening()).count();
            let has_room = load.connections_to(origin).count() < MOST_CONNECTIONS;
            if !has_room || opening >= waiting().count() {
                return;
            }
            self.open(load, next);
        }
    }

    /// Open a connection for `first` and what follows.
    fn open(&mut self, load: &mut Load, first: ResourceId) -> u16 {
        let first = load.page.resources[usize::from(first)];
        let origin = first.origin;
        let before = load.connections.iter().filter(|connection| connection.origin == origin).count();
        let index = u8::try_from(1 + before).unwrap_or(u8::MAX);
        let number = Browser::number(self.number, origin, index);
        let resumed = Prob::clamped(self.pages.resumed_connections);
        let is_resumed = Stream::numbered(self.key, number).chance(resumed);
        let slot = u16::try_from(load.connections.len()).expect("fewer connections than resources");
        let about = load.page.origins[usize::from(origin)];
        let handshake = match (is_resumed, first.is_safe()) {
            (false, _) => QuicHandshake::Full,
            (true, false) => QuicHandshake::Resumed,
            (true, true) => QuicHandshake::ZeroRtt,
        };
        let quic = (about.version == Version::Http3).then_some(handshake);
        load.connections.push(Connection::new(origin, about.version, is_resumed, quic));
        self.out.push(BrowserAction::Open(NewConnection { slot, number, min_rtt: about.min_rtt, quic }));
        slot
    }

    /// Write the request for `resource`, which the connection in `slot` has taken on; `first` if it waited for its handshakes.
    fn request(&mut self, load: &mut Load, slot: u16, resource: ResourceId, first: bool) {
        let connection = &mut load.connections[usize::from(slot)];
        let sizes = self.pages.request_sizes(connection.version);
        let request = connection.request(resource, sizes, &self.pages.tls);
        let fetch = &mut load.fetches[usize::from(resource)];
        *fetch = Fetch { requested: self.now, first, ..*fetch };
        load.requests += 1;
        self.out.push(match connection.version {
            Version::Http1 | Version::Http2 => BrowserAction::Write(slot, request),
            Version::Http3 => {
                let priority = load.page.resources[usize::from(resource)].priority(resource);
                BrowserAction::Request(slot, request, priority)
            }
        });
    }

    /// The handshake of the connection in `slot` is complete.
    fn ready(&mut self, load: &mut Load, slot: u16) {
        let connection = &load.connections[usize::from(slot)];
        let origin = connection.origin;
        let waiting = connection.waiting(&load.page.resources);
        for resource in waiting {
            self.request(load, slot, resource, true);
        }
        self.serve_queue(load, origin);
    }

    /// `resource` has come over the connection in `slot`.
    fn complete(&mut self, load: &mut Load, slot: u16, resource: ResourceId) {
        let about = load.page.resources[usize::from(resource)];
        let (connection, fetch) = (&load.connections[usize::from(slot)], load.fetches[usize::from(resource)]);
        let version = load.page.origins[usize::from(about.origin)].version;
        let name = connection.name.expect("the driver has named what it opened");
        let started = if fetch.first { fetch.known } else { fetch.requested };
        self.out.push(BrowserAction::Completed(
            name,
            Completed {
                // Neither its size nor its number depends on what the connection carried before.
                request: Bytes::new(self.pages.request_sizes(version)[1].into()),
                response: Bytes::new(about.size.into()),
                started,
                response_time: self.now - started,
                first: fetch.first,
                persistent: true,
                connection: Browser::number(self.number, about.origin, 0),
                top_level: resource == DOCUMENT,
            },
            Fetched {
                resource,
                parent: about.parent,
                kind: about.kind,
                version,
                bytes: about.size,
                known: fetch.known,
                requested: fetch.requested,
            },
        ));
        load.bytes += u64::from(about.size);
        load.byte_seconds += f64::from(about.size) * (self.now - load.started).as_secs_f64();
        let mut child = about.child;
        while let Some(resource) = child {
            self.discover(load, resource);
            child = load.page.resources[usize::from(resource)].sibling;
        }
        load.settle(resource, self.now);
        self.serve_queue(load, about.origin);
    }

    /// The connection in `slot` broke.
    fn lose(&mut self, load: &mut Load, slot: u16) {
        let connection = &mut load.connections[usize::from(slot)];
        let origin = connection.origin;
        let was_opening = connection.is_opening();
        let mut lost = connection.lose();
        if was_opening && lost.is_empty() {
            // One of those that waited for it is given up, so that an origin out of reach does not hold the page for ever.
            let resources = &load.page.resources;
            let place = load.queued.iter().position(|&one| resources[usize::from(one)].origin == origin);
            lost.extend(place.and_then(|place| load.queued.remove(place)));
        }
        for resource in lost {
            load.is_complete = false;
            load.settle(resource, self.now);
            self.out.push(BrowserAction::Aborted);
        }
        self.serve_queue(load, origin);
    }
}
