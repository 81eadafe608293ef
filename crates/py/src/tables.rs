//! The engine's columns as Arrow record batches; the data are moved, not copied.

use std::sync::Arc;

use aqmlab_sim::{
    ExchangeTable, ExplanationTable, LinkTable, LossTable, QueueTable, ResponseBin, Tables, TimelineTable,
};
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

/// The rows of one table since they were last taken; `None` when there is no such table.
pub(crate) fn take(tables: &mut Tables, name: &str) -> Option<RecordBatch> {
    match name {
        "queue" => Some(queue(std::mem::take(&mut tables.queue))),
        "link" => Some(link(std::mem::take(&mut tables.link))),
        "exchanges" => Some(exchanges(std::mem::take(&mut tables.exchanges))),
        "losses" => Some(losses(std::mem::take(&mut tables.losses))),
        "explanations" => Some(explanations(std::mem::take(&mut tables.explanations))),
        "timelines" => Some(timelines(std::mem::take(&mut tables.timelines))),
        _ => None,
    }
}

fn queue(table: QueueTable) -> RecordBatch {
    let is_chain = !table.link.is_empty();
    let time = [("time_s", array::<Float64Array, _>(table.time_s), false)];
    let fixed = [
        ("direction", array::<UInt8Array, _>(table.direction), false),
        ("packets", array::<UInt32Array, _>(table.packets), false),
        ("bytes", array::<UInt64Array, _>(table.bytes), false),
    ];
    // The links of a chain may have different laws: a variable is null where a law has none of that name.
    let shown = |value: f64| (!is_chain || !value.is_nan()).then_some(value);
    let variables = table.variables.into_iter().map(|(name, values)| {
        let values: Float64Array = values.into_iter().map(shown).collect();
        (name, Arc::new(values) as ArrayRef, is_chain)
    });
    nullable_batch(time.into_iter().chain(number_of(table.link)).chain(fixed).chain(variables))
}

/// The column of links' numbers, which only chains have.
fn number_of<'a>(link: Vec<u8>) -> Option<(&'a str, ArrayRef, bool)> {
    (!link.is_empty()).then(|| ("link", array::<UInt8Array, _>(link), false))
}

fn link(table: LinkTable) -> RecordBatch {
    let time = [("time_s", array::<Float64Array, _>(table.time_s), false)];
    let counted = [
        ("direction", array::<UInt8Array, _>(table.direction), false),
        ("arrived", array::<UInt64Array, _>(table.arrived), false),
        ("packets", array::<UInt64Array, _>(table.packets), false),
        ("bytes", array::<UInt64Array, _>(table.bytes), false),
        ("drops", array::<UInt64Array, _>(table.drops), false),
        ("marks", array::<UInt64Array, _>(table.marks), false),
    ];
    nullable_batch(time.into_iter().chain(number_of(table.link)).chain(counted))
}

fn exchanges(table: ExchangeTable) -> RecordBatch {
    batch([
        ("start_s", array::<Float64Array, _>(table.start_s)),
        ("response_time_ms", array::<Float64Array, _>(table.response_time_ms)),
        ("request_bytes", array::<UInt32Array, _>(table.request_bytes)),
        ("response_bytes", array::<UInt32Array, _>(table.response_bytes)),
        ("source", array::<UInt8Array, _>(table.source)),
        ("side", array::<UInt8Array, _>(table.side)),
        ("first_on_connection", array::<BooleanArray, _>(table.first_on_connection)),
        ("persistent", array::<BooleanArray, _>(table.persistent)),
        ("syn_retransmits", array::<UInt16Array, _>(table.syn_retransmits)),
        ("timeouts", array::<UInt16Array, _>(table.timeouts)),
        ("fast_retransmits", array::<UInt16Array, _>(table.fast_retransmits)),
        ("ecn_reductions", array::<UInt16Array, _>(table.ecn_reductions)),
    ])
}

fn losses(table: LossTable) -> RecordBatch {
    batch([
        ("time_s", array::<Float64Array, _>(table.time_s)),
        ("direction", array::<UInt8Array, _>(table.direction)),
        ("source", array::<UInt8Array, _>(table.source)),
        ("flow", array::<UInt32Array, _>(table.flow)),
    ])
}

fn explanations(table: ExplanationTable) -> RecordBatch {
    let known = [
        ("start_ns", array::<UInt64Array, _>(table.start_ns)),
        ("response_time_ns", array::<UInt64Array, _>(table.response_time_ns)),
        ("request_bytes", array::<UInt32Array, _>(table.request_bytes)),
        ("response_bytes", array::<UInt32Array, _>(table.response_bytes)),
        ("side", array::<UInt8Array, _>(table.side)),
        ("first_on_connection", array::<BooleanArray, _>(table.first_on_connection)),
        ("losses", array::<UInt32Array, _>(table.losses)),
        ("marks", array::<UInt32Array, _>(table.marks)),
        ("syn_retransmits", array::<UInt16Array, _>(table.syn_retransmits)),
        ("timeouts", array::<UInt16Array, _>(table.timeouts)),
        ("fast_retransmits", array::<UInt16Array, _>(table.fast_retransmits)),
        ("ecn_reductions", array::<UInt16Array, _>(table.ecn_reductions)),
    ];
    let parts = table.parts.into_iter().map(|(name, nanos)| (name, array::<UInt64Array, _>(nanos)));
    batch(known.into_iter().chain(parts))
}

fn timelines(table: TimelineTable) -> RecordBatch {
    batch([
        ("request", array::<UInt64Array, _>(table.request)),
        ("time_ns", array::<UInt64Array, _>(table.time_ns)),
        ("place", array::<StringArray, _>(table.place)),
        ("event", array::<StringArray, _>(table.event)),
        ("segment", array::<StringArray, _>(table.segment)),
        ("sender", array::<StringArray, _>(table.sender)),
        ("offset", array::<UInt32Array, _>(table.offset)),
        ("bytes", array::<UInt32Array, _>(table.bytes)),
        ("waited_ns", array::<UInt64Array, _>(table.waited_ns)),
        ("cwnd", array::<UInt32Array, _>(table.cwnd)),
    ])
}

/// The histogram of response times.
pub(crate) fn response_times(bins: &[ResponseBin]) -> RecordBatch {
    let whole =
        |read: fn(&ResponseBin) -> u64| array::<UInt64Array, _>(bins.iter().map(read).collect::<Vec<u64>>());
    let millis =
        |read: fn(&ResponseBin) -> f64| array::<Float64Array, _>(bins.iter().map(read).collect::<Vec<f64>>());
    batch([
        ("size_low_bytes", whole(|bin| bin.size_low_bytes)),
        ("size_high_bytes", whole(|bin| bin.size_high_bytes)),
        ("time_low_ms", millis(|bin| bin.time_low_ms)),
        ("time_high_ms", millis(|bin| bin.time_high_ms)),
        ("count", whole(|bin| bin.count)),
    ])
}

fn array<A: Array + From<V> + 'static, V>(values: V) -> ArrayRef {
    Arc::new(A::from(values))
}

fn batch<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> RecordBatch {
    nullable_batch(columns.into_iter().map(|(name, array)| (name, array, false)))
}

/// Columns with a word on whether they may hold nulls.
fn nullable_batch<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef, bool)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one table have the same length")
}
