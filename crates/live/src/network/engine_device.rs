//! `/dev/aqmlab` of a guest: the way to the engine in the kernel's process.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};

use socket2::Socket;

use crate::error::{Context, Error};
use crate::message::Message;

const PATH: &str = "/dev/aqmlab";

/// A request of `kernel/um/control.c`.
#[repr(C)]
struct DiscardRequest {
    bytes: u64,
    file: u32,
    unused: u32,
}

nix::ioctl_readwrite!(discard, b'q', 1, DiscardRequest);

/// The open device, with messages that have not been written yet.
#[derive(Debug)]
pub(crate) struct EngineDevice {
    file: File,
    waiting: Mutex<Vec<u8>>,
}

/// The most bytes of messages that wait.
const MOST_WAITING: usize = 1 << 16;

impl EngineDevice {
    pub(crate) fn open() -> Result<EngineDevice, Error> {
        let file = OpenOptions::new().write(true).open(PATH).context(|| PATH.to_owned())?;
        Ok(EngineDevice { file, waiting: Mutex::default() })
    }

    /// Sends a message. The engine has handled it, and all before it, when this returns.
    pub(crate) fn send(&self, message: &Message) {
        self.append(message, true);
    }

    /// Appends a message to those that wait, and sends them all if it `is_urgent`: a system call is dear in a guest.
    pub(crate) fn append(&self, message: &Message, is_urgent: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(message.encode().into_iter().flat_map(u64::to_ne_bytes));
        if is_urgent || waiting.len() > MOST_WAITING {
            (&self.file).write_all(&waiting).expect("the kernel takes every message");
            waiting.clear();
        }
    }

    /// Lets the kernel read and forget the next `bytes` of a connection, as they arrive, and returns the number of those that it has
    /// read since the last call. The socket becomes readable with the byte after them.
    pub(crate) fn discard(&self, socket: &Socket, bytes: u64) -> io::Result<u64> {
        let file = u32::try_from(socket.as_raw_fd()).expect("an open file");
        let mut request = DiscardRequest { bytes, file, unused: 0 };
        // SAFETY: the kernel reads and writes this struct, which lives until the call returns.
        #[expect(unsafe_code, reason = "there is no other way to call our own device")]
        unsafe { discard(self.file.as_raw_fd(), &raw mut request) }?;
        Ok(request.bytes)
    }
}
