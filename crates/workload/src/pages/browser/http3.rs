//! HTTP/3 (RFC 9114): each request with its response has a stream of a QUIC connection.
//!
//! A server gives a response the priority of its request (RFC 9218), and QUIC orders the streams. Both ends begin with their
//! settings on the first stream, which in QUIC is one of their control streams.

use super::super::page::Priority;
use super::{BrowserAction, Fetcher, Load};

/// The response on a stream of QUIC.
#[derive(Clone, Copy, Debug)]
pub struct StreamResponse {
    /// The connection.
    pub slot: u16,
    /// The stream.
    pub stream: u16,
    /// Its bytes.
    pub bytes: u32,
    /// Its priority among those of the connection.
    pub priority: Priority,
}

impl Fetcher<'_> {
    /// QUIC lets the client of the connection in `slot` send.
    pub(super) fn open_streams(&mut self, load: &mut Load, slot: u16) {
        load.connections[usize::from(slot)].open_streams();
        self.out.push(BrowserAction::Write(slot, self.pages.http3_requests.settings));
        self.ready(load, slot);
    }

    /// The request on `stream` of the connection in `slot` has come to the server, which responds at once.
    pub(super) fn respond(&mut self, load: &mut Load, slot: u16, stream: u16) {
        let connection = &mut load.connections[usize::from(slot)];
        let (bytes, priority, is_first) = connection.respond(stream, &load.page.resources);
        if is_first {
            self.out.push(BrowserAction::Answer(slot, self.pages.http3_requests.settings));
        }
        self.out.push(BrowserAction::Respond(StreamResponse { slot, stream, bytes, priority }));
    }

    /// The response on `stream` of the connection in `slot` has come to the client.
    pub(super) fn complete_stream(&mut self, load: &mut Load, slot: u16, stream: u16) {
        let (resource, was_early) = load.connections[usize::from(slot)].complete_stream(stream);
        self.complete(load, slot, resource);
        if was_early {
            // Requests that are not safe have waited.
            self.ready(load, slot);
        }
    }
}
