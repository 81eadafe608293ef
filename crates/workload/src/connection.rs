//! A connection as its user sees it: requests made one after another, each answered in full before the next.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::Web;

/// The driver's name for a connection; unique among the open connections of one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// One request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Size of the request.
    pub request: Bytes,
    /// Size of the response.
    pub response: Bytes,
}

/// A connection to a server: what is asked over it, and how far it has come.
///
/// Everything drawn for it comes from a random stream of its own, in a fixed order: minimum round-trip time, whether
/// it is persistent, and the sizes of each exchange in turn.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts, a byte each")]
pub struct Connection {
    stream: Stream,
    number: u64,
    min_rtt: Duration,
    /// The time of `connect()` for the first exchange, of the request's write for later ones.
    pub(crate) started: Time,
    request: u32,
    response: u32,
    /// Bytes of the response that have come.
    received: u32,
    /// Requests that it may carry after those planned.
    pub(crate) quota: u16,
    /// Exchanges planned for this page and not yet complete.
    pub(crate) planned: u8,
    pub(crate) phase: Phase,
    persistent: bool,
    /// It leads to the server of the page itself.
    pub(crate) to_page_server: bool,
    /// The current exchange is the page's top-level one.
    pub(crate) top_level: bool,
    /// The current exchange is the connection's first.
    pub(crate) first: bool,
}

/// The event that a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The handshake.
    Opening,
    /// A response.
    Waiting,
    /// Its user's next page.
    Idle,
}

impl Connection {
    /// Draw connection `number` of a user, to be opened at `now`.
    pub(crate) fn draw(
        web: &Web,
        stream: Stream,
        number: u64,
        to_page_server: bool,
        now: Time,
    ) -> Connection {
        let mut connection = Connection {
            stream,
            number,
            min_rtt: Duration::ZERO,
            started: now,
            request: 0,
            response: 0,
            received: 0,
            quota: 1,
            planned: 0,
            phase: Phase::Opening,
            persistent: false,
            to_page_server,
            top_level: false,
            first: true,
        };
        connection.min_rtt = web.min_rtt(&mut connection.stream);
        if let Some(quota) = web.persistence(&mut connection.stream) {
            connection.persistent = true;
            connection.quota = quota;
        }
        connection
    }

    /// Take as many of `objects` as the quota allows; returns how many.
    pub(crate) fn plan(&mut self, objects: u8) -> u8 {
        self.planned = u8::try_from(self.quota).map_or(objects, |quota| quota.min(objects));
        self.quota -= u16::from(self.planned);
        self.planned
    }

    /// Draw the sizes of the next exchange.
    pub(crate) fn next_exchange(&mut self, web: &Web, top_level: bool) {
        self.top_level = top_level;
        self.received = 0;
        self.request = web.request_size(&mut self.stream);
        self.response = web.response_size(top_level, self.persistent, &mut self.stream);
    }

    /// Count `n` bytes of the response; true when it is complete.
    pub(crate) fn receive(&mut self, n: Bytes) -> bool {
        debug_assert!(self.phase == Phase::Waiting, "bytes came on a connection that awaits none");
        debug_assert!(n <= self.awaits(), "{n} came where {} were awaited", self.awaits());
        self.received += u32::try_from(n.get()).expect("no more bytes come than are awaited");
        self.received == self.response
    }

    /// The minimum round-trip time of this connection: the delay its path adds, queueing not included.
    pub fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// The current exchange; of an idle connection, the last one.
    pub fn exchange(&self) -> Exchange {
        Exchange { request: Bytes::new(self.request.into()), response: Bytes::new(self.response.into()) }
    }

    /// Bytes of the current response still to come: what to set a socket's receive low-water mark to, so that it
    /// reports a response once and whole. Zero when idle.
    pub fn awaits(&self) -> Bytes {
        Bytes::new((self.response - self.received).into())
    }

    /// Drawn to carry more than one request, whether or not it comes to that.
    pub fn is_persistent(&self) -> bool {
        self.persistent
    }

    /// Kept open over a think time, with no exchange in progress.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// The number of the connection, independent of the network: unique among the connections of its user, and
    /// increasing in the order of opening.
    pub fn number(&self) -> u64 {
        self.number
    }
}
