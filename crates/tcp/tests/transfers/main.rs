//! Two endpoints over a network: what holds whatever the network does, and what theory says about throughput.

mod network;

mod delivery;
mod ecn;
mod long;
mod neighbours;
mod outage;
mod properties;
mod theory;
mod windows;
