//! One direction of a link: a queue discipline, a device FIFO below it, the wire, and the way to the other end.
//!
//! ```text
//!   arrival -> [ discipline's queue ] -> [ device FIFO + the packet being sent ] -> wire -> propagation -> delivery
//!               judged, limited           not counted
//! ```
//!
//! There are two of them, which agree wherever both apply: [`Computed`] for laws that decide when a packet arrives, on a link
//! whose [capacity](capacity) is known ahead, and [`Queued`] for disciplines that decide when it leaves, and for all capacities.
//! Neither needs an event for a departure. [`Chain`] puts links of either kind in series.

mod any_law;
mod boxed;
mod capacity;
mod chain;
mod computed;
mod delay_histogram;
mod impaired;
mod index_queue;
mod kernel_queue;
mod queued;
#[cfg(test)]
mod tests;
mod transmitter;

use aqmlab_aqm::{Counters, FlowLabel, LinkContext, QueueState};
use aqmlab_tcp::WindowScale;
use aqmlab_units::{Bytes, Duration, Time};

pub(crate) use self::any_law::AnyLaw;
pub(crate) use self::boxed::Boxed;
pub use self::capacity::tables as capacity_tables;
pub(crate) use self::capacity::{
    BoxedCapacity, BoxedPath, Capacity, Interrupted, PathChanges, Schedule, Streams,
};
pub use self::capacity::{BucketSpec, CapacitySpec};
pub(crate) use self::chain::Chain;
pub(crate) use self::computed::Computed;
pub(crate) use self::delay_histogram::{DelayByOwner, DelayHistogram};
pub use self::impaired::Losses;
pub(crate) use self::impaired::{Fates, Impaired, WireCounts, WireEvent};
pub(crate) use self::index_queue::IndexQueue;
pub use self::kernel_queue::KernelDecision;
pub(crate) use self::kernel_queue::{KernelPort, KernelQueue, Numbered};
pub(crate) use self::queued::Queued;
pub(crate) use self::transmitter::Transmitter;
use crate::packet::{EndpointId, Owner, Packet};

/// The physical parameters of one direction, and whose traffic it carries.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// The bit rate and the overhead of a frame: all that a discipline knows.
    pub(crate) context: LinkContext,
    /// From the last bit sent to its arrival at the other end.
    pub(crate) delay: Duration,
    /// Packets that the device holds below the discipline, besides the one being sent.
    pub(crate) device_fifo: u32,
    /// The number of owners whose queueing delays are kept apart, or 0.
    pub(crate) owners: usize,
}

/// The counters of a link since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounters {
    pub(crate) queue: Counters,
    /// Packets that a policer dropped before the queue.
    pub(crate) policed: u64,
    /// Packets that have been sent.
    pub(crate) sent: u64,
    /// Their IP bytes.
    pub(crate) sent_bytes: Bytes,
    /// The bytes that the line carried for them beyond their frames: those of cells.
    pub(crate) padding: Bytes,
    /// Of the packets that have been sent, those that the wire has impaired.
    pub(crate) wire: WireCounts,
    /// Packets in the discipline's queue, in the device or being sent.
    pub(crate) held: u64,
}

/// The number of deliveries by which an endpoint is prefetched.
const AHEAD: usize = 4;

/// The readable state of one direction of a link, as of the last [`Link::advance`].
pub(crate) trait Meter {
    /// Returns the content of the discipline's queue.
    fn state(&self) -> QueueState;

    /// Show the discipline's variables.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));

    /// Returns its counters since the start.
    fn counters(&self) -> LinkCounters;

    /// Returns the queueing delays of the packets sent since the start.
    fn delays(&self) -> DelayByOwner;

    /// Packets that wait and packets that have left and not arrived: all that is inside.
    fn inside(&self) -> u64;

    /// Returns the time from which the device has a place for a packet, if it has none now.
    fn full_until(&self) -> Option<Time> {
        None
    }
}

