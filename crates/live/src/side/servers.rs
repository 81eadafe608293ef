//! The servers of a side. A server answers a request at once, and closes its connection after its client.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use aqmlab_units::Bytes;
use mio::Poll;
use mio::event::Event;
use socket2::Socket;

use super::{SideConfig, server_token};
use crate::error::{Context, Error};
use crate::mix::Mix;
use crate::network::engine_device::EngineDevice;
use crate::network::sockets::{self, ReadOutcome};
use crate::network::stream::Stream;
use crate::packet::addresses::BrowserEnd;
use crate::side::request_table::{PendingRequest, RequestTable};

/// The servers of one side.
pub(super) struct Servers {
    tables: ServerTables,
    connections: Vec<Option<ServerConnection>>,
    free: Vec<usize>,
    scratch: Vec<u8>,
    engine: Option<Arc<EngineDevice>>,
    pub(super) errors: BTreeMap<String, u64>,
}

/// The tables that servers share, and their count of connection ends.
struct ServerTables {
    requests: Arc<RequestTable>,
    mix: Arc<Mix>,
    congestion: BTreeMap<String, u64>,
}

/// A server's end of a connection.
struct ServerConnection {
    stream: Stream,
    browser: BrowserEnd,
    /// True before the first request.
    is_new: bool,
    /// The missing bytes of the current request, and the size of its response, both in bytes.
    request: Option<(u64, u64)>,
    /// Bytes of responses for which the socket had no room yet.
    unwritten_bytes: u64,
}

impl Servers {
    pub(super) fn new(common: &SideConfig) -> Servers {
        Servers {
            tables: ServerTables {
                requests: Arc::clone(&common.requests),
                mix: Arc::clone(&common.mix),
                congestion: BTreeMap::new(),
            },
            connections: Vec::new(),
            free: Vec::new(),
            scratch: vec![0; 1 << 16],
            engine: common.event_queue.engine().cloned(),
            errors: BTreeMap::new(),
        }
    }

    /// Returns the number of connection ends by congestion control, as the kernel reports it.
    pub(super) fn congestion(&self) -> &BTreeMap<String, u64> {
        &self.tables.congestion
    }

    /// Accepts the connections that have arrived.
    pub(super) fn accept(&mut self, poll: &Poll, listener: &Socket) -> Result<(), Error> {
        while let Some((socket, peer)) =
            sockets::accept(listener).context(|| "a socket of a server".to_owned())?
        {
            let Some(browser) = BrowserEnd::from_address(*peer.ip(), peer.port()) else { continue };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            sockets::watch(poll, &socket, server_token(slot)).context(|| "epoll".to_owned())?;
            self.connections[slot] = Some(ServerConnection {
                stream: Stream::new(socket, self.engine.as_ref()),
                browser,
                is_new: true,
                request: None,
                unwritten_bytes: 0,
            });
        }
        Ok(())
    }

    /// Handles readiness of the connection in `slot`. The event may be of an earlier connection in this slot.
    pub(super) fn on_ready(&mut self, slot: usize, event: &Event) {
        let Some(connection) = &mut self.connections[slot] else { return };
        connection.stream.update(event);
        let outcome = connection.advance(&mut self.tables, &mut self.scratch);
        if let Err(error) = &outcome {
            *self.errors.entry(error.to_string()).or_default() += 1;
        }
        if !matches!(outcome, Ok(true)) {
            self.connections[slot] = None;
            self.free.push(slot);
        }
    }
}

impl ServerConnection {
    /// Reads and writes until the socket would block. Returns false if the client has closed.
    fn advance(&mut self, tables: &mut ServerTables, scratch: &mut [u8]) -> io::Result<bool> {
        loop {
            if self.unwritten_bytes > 0 {
                self.unwritten_bytes = self.stream.write(self.unwritten_bytes)?;
            }
            let missing = self.request.map_or(Bytes::ZERO, |(missing, _)| Bytes::new(missing));
            match self.stream.read(scratch, missing)? {
                ReadOutcome::Bytes(bytes) => self.receive(bytes.get(), tables)?,
                ReadOutcome::Nothing => return Ok(true),
                ReadOutcome::End => return Ok(false),
            }
        }
    }

    fn receive(&mut self, bytes: u64, tables: &mut ServerTables) -> io::Result<()> {
        let (left, response) = if let Some(request) = self.request {
            request
        } else {
            let pending_request = tables.requests.take(self.browser);
            let PendingRequest { exchange, stack } =
                pending_request.ok_or_else(|| io::Error::other("a request without a sender"))?;
            // Only the first request names the server's stack. The server has sent no data before, so the change is in time.
            if std::mem::take(&mut self.is_new) {
                let congestion = &tables.mix.stack(stack).congestion;
                let congestion = sockets::set_congestion(&self.stream.socket, congestion)?;
                *tables.congestion.entry(congestion).or_default() += 1;
            }
            (exchange.request.get(), exchange.response.get())
        };
        let left = left.saturating_sub(bytes);
        if left == 0 {
            self.request = None;
            self.unwritten_bytes += response;
        } else {
            self.request = Some((left, response));
        }
        Ok(())
    }
}
