//! What passes the two queues, as a pcapng file: each packet as it arrives, with what became of it.
//!
//! ```text
//!   arrival -> Observed<queue> -> device, wire        PacketLog: packets in the order of arrival,
//!                    |                                each written once its fate is known
//!                    +---- arrived, judged, left ---->
//! ```
//!
//! A capture only looks: the run is the one it would be without. It is of the run's beginning to its end or of some of
//! it, as [`Bounds`] say, and holds at most as many packets in memory.

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

/// Which packets are captured, both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Those that arrive from this time on.
    pub from: Time,
    /// Those that arrive before this time.
    pub until: Time,
    /// And no more than so many of them.
    pub packets: u64,
}

/// A capture under way, shared by the queues that it looks at and by whoever writes it down.
#[derive(Clone, Debug)]
pub struct Capture(Arc<Mutex<PacketLog>>);

impl Capture {
    /// A capture of a run of `spec`.
    pub fn new(spec: &Spec, bounds: Bounds) -> Capture {
        Capture(Arc::new(Mutex::new(PacketLog::new(spec, bounds))))
    }

    /// The bytes of the file since this was last asked.
    pub fn take(&self) -> Vec<u8> {
        self.lock().take()
    }

    /// The run is over: packets that wait will not be told of any more.
    pub fn finish(&self) {
        self.lock().finish();
    }

    /// When the last packet arrived that it holds, if more arrived within its time than it may hold.
    pub fn cut(&self) -> Option<Time> {
        self.lock().cut()
    }

    /// The headers of a packet that comes from elsewhere, or its beginning; to be told before it is sent.
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
