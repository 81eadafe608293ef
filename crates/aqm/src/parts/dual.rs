//! Dual queues, for L4S and Classic traffic: their coupling and their scheduler.

pub(crate) mod coupled;
pub(crate) mod options;
pub(crate) mod queue_protection;
pub(crate) mod scheduler;
pub(crate) mod weighted_drr;
