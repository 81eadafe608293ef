//! Laws that decide when a packet arrives, each against a dull transcription of its paper and for what it promises.

mod avq;
mod blue;
#[path = "../common/mod.rs"]
mod common;
mod control;
mod ldc;
mod mimd_red;
mod oracle;
mod promises;
mod red_star;
mod settings;
mod threshold;
