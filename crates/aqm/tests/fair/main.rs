//! Fair queueing: each flow gets its share, sparse flows get through, and each discipline does as its source says.

#![cfg(feature = "serde")]

mod oracle;
mod promises;
mod rig;
mod sfq;
