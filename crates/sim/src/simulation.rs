//! The interface of a run, independent of its queue disciplines and its hosts' TCP.

use aqmlab_units::Time;

use crate::record::{GaugeTable, ResponseTimesTable, Tables};
use crate::summary::Summary;

/// A run under way.
pub trait Simulation: Send {
    /// Go on until `until`, or to the end if that comes first.
    fn advance(&mut self, until: Time);

    /// The simulated time reached.
    fn now(&self) -> Time;

    /// Returns the end of the run: warm-up and measured window.
    fn end(&self) -> Time;

    /// Rows of the time series, to be taken out.
    fn tables(&mut self) -> &mut Tables;

    /// Returns the state of the links now, also before the measured window. Reading it does not change the run.
    fn gauges(&mut self) -> GaugeTable;

    /// The histogram of response times so far.
    fn response_times(&self) -> ResponseTimesTable;

    /// The run in one row, at its end.
    fn summary(&mut self) -> Summary;
}
