//! Random draws of sources: sizes, times, round-trip times, starts.

pub(super) mod distribution;
pub(super) mod fractional;
pub(super) mod rtt;
pub(super) mod starts;
pub(crate) mod variates;
