//! Configurations and the catalogue in JSON and TOML.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;
use std::str::FromStr;

use aqmlab_units::Range;
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserializer, Serialize, Serializer};

use super::{Allowed, Parameter, Settable, Value};
use crate::Settings;

/// Write a configuration: its parameters in their order.
pub(crate) fn write<C: Settings, S: Serializer>(config: &C, serializer: S) -> Result<S::Ok, S::Error> {
    let mut parameters = config.parameters();
    parameters.retain(|parameter| parameter.is_written);
    let mut map = serializer.serialize_map(Some(parameters.len()))?;
    for Parameter { name, value, .. } in &parameters {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

/// Read a configuration; parameters that are absent keep their defaults.
pub(crate) fn read<'de, C: Settings, D: Deserializer<'de>>(deserializer: D) -> Result<C, D::Error> {
    deserializer.deserialize_map(ConfigVisitor(PhantomData))
}

struct ConfigVisitor<C>(PhantomData<C>);

impl<'de, C: Settings> Visitor<'de> for ConfigVisitor<C> {
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of parameters")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<C, M::Error> {
        let mut config = C::default();
        while let Some(name) = map.next_key::<String>()? {
            if !config.read(&name, &mut map)? {
                let known: Vec<String> =
                    config.parameters().iter().map(|parameter| format!("`{}`", parameter.name)).collect();
                let one_of = if known.len() == 1 { "" } else { "one of " };
                let known = known.join(", ");
                let message = format!("unknown field `{name}`, expected {one_of}{known}");
                match map.next_value_seed(UnknownField(message))? {}
            }
        }
        Ok(config)
    }
}

/// Read a value that is written as a name, or as a number with a unit.
pub(crate) fn text_with_unit<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(TextVisitor(PhantomData))
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text with a unit")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    // The parser refuses a number without a unit, and gives an example with one.
    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// An error at the value of an unknown key, so that the path of the error includes the key.
struct UnknownField(String);

impl<'de> DeserializeSeed<'de> for UnknownField {
    type Value = Infallible;

    fn deserialize<D: Deserializer<'de>>(self, _: D) -> Result<Infallible, D::Error> {
        Err(D::Error::custom(self.0))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Automatic => serializer.serialize_none(),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Whole(number) => serializer.serialize_u32(*number),
            Value::Number(number) => serializer.serialize_f64(*number),
            Value::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Parameter", 7)?;
        row.serialize_field("name", self.name)?;
        row.serialize_field("unit", self.unit)?;
        row.serialize_field("default", &self.value.to_string())?;
        row.serialize_field("meaning", &self.meaning)?;
        row.serialize_field("source", self.source)?;
        row.serialize_field("tc", &self.tc)?;
        row.serialize_field("schema", &Schema(self))?;
        row.end()
    }
}

/// The values that a parameter accepts, as JSON Schema. The ends of quantities are texts, as quantities are.
struct Schema<'a>(&'a Parameter);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Schema(parameter) = self;
        let mut schema = serializer.serialize_map(None)?;
        schema.serialize_entry("description", &parameter.meaning)?;
        write_allowed(&mut schema, &parameter.allowed)?;
        if parameter.value != Value::Automatic {
            schema.serialize_entry("default", &parameter.value)?;
        }
        schema.serialize_entry("unit", parameter.unit)?;
        schema.end()
    }
}

fn write_allowed<M: SerializeMap>(schema: &mut M, allowed: &Allowed) -> Result<(), M::Error> {
    match allowed {
        Allowed::Flag => schema.serialize_entry("type", "boolean"),
        Allowed::Choice(choices) => {
            let values = choices
                .iter()
                .map(|choice| BTreeMap::from([("const", choice.name), ("description", choice.meaning)]));
            schema.serialize_entry("oneOf", &values.collect::<Vec<_>>())
        }
        Allowed::Whole(range) => write_range(schema, "integer", *range),
        Allowed::Number(range) => write_range(schema, "number", *range),
        Allowed::Time(range) => write_range(schema, "string", *range),
        Allowed::Size(range) => write_range(schema, "string", *range),
        Allowed::SignedSize(range) => write_range(schema, "string", *range),
        Allowed::Rate(range) => write_range(schema, "string", *range),
        Allowed::Named(names, allowed) => {
            let names: Vec<&str> = names.iter().map(|choice| choice.name).collect();
            schema.serialize_entry("examples", &names)?;
            write_allowed(schema, allowed)
        }
        Allowed::Limit => schema.serialize_entry("type", &["integer", "string"]),
        Allowed::PacketNumbers => schema.serialize_entry("type", "string"),
        Allowed::Automatic(allowed) => write_allowed(schema, allowed),
    }
}

fn write_range<M: SerializeMap, T: Settable + Copy>(
    schema: &mut M,
    kind: &str,
    range: Range<T>,
) -> Result<(), M::Error> {
    schema.serialize_entry("type", kind)?;
    let ends = range.map(|end| end.value());
    for (end, included, excluded) in
        [(ends.least, "minimum", "exclusiveMinimum"), (ends.most, "maximum", "exclusiveMaximum")]
    {
        match end {
            Bound::Included(end) => schema.serialize_entry(included, &end)?,
            Bound::Excluded(end) => schema.serialize_entry(excluded, &end)?,
            Bound::Unbounded => {}
        }
    }
    Ok(())
}
