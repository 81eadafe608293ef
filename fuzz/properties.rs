//! The properties that the parsers keep for every input. The fuzz targets look for inputs that break one; `cargo test` checks
//! those of the kept corpora (`crates/sim/tests/corpora.rs`).
#![allow(dead_code, reason = "each fuzz target uses one of them")]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use aqmlab_aqm::Limit;
use aqmlab_sim::Spec;
use aqmlab_units::{BitRate, Bytes, Duration};
use aqmlab_workload::sources::SourceConfig;

/// A quantity that is read is written so that it reads back.
pub(crate) fn quantity(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    reads_back::<Duration>(text);
    reads_back::<BitRate>(text);
    reads_back::<Bytes>(text);
    reads_back::<Limit>(text);
}

/// A spec is refused in one line, or is written in full so that it reads back.
pub(crate) fn spec(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match Spec::from_json(text) {
        Err(refusal) => assert_one_line(&refusal.to_string()),
        Ok(spec) => {
            let in_full = serde_json::to_string(&spec).expect("a spec has a JSON form");
            let again = Spec::from_json(&in_full).expect("a spec in full is a spec");
            assert_eq!(in_full, serde_json::to_string(&again).expect("a spec has a JSON form"));
        }
    }
}

/// A file of tmix is refused in one line, or taken.
pub(crate) fn tmix(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let written = serde_json::json!({"tmix": {"text": text}});
    let source: SourceConfig = serde_json::from_value(written).expect("any text is a file");
    if let Err(refusal) = source.check() {
        assert_one_line(&refusal.to_string());
    }
}

fn reads_back<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Err(refusal) => assert_one_line(&refusal.to_string()),
        Ok(value) => {
            let written = value.to_string();
            assert_eq!(
                written.parse::<T>().ok().as_ref(),
                Some(&value),
                "{text:?} was written as {written:?}"
            );
        }
    }
}

fn assert_one_line(refusal: &str) {
    assert!(!refusal.contains('\n'), "more than one line: {refusal:?}");
}
