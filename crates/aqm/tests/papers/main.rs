//! The disciplines of the papers that the laboratory's first ones were compared with: as published, as promised, and
//! under any parameters.

mod avq;
mod blue;
#[path = "../common/mod.rs"]
mod common;
mod ldc;
mod mimd_red;
#[expect(dead_code, reason = "other laws' oracles are there too")]
#[path = "../oracle/mod.rs"]
mod oracle;
mod red_star;
mod threshold;

use aqmlab_aqm::Aqm;

/// The value that `law` shows under `name`.
fn probed(law: &impl Aqm, name: &str) -> f64 {
    let mut found = None;
    law.probe(&mut |shown, value| {
        if shown == name {
            found = Some(value);
        }
    });
    found.expect("the law shows this variable")
}
