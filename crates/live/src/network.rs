//! The networks of a run, as the kernel makes them: a namespace for each side, what joins it to the router's, and its TCP.

pub(crate) mod counters;
pub(crate) mod device;
pub(crate) mod hosts;
pub(crate) mod namespaces;
pub(crate) mod netlink;
pub(crate) mod sockets;
pub(crate) mod stack;
mod tun;
mod veth;
