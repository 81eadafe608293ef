//! A side's network: its namespace, interface, addresses, routes and TCP.

use std::fs::File;
use std::os::fd::AsFd;

use crate::error::Error;
use crate::network::device::{Device, Kind, NAME};
use crate::network::namespaces;
use crate::network::netlink::Netlink;
use crate::network::stack::{Settings, Stack};
use crate::network::tun::{self, Tun};
use crate::network::veth::{self, RouterEnd};
use crate::packet::addresses::{self, PREFIX};

/// The configuration of a side's network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts<'a> {
    /// The side, 0 or 1.
    pub(crate) side: usize,
    pub(crate) stack: &'a Stack,
    /// The longest IP packet, in bytes.
    pub(crate) mtu: u32,
    /// The device between them and the router, and the router's namespace.
    pub(crate) device: Kind,
    pub(crate) router: &'a File,
}

/// The kind of device that this machine lets us have.
pub(crate) fn device_available() -> Kind {
    if tun::may_be_opened() { Kind::Tun } else { Kind::Veth }
}

/// The router's end of a side's interface, as far as it can be made in the side's namespace.
pub(crate) enum RouterDevice {
    /// All of it.
    Tun(Tun),
    /// The interface in the router's namespace.
    Veth { side: usize, mtu: u32 },
}

impl RouterDevice {
    /// The rest of it, in the router's namespace.
    pub(crate) fn open(self) -> Result<Box<dyn Device>, Error> {
        Ok(match self {
            RouterDevice::Tun(tun) => Box::new(tun),
            RouterDevice::Veth { side, mtu } => Box::new(RouterEnd::open(side, mtu)?),
        })
    }
}

/// Packets that the interface may hold for the router.
const QUEUE: u32 = 20_000;

impl Hosts<'_> {
    /// Make them, on a thread that stays in their namespace; what the kernel then says of their TCP.
    pub(crate) fn make(&self) -> Result<(RouterDevice, Settings), Error> {
        let &Hosts { side, stack, mtu, device, router } = self;
        namespaces::own_network()?;
        let settings = stack.apply()?;
        let netlink = Netlink::open()?;
        netlink.set_up_loopback()?;
        let joint = match device {
            Kind::Tun => RouterDevice::Tun(Tun::open()?),
            Kind::Veth => {
                veth::create(&netlink, side, router.as_fd(), mtu)?;
                RouterDevice::Veth { side, mtu }
            }
        };
        netlink.set_up(NAME, mtu, QUEUE)?;
        netlink.own(addresses::network(side), PREFIX)?;
        let way = (NAME, addresses::program(side));
        netlink.route(addresses::network(1 - side), PREFIX, way, &stack.metrics)?;
        Ok((joint, settings))
    }
}
