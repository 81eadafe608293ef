//! The words that the rest of aqmlab speaks: [`Time`], [`Duration`], [`Bytes`], [`BitRate`], [`Prob`] and named
//! random [`Stream`]s.
//!
//! Time is a whole number of nanoseconds, so that a run gives the same bits on every machine. A unit is in the
//! type: no function of the core takes a bare integer for a time, a size or a rate. At the border it is in the
//! text: `2 ms`, `100 Mbit/s`, `30 kB`; a bare number is refused.

mod bytes;
mod prob;
pub mod range;
mod rate;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "serde")]
mod serde;
mod stream;
mod text;
mod time;

pub use bytes::Bytes;
pub use prob::Prob;
pub use range::Range;
pub use rate::BitRate;
pub use stream::Stream;
pub use text::ParseError;
pub use time::{Duration, Time};
