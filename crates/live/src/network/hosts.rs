//! The network of a side: namespace, interface, addresses, routes and TCP settings.

use std::fs::File;
use std::os::fd::AsFd;

use crate::error::Error;
use crate::network::device::{Device, Kind, NAME};
use crate::network::namespaces;
use crate::network::netlink::{Netlink, RouteMetrics};
use crate::network::stack::{Settings, Stack};
use crate::network::tun::{self, Tun};
use crate::network::veth::{self, RouterEnd};
use crate::packet::addresses::{self, HOST, PREFIX};

/// The configuration of a side's network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts<'a> {
    /// The side, 0 or 1.
    pub(crate) side: usize,
    pub(crate) stack: &'a Stack,
    /// The longest IP packet, in bytes.
    pub(crate) mtu: u32,
    /// The kind of device between hosts and router.
    pub(crate) device: Kind,
    /// The router's namespace.
    pub(crate) router: &'a File,
}

/// Returns the preferred kind of device that this machine allows.
pub(crate) fn device_available() -> Kind {
    if tun::may_be_opened() { Kind::Tun } else { Kind::Veth }
}

/// The router's end of a side's device, as far as it can be opened in the side's namespace.
pub(crate) enum RouterDevice {
    /// The open TUN device.
    Tun(Tun),
    /// An interface in the router's namespace, still without a socket.
    Veth { side: usize, mtu: u32 },
    /// The engine in the kernel's process, which needs no opening.
    Engine,
}

impl RouterDevice {
    /// Opens the router's end. The calling thread must be in the router's namespace.
    pub(crate) fn open(self) -> Result<Box<dyn Device>, Error> {
        Ok(match self {
            RouterDevice::Tun(tun) => Box::new(tun),
            RouterDevice::Veth { side, mtu } => Box::new(RouterEnd::open(side, mtu)?),
            RouterDevice::Engine => unreachable!("no router runs beside the engine"),
        })
    }
}

/// The queue length of the interface, in packets.
const QUEUE: u32 = 20_000;

impl Hosts<'_> {
    /// Moves the calling thread to a new namespace, and sets up its network. Returns the TCP settings as the kernel reports them.
    pub(crate) fn create(&self) -> Result<(RouterDevice, Settings), Error> {
        let &Hosts { side, stack, mtu, device, router } = self;
        namespaces::create_network()?;
        let settings = stack.apply()?;
        let netlink = Netlink::open()?;
        netlink.set_up_loopback()?;
        let router_device = match device {
            Kind::Tun => RouterDevice::Tun(Tun::open()?),
            Kind::Veth => {
                veth::create(&netlink, side, router.as_fd(), mtu)?;
                RouterDevice::Veth { side, mtu }
            }
            Kind::Engine => {
                let here = namespaces::current_network()?;
                let name = if side == 0 { c"aqmlab0" } else { c"aqmlab1" };
                namespaces::enter_network(router)?;
                let outside = Netlink::open()?;
                outside.move_interface(name, NAME, here.as_fd())?;
                namespaces::enter_network(&here)?;
                RouterDevice::Engine
            }
        };
        netlink.set_up(NAME, mtu, QUEUE)?;
        netlink.add_local_network(addresses::network(side), PREFIX)?;
        let way = (NAME, addresses::program(side));
        // The sockets of users and sources set their own congestion control.
        let metrics = RouteMetrics { congestion: None, ..stack.metrics.clone() };
        netlink.route(addresses::network(1 - side), PREFIX, way, &metrics)?;
        netlink.route(addresses::program(1 - side), HOST, way, &stack.metrics)?;
        Ok((router_device, settings))
    }
}
