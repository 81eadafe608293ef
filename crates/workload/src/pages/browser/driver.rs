//! Events that a driver reports to a browser, and the browser's actions.

use aqmlab_units::{Duration, Time};

use super::StreamResponse;
use crate::pages::connection::{NewConnection, Progress};
use crate::pages::page::{Kind, Priority, Version};
use crate::pages::quality::PageLoad;
use crate::{Completed, ConnectionId};

/// An event on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrowserEvent {
    /// The client can write: the connection is established, or its first flight has room for 0-RTT data.
    Opened,
    /// The bytes that the server awaits have come to it.
    AtServer(Progress),
    /// The bytes that the client awaits have come to it.
    AtClient(Progress),
    /// The request on this stream of QUIC has come to the server.
    RequestComplete(u16),
    /// The response on this stream of QUIC has come to the client.
    ResponseComplete(u16),
    /// The connection broke. It is gone: no event follows.
    Closed,
}

/// An action of a user; connections are named by their slots.
#[derive(Clone, Debug)]
pub enum BrowserAction {
    /// Open this connection, and report [`BrowserEvent::Opened`].
    Open(NewConnection),
    /// Write this many bytes at the client; over QUIC on the first stream.
    Write(u16, u32),
    /// Write this many bytes at the server; over QUIC on the first stream.
    Answer(u16, u32),
    /// Open the next stream of QUIC at the client, and write a request of this many bytes. Streams are numbered from 0.
    Request(u16, u32, Priority),
    /// Write the response at the server.
    Respond(StreamResponse),
    /// A resource has come over this connection.
    Completed(ConnectionId, Completed, Fetched),
    /// A resource is given up.
    Aborted,
    /// The page has ended: close these connections, about which no event may follow.
    Close(Vec<ConnectionId>),
    /// The page has ended.
    Loaded(PageLoad),
    /// Think: call [`Pages::wake`](crate::pages::Pages::wake) after this time.
    Sleep(Duration),
}

/// A resource that has come, as part of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its number on the page; that of the document is 0.
    pub resource: u16,
    /// The resource that refers to it; that of the document is the document.
    pub parent: u16,
    /// Its kind.
    pub kind: Kind,
    /// The version of HTTP over which it came.
    pub version: Version,
    /// Its bytes.
    pub bytes: u32,
    /// The time at which the browser knew of it: its parent was complete, or the page began.
    pub known: Time,
    /// The time at which its request was written.
    pub requested: Time,
}
