//! The requests of `rtnetlink(7)` that a run needs, for interfaces, routes and queue disciplines.

use std::ffi::CStr;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use serde::Serialize;

use crate::error::{Context, Error};

/// A netlink socket for the namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
}

/// TCP settings of a route (`RTAX_*` of `linux/rtnetlink.h`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RouteMetrics {
    /// The maximum segment size that hosts announce, in bytes.
    pub(crate) mss: u32,
    /// The initial congestion window, in segments.
    pub(crate) initial_window: u32,
    /// True if the receiver acknowledges each segment at once.
    pub(crate) quick_ack: bool,
    /// The congestion control of connections, if the route sets one. It replaces that of a socket's own setting. A route accepts
    /// any control that the kernel has, a namespace does not.
    pub(crate) congestion: Option<String>,
}

/// The configuration of a pair of Ethernet interfaces: one in this namespace, its peer in another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Veth<'a> {
    pub(crate) name: &'a CStr,
    /// The hardware addresses are fixed: software of the machine could otherwise change random ones while packets are in flight.
    pub(crate) address: [u8; 6],
    pub(crate) peer: &'a CStr,
    pub(crate) peer_address: [u8; 6],
    pub(crate) peer_namespace: BorrowedFd<'a>,
    /// The longest packet of both interfaces, in bytes.
    pub(crate) mtu: u32,
}

/// `VETH_INFO_PEER` of `linux/veth.h`.
const VETH_INFO_PEER: u16 = 1;

/// The parent of an interface's root queue discipline (`linux/pkt_sched.h`).
const TC_H_ROOT: u32 = u32::MAX;

const RTAX_ADVMSS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_QUICKACK: u16 = 15;
const RTAX_CC_ALGO: u16 = 16;

impl Netlink {
    pub(crate) fn open() -> Result<Netlink, Error> {
        let socket =
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
        Ok(Netlink { socket: socket.context(|| "a netlink socket".to_owned())? })
    }

    /// Creates a pair of interfaces.
    pub(crate) fn add_veth(&self, pair: &Veth<'_>) -> Result<(), Error> {
        let mut peer = Message(vec![0; INTERFACE]);
        peer.attribute(libc::IFLA_IFNAME, pair.peer.to_bytes_with_nul());
        peer.attribute(libc::IFLA_ADDRESS, &pair.peer_address);
        peer.attribute(libc::IFLA_MTU, &pair.mtu.to_ne_bytes());
        peer.attribute(libc::IFLA_NET_NS_FD, &pair.peer_namespace.as_raw_fd().to_ne_bytes());
        let data = Message::with_attribute(VETH_INFO_PEER, &peer.0);
        let mut information = Message::with_attribute(libc::IFLA_INFO_KIND, b"veth");
        information.attribute(libc::IFLA_INFO_DATA, &data.0);
        let mut message = Message::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        message.0.extend([0; INTERFACE]);
        message.attribute(libc::IFLA_IFNAME, pair.name.to_bytes_with_nul());
        message.attribute(libc::IFLA_ADDRESS, &pair.address);
        message.attribute(libc::IFLA_MTU, &pair.mtu.to_ne_bytes());
        message.attribute(libc::IFLA_LINKINFO, &information.0);
        self.request(&message).context(|| "a pair of interfaces (veth)".to_owned())
    }

    /// Brings up the loopback interface.
    pub(crate) fn set_up_loopback(&self) -> Result<(), Error> {
        self.request(&Message::link(index(c"lo")?)).context(|| "lo".to_owned())
    }

    /// Brings up an interface for packets of up to `mtu` bytes, with a queue of `queue` packets.
    pub(crate) fn set_up(&self, name: &CStr, mtu: u32, queue: u32) -> Result<(), Error> {
        let mut message = Message::link(index(name)?);
        message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
        message.attribute(libc::IFLA_TXQLEN, &queue.to_ne_bytes());
        self.request(&message).context(|| format!("{}", name.to_string_lossy()))
    }

    /// Moves an interface to another namespace, under another name.
    pub(crate) fn move_interface(
        &self,
        name: &CStr,
        new_name: &CStr,
        to: BorrowedFd<'_>,
    ) -> Result<(), Error> {
        let mut message = Message::new(libc::RTM_NEWLINK, 0);
        // `struct ifinfomsg`: family and type, index, flags, changed flags.
        for word in [0, index(name)?, 0, 0] {
            message.0.extend(word.to_ne_bytes());
        }
        message.attribute(libc::IFLA_IFNAME, new_name.to_bytes_with_nul());
        message.attribute(libc::IFLA_NET_NS_FD, &to.as_raw_fd().to_ne_bytes());
        self.request(&message).context(|| format!("{}", name.to_string_lossy()))
    }

