//! The view of a congestion control in Python: its connection and acknowledgements.

use aqmlab_tcp as tcp;
use aqmlab_units::Duration;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

use crate::seen;

/// A connection, as its congestion control may know it.
#[pyclass(frozen, get_all)]
pub(crate) struct Connection {
    mss: u16,
    initial_window: u32,
    min_window: u32,
}

impl Connection {
    pub(crate) fn of(profile: &tcp::Profile) -> Connection {
        Connection {
            mss: profile.mss,
            initial_window: profile.initial_window_bytes(),
            min_window: u32::from(profile.min_window) * u32::from(profile.mss),
        }
    }
}

#[pymethods]
impl Connection {
    fn __repr__(&self) -> String {
        let Connection { mss, initial_window, min_window } = self;
        format!("Connection(mss={mss}, initial_window={initial_window}, min_window={min_window})")
    }
}

/// An acknowledgement that delivers data.
#[pyclass(frozen)]
pub(crate) struct Ack(pub(crate) tcp::Ack);

#[pymethods]
impl Ack {
    #[getter]
    fn now<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFloat>> {
        seen::time(py, self.0.now)
    }

    #[getter]
    fn bytes(&self) -> u32 {
        self.0.bytes
    }

    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss
    }

    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    #[getter]
    fn marked(&self) -> u32 {
        self.0.marked
    }

    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }

    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt.map(Duration::as_secs_f64)
    }

    #[getter]
    fn one_way_delay_s(&self) -> Option<f64> {
        self.0.one_way_delay.map(Duration::as_secs_f64)
    }

    #[getter]
    fn new_round(&self) -> bool {
        self.0.new_round
    }

    #[getter]
    fn window_limited(&self) -> bool {
        self.0.window_limited
    }

    #[getter]
    fn pacing_limited(&self) -> bool {
        self.0.pacing_limited
    }

    #[getter]
    fn rate(&self) -> Option<RateSample> {
        self.0.rate.map(RateSample)
    }

    fn __repr__(&self) -> String {
        let tcp::Ack { now, bytes, in_flight, marked, lost, .. } = self.0;
        let now = now.as_secs_f64();
        format!("Ack(now={now}, bytes={bytes}, in_flight={in_flight}, marked={marked}, lost={lost})")
    }
}

/// A measurement of the delivery rate.
#[pyclass(frozen)]
pub(crate) struct RateSample(tcp::RateSample);

#[pymethods]
impl RateSample {
    #[getter]
    fn delivered(&self) -> u32 {
        self.0.delivered
    }

    #[getter]
    fn interval_s(&self) -> f64 {
        self.0.interval.as_secs_f64()
    }

    #[getter]
    fn lost(&self) -> u32 {
        self.0.lost
    }

    #[getter]
    fn in_flight_at_send(&self) -> u32 {
        self.0.in_flight_at_send
    }

    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }

    /// The rate in bits per second.
    #[getter]
    fn bps(&self) -> Option<f64> {
        let secs = self.0.interval.as_secs_f64();
        (secs > 0.0).then(|| 8.0 * f64::from(self.0.delivered) / secs)
    }

    fn __repr__(&self) -> String {
        format!("RateSample(delivered={}, interval_s={})", self.delivered(), self.interval_s())
    }
}
