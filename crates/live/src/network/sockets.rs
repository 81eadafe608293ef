//! Non-blocking sockets.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Zeros to send: what a transfer carries does not matter.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 65_535;

/// One whose window is moved by `congestion`, and those that it accepts.
pub(crate) fn new(congestion: &str) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(congestion))?;
    Ok(socket)
}

/// From now on the window of a socket is moved by `congestion`; what the kernel says of it then.
pub(crate) fn set_congestion(socket: &Socket, congestion: &str) -> io::Result<String> {
    setsockopt(socket, sockopt::TcpCongestion, &OsString::from(congestion))?;
    self::congestion(socket)
}

/// The congestion control that the kernel says a socket has.
pub(crate) fn congestion(socket: &Socket) -> io::Result<String> {
    let name = getsockopt(socket, sockopt::TcpCongestion)?;
    // The kernel fills the rest of the name's place with zeros.
    Ok(name.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// Ask to be told when there is anything to read, or room to write, on `socket`.
pub(crate) fn watch(poll: &Poll, socket: &Socket, token: Token) -> io::Result<()> {
    let interest = Interest::READABLE | Interest::WRITABLE;
    poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), token, interest)
}

/// A socket that listens at all addresses.
pub(crate) fn listen(port: u16, congestion: &str) -> io::Result<Socket> {
    let socket = new(congestion)?;
    socket.bind(&SockAddr::from(SocketAddr::from(([0, 0, 0, 0], port))))?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// The next connection that waits to be accepted, and where it is from.
pub(crate) fn accept(listener: &Socket) -> io::Result<Option<(Socket, SocketAddrV4)>> {
    match listener.accept() {
        Ok((socket, peer)) => {
            socket.set_nonblocking(true)?;
            socket.set_tcp_nodelay(true)?;
            let peer = peer.as_socket_ipv4().ok_or(io::ErrorKind::AddrNotAvailable)?;
            Ok(Some((socket, peer)))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// A socket at `from`, not connected yet.
pub(crate) fn bind(from: SocketAddrV4, congestion: &str) -> io::Result<Socket> {
    let socket = new(congestion)?;
    socket.set_tcp_nodelay(true)?;
    socket.bind(&SockAddr::from(from))?;
    Ok(socket)
}

/// A socket for datagrams at `from`.
fn datagrams(from: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::from(from))?;
    Ok(socket)
}

/// One that sends datagrams.
pub(crate) fn sender(from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Socket> {
    let socket = datagrams(from.into())?;
    socket.connect(&SockAddr::from(to))?;
    Ok(socket)
}

/// One that takes those sent to `port` of any address.
pub(crate) fn receiver(port: u16) -> io::Result<Socket> {
    datagrams(SocketAddr::from(([0, 0, 0, 0], port)))
}

/// Begin to connect.
pub(crate) fn connect(socket: &Socket, to: SocketAddrV4) -> io::Result<()> {
    match socket.connect(&SockAddr::from(to)) {
        Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Has it connected? An error when it never will.
pub(crate) fn is_connected(socket: &Socket) -> io::Result<bool> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    match socket.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The number of bytes read.
    Bytes(usize),
    /// Nothing at the moment.
    Nothing,
    /// The other side has closed.
    End,
}

/// Read what there is, up to the length of `scratch`.
pub(crate) fn read(mut socket: &Socket, scratch: &mut [u8]) -> io::Result<Lookup> {
    match socket.read(scratch) {
        Ok(0) => Ok(Lookup::End),
        Ok(bytes) => Ok(Lookup::Bytes(bytes)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Lookup::Nothing),
        Err(error) => Err(error),
    }
}

/// Write as much of `left` as there is room for, and say what stays.
pub(crate) fn write(mut socket: &Socket, mut left: u64) -> io::Result<u64> {
    while left > 0 {
        let part = usize::try_from(left).map_or(ZEROS.len(), |left| left.min(ZEROS.len()));
        match socket.write(&ZEROS[..part]) {
            Ok(written) => left -= written as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(left)
}
