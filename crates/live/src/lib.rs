//! The program `aqmlab-live` runs an experiment over the kernel's TCP. It reads a request as JSON on standard input, and writes lines of
//! JSON and tables to standard output. `aqmlab-live doctor P99_MS P999_MS` checks the machine, and its threads' lateness
//! against the two bounds.
//!
//! It is a process of its own because the kernel refuses `unshare` of a user namespace to a process with threads, and Python's
//! libraries start threads when they are imported. All that a run creates is in network namespaces that end with the process.
//!
//! ```text
//!   side 0: browsers, servers         router (the main thread)             side 1: browsers, servers
//!   a thread in a namespace   <-> device <-> EmulatedNetwork <-> device <->   a thread in a namespace
//!
//!   sources: a thread with sockets in both namespaces
//! ```
//!
//! The same program is the first process of a guest, a kernel in virtual time. There the router is no thread: it is a library in
//! the kernel's own process, [`kernel_network`], which the guest's program reaches through `/dev/aqmlab`.

#[cfg(not(target_os = "linux"))]
compile_error!("the live laboratory is made of network namespaces, which Linux alone has");

mod doctor;
mod engine;
mod error;
pub mod kernel_network;
mod machine;
mod message;
mod mix;
mod network;
mod oracle;
mod packet;
mod report;
mod router;
mod run;
mod side;
mod sources;

use std::process::ExitCode;

use crate::doctor::LatencyBounds;
use crate::run::{guest, output, request};
use crate::side::programs;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let result = match arguments.next() {
        Some(command) if command == guest::ARGUMENT => guest::run(),
        Some(command) if command == programs::INIT_ARGUMENT => return programs::run_as_init(arguments),
        Some(command) if command == "doctor" => {
            LatencyBounds::read(arguments).map(|bounds| output::line(&doctor::run_checks(bounds)))
        }
        _ => request::read().and_then(|request| run::run(&request)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}
