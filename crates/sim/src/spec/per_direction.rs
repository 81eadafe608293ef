//! A value for both directions of a link, or one for each: `"20 Mbit/s"`, or `{ up = "20 Mbit/s", down = "250 Mbit/s" }`.

use std::fmt;
use std::marker::PhantomData;

use aqmlab_units::range::Ranged;
use aqmlab_units::{BitRate, Range};
use serde::de::value::{F64Deserializer, I64Deserializer, StringDeserializer, U64Deserializer};
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{SpecError, fault};
use crate::side::Direction;

/// The keys of the two directions. Up is direction 0: what side 0 sends.
pub(super) const DIRECTIONS: [&str; 2] = ["up", "down"];

pub(super) const RATE_EXPECTED: &str = "a bit rate such as \"100 Mbit/s\", or a table of up and down";

/// A value of both directions, or one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerDirection<T> {
    up: T,
    /// That of direction 1, where it is another.
    down: Option<T>,
}

/// A value of one direction, which may be a table itself.
pub(super) trait OneDirection: Sized {
    /// The keys of the two directions, and those of its own table.
    const KEYS: &'static [&'static str];
    /// The accepted values, for messages.
    const EXPECTED: &'static str;

    /// Reads its own table.
    fn from_table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error>;
}

impl OneDirection for BitRate {
    const KEYS: &'static [&'static str] = &DIRECTIONS;
    const EXPECTED: &'static str = RATE_EXPECTED;

    fn from_table<'de, A: MapAccess<'de>>(_: A) -> Result<BitRate, A::Error> {
        Err(A::Error::missing_field("up"))
    }
}

impl<T> From<T> for PerDirection<T> {
    fn from(both: T) -> PerDirection<T> {
        PerDirection { up: both, down: None }
    }
}

impl<T: PartialEq> PerDirection<T> {
    fn new(up: T, down: T) -> PerDirection<T> {
        let down = (down != up).then_some(down);
        PerDirection { up, down }
    }

    /// Returns the value of `direction`.
    pub(crate) fn of(&self, direction: Direction) -> &T {
        match &self.down {
            Some(down) if direction == Direction::REVERSE => down,
            _ => &self.up,
        }
    }

    /// Returns true if both directions have the same value.
    pub(crate) fn is_same(&self) -> bool {
        self.down.is_none()
    }

    /// Returns each value with its path, of this value at `path`.
    pub(super) fn each(&self, path: &str) -> Vec<(String, &T)> {
        match &self.down {
            None => vec![(path.to_owned(), &self.up)],
            Some(down) => DIRECTIONS
                .iter()
                .zip([&self.up, down])
                .map(|(key, of)| (format!("{path}.{key}"), of))
                .collect(),
        }
    }
}

impl<T: Copy> PerDirection<T> {
    /// Returns the values of direction 0 and of direction 1.
    pub fn both(self) -> [T; 2] {
        [self.up, self.down.unwrap_or(self.up)]
    }
}

/// Checks that the value at `path` lies in `range`.
pub(super) fn check_in_range<T: PartialOrd + Copy + fmt::Display>(
    path: &str,
    value: T,
    range: Range<T>,
) -> Result<(), SpecError> {
    if range.contains(&value) {
        return Ok(());
    }
    let must = range.map(|end| end.to_string()).told("");
    Err(fault(path, format!("must be {must}, got {value}")))
}

/// For the schema alone: each direction is checked with its path.
impl<T: Ranged> Ranged for PerDirection<T> {
    type Amount = T::Amount;

    fn amount(&self) -> Option<T::Amount> {
        None
    }

    fn written(end: T::Amount) -> aqmlab_units::range::Literal {
        T::written(end)
    }
}

impl<T: Serialize> Serialize for PerDirection<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(down) = &self.down else { return self.up.serialize(serializer) };
        let mut table = serializer.serialize_map(Some(DIRECTIONS.len()))?;
        for (key, value) in DIRECTIONS.iter().zip([&self.up, down]) {
            table.serialize_entry(key, value)?;
        }
        table.end()
    }
}

impl<'de, T: Deserialize<'de> + OneDirection + PartialEq> Deserialize<'de> for PerDirection<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PerDirection<T>, D::Error> {
        deserializer.deserialize_any(Form(PhantomData))
    }
}

/// Reads a key that is one of these.
struct Key(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let key = String::deserialize(deserializer)?;
        if self.0.contains(&key.as_str()) { Ok(key) } else { Err(Error::unknown_field(&key, self.0)) }
    }
}

/// A table whose first key has been read.
struct WithKey<A> {
    key: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithKey<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.key.take() {
            Some(key) => seed.deserialize(StringDeserializer::new(key)).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

struct Form<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + OneDirection + PartialEq> Visitor<'de> for Form<T> {
    type Value = PerDirection<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PerDirection<T>, E> {
        T::deserialize(text.into_deserializer()).map(PerDirection::from)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<PerDirection<T>, E> {
        T::deserialize(U64Deserializer::new(number)).map(PerDirection::from)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<PerDirection<T>, E> {
        T::deserialize(I64Deserializer::new(number)).map(PerDirection::from)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<PerDirection<T>, E> {
        T::deserialize(F64Deserializer::new(number)).map(PerDirection::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<PerDirection<T>, A::Error> {
        let mut key = table.next_key_seed(Key(T::KEYS))?;
        if let Some(of_one) = key.take_if(|key| !DIRECTIONS.contains(&key.as_str())) {
            let table = WithKey { key: Some(of_one), rest: table };
            return T::from_table(table).map(PerDirection::from);
        }
        let [mut up, mut down] = [None, None];
        while let Some(direction) = key {
            let value = if direction == DIRECTIONS[0] { &mut up } else { &mut down };
            *value = Some(table.next_value()?);
            key = table.next_key_seed(Key(&DIRECTIONS))?;
        }
        let missing = |name| A::Error::missing_field(name);
        Ok(PerDirection::new(up.ok_or_else(|| missing("up"))?, down.ok_or_else(|| missing("down"))?))
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for PerDirection<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("PerDirection{}", T::schema_name()).into()
    }

    /// The value itself, or a table of both, whose keys are beside those of the value's own table.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        // A part with a name of its own stays whole.
        if one.get("$ref").is_some() {
            let [up, down] = DIRECTIONS;
            let each = schemars::json_schema!({
                "type": "object",
                "properties": { up: one, down: one },
                "required": DIRECTIONS,
                "additionalProperties": false,
            });
            return schemars::json_schema!({ "anyOf": [one, each] });
        }
        let mut schema = one.clone();
        let own = schema.get("properties").and_then(|own| own.as_object().cloned()).unwrap_or_default();
        let properties = DIRECTIONS.map(|key| (key.to_owned(), one.clone().to_value()));
        let properties = properties.into_iter().chain(own).collect();
        // A value that may be a table itself says so already.
        if let Some(kind) = schema.get("type").and_then(|kind| kind.as_str()) {
            schema.insert("type".to_owned(), serde_json::json!([kind, "object"]));
        }
        schema.insert("properties".to_owned(), serde_json::Value::Object(properties));
        schema.insert("dependentRequired".to_owned(), serde_json::json!({ "up": ["down"], "down": ["up"] }));
        schema.insert("additionalProperties".to_owned(), false.into());
        schema.insert("minProperties".to_owned(), 1.into());
        schema.insert("maxProperties".to_owned(), DIRECTIONS.len().into());
        schema
    }
}
