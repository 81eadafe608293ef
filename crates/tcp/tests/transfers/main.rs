//! Two endpoints over a network: invariants on every network, and the theory of throughput.

mod network;

mod delivery;
mod ecn;
mod long;
mod neighbours;
mod outage;
mod properties;
mod theory;
mod windows;
