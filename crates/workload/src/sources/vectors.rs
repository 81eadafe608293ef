//! Sources of connections, all in one form: as vectors of what the two ends send each other.

pub(super) mod adu;
mod connection;
pub(super) mod generator;
pub(super) mod recorded;
mod source;
mod vector;

pub use self::adu::{Adu, End};
pub use self::source::{ConnectionState, VectorSource};
pub use self::vector::{Vector, VectorAction, VectorEvent};
