//! `aqmlab._core`: a spec goes in as JSON, Arrow tables come out. What each function means to a Python user is said
//! in `_core.pyi`.

mod control;
mod faults;
mod law;
mod qdisc;
mod resolved;
mod seen;
mod seen_tcp;
mod tables;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aqmlab_aqm::Aqm;
use aqmlab_sim::{
    Bounds, Capture, Laws, ResponseTimesTable, SourceKeys, Spec, Summary, Table, Tables, Testbed,
    TimelineRequest, Watch, build, queue_stream, written_schema,
};
use aqmlab_tcp::{Algorithm, Marks, Profile};
use aqmlab_units::{Duration, Time};
use aqmlab_workload::{RttConfig, WorkloadConfig};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use schemars::schema_for;
use serde::Serialize;

use crate::control::PyControl;
use crate::faults::Faults;
use crate::law::PyLaw;
use crate::resolved::Resolved;
use crate::tables::PyRecordBatch;

create_exception!(_core, SpecError, PyValueError, "A mistake in a spec.");

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our own types have a JSON form")
}

#[pyfunction]
fn catalogue() -> String {
    to_json(&aqmlab_aqm::catalogue())
}

#[pyfunction]
fn schemas() -> String {
    let schemas = [
        ("spec", written_schema()),
        ("every source", schema_for!(SourceKeys)),
        ("summary", schema_for!(Summary)),
        ("response_times", schema_for!(ResponseTimesTable)),
    ];
    to_json(&schemas.into_iter().chain(Tables::schemas()).collect::<BTreeMap<_, _>>())
}

#[pyfunction]
fn shipped() -> String {
    let tables = [("workload", WorkloadConfig::SHIPPED.as_slice()), ("rtt", RttConfig::SHIPPED.as_slice())];
    to_json(&BTreeMap::from(tables))
}

#[pyfunction]
fn testbeds() -> String {
    to_json(&Testbed::ALL)
}

#[pyfunction]
fn profiles() -> String {
    to_json(
        &Profile::names()
            .into_iter()
            .map(|name| (name, Profile::from_name(name)))
            .collect::<BTreeMap<_, _>>(),
    )
}

#[pyfunction]
fn engine_version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("ENGINE_SOURCES"))
}

#[pyfunction]
fn results_number() -> u32 {
    aqmlab_sim::RESULTS
}

/// The constructors of the custom law of each direction, if its queue has one.
type Makers<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// The makers of the custom congestion control of each stack, if it has one; the common stack's is the first.
type ControlMakers = Vec<Option<Py<PyAny>>>;

/// A run under way. The lock serialises callers; a run is used by one thread at a time.
#[pyclass(frozen)]
struct Simulation {
    engine: Mutex<Box<dyn aqmlab_sim::Simulation>>,
    /// The exceptions that laws and congestion controls in Python raised.
    faults: Faults,
    /// Its packets, if they are captured.
    capture: Option<Capture>,
}

