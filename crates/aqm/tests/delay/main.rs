//! Laws that control how long packets wait: each against a dull transcription of its source that owns its packets, and
//! what each promises.

mod cobalt;
mod cobalt_oracle;
mod codel;
mod codel_oracle;
#[path = "../common/mod.rs"]
mod common;
mod docsis_pie;
mod fluid;
mod paths;
mod pi2;
mod pi2_oracle;
mod pie;
mod pie_oracle;
