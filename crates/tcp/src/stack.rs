//! What is compiled into an endpoint.

use std::fmt::Debug;

use crate::congestion::{CongestionControl, NewReno};

/// The parts of a TCP that take room in each endpoint and each segment. What only takes other values is in the
/// [`Profile`](crate::Profile).
pub trait Stack: 'static {
    /// How the congestion window moves.
    type Congestion: CongestionControl + Debug + Send;
    /// The TCP options that its segments may carry.
    type Options: Copy + Default + PartialEq + Debug + Send;
}

/// The TCP of 2001: `NewReno`, no options beyond the SYN's. Small, so that tens of thousands of connections stay fast.
#[derive(Clone, Copy, Debug)]
pub struct Basic;

impl Stack for Basic {
    type Congestion = NewReno;
    type Options = ();
}