impl Simulation {
    fn prepare(
        spec: &Spec,
        seed: u64,
        make_laws: Option<Makers<'_>>,
        make_controls: Option<ControlMakers>,
        watch: Watch<'_>,
    ) -> PyResult<Simulation> {
        let faults = Faults::default();
        let with_controls = make_controls.map(|makers| with_controls(spec, makers, &faults));
        let spec = with_controls.as_ref().unwrap_or(spec);
        let law = |make: Option<Bound<'_, PyAny>>, direction| -> PyResult<Option<Box<dyn Aqm + Send>>> {
            let Some(make) = make else { return Ok(None) };
            let rng = queue_stream(seed, direction);
            let law = PyLaw::new(&make, spec.links.first().contexts()[direction], rng, faults.clone())?;
            Ok(Some(Box::new(law)))
        };
        let laws: Option<Laws> =
            make_laws.map(|(forth, back)| Ok::<_, PyErr>([law(forth, 0)?, law(back, 1)?])).transpose()?;
        let simulation =
            build(spec, seed, laws, watch).map_err(|error| SpecError::new_err(error.to_string()))?;
        Ok(Simulation { engine: Mutex::new(simulation), faults, capture: None })
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn aqmlab_sim::Simulation>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn with_controls(spec: &Spec, makers: ControlMakers, faults: &Faults) -> Spec {
    let responses = spec.tcp.profiles().map(|profile| match &profile.congestion {
        Algorithm::Custom(custom) => custom.marks(),
        _ => Marks::Echoed,
    });
    let makers = makers.into_iter().zip(responses);
    spec.with_controls(
        makers.map(|(make, marks)| Some(PyControl::maker(make?, marks, faults.clone()))).collect(),
    )
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (resolved, seed, make_laws = None, make_controls = None, capture = None))]
    fn new(
        resolved: &Resolved,
        seed: u64,
        make_laws: Option<Makers<'_>>,
        make_controls: Option<ControlMakers>,
        capture: Option<(f64, f64, u64)>,
    ) -> PyResult<Simulation> {
        let spec = resolved.spec();
        let capture = capture.map(|(from_s, until_s, packets)| {
            let [from, until] = [from_s, until_s].map(Time::from_secs_f64);
            Capture::new(spec, Bounds { from, until, packets })
        });
        let watch = capture.as_ref().map_or(Watch::Nothing, Watch::Capture);
        let simulation = Simulation::prepare(spec, seed, make_laws, make_controls, watch)?;
        Ok(Simulation { capture, ..simulation })
    }

    #[staticmethod]
    #[pyo3(signature = (resolved, seed, make_laws = None, make_controls = None, *, sources = None, row = None, slowest = 0))]
    fn explained(
        resolved: &Resolved,
        seed: u64,
        make_laws: Option<Makers<'_>>,
        make_controls: Option<ControlMakers>,
        sources: Option<Vec<u8>>,
        row: Option<u64>,
        slowest: usize,
    ) -> PyResult<Simulation> {
        Simulation::prepare(
            resolved.spec(),
            seed,
            make_laws,
            make_controls,
            Watch::Explain(&sources.unwrap_or_default(), TimelineRequest { row, slowest }),
        )
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.lock().now().as_secs_f64())
    }

    #[getter]
    fn end(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.lock().end().as_secs_f64())
    }

    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        py.detach(|| {
            let mut simulation = self.lock();
            let until = simulation.now() + Duration::from_secs_f64(seconds);
            simulation.advance(until);
        });
        self.faults.raise(py)
    }

    fn take(&self, py: Python<'_>, table: &str) -> PyResult<PyRecordBatch> {
        let batch = py.detach(|| self.lock().tables().take(table).map(tables::batch));
        batch.map(PyRecordBatch).ok_or_else(|| PyValueError::new_err(format!("no table is called {table}")))
    }

    fn take_capture(&self, py: Python<'_>) -> Vec<u8> {
        let Some(capture) = &self.capture else { return Vec::new() };
        py.detach(|| {
            let simulation = self.lock();
            if simulation.now() == simulation.end() {
                capture.finish();
            }
            capture.take()
        })
    }

    #[getter]
    fn capture_cut_s(&self) -> Option<f64> {
        self.capture.as_ref().and_then(Capture::cut).map(Time::as_secs_f64)
    }

    fn gauges(&self, py: Python<'_>) -> PyRecordBatch {
        PyRecordBatch(py.detach(|| tables::batch(self.lock().gauges().into_columns())))
    }

    fn response_times(&self, py: Python<'_>) -> PyRecordBatch {
        PyRecordBatch(py.detach(|| tables::batch(self.lock().response_times().into_columns())))
    }

    fn summary(&self, py: Python<'_>) -> String {
        py.detach(|| to_json(&self.lock().summary()))
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SpecError", module.py().get_type::<SpecError>())?;
    module.add_class::<Simulation>()?;
    module.add_class::<Resolved>()?;
    module.add_class::<resolved::Link>()?;
    module.add_class::<PyRecordBatch>()?;
    module.add_class::<qdisc::Qdisc>()?;
    module.add_class::<seen::LinkContext>()?;
    module.add_class::<seen::Packet>()?;
    module.add_class::<seen::QueueState>()?;
    module.add_class::<seen::Stream>()?;
    module.add_class::<seen_tcp::Ack>()?;
    module.add_class::<seen_tcp::Connection>()?;
    module.add_class::<seen_tcp::RateSample>()?;
    module.add_function(wrap_pyfunction!(resolved::bits_per_second, module)?)?;
    module.add_function(wrap_pyfunction!(resolved::seconds, module)?)?;
    module.add_function(wrap_pyfunction!(resolved::size_in_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(testbeds, module)?)?;
    module.add_function(wrap_pyfunction!(profiles, module)?)?;
    module.add_function(wrap_pyfunction!(schemas, module)?)?;
    module.add_function(wrap_pyfunction!(shipped, module)?)?;
    module.add_function(wrap_pyfunction!(engine_version, module)?)?;
    module.add_function(wrap_pyfunction!(results_number, module)?)
}
