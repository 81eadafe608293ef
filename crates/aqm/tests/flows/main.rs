//! Disciplines that tell flows apart decide as dull transcriptions of their papers do, and keep what they promise.

mod choke;
#[path = "../common/mod.rs"]
mod common;
mod fred;
mod loops;
mod sfb;
mod sred;
