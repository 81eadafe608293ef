//! Parts of CAKE, one idea a file.

pub(crate) mod ack_filter;
pub(crate) mod autorate;
pub(crate) mod clock;
pub(crate) mod framing;
pub(crate) mod hosts;
pub(crate) mod labels;
pub(crate) mod options;
pub(crate) mod queue;
pub(crate) mod rotation;
pub(crate) mod rules;
pub(crate) mod sets;
pub(crate) mod several;
pub(crate) mod statistics;
pub(crate) mod tin;
pub(crate) mod tins;
