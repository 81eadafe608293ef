//! Servers: each answers a request at once, and closes when its client has.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use mio::Poll;
use socket2::Socket;

use super::{Common, server_token};
use crate::error::{Context, Error};
use crate::mix::Mix;
use crate::network::sockets::{self, Lookup};
use crate::packet::addresses::BrowserEnd;
use crate::side::request_table::{PendingRequest, RequestTable};

/// The servers of one side.
pub(super) struct Servers {
    desk: ServerContext,
    connections: Vec<Option<Served>>,
    free: Vec<usize>,
    scratch: Vec<u8>,
    pub(super) errors: BTreeMap<String, u64>,
}

/// The tables in which servers look up their identity and their requests.
struct ServerContext {
    book: Arc<RequestTable>,
    mix: Arc<Mix>,
    congestion: BTreeMap<String, u64>,
}

/// A server's end of a connection.
struct Served {
    socket: Socket,
    browser: BrowserEnd,
    /// Has it been asked for nothing yet?
    is_new: bool,
    /// The missing bytes of the current request, and the size of its response.
    request: Option<(u64, u64)>,
    /// Bytes of the response that the socket had no room for yet.
    to_write: u64,
}

impl Servers {
    pub(super) fn new(common: &Common) -> Servers {
        Servers {
            desk: ServerContext {
                book: Arc::clone(&common.book),
                mix: Arc::clone(&common.mix),
                congestion: BTreeMap::new(),
            },
            connections: Vec::new(),
            free: Vec::new(),
            scratch: vec![0; 1 << 16],
            errors: BTreeMap::new(),
        }
    }

    /// Ends of connections, by the congestion control that the kernel says they have.
    pub(super) fn congestion(&self) -> &BTreeMap<String, u64> {
        &self.desk.congestion
    }

    /// Connections have come.
    pub(super) fn accept(&mut self, poll: &Poll, listener: &Socket) -> Result<(), Error> {
        while let Some((socket, peer)) =
            sockets::accept(listener).context(|| "a socket of a server".to_owned())?
        {
            let Some(browser) = BrowserEnd::at(*peer.ip(), peer.port()) else { continue };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            sockets::watch(poll, &socket, server_token(slot)).context(|| "epoll".to_owned())?;
            self.connections[slot] =
                Some(Served { socket, browser, is_new: true, request: None, to_write: 0 });
        }
        Ok(())
    }

    /// Something may be done at the connection in `slot`; or not, if it has just taken the place of another.
    pub(super) fn on_ready(&mut self, slot: usize) {
        let Some(served) = &mut self.connections[slot] else { return };
        let outcome = served.go_on(&mut self.desk, &mut self.scratch);
        if let Err(error) = &outcome {
            *self.errors.entry(error.to_string()).or_default() += 1;
        }
        if !matches!(outcome, Ok(true)) {
            self.connections[slot] = None;
            self.free.push(slot);
        }
    }
}

impl Served {
    /// Read and write as far as that goes. Is there more to come?
    fn go_on(&mut self, desk: &mut ServerContext, scratch: &mut [u8]) -> io::Result<bool> {
        loop {
            if self.to_write > 0 {
                self.to_write = sockets::write(&self.socket, self.to_write)?;
            }
            match sockets::read(&self.socket, scratch)? {
                Lookup::Bytes(bytes) => self.receive(bytes as u64, desk)?,
                Lookup::Nothing => return Ok(true),
                Lookup::End => return Ok(false),
            }
        }
    }

    fn receive(&mut self, bytes: u64, desk: &mut ServerContext) -> io::Result<()> {
        let (left, response) = if let Some(request) = self.request {
            request
        } else {
            let asked = desk.book.asked_for(self.browser);
            let PendingRequest { exchange, stack } =
                asked.ok_or_else(|| io::Error::other("a request without a sender"))?;
            // It sends nothing before.
            if std::mem::take(&mut self.is_new) {
                let congestion = &desk.mix.stack(stack).congestion;
                let congestion = sockets::set_congestion(&self.socket, congestion)?;
                *desk.congestion.entry(congestion).or_default() += 1;
            }
            (exchange.request.get(), exchange.response.get())
        };
        let left = left.saturating_sub(bytes);
        if left == 0 {
            self.request = None;
            self.to_write += response;
        } else {
            self.request = Some((left, response));
        }
        Ok(())
    }
}
