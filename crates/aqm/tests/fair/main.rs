//! Fair queueing: each flow gets its share, sparse flows get through, and each discipline does as its source says.

#![cfg(feature = "serde")]

mod closed_loop;
#[path = "../common/mod.rs"]
mod common;
mod docsis_lld;
mod dualpi2;
mod fq_cobalt;
mod fq_codel;
mod fq_pie;
mod promises;
mod rfc8290;
mod rfc9332;
mod rig;
mod sfq;
