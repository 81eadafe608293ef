//! Traffic beside the web users.

use std::collections::HashSet;

use aqmlab_units::Bytes;
use aqmlab_workload::sources::SourceConfig;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{PathSpec, SpecError, at_most, fault, read};
use crate::packet::HEADERS;

/// Sources are numbered in eight bits, and 0 stands for the web users.
const MOST_SOURCES: usize = 255;

/// A source of traffic, and in a chain of links its way: `{"bulk": {"flows": 10, "path": [1, 3]}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// What it sends.
    pub config: SourceConfig,
    /// Where; in a chain of links alone.
    pub path: Option<PathSpec>,
}

impl SourceSpec {
    /// The sources of a spec whose chain has `links` links.
    pub(super) fn read_all(
        written: Vec<Value>,
        mtu: Bytes,
        links: usize,
    ) -> Result<Vec<SourceSpec>, SpecError> {
        at_most("sources", written.len(), MOST_SOURCES)?;
        let mut names = HashSet::new();
        let mut sources = Vec::new();
        for (number, value) in written.into_iter().enumerate() {
            let source = SourceSpec::read(&format!("sources[{number}]"), value, mtu, links)?;
            let (name, kind) = (source.config.name(), source.config.kind());
            if !names.insert(name.to_owned()) {
                let message = format!("must differ from that of every other source, got `{name}`");
                return Err(fault(&format!("sources[{number}].{kind}.name"), message));
            }
            sources.push(source);
        }
        Ok(sources)
    }

    fn read(path: &str, mut written: Value, mtu: Bytes, links: usize) -> Result<SourceSpec, SpecError> {
        // What a source sends knows nothing of where: the path is taken out of its table.
        let table = written.as_object_mut().and_then(|kinds| kinds.values_mut().next());
        let way = table.and_then(Value::as_object_mut).and_then(|table| table.remove("path"));
        let config: SourceConfig = read(path, written)?;
        config.check().map_err(|error| fault(&format!("{path}.{}", error.path), error.message))?;
        if let SourceConfig::Datagrams(datagrams) = &config
            && !(HEADERS..=mtu.get()).contains(&datagrams.packet.get())
        {
            let message =
                format!("must be between {HEADERS} B and link.mtu = {mtu}, got {}", datagrams.packet);
            return Err(fault(&format!("{path}.datagrams.packet"), message));
        }
        let way = PathSpec::read(&format!("{path}.{}.path", config.kind()), way, links)?;
        Ok(SourceSpec { config, path: way })
    }
}

impl Serialize for SourceSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(path) = self.path else { return self.config.serialize(serializer) };
        let mut whole = serde_json::to_value(&self.config).map_err(serde::ser::Error::custom)?;
        let path = serde_json::to_value(path).map_err(serde::ser::Error::custom)?;
        whole[self.config.kind()]["path"] = path;
        whole.serialize(serializer)
    }
}
