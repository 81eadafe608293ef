//! Laws that decide on arrival, each against a literal transcription of its paper, and their properties.

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
mod scripted;
mod settings;
mod threshold;
