//! Pairs of Ethernet interfaces (`veth(4)`) between hosts and router. The router reads and writes its interface with a packet
//! socket (`packet(7)`). All frames are IP packets: hardware addresses are static, without ARP.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use nix::{getsockopt_impl, libc, sockopt_impl};
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};

use crate::error::{Context, Error};
use crate::network::device::{Device, NAME};
use crate::network::netlink::{Netlink, Veth};

/// The receive buffer of the packet socket, in the kernel's count of bytes: about a second at 100 Mbit/s. Without root of the
/// machine, the kernel reduces it to `net.core.rmem_max`.
const BUFFER: usize = 32 << 20;

/// `ETHTOOL_STXCSUM` of `linux/ethtool.h`: turns checksum offload on or off. With it off, hosts compute checksums and segment
/// their data themselves, so that the router sees the packets of a real wire.
const ETHTOOL_STXCSUM: u32 = 0x17;
/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::c_ulong = 0x8946;

nix::ioctl_readwrite_bad!(ethtool, SIOCETHTOOL, libc::ifreq);
sockopt_impl!(
    /// The packets that arrived at a packet socket, and those dropped because it was full, both since the last call.
    PacketStatistics,
    GetOnly,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats,
    sockopt::GetStruct<libc::tpacket_stats>
);

/// Returns the name of the router's end of the pair of `side`, and the hardware address of the side's end.
fn names(side: usize) -> (CString, [u8; 6]) {
    let number = u8::try_from(side).expect("two sides");
    let name = CString::new(format!("side{side}")).expect("no zero in it");
    // The first byte says that the address is locally administered.
    (name, [0x02, 0, 0, 0, 0, number])
}

/// Creates the pair of `side`: one interface in the calling thread's namespace, its peer in the router's.
pub(crate) fn create(netlink: &Netlink, side: usize, router: BorrowedFd<'_>, mtu: u32) -> Result<(), Error> {
    let (peer, address) = names(side);
    let peer_address = [0x02, 0, 0, 0, 1, address[5]];
    netlink.add_veth(&Veth {
        name: NAME,
        address,
        peer: &peer,
        peer_address,
        peer_namespace: router,
        mtu,
    })?;
    leave_checksums_to_hosts()
}

fn leave_checksums_to_hosts() -> Result<(), Error> {
    #[repr(C)]
    struct EthtoolValue {
        command: u32,
        data: u32,
    }
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).context(|| "a socket".to_owned())?;
    let mut value = EthtoolValue { command: ETHTOOL_STXCSUM, data: 0 };
    // SAFETY: zeros are a value of this struct of integers and unions of them.
    #[expect(unsafe_code, reason = "a C struct with a union has no other constructor")]
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, &byte) in request.ifr_name.iter_mut().zip(NAME.to_bytes()) {
        *place = byte.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the kernel reads and writes the request and the value that it points to; both live until the call returns.
    #[expect(unsafe_code, reason = "there is no safe way to this setting")]
    unsafe { ethtool(socket.as_raw_fd(), &raw mut request) }.context(|| "checksums of packets".to_owned())?;
    Ok(())
}

/// The router's end of a pair.
#[derive(Debug)]
pub(crate) struct RouterEnd {
    socket: Socket,
    /// The address of the side's interface, to which frames are sent.
    side: SockAddr,
}

impl RouterEnd {
    /// Opens and brings up the router's interface of `side`. The calling thread must be in the router's namespace.
    pub(crate) fn open(side: usize, mtu: u32) -> Result<RouterEnd, Error> {
        let (name, address) = names(side);
        Netlink::open()?.set_up(&name, mtu, 1000)?;
        let what = || format!("a packet socket for side {side}");
        let index = if_nametoindex(name.as_c_str()).context(what)?;
        let protocol = u16::try_from(libc::ETH_P_IP).expect("16 bits").to_be();
        let socket = Socket::new(
            Domain::from(libc::AF_PACKET),
            Type::DGRAM,
            Some(Protocol::from(i32::from(protocol))),
        );
        let socket = socket.context(what)?;
        socket.set_nonblocking(true).context(what)?;
        // Only root of the machine may exceed the limit of receive buffers.
        if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER).is_err() {
            setsockopt(&socket, sockopt::RcvBuf, &BUFFER).context(what)?;
        }
        let side = link_address(index, protocol, address);
        socket.bind(&side).context(what)?;
        Ok(RouterEnd { socket, side })
    }
}

fn link_address(index: u32, protocol: u16, hardware: [u8; 6]) -> SockAddr {
    let mut storage = SockAddrStorage::zeroed();
    let length = u32::try_from(size_of::<libc::sockaddr_ll>()).expect("a small struct");
    // SAFETY: this storage may hold a `sockaddr_ll`, a struct of integers for which all bits are valid.
    #[expect(unsafe_code, reason = "there is no safe constructor of addresses of this family")]
    let address = unsafe { storage.view_as::<libc::sockaddr_ll>() };
    address.sll_family = u16::try_from(libc::AF_PACKET).expect("a small number");
    address.sll_protocol = protocol;
    address.sll_ifindex = index.cast_signed();
    address.sll_halen = 6;
    address.sll_addr[..6].copy_from_slice(&hardware);
    // SAFETY: the storage has just been filled with an address of this length.
    #[expect(unsafe_code, reason = "there is no safe constructor of addresses of this family")]
    unsafe {
        SockAddr::new(storage, length)
    }
}

impl Device for RouterEnd {
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.socket).read(into) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn deliver(&mut self, packet: &[u8]) -> io::Result<bool> {
        match self.socket.send_to(packet, &self.side) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn take_drops(&mut self) -> io::Result<u64> {
        Ok(getsockopt(&self.socket, PacketStatistics)?.tp_drops.into())
    }
}

impl AsFd for RouterEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
