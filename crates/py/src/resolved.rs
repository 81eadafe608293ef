//! A resolved spec as Python holds it: its text, and as numbers what it says of time and links. And how quantities are
//! read that a person typed elsewhere.

use aqmlab_sim::{LinkSpec, PerDirection, Spec};
use aqmlab_units::{BitRate, Bytes, Duration, ParseError, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{SpecError, to_json};

/// A spec that has been checked, with every default filled in.
#[pyclass(frozen, module = "aqmlab._core")]
pub(crate) struct Resolved {
    spec: Spec,
    json: String,
}

impl Resolved {
    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }
}

#[pymethods]
impl Resolved {
    #[new]
    fn new(py: Python<'_>, spec_json: &str) -> PyResult<Resolved> {
        let spec = py.detach(|| Spec::from_json(spec_json));
        let spec = spec.map_err(|error| SpecError::new_err(error.to_string()))?;
        Ok(Resolved { json: to_json(&spec), spec })
    }

    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    #[getter]
    fn warmup_s(&self) -> f64 {
        secs(self.spec.protocol.warmup)
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        secs(self.spec.protocol.duration)
    }

    #[getter]
    fn links(&self) -> Vec<Link> {
        (0..)
            .zip(self.spec.links.hops())
            .map(|(number, hop)| Link { spec: hop.link.clone(), number })
            .collect()
    }

    fn __eq__(&self, other: &Resolved) -> bool {
        self.json == other.json
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.json)
    }

    /// For copies and for other processes.
    fn __getnewargs__(&self) -> (&str,) {
        (&self.json,)
    }
}

/// One link of a resolved spec.
#[pyclass(frozen, module = "aqmlab._core")]
pub(crate) struct Link {
    spec: LinkSpec,
    /// Its number in the chain, from 0.
    number: u32,
}

impl Link {
    fn mean_bps(&self, direction: usize) -> u64 {
        self.spec.mean_rates()[direction].bits_per_sec()
    }
}

#[pymethods]
impl Link {
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.mean_bps(0)
    }

    #[getter]
    fn rate_back_bps(&self) -> u64 {
        self.mean_bps(1)
    }

    #[getter]
    fn is_random(&self) -> bool {
        self.spec.is_random()
    }

    /// Returns true if the capacity varies: the rate changes, packets wait in outages, or it is another kind than a bit rate.
    #[getter]
    fn varies(&self) -> bool {
        self.spec.varies()
    }

    /// The times of the changes, and the new rates of both directions.
    #[getter]
    fn rate_changes(&self) -> Vec<(f64, [u64; 2])> {
        let rates = |rate: PerDirection<BitRate>| rate.both().map(BitRate::bits_per_sec);
        self.spec.rate_changes.iter().map(|change| (secs(change.at), rates(change.rate))).collect()
    }

    /// The times in seconds from which the queue of a direction is emptied at other rates, and these in bits a second.
    fn drain_rates(&self, direction: usize, until_s: f64, seed: u64) -> Vec<(f64, f64)> {
        let rates = self.spec.drain_rates(direction, Time::from_secs_f64(until_s), seed, self.number);
        rates.into_iter().map(|(at, bps)| (at.as_secs_f64(), bps)).collect()
    }

    #[getter]
    fn delay_s(&self) -> f64 {
        secs(self.spec.delay)
    }

    #[getter]
    fn overhead_bytes(&self) -> u64 {
        self.spec.overhead.get()
    }

    #[getter]
    fn header_bytes(&self) -> u64 {
        self.spec.header.get()
    }

    #[getter]
    fn mtu_bytes(&self) -> u64 {
        self.spec.mtu.get()
    }

    #[getter]
    fn device_fifo(&self) -> u32 {
        self.spec.device_fifo
    }
}

/// The nearest number of seconds.
fn secs(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

fn amount<Q: std::str::FromStr<Err = ParseError>>(text: &str) -> PyResult<Q> {
    text.parse().map_err(|error: ParseError| PyValueError::new_err(error.to_string()))
}

#[pyfunction]
pub(crate) fn seconds(text: &str) -> PyResult<f64> {
    amount(text).map(secs)
}

#[pyfunction]
pub(crate) fn bits_per_second(text: &str) -> PyResult<u64> {
    amount(text).map(BitRate::bits_per_sec)
}

#[pyfunction]
pub(crate) fn size_in_bytes(text: &str) -> PyResult<u64> {
    amount(text).map(Bytes::get)
}
