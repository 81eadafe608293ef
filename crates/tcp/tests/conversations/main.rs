//! One endpoint at a time, its peer played by a script: what each rule of TCP asks for, segment by segment.

mod recorder;
mod script;

mod closing;
mod ecn;
mod ecn_accurate;
mod ecn_dctcp;
mod ecn_general;
mod ecn_plus;
mod handshake;
mod loss;
mod receiving;
mod sending;
