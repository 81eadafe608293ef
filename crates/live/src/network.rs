//! The networks of a run in the kernel: a namespace for each side, its device to the router, and its TCP settings.

pub(crate) mod counters;
pub(crate) mod device;
pub(crate) mod engine_device;
pub(crate) mod hosts;
pub(crate) mod kernel_queue;
pub(crate) mod namespaces;
pub(crate) mod netlink;
pub(crate) mod sockets;
pub(crate) mod stack;
pub(crate) mod stream;
pub(crate) mod tcp_info;
mod tun;
mod veth;
