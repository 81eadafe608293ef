//! What a run asks of its machine: the time, processors as soon as it wants them, and open files.

pub(crate) mod clock;
pub(crate) mod limits;
pub(crate) mod priority;
pub(crate) mod processors;
