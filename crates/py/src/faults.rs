//! Errors of Python code that the engine calls.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// The first error of the laws and congestion controls of one run.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Option<PyErr>>>);

impl Faults {
    pub(crate) fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Raise the error, if there was one, now and ever after.
    pub(crate) fn raise(&self, py: Python<'_>) -> PyResult<()> {
        let error = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        error.as_ref().map_or(Ok(()), |error| Err(error.clone_ref(py)))
    }
}

/// The error that a function of `aqmlab.disciplines.custom.errors` makes.
pub(crate) fn told<'py>(py: Python<'py>, function: &str, arguments: impl PyCallArgs<'py>) -> PyErr {
    let error = py
        .import("aqmlab.disciplines.custom.errors")
        .and_then(|errors| errors.call_method1(function, arguments));
    error.map_or_else(|error| error, PyErr::from_value)
}
