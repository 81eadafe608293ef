//! Disciplines that tell flows apart decide as dull transcriptions of their papers do, and keep what they promise.

mod choke;
mod fred;
mod loops;
mod model;
mod sfb;
mod sred;
