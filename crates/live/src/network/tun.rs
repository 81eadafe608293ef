//! TUN devices (`tun(4)`) between hosts and router. A TUN device passes whole IP packets to its holder and disappears with it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use crate::error::{Context, Error};
use crate::network::device::{Device, NAME};

const PATH: &str = "/dev/net/tun";

nix::ioctl_write_ptr_bad!(set_interface, libc::TUNSETIFF, libc::ifreq);
nix::ioctl_read_bad!(features, libc::TUNGETFEATURES, libc::c_uint);

/// Opens `/dev/net/tun`. In a container this may be something else, such as `/dev/null`, which is an error.
fn open() -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(PATH)?;
    let mut found: libc::c_uint = 0;
    // SAFETY: the kernel writes one integer, which lives until the call returns.
    #[expect(unsafe_code, reason = "there is no other way to ask a TUN device for its features")]
    unsafe { features(file.as_raw_fd(), &raw mut found) }
        .map_err(|_| io::Error::other("it is there, but it is no TUN device"))?;
    Ok(file)
}

/// Returns true if this process can open TUN devices.
pub(crate) fn may_be_opened() -> bool {
    open().is_ok()
}

/// A TUN device, held by the router.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

impl Tun {
    /// Creates a TUN device in the namespace of the calling thread.
    pub(crate) fn open() -> Result<Tun, Error> {
        let file = open().context(|| PATH.to_owned())?;
        let flags = libc::IFF_TUN | libc::IFF_NO_PI;
        // SAFETY: zeros are a value of this struct of integers and unions of them.
        #[expect(unsafe_code, reason = "a C struct with a union has no other constructor")]
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, &byte) in request.ifr_name.iter_mut().zip(NAME.to_bytes()) {
            *place = byte.cast_signed();
        }
        request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).expect("these flags are low bits");
        // SAFETY: the kernel reads this struct, which lives until the call returns, and writes nothing beyond it.
        #[expect(unsafe_code, reason = "there is no other way to make a TUN device")]
        unsafe { set_interface(file.as_raw_fd(), &raw const request) }
            .context(|| format!("{PATH}: a device"))?;
        Ok(Tun { file })
    }
}

impl Device for Tun {
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.file.read(into) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn deliver(&mut self, packet: &[u8]) -> io::Result<bool> {
        match self.file.write(packet) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn take_drops(&mut self) -> io::Result<u64> {
        // The side's interface counts the packets for which it has no room.
        Ok(0)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
