//! A run as others see it, whatever its queue discipline and its hosts' TCP.

use aqmlab_units::Time;

use crate::record::{GaugeTable, ResponseTimesTable, Tables};
use crate::summary::Summary;

/// A run under way.
pub trait Simulation: Send {
    /// Go on until `until`, or to the end if that comes first.
    fn advance(&mut self, until: Time);

    /// The simulated time reached.
    fn now(&self) -> Time;

    /// When the run ends: warm-up and measured window.
    fn end(&self) -> Time;

    /// Rows of the time series, to be taken out.
    fn tables(&mut self) -> &mut Tables;

    /// What can be read off the links now, before the measured window too. It changes nothing of what comes.
    fn gauges(&mut self) -> GaugeTable;

    /// The histogram of response times so far.
    fn response_times(&self) -> ResponseTimesTable;

    /// The run in one row, at its end.
    fn summary(&mut self) -> Summary;
}
