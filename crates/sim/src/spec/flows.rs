//! The flows whose state is recorded: a period or `changes`, or a table.

use std::fmt;

use aqmlab_units::range::{Literal, Ranged, from};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, ranges};
use serde::de::value::{F64Deserializer, I64Deserializer, MapAccessDeserializer, U64Deserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::tcp::check_source;
use super::{PERIODS, SourceSpec, SpecError, UsersSpec, fault, within};

/// The instants of a flow's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowInstants {
    /// At this period.
    Every(Duration),
    /// After each event that changes the state of congestion.
    Changes,
}

/// The text of [`FlowInstants::Changes`].
const CHANGES: &str = "changes";

/// The recorded flows: connections of sources and of web users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowsSpec {
    /// Time between two rows of a flow, or `changes`.
    pub every: FlowInstants,
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
    /// Time between two rows of a flow; or `"changes"`: a row after each event that changes a window, the pacing rate, the
    /// state, a count of lost, marked or repeated bytes, or a variable of the control; or that moves data 10 ms or more
    /// after the last row. Only in the simulator.
    every: FlowInstants,
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

impl From<FlowInstants> for FlowsSpec {
    fn from(every: FlowInstants) -> FlowsSpec {
        FlowsSpec { every, sources: None, users: 0.0 }
    }
}

/// The range is that of periods.
impl Ranged for FlowInstants {
    type Amount = Duration;

    fn amount(&self) -> Option<Duration> {
        match self {
            FlowInstants::Every(period) => Some(*period),
            FlowInstants::Changes => None,
        }
    }

    fn written(end: Duration) -> Literal {
        Duration::written(end)
    }
}

impl Serialize for FlowInstants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FlowInstants::Every(period) => period.serialize(serializer),
            FlowInstants::Changes => serializer.serialize_str(CHANGES),
        }
    }
}

impl<'de> Deserialize<'de> for FlowInstants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FlowInstants, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if value == CHANGES {
            return Ok(FlowInstants::Changes);
        }
        let is_word =
            value.as_str().is_some_and(|text| !text.contains(|letter: char| letter.is_ascii_digit()));
        Duration::deserialize(value).map(FlowInstants::Every).map_err(|error| {
            D::Error::custom(if is_word { format!("{error}, or \"{CHANGES}\"") } else { error.to_string() })
        })
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
        f.write_str("a time such as \"10 ms\", \"changes\", or a table of every, sources and users")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FlowsSpec, E> {
        FlowInstants::deserialize(text.into_deserializer()).map(FlowsSpec::from)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<FlowsSpec, E> {
        FlowInstants::deserialize(U64Deserializer::new(number)).map(FlowsSpec::from)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<FlowsSpec, E> {
        FlowInstants::deserialize(I64Deserializer::new(number)).map(FlowsSpec::from)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<FlowsSpec, E> {
        FlowInstants::deserialize(F64Deserializer::new(number)).map(FlowsSpec::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<FlowsSpec, A::Error> {
        let Table { every, sources, users } = Table::deserialize(MapAccessDeserializer::new(table))?;
        Ok(FlowsSpec { every, sources, users })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for FlowInstants {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FlowInstants".into()
    }

    /// A time, or one word.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Duration::json_schema(generator);
        let period = schema.get("pattern").and_then(|pattern| pattern.as_str()).unwrap_or_default();
        let pattern = format!("{period}|^{CHANGES}$");
        schema.insert("pattern".to_owned(), pattern.into());
        schema.insert("words".to_owned(), serde_json::json!([CHANGES]));
        schema
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

    /// A text, or a table: `pattern` is of texts alone, `properties` of tables.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = FlowInstants::json_schema(generator);
        let table = Table::json_schema(generator);
        schema.insert("type".to_owned(), serde_json::json!(["string", "object"]));
        for key in ["properties", "required", "additionalProperties"] {
            schema.insert(key.to_owned(), table.get(key).cloned().expect("a table with such keys"));
        }
        schema
    }
}