/// The result of [`Link::forward_to_next_hop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// The packet has left for another link, or the link has taken one that its discipline held back.
    Forwarded,
    /// The packet's path ends here: nothing has changed.
    AtDestination,
}

/// One direction of a link, or of several in series, told the time in order. Within one instant packets leave first,
/// then the discipline's timer runs, then packets arrive.
pub(crate) trait Link<O = WindowScale> {
    /// A connection begins: whose its packets are.
    fn opened(&mut self, client: EndpointId, owner: Owner);

    /// Notes the label of the flow of packets to an endpoint, for disciplines that classify by it. Returns its label behind the
    /// link.
    fn label_flow(&mut self, _to: EndpointId, label: FlowLabel) -> FlowLabel {
        label
    }

    /// A packet arrives. Is there any to [take](Link::pop_drop) that was dropped?
    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool;

    /// Takes a dropped packet that was not taken yet. A drop at dequeue may appear as late as the next arrival.
    fn pop_drop(&mut self) -> Option<Packet<O>>;

    /// Takes the packet that the wire lost or copied in the call before, if it did.
    #[inline(always)]
    fn pop_wire_event(&mut self) -> Option<WireEvent<O>> {
        None
    }

    /// Returns the time of the next delivery. Without a packet in flight it is the time until which the discipline holds
    /// packets back, if it does, or else [`Time::MAX`].
    fn next_delivery(&self) -> Time;

    /// Returns true if the time of [`Link::next_delivery`] is that until which the discipline holds packets back.
    #[inline(always)]
    fn is_held_back(&self) -> bool {
        false
    }

    /// Returns the destination of the packet of [`Link::next_delivery`].
    fn next_to(&self) -> EndpointId;

    /// Returns the destination of the packet [`AHEAD`] places behind the next one; any endpoint while it is unknown.
    fn peek_prefetch(&self) -> EndpointId;

    /// Move the packet that [`Link::next_delivery`] announced to the next link of its path, which may drop it; or take a packet
    /// that the discipline held back until then.
    #[inline(always)]
    fn forward_to_next_hop(&mut self) -> Forwarding {
        Forwarding::AtDestination
    }

    /// Take the packet that [`Link::next_delivery`] announced and that is [at its destination](Forwarding::AtDestination).
    fn deliver(&mut self) -> Packet<O>;

    /// Bring queue and law up to `now`: everything due before or at it has happened.
    fn advance(&mut self, now: Time);

    /// Link number `hop` of those in series, from 0.
    fn meter(&self, hop: usize) -> Option<&dyn Meter>;

    /// All links in series.
    fn meters(&self) -> impl Iterator<Item = &dyn Meter>
    where
        Self: Sized,
    {
        (0..).map_while(|hop| self.meter(hop))
    }
}

impl<O, T: Link<O> + ?Sized> Link<O> for Box<T> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        (**self).opened(client, owner);
    }

    fn label_flow(&mut self, to: EndpointId, label: FlowLabel) -> FlowLabel {
        (**self).label_flow(to, label)
    }

    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        (**self).arrive(packet, now)
    }

    fn pop_drop(&mut self) -> Option<Packet<O>> {
        (**self).pop_drop()
    }

    fn pop_wire_event(&mut self) -> Option<WireEvent<O>> {
        (**self).pop_wire_event()
    }

    fn next_delivery(&self) -> Time {
        (**self).next_delivery()
    }

    fn is_held_back(&self) -> bool {
        (**self).is_held_back()
    }

    fn next_to(&self) -> EndpointId {
        (**self).next_to()
    }

    fn peek_prefetch(&self) -> EndpointId {
        (**self).peek_prefetch()
    }

    fn forward_to_next_hop(&mut self) -> Forwarding {
        (**self).forward_to_next_hop()
    }

    fn deliver(&mut self) -> Packet<O> {
        (**self).deliver()
    }

    fn advance(&mut self, now: Time) {
        (**self).advance(now);
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        (**self).meter(hop)
    }
}
