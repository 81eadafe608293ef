//! Active queue management, sans-IO.
//!
//! A *law* ([`Aqm`]) judges packets; a *queue* ([`Gate`], [`Fifo`]) acts on its verdicts: it owns the packets, marks,
//! drops and counts. A law is told the time and never asks for it, draws random numbers from the [`Stream`] it was
//! built with, and can therefore be replayed exactly.
//!
//! [`Stream`]: aqmlab_units::Stream

mod ared;
mod average;
mod catalogue;
mod curve;
mod droptail;
mod fifo;
mod gate;
mod law;
mod limit;
mod link;
mod measure;
mod packet;
mod parameter;
mod pi;
mod red;
mod red_options;
mod rem;

pub use ared::{Ared, AredConfig};
pub use catalogue::{Entry, QueueConfig, Visitor, catalogue};
pub use droptail::{Droptail, DroptailConfig};
pub use fifo::{Departure, Fifo, Qdisc};
pub use gate::{Admission, Counters, Gate};
pub use law::{Aqm, QueueState, Verdict};
pub use limit::{Limit, ParseLimitError};
pub use link::LinkContext;
pub use measure::Mode;
pub use packet::{Ecn, Packet};
pub use parameter::{Parameter, ParameterError};
pub use pi::{Pi, PiConfig};
pub use red::{Red, RedConfig};
pub use red_options::{ByteScaling, EcnPolicy, Spacing};
pub use rem::{Rem, RemConfig};
