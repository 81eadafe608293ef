//! The queue discipline of a spec: one of the catalogue, or a custom law, which the caller brings.
//!
//! `{"red": {"min_th": 5}}` is of the catalogue. A name with a colon, as in `{"my_module:MyLaw": {"q_ref": 24}}`, is not:
//! the engine reads the limit of its queue, keeps the rest of its table as it is, so that it is part of the resolved
//! spec, and takes the law itself from whoever builds the run ([`crate::build`]).

use aqmlab_aqm::{Limit, LinkContext, QueueConfig};
use aqmlab_units::Bytes;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{LinkSpec, SpecError, fault, read};

/// The queue discipline at each end of the link.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum QueueSpec {
    /// One of the catalogue.
    Known(QueueConfig),
    /// A custom law.
    Custom(CustomLaw),
}

/// A law that the caller brings, and its table in the spec.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomLaw {
    /// What the caller calls it, with a colon in it.
    pub name: String,
    /// The most that may wait. Unless given, 10,000 packets: enough never to drop for want of room.
    pub limit: Limit,
    /// What else its table says; the engine does not look at it.
    pub parameters: Map<String, Value>,
}

impl QueueSpec {
    /// Read `{"name": {"parameter": value}}`, with its automatic values filled in for `link`, checked.
    pub fn read(written: Value, link: &LinkContext) -> Result<QueueSpec, SpecError> {
        QueueSpec::read_at("queue", written, link)
    }

    /// The same for one that stands at `path`.
    fn read_at(path: &str, written: Value, link: &LinkContext) -> Result<QueueSpec, SpecError> {
        let Some((name, parameters)) = only_entry(&written) else {
            let message =
                format!("must be one law with its parameters, such as {{\"red\": {{}}}}, got {written}");
            return Err(fault(path, message));
        };
        if name.contains(':') {
            return CustomLaw::read(path, name.clone(), parameters.clone()).map(QueueSpec::Custom);
        }
        let config: QueueConfig = read(path, written)?;
        let resolved = config.resolve(link);
        resolved
            .map(QueueSpec::Known)
            .map_err(|error| fault(&format!("{path}.{}.{}", config.name(), error.field), error.message))
    }

    /// That of the catalogue, for those who cannot bring a law.
    pub(crate) fn known(&self) -> Result<&QueueConfig, SpecError> {
        match self {
            QueueSpec::Known(config) => Ok(config),
            QueueSpec::Custom(custom) => {
                let message = "is a custom law, which the caller has to bring".to_owned();
                Err(SpecError { path: format!("queue.{}", custom.name), message })
            }
        }
    }

    /// What it is called in a spec.
    pub fn name(&self) -> &str {
        match self {
            QueueSpec::Known(config) => config.name(),
            QueueSpec::Custom(custom) => &custom.name,
        }
    }

    /// The most that may wait.
    pub fn limit(&self) -> Limit {
        match self {
            QueueSpec::Known(config) => config.limit(),
            QueueSpec::Custom(custom) => custom.limit,
        }
    }
}

/// The queues of both directions of a link as they are written, each with its path.
#[derive(Clone)]
pub(super) struct QueuePair {
    forth: (String, Value),
    back: (String, Value),
}

impl QueuePair {
    /// That of both directions stands at `path`, unless direction 1 has another, beside it.
    pub(super) fn new(path: &str, written: Value, back: Option<Value>) -> QueuePair {
        let forth = (path.to_owned(), written);
        let back = back.map_or_else(|| forth.clone(), |back| (format!("{path}_back"), back));
        QueuePair { forth, back }
    }

    /// The same with the queue of direction 1 that is written at `path`, if one is.
    pub(super) fn with_back(self, path: &str, written: Option<Value>) -> QueuePair {
        let back = written.map_or(self.back, |written| (path.to_owned(), written));
        QueuePair { back, ..self }
    }

    /// Read the queues at both ends of `link`; that of direction 1 apart if it differs, be it in automatic values alone.
    pub(super) fn read(self, link: &LinkSpec) -> Result<(QueueSpec, Option<QueueSpec>), SpecError> {
        let [forth_link, back_link] = link.contexts();
        let forth = QueueSpec::read_at(&self.forth.0, self.forth.1, &forth_link)?;
        let back = QueueSpec::read_at(&self.back.0, self.back.1, &back_link)?;
        let differs = back != forth;
        Ok((forth, differs.then_some(back)))
    }
}

fn only_entry(written: &Value) -> Option<(&String, &Value)> {
    written.as_object().filter(|table| table.len() == 1)?.iter().next()
}

impl CustomLaw {
    fn read(place: &str, name: String, table: Value) -> Result<CustomLaw, SpecError> {
        let mut parameters: Map<String, Value> = read(&format!("{place}.{name}"), table)?;
        let path = format!("{place}.{name}.limit");
        let limit = match parameters.remove("limit") {
            Some(limit) => read(&path, limit)?,
            None => Limit::Packets(10_000),
        };
        if matches!(limit, Limit::Packets(0) | Limit::Bytes(Bytes::ZERO)) {
            return Err(fault(&path, format!("must be at least 1 packet or 1 B, got {limit}")));
        }
        Ok(CustomLaw { name, limit, parameters })
    }
}

impl Serialize for CustomLaw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = self.parameters.clone();
        table.insert("limit".to_owned(), self.limit.to_string().into());
        serializer.collect_map([(&self.name, table)])
    }
}
