//! CAKE, as tc-cake(8) describes it: one part of it a file.
#![cfg(feature = "serde")]

mod ack_filter;
mod cobalt;
#[path = "../common/mod.rs"]
mod common;
mod hosts;
mod queues;
mod rig;
mod shaper;
mod tins;
