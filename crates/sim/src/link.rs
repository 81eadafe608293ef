//! One direction of a link: a queue discipline, a device FIFO below it, the wire, and the way to the other end.
//!
//! ```text
//!   arrival -> [ discipline's queue ] -> [ device FIFO + the packet being sent ] -> wire -> propagation -> delivery
//!               judged, limited           counts for nobody
//! ```
//!
//! There are two of them, which agree wherever both apply: [`Computed`] for laws that decide when a packet arrives, and
//! [`Queued`] for disciplines that decide when it leaves. Neither needs an event for a departure.

mod computed;
mod queued;
#[cfg(test)]
mod tests;

use aqmlab_aqm::{Counters, LinkContext, QueueState};
use aqmlab_units::{Bytes, Duration, Time};

pub(crate) use self::computed::Computed;
pub(crate) use self::queued::Queued;
use crate::packet::{EndpointId, Packet};

/// The physical parameters of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// Bit rate and bytes of overhead a frame.
    pub(crate) context: LinkContext,
    /// From the last bit sent to its arrival at the other end.
    pub(crate) delay: Duration,
    /// Packets that the device holds below the discipline, besides the one being sent.
    pub(crate) device_fifo: u32,
}

/// What a link has done since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounters {
    pub(crate) queue: Counters,
    /// Packets that have been sent.
    pub(crate) sent: u64,
    /// Their IP bytes.
    pub(crate) sent_bytes: Bytes,
    /// Packets in the discipline's queue, in the device or being sent.
    pub(crate) held: u64,
}

/// One direction of a link, told the time in order. Within one instant packets leave first, then the discipline's
/// timer runs, then packets arrive.
pub(crate) trait Link<O = ()> {
    /// A packet arrives.
    fn arrive(&mut self, packet: Packet<O>, now: Time);

    /// A packet that was dropped and not asked for yet. What is dropped on its way out may be told of as late as the
    /// next arrival.
    fn take_lost(&mut self) -> Option<Packet<O>>;

    /// When the next packet reaches the other end; [`Time::MAX`] when none is on its way.
    fn next_delivery(&self) -> Time;

    /// Where the packet `ahead` places behind the next one goes; any endpoint when nobody knows yet.
    fn upcoming(&self, ahead: u64) -> EndpointId;

    /// Take the packet that [`Link::next_delivery`] announced.
    fn deliver(&mut self) -> Packet<O>;

    /// Bring queue and law up to `now`: everything due before or at it has happened.
    fn advance(&mut self, now: Time);

    /// What waits in the discipline's queue, as of the last [`Link::advance`].
    fn state(&self) -> QueueState;

    /// Show the discipline's variables, as of the last [`Link::advance`].
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));

    /// Counters as of the last [`Link::advance`].
    fn counters(&self) -> LinkCounters;

    /// Packets that wait and packets that have left and not arrived: all that is inside.
    fn inside(&self) -> u64;
}

impl<O, T: Link<O> + ?Sized> Link<O> for Box<T> {
    fn arrive(&mut self, packet: Packet<O>, now: Time) {
        (**self).arrive(packet, now);
    }

    fn take_lost(&mut self) -> Option<Packet<O>> {
        (**self).take_lost()
    }

    fn next_delivery(&self) -> Time {
        (**self).next_delivery()
    }

    fn upcoming(&self, ahead: u64) -> EndpointId {
        (**self).upcoming(ahead)
    }

    fn deliver(&mut self) -> Packet<O> {
        (**self).deliver()
    }

    fn advance(&mut self, now: Time) {
        (**self).advance(now);
    }

    fn state(&self) -> QueueState {
        (**self).state()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(out);
    }

    fn counters(&self) -> LinkCounters {
        (**self).counters()
    }

    fn inside(&self) -> u64 {
        (**self).inside()
    }
}
