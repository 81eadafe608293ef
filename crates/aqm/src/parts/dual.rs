//! Two queues, for traffic that keeps delay low and for all other: how they are coupled, and which sends next.

pub(crate) mod coupled;
pub(crate) mod options;
pub(crate) mod scheduler;
