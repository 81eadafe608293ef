//! The flows whose state is recorded: a period, or a table.

use std::fmt;

use aqmlab_units::range::from;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, ranges};
use serde::de::value::{F64Deserializer, I64Deserializer, MapAccessDeserializer, U64Deserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::tcp::check_source;
use super::{PERIODS, SourceSpec, SpecError, UsersSpec, fault, within};

/// The recorded flows: connections of sources and of web users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowsSpec {
    /// Time between two rows of a flow.
    pub every: Duration,
    /// The names of the sources; all when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
    /// The share of the web users, from 0 to 1.
    pub users: f64,
}

/// It as a table.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Flows", transform = with_ranges::<Table>))]
#[serde(deny_unknown_fields)]
struct Table {
    /// Time between two rows of a flow.
    every: Duration,
    /// The names of the sources; all when left out.
    #[serde(default)]
    sources: Option<Vec<String>>,
    /// The share of the web users.
    #[serde(default)]
    users: f64,
}

ranges! {
    Table { every: PERIODS, users: from(0.0).up_to(1.0) }
}

ranges! {
    FlowsSpec { every: PERIODS, users: from(0.0).up_to(1.0) }
}

const PATH: &str = "record.flows";

impl FlowsSpec {
    /// Checks that there is a flow to record.
    pub(super) fn check(&self, users: &UsersSpec, sources: &[SourceSpec]) -> Result<(), SpecError> {
        within(PATH, self)?;
        for (number, name) in self.sources.iter().flatten().enumerate() {
            check_source(&format!("{PATH}.sources[{number}]"), name, sources)?;
        }
        if self.users > 0.0 && users.per_side == 0 {
            return Err(fault(
                &format!("{PATH}.users"),
                format!("must be 0 without web users, got {}", self.users),
            ));
        }
        if self.users > 0.0 || sources.iter().any(|source| self.records(source)) {
            return Ok(());
        }
        let message = "must choose a source with connections, or web users such as `users = 0.1`".to_owned();
        Err(fault(PATH, message))
    }

    /// Returns true if it records the flows of `source`, which must have connections.
    pub fn records(&self, source: &SourceSpec) -> bool {
        let is_chosen = |names: &Vec<String>| names.iter().any(|name| name == source.config.name());
        let has_connections = source.config.datagrams().is_none();
        has_connections && self.sources.as_ref().is_none_or(is_chosen)
    }
}

impl From<Duration> for FlowsSpec {
    fn from(every: Duration) -> FlowsSpec {
        FlowsSpec { every, sources: None, users: 0.0 }
    }
}

impl<'de> Deserialize<'de> for FlowsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FlowsSpec, D::Error> {
        deserializer.deserialize_any(Form)
    }
}

struct Form;

impl<'de> Visitor<'de> for Form {
    type Value = FlowsSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"10 ms\", or a table of every, sources and users")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FlowsSpec, E> {
        Duration::deserialize(text.into_deserializer()).map(FlowsSpec::from)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<FlowsSpec, E> {
        Duration::deserialize(U64Deserializer::new(number)).map(FlowsSpec::from)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<FlowsSpec, E> {
        Duration::deserialize(I64Deserializer::new(number)).map(FlowsSpec::from)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<FlowsSpec, E> {
        Duration::deserialize(F64Deserializer::new(number)).map(FlowsSpec::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<FlowsSpec, A::Error> {
        let Table { every, sources, users } = Table::deserialize(MapAccessDeserializer::new(table))?;
        Ok(FlowsSpec { every, sources, users })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for FlowsSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RecordedFlows".into()
    }

    /// A time, or a table: `pattern` is of texts alone, `properties` of tables.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Duration::json_schema(generator);
        let table = Table::json_schema(generator);
        schema.insert("type".to_owned(), serde_json::json!(["string", "object"]));
        for key in ["properties", "required", "additionalProperties"] {
            schema.insert(key.to_owned(), table.get(key).cloned().expect("a table with such keys"));
        }
        schema
    }
}
