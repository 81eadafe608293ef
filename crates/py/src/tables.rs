//! The engine's columns as Arrow record batches; the data are moved, not copied.

use std::sync::Arc;

use aqmlab_sim::{Column, Values};
use arrow_array::ffi::to_ffi;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, StructArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table for any Arrow library, by the Arrow `PyCapsule` interface.
#[pyclass(frozen, name = "RecordBatch")]
pub(crate) struct PyRecordBatch(pub(crate) RecordBatch);

#[pymethods]
impl PyRecordBatch {
    /// Schema and data as the capsules `arrow_schema` and `arrow_array`.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface lets a producer that knows one schema only pass over the request.
        drop(requested_schema);
        let columns = StructArray::from(self.0.clone());
        let (array, schema) =
            to_ffi(&columns.to_data()).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((schema, array))
    }
}

/// Columns of one table.
pub(crate) fn batch(columns: Vec<Column>) -> RecordBatch {
    let columns = columns.into_iter().map(|Column { name, values }| {
        let may_lack = matches!(values, Values::SomeF64(_));
        (name, array(values), may_lack)
    });
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one table have the same length")
}

fn array(values: Values) -> ArrayRef {
    match values {
        Values::Bool(values) => Arc::new(BooleanArray::from(values)),
        Values::U8(values) => Arc::new(UInt8Array::from(values)),
        Values::U16(values) => Arc::new(UInt16Array::from(values)),
        Values::U32(values) => Arc::new(UInt32Array::from(values)),
        Values::U64(values) => Arc::new(UInt64Array::from(values)),
        Values::F64(values) => Arc::new(Float64Array::from(values)),
        Values::SomeF64(values) => Arc::new(Float64Array::from(values)),
        Values::Text(values) => Arc::new(StringArray::from(values)),
    }
}
