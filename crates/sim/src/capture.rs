//! Capture of the packets of the queues as a pcapng file: each packet in order of arrival, with its outcome.
//!
//! ```text
//! arrival -> Tap<queue> -> device, wire             PacketLog: packets in the order of arrival,
//!                    |                                each written when its outcome is known
//!                    +---- arrived, judged, left ---->
//! ```
//!
//! A capture does not change the run. It covers the whole run or a part of it, by its [`Bounds`], which also
//! limit the number of packets in memory.

mod addresses;
mod headers;
mod log;
mod pcapng;
mod tap;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aqmlab_units::Time;

pub(crate) use self::addresses::{ConnectionOrigin, NewConnection};
use self::headers::MOST_BYTES;
pub(crate) use self::headers::OnTheWire;
use self::log::PacketLog;
pub(crate) use self::tap::Tap;
use crate::spec::Spec;

/// The packets to capture, of both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Those that arrive from this time on.
    pub from: Time,
    /// Those that arrive before this time.
    pub until: Time,
    /// The maximum number of these packets.
    pub packets: u64,
}

/// A capture in progress, shared by the queues that it observes and by its reader.
#[derive(Clone, Debug)]
pub struct Capture(Arc<Mutex<PacketLog>>);

impl Capture {
    /// Return a capture of a run of `spec`.
    pub fn new(spec: &Spec, bounds: Bounds) -> Capture {
        Capture(Arc::new(Mutex::new(PacketLog::new(spec, bounds))))
    }

    /// Take the bytes of the file written since the last call.
    pub fn take(&self) -> Vec<u8> {
        self.lock().take()
    }

    /// End the capture: packets still in a queue are written without a further outcome.
    pub fn finish(&self) {
        self.lock().finish();
    }

    /// The arrival time of the last packet captured, if more packets arrived than the bounds permit.
    pub fn cut(&self) -> Option<Time> {
        self.lock().cut()
    }

    /// Store the headers, or the beginning, of a packet of a real host. Call it before the packet is sent.
    pub fn show(&self, name: u32, packet: &[u8]) {
        let stored = packet.len().min(MOST_BYTES as usize);
        self.lock().shown.insert(name, packet[..stored].to_vec());
    }

    pub(crate) fn opened(&self, connection: &NewConnection) {
        self.lock().addresses.open(connection);
    }

    fn lock(&self) -> MutexGuard<'_, PacketLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
