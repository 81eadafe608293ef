//! The inputs that fuzzing found worth keeping, checked with the stable toolchain.

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/properties.rs"]
mod properties;

/// Check each kept input of a fuzz target; the input that breaks the property is named.
fn replay(target: &str, property: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is kept with the sources") {
        let file = entry.expect("a file of the corpus").path();
        let input = fs::read(&file).expect("a file of the corpus");
        let outcome = std::panic::catch_unwind(|| property(&input));
        assert!(outcome.is_ok(), "{} breaks the property of {target}", file.display());
        count += 1;
    }
    assert!(count > 10, "{target} has {count} inputs");
}

#[test]
fn quantities_of_the_corpus_read_back() {
    replay("quantity", properties::quantity);
}

#[test]
fn specs_of_the_corpus_are_refused_or_read_back() {
    replay("spec", properties::spec);
}

#[test]
fn tmix_files_of_the_corpus_are_refused_or_taken() {
    replay("tmix", properties::tmix);
}
