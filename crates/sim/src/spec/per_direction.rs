//! A value for both directions of a link, or one for each: `"20 Mbit/s"`, or `{ up = "20 Mbit/s", down = "250 Mbit/s" }`.

use std::fmt;
use std::marker::PhantomData;

use aqmlab_units::range::{Literal, Ranged};
use aqmlab_units::{BitRate, Range};
use serde::de::value::{F64Deserializer, I64Deserializer, U64Deserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{SpecError, fault};
use crate::side::Direction;

/// The keys of the two directions. Up is direction 0: what side 0 sends.
pub(super) const DIRECTIONS: [&str; 2] = ["up", "down"];

/// A value of both directions, or one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerDirection<T> {
    up: T,
    /// That of direction 1, where it is another.
    down: Option<T>,
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

impl PerDirection<BitRate> {
    /// Checks that each rate lies in `range`.
    pub(super) fn check(&self, path: &str, range: Range<BitRate>) -> Result<(), SpecError> {
        match self.each(path).into_iter().find(|(_, rate)| !range.contains(rate)) {
            None => Ok(()),
            Some((path, rate)) => {
                let must = range.map(|end| end.to_string()).told("");
                Err(fault(&path, format!("must be {must}, got {rate}")))
            }
        }
    }
}

/// For the schema alone: [`PerDirection::check`] checks both directions.
impl Ranged for PerDirection<BitRate> {
    type Amount = BitRate;

    fn amount(&self) -> Option<BitRate> {
        None
    }

    fn written(end: BitRate) -> Literal {
        BitRate::written(end)
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

impl<'de, T: Deserialize<'de> + PartialEq> Deserialize<'de> for PerDirection<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PerDirection<T>, D::Error> {
        deserializer.deserialize_any(Form(PhantomData))
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Up,
    Down,
}

struct Form<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + PartialEq> Visitor<'de> for Form<T> {
    type Value = PerDirection<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bit rate such as \"100 Mbit/s\", or a table of up and down")
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
        let [mut up, mut down] = [None, None];
        while let Some(key) = table.next_key()? {
            match key {
                Key::Up => up = Some(table.next_value()?),
                Key::Down => down = Some(table.next_value()?),
            }
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

    /// The value itself, or a table of both: `pattern` is of texts alone, `properties` of tables.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        let mut schema = one.clone();
        schema.insert("type".to_owned(), serde_json::json!(["string", "object"]));
        let properties = DIRECTIONS.map(|key| (key.to_owned(), one.clone().to_value()));
        schema.insert("properties".to_owned(), serde_json::Value::Object(properties.into_iter().collect()));
        schema.insert("required".to_owned(), serde_json::json!(DIRECTIONS));
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }
}
