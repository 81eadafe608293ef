//! Loss recovery: scoreboard, loss detection (RACK), proportional rate reduction (PRR), delivery rate, and SACK.

mod prr;
mod rack;
mod rate;
mod sack;
mod scoreboard;

pub(crate) use prr::{Progress, Prr};
pub(crate) use rack::Rack;
pub(crate) use rate::{NewestSegment, RateEstimator};
pub(crate) use sack::SackReporter;
pub(crate) use scoreboard::{DUP_THRESH, Record, Scoreboard};