    /// Makes all addresses of a network local to this namespace.
    pub(crate) fn add_local_network(&self, network: Ipv4Addr, prefix: u8) -> Result<(), Error> {
        let mut message = Message::route(prefix, libc::RT_TABLE_LOCAL, libc::RT_SCOPE_HOST, libc::RTN_LOCAL);
        message.attribute(libc::RTA_DST, &network.octets());
        message.attribute(libc::RTA_OIF, &index(c"lo")?.to_ne_bytes());
        self.request(&message).context(|| format!("addresses {network}/{prefix}"))
    }

    /// Adds a route to a network through an interface. Sockets without an address send from the address `from`.
    pub(crate) fn route(
        &self,
        network: Ipv4Addr,
        prefix: u8,
        (through, from): (&CStr, Ipv4Addr),
        metrics: &RouteMetrics,
    ) -> Result<(), Error> {
        let mut message = Message::route(prefix, libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK, libc::RTN_UNICAST);
        message.attribute(libc::RTA_DST, &network.octets());
        message.attribute(libc::RTA_OIF, &index(through)?.to_ne_bytes());
        message.attribute(libc::RTA_PREFSRC, &from.octets());
        let mut nested = Message(Vec::new());
        nested.attribute(RTAX_ADVMSS, &metrics.mss.to_ne_bytes());
        nested.attribute(RTAX_INITCWND, &metrics.initial_window.to_ne_bytes());
        if metrics.quick_ack {
            nested.attribute(RTAX_QUICKACK, &1u32.to_ne_bytes());
        }
        if let Some(congestion) = &metrics.congestion {
            nested.attribute(RTAX_CC_ALGO, &[congestion.as_bytes(), b"\0"].concat());
        }
        message.attribute(libc::RTA_METRICS, &nested.0);
        self.request(&message).context(|| format!("route to {network}/{prefix}"))
    }

    /// Returns true if the kernel has a queue discipline of this name. It is tried at an interface.
    pub(crate) fn has_queue(&self, interface: &CStr, kind: &str) -> Result<bool, Error> {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let mut message = Message::new(libc::RTM_NEWQDISC, flags);
        // `struct tcmsg`: family, interface, handle, parent, information.
        for word in [0, index(interface)?, 0, TC_H_ROOT, 0] {
            message.0.extend(word.to_ne_bytes());
        }
        message.attribute(libc::TCA_KIND, &[kind.as_bytes(), b"\0"].concat());
        match self.request(&message) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            // A discipline that exists answers `EINVAL` if it needs parameters.
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => {
                Err(error).context(|| kind.to_owned())
            }
            _ => Ok(true),
        }
    }

    /// Sends a request and waits for its acknowledgement.
    fn request(&self, message: &Message) -> io::Result<()> {
        let fd = self.socket.as_raw_fd();
        send(fd, &message.with_length(), MsgFlags::empty())?;
        let mut answer = [0; 4096];
        let length = recv(fd, &mut answer, MsgFlags::empty())?;
        // Behind the header's 16 bytes follows the negative error number, or 0.
        let number = answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok());
        match number.map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(number) => Err(io::Error::from_raw_os_error(-number)),
            None => Err(io::Error::other("netlink answered nothing")),
        }
    }
}

fn index(name: &CStr) -> Result<u32, Error> {
    if_nametoindex(name).context(|| format!("interface {}", name.to_string_lossy()))
}

/// The size of a `struct ifinfomsg`, in bytes.
const INTERFACE: usize = 16;

/// A message without its length, or attributes of a message.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: i32) -> Message {
        let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags).expect("16 bits of flags");
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        Message(bytes)
    }

    /// Returns one attribute.
    fn with_attribute(kind: u16, value: &[u8]) -> Message {
        let mut message = Message(Vec::new());
        message.attribute(kind, value);
        message
    }

    /// Returns the message that brings an interface up, without ARP (`struct ifinfomsg`).
    fn link(index: u32) -> Message {
        let mut message = Message::new(libc::RTM_NEWLINK, 0);
        let flags = u32::try_from(libc::IFF_UP | libc::IFF_NOARP).expect("flags are positive");
        message.0.extend([0; 4]);
        for word in [index, flags, flags] {
            message.0.extend(word.to_ne_bytes());
        }
        message
    }

    /// Returns the message that adds a route (`struct rtmsg`).
    fn route(prefix: u8, table: u8, scope: u8, kind: u8) -> Message {
        let mut message = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        let family = u8::try_from(libc::AF_INET).expect("a small number");
        message.0.extend([family, prefix, 0, 0, table, libc::RTPROT_STATIC, scope, kind]);
        message.0.extend([0; 4]);
        message
    }

    /// Appends an attribute, padded to four bytes.
    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).expect("attributes are short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn with_length(&self) -> Vec<u8> {
        let mut bytes = self.0.clone();
        let length = u32::try_from(bytes.len()).expect("messages are short");
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }
}
