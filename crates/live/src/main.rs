//! `aqmlab-live`: an experiment over the kernel's TCP. A request comes as JSON on standard input, lines of JSON and tables go
//! to standard output. `aqmlab-live doctor P99_MS P999_MS` says what the machine lets it do, and whether threads wake so soon.
//!
//! A process of its own: `unshare` of a user namespace is refused to a process with threads, which Python's libraries start
//! when they are imported. All that it makes lives in network namespaces of its own, which end with it.
//!
//! ```text
//!   side 0: browsers, servers         router (the main thread)             side 1: browsers, servers
//!   a thread in a namespace   <-> device <-> EmulatedNetwork <-> device <->   a thread in a namespace
//!
//!   sources: a thread with sockets in both namespaces
//! ```

#[cfg(not(target_os = "linux"))]
compile_error!("the live laboratory is made of network namespaces, which Linux alone has");

mod doctor;
mod error;
mod machine;
mod mix;
mod network;
mod packet;
mod report;
mod router;
mod run;
mod side;
mod sources;

use std::process::ExitCode;

use crate::doctor::LatencyBounds;
use crate::error::Error;
use crate::run::{output, request};
use crate::side::programs;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let done = match arguments.next() {
        Some(what) if what == programs::WITHIN => return programs::within(arguments),
        Some(what) if what == "doctor" => {
            LatencyBounds::read(arguments).map(|soon| output::line(&doctor::examine(soon)))
        }
        _ => request::read().and_then(|request| run::run(&request)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            let what = if matches!(failed, Error::Refused(_)) { "refused" } else { "failed" };
            output::line(&serde_json::json!({ what: failed.to_string() }));
            ExitCode::FAILURE
        }
    }
}
