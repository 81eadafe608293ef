//! Flow queueing: hashes of flows to queues, stores of their packets, and the options of these disciplines.

pub(crate) mod hash;
pub(crate) mod options;
pub(crate) mod queue;
pub(crate) mod store;
pub(crate) mod table;
