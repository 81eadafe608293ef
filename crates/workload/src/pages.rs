//! Web pages of today: a graph of resources over several origins, fetched over HTTP/1.1 and HTTP/2 with TLS 1.3, and over
//! HTTP/3.
//!
//! [`Pages`] is the model: tables and parameters, never changing. [`Browser`] is the state of one user with all its
//! connections, both ends of each, owned by a driver. The driver reports [`BrowserEvent`]s and carries out
//! [`BrowserAction`]s; it has TCP or QUIC carry the bytes, whose meaning only the browser knows.
//!
//! | module | content |
//! |---|---|
//! | `config` | the tables and their checks |
//! | `model` | the tables, ready for drawing, and the start of users |
//! | `page` | a page: its resources, their dependencies and their origins |
//! | `browser` | the state of a user: which resource is fetched when, over which connection |
//! | `connection` | one connection: handshake, requests to the server, responses to the client |
//! | `multiplexer` | the order in which a server sends the bytes of concurrent responses over TCP; QUIC has streams |
//! | `quality` | what the user notices of a page |
//!
//! **The same pages under every queue discipline.** Page n of a user draws from streams of its own, and so does each of
//! its origins and connections. Nothing that the network does shifts a draw.

mod browser;
mod config;
mod connection;
mod model;
mod multiplexer;
mod page;
mod quality;

pub use self::browser::{Browser, BrowserAction, BrowserEvent, Fetched, StreamResponse};
pub use self::config::{
    Http3Config, Http3RequestsConfig, KindConfig, KindsConfig, MeanConfig, PagesConfig, RequestsConfig,
    ShareConfig, SizesConfig, TlsConfig,
};
pub use self::connection::{FULL_RECORD, NewConnection, Progress, QuicHandshake};
pub use self::model::Pages;
pub use self::multiplexer::FRAME;
pub use self::page::{Kind, Priority, Version};
pub use self::quality::{PageLoad, PageLoads, PageQuality};

#[cfg(test)]
mod tests;
