//! Flows apart: whose queue a packet goes to, where queues are kept, and the options of those who share out among flows.

pub(crate) mod hash;
pub(crate) mod options;
pub(crate) mod queue;
pub(crate) mod store;
pub(crate) mod table;
