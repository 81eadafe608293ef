//! A TCP endpoint as a sans-IO state machine.
//!
//! [`Endpoint`] takes segments and the time and gives segments, events and the time of its next timer. It counts
//! data and does not carry them. What differs between implementations (initial window, timers, delayed acknowledgements)
//! is a plain struct of values with their sources, the [`Profile`]; what differs between congestion controls is
//! behind [`CongestionControl`]; what is kept and done otherwise is one half of an endpoint, its [`Sender`].
//!
//! The contract of use: after each [`Endpoint::handle_segment`], [`Endpoint::handle_timeout`],
//! [`Endpoint::write`] or [`Endpoint::close`], drain [`Endpoint::poll_transmit`], then
//! [`Endpoint::poll_event`], and see that [`Endpoint::handle_timeout`] is called at [`Endpoint::poll_timeout`].
//! Calling it early or twice is harmless.

pub mod congestion;
mod core;
mod ecn;
mod endpoint;
mod limited;
mod profile;
mod reassembly;
mod recovery;
mod rtt;
mod segment;
mod sender;
mod timer;

pub use congestion::{Ack, Algorithm, ClassicReno, CongestionControl, Marks, RateSample};
pub use core::{RecoveryCounts, State};
pub use ecn::EcnPolicy;
pub use endpoint::{Endpoint, Event};
pub use limited::LimitedBy;
pub use profile::{Needs, Profile};
pub use segment::{Flags, HeaderOptions, Options, Segment, Seq, WindowScale, options};
pub use sender::{Basic, Full, Scaled, Sender};
pub use timer::TimerKind;
