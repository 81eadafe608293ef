//! Traffic beside the web users.

use std::collections::HashSet;

use aqmlab_units::Bytes;
use aqmlab_workload::sources::SourceConfig;
use serde_json::Value;

use super::{SpecError, at_most, fault, read};
use crate::packet::HEADERS;

/// Sources are numbered in eight bits, and 0 stands for the web users.
const MOST_SOURCES: usize = 255;

pub(super) fn read_sources(written: Vec<Value>, mtu: Bytes) -> Result<Vec<SourceConfig>, SpecError> {
    at_most("sources", written.len(), MOST_SOURCES)?;
    let mut names = HashSet::new();
    let mut sources = Vec::new();
    for (number, value) in written.into_iter().enumerate() {
        let path = format!("sources[{number}]");
        let source: SourceConfig = read(&path, value)?;
        source.check().map_err(|error| fault(&format!("{path}.{}", error.path), error.message))?;
        if !names.insert(source.name().to_owned()) {
            let message = format!("must differ from that of every other source, got `{}`", source.name());
            return Err(fault(&format!("{path}.{}.name", source.kind()), message));
        }
        if let SourceConfig::Datagrams(datagrams) = &source
            && !(HEADERS..=mtu.get()).contains(&datagrams.packet.get())
        {
            let message =
                format!("must be between {HEADERS} B and link.mtu = {mtu}, got {}", datagrams.packet);
            return Err(fault(&format!("{path}.datagrams.packet"), message));
        }
        sources.push(source);
    }
    Ok(sources)
}
