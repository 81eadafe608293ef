//! Endpoints of TCP and QUIC as sans-IO state machines.
//!
//! [`Endpoint`] takes segments and the time, and gives segments, events and the time of its next timer. It counts
//! data and does not carry them. A [`Profile`] holds the values in which implementations differ (initial window,
//! timers, delayed acknowledgements), with their sources. [`CongestionControl`] is the interface of congestion
//! controls. An endpoint's [`Sender`] is the half in which endpoints of different stacks differ. The sender of a host that
//! may speak QUIC, [`AnyTransport`], can hold a whole [`quic::Connection`], which then takes the place of TCP's state.
//!
//! The contract of use: after each [`Endpoint::handle_segment`], [`Endpoint::handle_timeout`],
//! [`Endpoint::write`] or [`Endpoint::close`], drain [`Endpoint::poll_transmit`], then [`Endpoint::poll_event`].
//! Call [`Endpoint::handle_timeout`] at [`Endpoint::poll_timeout`]; calling it early or twice is harmless.

pub mod congestion;
mod core;
mod ecn;
mod endpoint;
mod info;
mod intervals;
mod limited;
mod profile;
pub mod quic;
mod recovery;
mod rtt;
mod segment;
mod sender;
mod timer;

pub use congestion::{Ack, Algorithm, ClassicReno, CongestionControl, Marks, RateSample};
pub use core::{RecoveryCounts, State};
pub use ecn::EcnPolicy;
pub use endpoint::{Endpoint, Event};
pub use info::{CongestionState, ControlVariables, Info, SenderInfo};
pub use limited::LimitedBy;
pub use profile::{HyStartForm, Profile, RequiredStack};
pub use segment::{Flags, HeaderOptions, Options, Segment, Seq, WindowScale, options};
pub use sender::{AnyHeader, AnyTransport, Basic, Full, Scaled, Sender};
pub use timer::TimerKind;
