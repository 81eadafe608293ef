//! Standard output: lines of JSON. A line that announces a table is followed by its bytes.

use std::io::{self, Write};

use aqmlab_sim::{Column, Values};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;

/// Writes a line of JSON. The process ends if the reader has closed standard output.
pub(crate) fn line(value: &impl Serialize) {
    let mut text = serde_json::to_string(value).expect("our own types have a JSON form");
    text.push('\n');
    write(text.as_bytes());
}

/// Writes the line of an error that ends the run.
pub(crate) fn error(error: &Error) {
    let key = if matches!(error, Error::Refused(_)) { "refused" } else { "failed" };
    line(&serde_json::json!({ key: error.to_string() }));
}

/// Writes a table: a line with names and types of its columns, then their values, column by column, in native byte order.
///
/// In a column whose type ends with a question mark, a missing value is NaN. The type of a column of texts is the list of its
/// different texts, and the values are their places in it, of one byte.
pub(crate) fn table(name: &str, columns: Vec<Column>) {
    let mut about = Vec::new();
    let mut bytes = Vec::new();
    for Column { name, values } in columns {
        let kind = append(&mut bytes, values);
        about.push((name, kind));
    }
    line(&json!({ "table": name, "columns": about, "bytes": bytes.len() }));
    write(&bytes);
}

/// Writes a line with the number of bytes, then the bytes.
pub(crate) fn bytes(name: &str, bytes: &[u8]) {
    line(&json!({ name: bytes.len() }));
    write(bytes);
}

fn append(bytes: &mut Vec<u8>, values: Values) -> Value {
    macro_rules! numbers {
        ($values:expr, $name:literal) => {{
            bytes.extend($values.into_iter().flat_map(|value| value.to_ne_bytes()));
            $name.into()
        }};
    }
    match values {
        Values::Bool(values) => {
            bytes.extend(values.into_iter().map(u8::from));
            "bool".into()
        }
        Values::U8(values) => numbers!(values, "uint8"),
        Values::U16(values) => numbers!(values, "uint16"),
        Values::U32(values) => numbers!(values, "uint32"),
        Values::U64(values) => numbers!(values, "uint64"),
        Values::F64(values) => numbers!(values, "float64"),
        Values::SomeF64(values) => {
            let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
            numbers!(values, "float64?")
        }
        Values::Text(values) => {
            let mut texts = Vec::new();
            for text in values {
                let place = texts.iter().position(|known| *known == text).unwrap_or_else(|| {
                    texts.push(text);
                    texts.len() - 1
                });
                bytes.push(u8::try_from(place).expect("a column has few different texts"));
            }
            texts.into()
        }
    }
}

fn write(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}
