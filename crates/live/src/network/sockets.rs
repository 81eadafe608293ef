//! Non-blocking sockets of TCP and UDP.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsRawFd;

use aqmlab_units::Bytes;
use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Zeros to send: the content of a transfer does not matter.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 65_535;

/// Returns a TCP socket with a congestion control, which the connections that it accepts inherit.
pub(crate) fn new(congestion: &str) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(congestion))?;
    Ok(socket)
}

/// Sets the congestion control of a socket, and returns its name as the kernel reports it.
pub(crate) fn set_congestion(socket: &Socket, congestion: &str) -> io::Result<String> {
    setsockopt(socket, sockopt::TcpCongestion, &OsString::from(congestion))?;
    self::congestion(socket)
}

/// Returns the congestion control of a socket as the kernel reports it.
pub(crate) fn congestion(socket: &Socket) -> io::Result<String> {
    let name = getsockopt(socket, sockopt::TcpCongestion)?;
    // The kernel pads the name with zeros.
    Ok(name.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// Registers `socket` for events of readability and writability.
pub(crate) fn watch(poll: &Poll, socket: &Socket, token: Token) -> io::Result<()> {
    let interest = Interest::READABLE | Interest::WRITABLE;
    poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), token, interest)
}

/// Returns a socket that listens at all addresses.
pub(crate) fn listen(port: u16, congestion: &str) -> io::Result<Socket> {
    let socket = new(congestion)?;
    socket.bind(&SockAddr::from(SocketAddr::from(([0, 0, 0, 0], port))))?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Accepts the next connection, if one waits, and returns it with the address of its peer.
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

/// Returns a socket with the local address `from`, not connected yet.
pub(crate) fn bind(from: SocketAddrV4, congestion: &str) -> io::Result<Socket> {
    let socket = new(congestion)?;
    socket.set_tcp_nodelay(true)?;
    socket.bind(&SockAddr::from(from))?;
    Ok(socket)
}

/// Returns a socket for datagrams with the local address `from`.
fn datagrams(from: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::from(from))?;
    Ok(socket)
}

/// Returns a socket that sends datagrams.
pub(crate) fn sender(from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Socket> {
    let socket = datagrams(from.into())?;
    socket.connect(&SockAddr::from(to))?;
    Ok(socket)
}

/// Returns a socket that receives datagrams at `port` of all addresses.
pub(crate) fn receiver(port: u16) -> io::Result<Socket> {
    datagrams(SocketAddr::from(([0, 0, 0, 0], port)))
}

/// Starts to connect.
pub(crate) fn connect(socket: &Socket, to: SocketAddrV4) -> io::Result<()> {
    match socket.connect(&SockAddr::from(to)) {
        Err(error) if error.raw_os_error() != Some(nix::libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Returns true if the socket is connected, and an error if the connection has failed.
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
pub(crate) enum ReadOutcome {
    /// The number of bytes read.
    Bytes(Bytes),
    /// There are no bytes at the moment.
    Nothing,
    /// The peer has closed the connection.
    End,
}

/// Reads the bytes that have arrived, up to the length of `scratch`.
pub(crate) fn read(mut socket: &Socket, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
    match socket.read(scratch) {
        Ok(0) => Ok(ReadOutcome::End),
        Ok(bytes) => Ok(ReadOutcome::Bytes(Bytes::new(bytes as u64))),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(ReadOutcome::Nothing),
        Err(error) => Err(error),
    }
}

/// Writes as many of `left` bytes as the socket has room for, and returns the rest.
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
