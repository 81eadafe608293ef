//! The accepted text of a quantity, as JSON Schema: text, with the kind of quantity and its units beside it. The ends
//! of a quantity's range are texts too.

use std::borrow::Cow;
use std::ops::Bound;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::range::{Literal, Ranges};
use crate::{BitRate, Bytes, Duration};

macro_rules! described {
    ($($Quantity:ident is $kind:literal),*) => {$(
        impl JsonSchema for $Quantity {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($Quantity).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let units: Vec<&str> = $Quantity::NOTATION.units.iter().map(|(name, _)| *name).collect();
                let pattern = format!(r"^\s*(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({})\s*$", units.join("|"));
                json_schema!({ "type": "string", "pattern": pattern, "quantity": $kind, "units": units })
            }
        }
    )*};
}

described!(BitRate is "bit rate", Bytes is "size", Duration is "time");

/// Write the ranges of a table's fields into its schema, for those of them that it describes.
pub fn with_ranges<T: Ranges>(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(|all| all.as_object_mut()) else { return };
    for (field, range) in T::ranges() {
        let Some(field) = properties.get_mut(field).and_then(|field| field.as_object_mut()) else { continue };
        for (end, included, excluded) in
            [(range.least, "minimum", "exclusiveMinimum"), (range.most, "maximum", "exclusiveMaximum")]
        {
            let (word, end) = match end {
                Bound::Included(end) => (included, end),
                Bound::Excluded(end) => (excluded, end),
                Bound::Unbounded => continue,
            };
            // What a type alone allows is narrowed down.
            field.remove(included);
            field.insert(word.to_owned(), serde_json::Value::from(end));
        }
    }
}

impl From<Literal> for serde_json::Value {
    fn from(written: Literal) -> serde_json::Value {
        match written {
            Literal::Whole(number) => number.into(),
            Literal::Number(number) => number.into(),
            Literal::Text(text) => text.into(),
        }
    }
}
