//! The path behind a capacity: a delay and losses that change with it.

use std::fmt;

use aqmlab_units::{Duration, Time};

/// The delay and the losses of a path at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathState {
    /// The delay beyond that of the link.
    pub(crate) delay: Duration,
    /// The probability that a packet is lost.
    pub(crate) loss: f64,
}

/// A path that changes over time.
pub(crate) trait Path: fmt::Debug {
    /// Returns its state for a packet that departs at `departure`. Departures are in order of time.
    fn at(&mut self, departure: Time) -> PathState;
}

/// A path of any kind of capacity.
pub(crate) type BoxedPath = Box<dyn Path + Send>;

/// The properties of a path that change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathChanges {
    pub(crate) delay: bool,
    pub(crate) loss: bool,
}

impl PathChanges {
    pub(crate) fn any(self) -> bool {
        self.delay || self.loss
    }
}
