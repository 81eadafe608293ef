//! A connection of a page, both ends together: the TLS handshake, requests to the server, responses to the client.
//!
//! TLS 1.3 (RFC 8446) takes one round trip: the server answers the `ClientHello` with its flight, full or resumed, and the
//! client's second flight goes with its first request. 0-RTT data are left out, because few servers accept them.

use std::collections::VecDeque;

use aqmlab_units::Duration;

use super::config::{RequestsConfig, TlsConfig};
use super::multiplexer::{FRAME, Multiplexer};
use super::page::{Resource, ResourceId, Version};
use crate::ConnectionId;

/// A connection to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewConnection {
    /// Its place among the connections of the page.
    pub slot: u16,
    /// Its number among its user's, independent of the network.
    pub number: u64,
    /// Its minimum round-trip time.
    pub min_rtt: Duration,
}

/// The bytes of a connection that TCP has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that have arrived in order at the end of the event.
    pub received: u32,
    /// Bytes that the server has sent.
    pub sent: u32,
}

/// The handshake, which the server answers as it answers a request.
const HANDSHAKE: ResourceId = ResourceId::MAX;

/// Overhead of a TLS record: header, content type and authentication tag (RFC 8446, section 5.2).
const RECORD: u32 = 5 + 1 + 16;

/// The header of a frame of HTTP/2 (RFC 9113, section 4.1).
const FRAME_HEADER: u32 = 9;

/// The state of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) origin: u16,
    /// The driver's name of it.
    pub(crate) name: Option<ConnectionId>,
    version: Version,
    is_resumed: bool,
    phase: Phase,
    /// Bytes that the client has written.
    written: u32,
    /// The ends of the requests that have not come to the server.
    requests: VecDeque<(u32, ResourceId)>,
    responses: Multiplexer,
    /// The resources that it fetches or will fetch.
    outstanding: Vec<ResourceId>,
    has_requested: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The handshake of TCP is under way.
    Opening,
    /// The handshake of TLS is under way.
    Greeting,
    Ready,
    Lost,
}

impl Connection {
    pub(crate) fn new(origin: u16, version: Version, is_resumed: bool) -> Connection {
        Connection {
            origin,
            name: None,
            version,
            is_resumed,
            phase: Phase::Opening,
            written: 0,
            requests: VecDeque::new(),
            responses: Multiplexer::default(),
            outstanding: Vec::new(),
            has_requested: false,
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.phase == Phase::Lost
    }

    /// A handshake is under way.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Greeting)
    }

    /// It is ready, and fetches nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Ready && self.outstanding.is_empty()
    }

    /// The next request is its first.
    pub(crate) fn is_fresh(&self) -> bool {
        !self.has_requested
    }

    /// Bytes that have to come to the server in all before there is something to do.
    pub(crate) fn awaits_at_server(&self) -> Option<u32> {
        self.requests.front().map(|&(end, _)| end)
    }

    /// Bytes that have to come to the client in all before there is something to do.
    pub(crate) fn awaits_at_client(&self) -> Option<u32> {
        self.responses.next_end()
    }

    /// TCP is open: the client writes its `ClientHello`, of the size that is returned.
    pub(crate) fn greet(&mut self, tls: &TlsConfig) -> u32 {
        self.phase = Phase::Greeting;
        self.write(HANDSHAKE, tls.client_hello)
    }

    /// Fetch `resource` when the handshake is complete, or as soon as the caller writes its request.
    pub(crate) fn take_on(&mut self, resource: ResourceId) {
        self.outstanding.push(resource);
    }

    /// Write the request for a resource that it has taken on. Returns its size.
    pub(crate) fn request(&mut self, resource: ResourceId, sizes: &RequestsConfig, tls: &TlsConfig) -> u32 {
        let is_first = !std::mem::replace(&mut self.has_requested, true);
        let request = match (self.version, is_first) {
            (Version::Http1, _) => sizes.http1,
            (Version::Http2, true) => sizes.http2_first,
            (Version::Http2, false) => sizes.http2_later,
        };
        let finished = if is_first { tls.client_finished } else { 0 };
        self.write(resource, request + finished)
    }

    fn write(&mut self, what: ResourceId, size: u32) -> u32 {
        self.written += size;
        self.requests.push_back((self.written, what));
        size
    }

    /// Requests have come to the server, which answers at once. Returns the bytes that it writes.
    pub(crate) fn answer(&mut self, progress: Progress, resources: &[Resource], tls: &TlsConfig) -> u32 {
        let mut bytes = 0;
        while let Some(&(end, what)) = self.requests.front().filter(|&&(end, _)| end <= progress.received) {
            debug_assert!(end <= self.written, "the client has written it");
            self.requests.pop_front();
            let (size, urgency, incremental) = match what {
                HANDSHAKE if self.is_resumed => (tls.server_resumed, 0, false),
                HANDSHAKE => (tls.server_full, 0, false),
                _ => {
                    let resource = &resources[usize::from(what)];
                    let size = on_the_wire(resource.size, self.version);
                    (size, resource.urgency(what), resource.is_incremental())
                }
            };
            self.responses.add(what, size, urgency, incremental, progress.sent);
            bytes += size;
        }
        bytes
    }

    /// Take a resource that has come to the client.
    pub(crate) fn take_complete(&mut self, received: u32) -> Option<Complete> {
        Some(match self.responses.take_complete(received)? {
            HANDSHAKE => {
                self.phase = Phase::Ready;
                Complete::Handshake
            }
            resource => {
                self.outstanding.retain(|&other| other != resource);
                Complete::Resource(resource)
            }
        })
    }

    /// The resources that it has taken on and whose request is not written, when the handshake is complete.
    pub(crate) fn taken_on(&self) -> Vec<ResourceId> {
        self.outstanding.clone()
    }

    /// It broke. Returns the resources that are lost with it.
    pub(crate) fn lose(&mut self) -> Vec<ResourceId> {
        self.phase = Phase::Lost;
        self.requests.clear();
        self.responses = Multiplexer::default();
        std::mem::take(&mut self.outstanding)
    }
}

/// The end of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Complete {
    Handshake,
    Resource(ResourceId),
}

/// The bytes of a response with the headers of its frames and TLS records.
fn on_the_wire(size: u32, version: Version) -> u32 {
    let overhead = match version {
        Version::Http1 => RECORD,
        Version::Http2 => RECORD + FRAME_HEADER,
    };
    size + size.div_ceil(FRAME) * overhead
}
