//! Parts of a spec read and checked: what is wrong is said with its path.

use aqmlab_units::range::Ranges;
use aqmlab_workload::WorkloadConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{SpecError, messages};

/// A table given by its name or in full.
pub(super) fn named_or_table<T>(
    path: &str,
    written: Value,
    shipped: impl Fn(&str) -> Result<T, aqmlab_workload::ConfigError>,
    table: impl Fn(&str, Value) -> Result<T, SpecError>,
) -> Result<T, SpecError> {
    match written {
        Value::String(name) => {
            shipped(&name).map_err(|error| fault(path, format!("{}, or write a table", error.message)))
        }
        written => table(path, written),
    }
}

/// A workload of users in full; the part that only one kind of model has tells which it is.
pub(super) fn workload_table(path: &str, table: Value) -> Result<WorkloadConfig, SpecError> {
    if table.get("resources").is_some() {
        read(path, table).map(Box::new).map(WorkloadConfig::Pages)
    } else {
        read(path, table).map(Box::new).map(WorkloadConfig::Web)
    }
}

/// Deserialise a part of the spec; errors name the field from the top.
pub(super) fn read<T: DeserializeOwned>(prefix: &str, part: Value) -> Result<T, SpecError> {
    serde_path_to_error::deserialize(part).map_err(|error| {
        let inner = error.path().to_string();
        let path = match (prefix, inner.as_str()) {
            ("", ".") => "spec".to_owned(),
            ("", inner) => inner.to_owned(),
            (prefix, ".") => prefix.to_owned(),
            (prefix, inner) => format!("{prefix}.{inner}"),
        };
        fault(&path, messages::in_words(&error.into_inner().to_string()))
    })
}

pub(super) fn fault(path: &str, message: String) -> SpecError {
    SpecError { path: path.to_owned(), message }
}

/// That the fields of the table at `path` lie in their ranges.
pub(crate) fn within(path: &str, table: &impl Ranges) -> Result<(), SpecError> {
    table.check_ranges().map_err(|outside| fault(&format!("{path}.{}", outside.field), outside.message))
}

pub(super) fn at_least<T: PartialOrd + std::fmt::Display + Copy>(
    path: &str,
    value: T,
    least: T,
) -> Result<(), SpecError> {
    if value < least { Err(fault(path, format!("must be at least {least}, got {value}"))) } else { Ok(()) }
}

pub(super) fn at_most<T: PartialOrd + std::fmt::Display + Copy>(
    path: &str,
    value: T,
    most: T,
) -> Result<(), SpecError> {
    if value > most { Err(fault(path, format!("must be at most {most}, got {value}"))) } else { Ok(()) }
}
