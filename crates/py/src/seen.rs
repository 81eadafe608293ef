//! The view of a law in Python: packets, the queue, its link and its random stream.

use aqmlab_aqm as aqm;
use aqmlab_units::{Bytes, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyType};

/// The names of the ECN field's values in Python.
pub(crate) const ECN: [(&str, aqm::Ecn); 4] =
    [("not_ect", aqm::Ecn::NotEct), ("ect0", aqm::Ecn::Ect0), ("ect1", aqm::Ecn::Ect1), ("ce", aqm::Ecn::Ce)];

/// A time as Python has it: a `float` of seconds that knows its nanoseconds.
pub(crate) fn time(py: Python<'_>, time: Time) -> PyResult<Bound<'_, PyFloat>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "aqmlab.disciplines.custom.law", "Time")?;
    Ok(class.call1((time.as_secs_f64(),))?.cast_into()?)
}

/// A packet, and when it arrived.
#[pyclass(frozen, eq)]
#[derive(PartialEq, Eq)]
pub(crate) struct Packet {
    packet: aqm::Packet,
    enqueued_at: Time,
}

impl Packet {
    pub(crate) fn new(packet: aqm::Packet, enqueued_at: Time) -> Packet {
        Packet { packet, enqueued_at }
    }
}

#[pymethods]
impl Packet {
    #[getter]
    fn size(&self) -> u64 {
        self.packet.size.get()
    }

    #[getter]
    fn flow(&self) -> u32 {
        self.packet.flow
    }

    #[getter]
    fn ecn(&self) -> &'static str {
        ECN.iter().find(|(_, ecn)| *ecn == self.packet.ecn).expect("all four have a name").0
    }

    #[getter]
    fn enqueued_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFloat>> {
        time(py, self.enqueued_at)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let enqueued_at = self.enqueued_at(py)?.repr()?.to_string();
        let (size, flow, ecn) = (self.size(), self.flow(), self.ecn());
        Ok(format!("Packet(size={size}, flow={flow}, ecn='{ecn}', enqueued_at={enqueued_at})"))
    }
}

/// The content of a queue.
#[pyclass(frozen, eq, get_all)]
#[derive(PartialEq, Eq)]
pub(crate) struct QueueState {
    packets: u32,
    bytes: u64,
}

impl From<aqm::QueueState> for QueueState {
    fn from(state: aqm::QueueState) -> QueueState {
        QueueState { packets: state.packets, bytes: state.bytes.get() }
    }
}

#[pymethods]
impl QueueState {
    fn __repr__(&self) -> String {
        format!("QueueState(packets={}, bytes={})", self.packets, self.bytes)
    }
}

/// The link behind a queue, as its law may know it.
#[pyclass(frozen)]
pub(crate) struct LinkContext(pub(crate) aqm::LinkContext);

#[pymethods]
impl LinkContext {
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.0.rate.bits_per_sec()
    }

    #[getter]
    fn header_bytes(&self) -> u64 {
        self.0.header.get()
    }

    #[getter]
    fn overhead_bytes(&self) -> u64 {
        self.0.overhead.get()
    }

    fn packets_per_sec(&self, mean_packet: u64) -> f64 {
        self.0.packets_per_sec(Bytes::new(mean_packet))
    }

    fn __repr__(&self) -> String {
        format!("LinkContext(rate_bps={}, overhead_bytes={})", self.rate_bps(), self.overhead_bytes())
    }
}

/// A deterministic source of random numbers.
#[pyclass]
pub(crate) struct Stream(pub(crate) aqmlab_units::Stream);

#[pymethods]
impl Stream {
    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    fn below(&mut self, n: u64) -> PyResult<u64> {
        if n == 0 {
            return Err(PyValueError::new_err("n: must be above 0, got 0"));
        }
        Ok(self.0.below(n))
    }
}
