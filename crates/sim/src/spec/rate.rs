//! The rate of one direction of a link: a bit rate, or a kind of capacity with its values.

use std::fmt;

use aqmlab_aqm::Peak;
use aqmlab_units::range::{Literal, Ranged};
use aqmlab_units::{BitRate, Bytes, Time};
use serde::de::value::{F64Deserializer, I64Deserializer, MapAccessDeserializer, U64Deserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::SpecError;
use super::link::RATES;
use super::per_direction::{OneDirection, RATE_EXPECTED, check_in_range};
use crate::link::{CapacitySpec, Streams};

/// The rate of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RateSpec {
    /// A bit rate.
    Constant(BitRate),
    /// A kind of capacity.
    Kind(CapacitySpec),
}

impl From<BitRate> for RateSpec {
    fn from(rate: BitRate) -> RateSpec {
        RateSpec::Constant(rate)
    }
}

impl RateSpec {
    /// Returns the kind of capacity, unless it is a bit rate.
    pub(crate) fn kind(&self) -> Option<&CapacitySpec> {
        match self {
            RateSpec::Constant(_) => None,
            RateSpec::Kind(kind) => Some(kind),
        }
    }

    /// Returns the mean rate: loads and utilization refer to it.
    pub fn mean(&self) -> BitRate {
        match self {
            RateSpec::Constant(rate) => *rate,
            RateSpec::Kind(kind) => kind.rate(),
        }
    }

    /// Returns the rate at which the queue is emptied, which its discipline knows.
    pub(crate) fn drain(&self) -> BitRate {
        match self {
            RateSpec::Constant(rate) => *rate,
            RateSpec::Kind(kind) => kind.drain_rate(),
        }
    }

    /// Returns the bursts above that rate, which its discipline knows too.
    pub(crate) fn peak(&self) -> Option<Peak> {
        match self {
            RateSpec::Constant(_) => None,
            RateSpec::Kind(kind) => kind.peak(),
        }
    }

    pub(super) fn fastest(&self) -> BitRate {
        match self {
            RateSpec::Constant(rate) => *rate,
            RateSpec::Kind(kind) => kind.fastest(),
        }
    }

    /// Returns the bits that can be sent from `start` to `end`.
    pub(super) fn bits_between(&self, start: Time, end: Time, streams: &Streams) -> f64 {
        match self {
            RateSpec::Constant(rate) => {
                end.saturating_since(start).as_secs_f64() * rate.bits_per_sec() as f64
            }
            RateSpec::Kind(kind) => kind.bits_between(start, end, streams),
        }
    }

    /// Checks the rate at `path` of a link whose longest frame is `frame`.
    pub(super) fn check(&self, path: &str, frame: Bytes) -> Result<(), SpecError> {
        match self {
            RateSpec::Constant(rate) => check_in_range(path, *rate, RATES),
            RateSpec::Kind(kind) => kind.check(path, frame),
        }
    }
}

/// For the schema alone, which describes the bit rate.
impl Ranged for RateSpec {
    type Amount = BitRate;

    fn amount(&self) -> Option<BitRate> {
        None
    }

    fn written(end: BitRate) -> Literal {
        BitRate::written(end)
    }
}

impl OneDirection for RateSpec {
    const KEYS: &'static [&'static str] = CapacitySpec::KEYS;
    const EXPECTED: &'static str = RATE_EXPECTED;

    fn from_table<'de, A: MapAccess<'de>>(table: A) -> Result<RateSpec, A::Error> {
        CapacitySpec::deserialize(MapAccessDeserializer::new(table)).map(RateSpec::Kind)
    }
}

impl<'de> Deserialize<'de> for RateSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RateSpec, D::Error> {
        deserializer.deserialize_any(Form)
    }
}

struct Form;

impl<'de> Visitor<'de> for Form {
    type Value = RateSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bit rate such as \"100 Mbit/s\", or a table of one kind of capacity")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RateSpec, E> {
        BitRate::deserialize(text.into_deserializer()).map(RateSpec::Constant)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<RateSpec, E> {
        BitRate::deserialize(U64Deserializer::new(number)).map(RateSpec::Constant)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<RateSpec, E> {
        BitRate::deserialize(I64Deserializer::new(number)).map(RateSpec::Constant)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<RateSpec, E> {
        BitRate::deserialize(F64Deserializer::new(number)).map(RateSpec::Constant)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RateSpec, A::Error> {
        RateSpec::from_table(table)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RateSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rate".into()
    }

    /// A bit rate, or a table of one kind: `pattern` is of texts alone, `properties` of tables.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = BitRate::json_schema(generator);
        let kinds = CapacitySpec::json_schema(generator);
        let forms = kinds.get("oneOf").and_then(|forms| forms.as_array()).into_iter().flatten();
        let tables = forms.filter_map(|form| form["properties"].as_object().cloned()).flatten();
        schema.insert("type".to_owned(), serde_json::json!(["string", "object"]));
        schema.insert("properties".to_owned(), serde_json::Value::Object(tables.collect()));
        schema.insert("additionalProperties".to_owned(), false.into());
        schema.insert("minProperties".to_owned(), 1.into());
        schema.insert("maxProperties".to_owned(), 1.into());
        schema
    }
}
