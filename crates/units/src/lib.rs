//! The words that the rest of aqmlab speaks: [`Time`], [`Duration`], [`Bytes`], [`BitRate`], [`Prob`] and named
//! random [`Stream`]s.
//!
//! Time is a whole number of nanoseconds, so that a run gives the same bits on every machine. A unit is in the
//! type: no function of the core takes a bare integer for a time, a size or a rate.

mod bytes;
mod prob;
mod rate;
mod stream;
mod time;

pub use bytes::Bytes;
pub use prob::Prob;
pub use rate::BitRate;
pub use stream::Stream;
pub use time::{Duration, Time};
