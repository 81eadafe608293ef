//! Active queue management, sans-IO.
//!
//! A *law* ([`Aqm`]) judges packets; a *queue* ([`Gate`], [`Fifo`]) acts on its verdicts: it owns the packets, marks,
//! drops and counts. A law is told the time and never asks for it, draws random numbers from the [`Stream`] it was
//! built with, and can therefore be replayed exactly.
//!
//! [`Stream`]: aqmlab_units::Stream

mod gate;
mod law;
mod packet;

pub use gate::{Admission, Counters, Gate, Limit};
pub use law::{Aqm, QueueState, Verdict};
pub use packet::{Ecn, Packet};
