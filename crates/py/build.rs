//! Names the engine by what it is made of: results say which sources gave them.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let mut sources = Vec::new();
    for name in ["units", "aqm", "tcp", "workload", "sim", "py"] {
        for part in ["src", "data"].map(|part| Path::new("..").join(name).join(part)) {
            if part.is_dir() {
                println!("cargo::rerun-if-changed={}", part.display());
                collect(&part, &mut sources);
            }
        }
    }
    sources.sort();
    let bytes = sources.iter().flat_map(|path| fs::read(path).expect("a source file can be read"));
    println!("cargo::rustc-env=ENGINE_SOURCES={:016x}", fnv1a(bytes));
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the crates stand side by side") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            collect(&path, sources);
        } else {
            sources.push(path);
        }
    }
}

/// The hash of Fowler, Noll and Vo: a name, no protection.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
