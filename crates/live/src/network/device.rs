//! The device between a side's hosts and the router: an interface in the side's namespace, called [`NAME`], and its end in the
//! router.
//!
//! There are two kinds with the same results: the hosts see an interface for whole IP packets, and the router reads and writes
//! these.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

/// The name of the interface in its side's namespace.
pub(crate) const NAME: &CStr = c"link";

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A TUN device: the kernel hands over what it would send.
    Tun,
    /// A pair of Ethernet interfaces, and a packet socket on the router's: for who may not open `/dev/net/tun`.
    Veth,
}

/// The router's end.
pub(crate) trait Device: AsFd {
    /// The next packet that a host has sent, if there is one: its length.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<usize>>;

    /// Hand a packet to the hosts. Do they take it?
    fn deliver(&mut self, packet: &[u8]) -> io::Result<bool>;

    /// Packets that the router lost since this was asked last because it did not read in time.
    fn take_drops(&mut self) -> io::Result<u64>;
}
