//! Calls over a path without a queue, and NADA against the RFC.

mod bottleneck;
mod nada;
mod path;
