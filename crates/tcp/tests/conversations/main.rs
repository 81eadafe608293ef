//! One endpoint at a time, its peer played by a script: what each rule of TCP asks for, segment by segment.

mod script;

mod closing;
mod ecn;
mod handshake;
mod loss;
mod receiving;
mod sending;
