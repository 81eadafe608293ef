//! The device between a side's hosts and the router: an interface in the side's namespace, called [`NAME`], and the router's
//! end of it.
//!
//! Both kinds give the same results: the hosts see an interface for IP packets, and the router reads and writes whole packets.

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
    /// A TUN device, which passes whole packets to the process that holds it.
    Tun,
    /// A pair of Ethernet interfaces with a packet socket on the router's. It needs no access to `/dev/net/tun`.
    Veth,
    /// A device of a kernel in virtual time, whose packets go to the engine in the kernel's process.
    #[serde(skip_deserializing)]
    Engine,
}

/// The router's end of a device.
pub(crate) trait Device: AsFd {
    /// Reads the next packet from a host into `into`, if there is one, and returns its length.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sends a packet to the hosts. Returns false if the interface has no room for it.
    fn deliver(&mut self, packet: &[u8]) -> io::Result<bool>;

    /// Returns the packets lost since the last call because the router did not read in time.
    fn take_drops(&mut self) -> io::Result<u64>;
}
