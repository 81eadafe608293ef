//! The machine of a run: its clock, processors, thread priorities and limit of open files.

pub(crate) mod clock;
pub(crate) mod limits;
pub(crate) mod priority;
pub(crate) mod processors;
