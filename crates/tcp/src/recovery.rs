//! What is in flight, what of it is lost, and how fast that is repaired; and what the other end reports of it.

mod prr;
mod rack;
mod rate;
mod sack;
mod scoreboard;

pub(crate) use prr::{Progress, Prr};
pub(crate) use rack::Rack;
pub(crate) use rate::{Newest, RateEstimator};
pub(crate) use sack::Reporter;
pub(crate) use scoreboard::{DUP_THRESH, Record, Scoreboard};
