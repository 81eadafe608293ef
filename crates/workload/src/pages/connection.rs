//! A connection of a page, both ends together: the handshake with TLS, requests to the server, responses to the client.
//!
//! Over TCP, the handshake of TLS 1.3 (RFC 8446) is bytes of the connection. It takes one round trip: the server answers the
//! `ClientHello` with its flight, full or resumed, and the client's second flight goes with its first request. 0-RTT data
//! are left out, because few servers accept them over TCP.
//!
//! Over QUIC, the handshake is the transport's, and each request with its response has a stream (RFC 9114).

use std::collections::VecDeque;

use aqmlab_units::Duration;

use super::config::TlsConfig;
use super::multiplexer::{FRAME, Multiplexer};
use super::page::{Priority, Resource, ResourceId, Version};
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
    /// Its handshake, if it is one of QUIC.
    pub quic: Option<QuicHandshake>,
}

/// The handshake of a connection of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicHandshake {
    /// With certificates: one round trip.
    Full,
    /// Of a resumed session: one round trip.
    Resumed,
    /// The same, with the first requests in the first flight.
    ZeroRtt,
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

/// The bytes of a full TLS record.
pub const FULL_RECORD: u32 = FRAME + RECORD;

/// The header of a frame of HTTP/2 (RFC 9113, section 4.1).
const FRAME_HEADER: u32 = 9;

/// The header of a frame of HTTP/3 (RFC 9114, section 7.1): a type, and a length in four bytes.
const HTTP3_FRAME_HEADER: u32 = 1 + 4;

/// The state of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) origin: u16,
    /// The driver's name of it.
    pub(crate) name: Option<ConnectionId>,
    pub(crate) version: Version,
    is_resumed: bool,
    /// Its handshake, if it is one of QUIC.
    quic: Option<QuicHandshake>,
    phase: Phase,
    /// Over HTTP/3: the resource of each stream.
    streams: Vec<ResourceId>,
    /// Bytes that the client has written over TCP.
    written: u32,
    /// The ends of the requests that have not come to the server.
    requests: VecDeque<(u32, ResourceId)>,
    responses: Multiplexer,
    /// The resources that it fetches or will fetch.
    outstanding: Vec<ResourceId>,
    has_requested: bool,
    has_responded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The handshake of TCP or QUIC is under way.
    Opening,
    /// The handshake of TLS over TCP is under way.
    Greeting,
    /// The handshake of QUIC is under way, and safe requests leave as 0-RTT data.
    Early,
    Ready,
    Lost,
}

impl Connection {
    pub(crate) fn new(
        origin: u16,
        version: Version,
        is_resumed: bool,
        quic: Option<QuicHandshake>,
    ) -> Connection {
        Connection {
            origin,
            name: None,
            version,
            is_resumed,
            quic,
            phase: Phase::Opening,
            streams: Vec::new(),
            written: 0,
            requests: VecDeque::new(),
            responses: Multiplexer::default(),
            outstanding: Vec::new(),
            has_requested: false,
            has_responded: false,
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.phase == Phase::Lost
    }

    /// A handshake is under way, before which no request can leave.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Greeting)
    }

    /// The handshake of TLS over TCP is under way.
    pub(crate) fn is_greeting(&self) -> bool {
        self.phase == Phase::Greeting
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

    /// The request for `resource` can be written now.
    pub(crate) fn can_request(&self, resource: &Resource) -> bool {
        match self.phase {
            Phase::Ready => true,
            Phase::Early => resource.is_safe(),
            Phase::Opening | Phase::Greeting | Phase::Lost => false,
        }
    }

    /// The resources that it has taken on, whose request waited and can be written now.
    pub(crate) fn waiting(&self, resources: &[Resource]) -> Vec<ResourceId> {
        let unrequested =
            self.outstanding.iter().copied().filter(|resource| !self.streams.contains(resource));
        unrequested.filter(|&resource| self.can_request(&resources[usize::from(resource)])).collect()
    }

    /// Write the request for a resource that it has taken on: with `sizes` of a first and a later one. Returns its size.
    pub(crate) fn request(&mut self, resource: ResourceId, sizes: [u32; 2], tls: &TlsConfig) -> u32 {
        let is_first = !std::mem::replace(&mut self.has_requested, true);
        let request = sizes[usize::from(!is_first)];
        if self.version == Version::Http3 {
            self.streams.push(resource);
            return request;
        }
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
            let (size, priority) = match what {
                HANDSHAKE => {
                    let size = if self.is_resumed { tls.server_resumed } else { tls.server_full };
                    (size, Priority { urgency: 0, incremental: false })
                }
                _ => self.response(what, resources),
            };
            self.responses.add(what, size, priority, progress.sent);
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

    /// Bytes and priority of the response with `resource`.
    fn response(&self, resource: ResourceId, resources: &[Resource]) -> (u32, Priority) {
        let about = &resources[usize::from(resource)];
        (on_the_wire(about.size, self.version), about.priority(resource))
    }

    /// QUIC lets the client send.
    pub(crate) fn open_streams(&mut self) {
        let is_early = self.quic == Some(QuicHandshake::ZeroRtt);
        self.phase = if is_early { Phase::Early } else { Phase::Ready };
    }

    /// The request on `stream` has come to the server. Returns the response, and true if it is the first of the connection.
    pub(crate) fn respond(&mut self, stream: u16, resources: &[Resource]) -> (u32, Priority, bool) {
        let (size, priority) = self.response(self.streams[usize::from(stream)], resources);
        (size, priority, !std::mem::replace(&mut self.has_responded, true))
    }

    /// The response on `stream` has come to the client, whose handshake is complete then. Returns the resource, and true if
    /// the handshake was under way as far as the browser knew.
    pub(crate) fn complete_stream(&mut self, stream: u16) -> (ResourceId, bool) {
        let was_early = std::mem::replace(&mut self.phase, Phase::Ready) == Phase::Early;
        let resource = self.streams[usize::from(stream)];
        self.outstanding.retain(|&other| other != resource);
        (resource, was_early)
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
        Version::Http3 => HTTP3_FRAME_HEADER,
    };
    size + size.div_ceil(FRAME) * overhead
}
