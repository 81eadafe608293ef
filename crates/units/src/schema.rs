//! What may be written for a quantity, as JSON Schema: text, with the kind of quantity and its units beside it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

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
                json_schema!({ "type": "string", "quantity": $kind, "units": units })
            }
        }
    )*};
}

described!(BitRate is "bit rate", Bytes is "size", Duration is "time");
