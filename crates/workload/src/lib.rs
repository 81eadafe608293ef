//! Web users as sans-IO state machines: what they request, when, and over which connections. Traffic of other kinds
//! is in [`sources`].
//!
//! The workload is that of Le, Aikat, Jeffay and Smith (2003, 2004), who drove their laboratory with the model of
//! Smith, Hernández-Campos, Jeffay and Ott (2001): a closed population of users who think, fetch a page, and think
//! again. Seven random elements describe it:
//!
//! | element | in [`WebConfig`] |
//! |---|---|
//! | request size | `request_bytes` |
//! | response size, top-level and embedded | `top_level_bytes`, `embedded_bytes` |
//! | page size: embedded objects of a page | `embedded_per_page` |
//! | think time | `think_seconds` |
//! | requests per persistent connection | `requests_per_persistent_connection` |
//! | servers per page | `servers_per_page` |
//! | consecutive pages from one server | `pages_per_visit` |
//!
//! [`Web`] is the model: tables and parameters, never changing. [`User`] and [`Connection`] are the state, owned by
//! a driver: an engine on a virtual clock, or real sockets. The driver reports [`UserEvent`]s and carries out
//! [`UserAction`]s; nothing here knows of a network.
//!
//! **The same users under every queue discipline.** What a user does (pages, connections, sizes, round-trip times)
//! depends on the seed and the user's number alone, never on what the network does to it; only the times differ.
//! Each page and each connection draws from a random stream of its own, found by number.
//!
//! **Response time** runs to the last byte of the response, from `connect()` for the first request of a connection,
//! from the write of the request for later ones.

mod config;
mod connection;
mod discrete;
pub mod pages;
mod quantile;
mod sampler;
pub mod sources;
mod start;
mod user;
mod web;

pub use config::{
    ConfigError, DiscreteConfig, QuantileConfig, RttConfig, RttDistribution, WebConfig, WorkloadConfig,
};
pub use connection::{Connection, ConnectionId, Exchange};
pub use user::{Completed, User, UserAction, UserEvent};
pub use web::Web;
