//! Queues of the network whose disciplines run in a Linux kernel: the caller passes packets and decisions between both.

use aqmlab_units::Time;

use super::{EmulatedNetwork, Outcome};
use crate::link::{KernelDecision, KernelPort, Link, Meter};
use crate::side::Direction;

/// A queue in the kernel, and its place in the network.
#[derive(Clone, Debug)]
pub(crate) struct KernelQueueAt {
    pub(crate) direction: Direction,
    pub(crate) hop: usize,
    pub(crate) port: KernelPort,
}

/// A packet that has arrived at a queue in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArrival {
    /// The queue, in the order of links and then of directions.
    pub queue: usize,
    /// The caller's number of the packet.
    pub number: u32,
    /// True if a queue before this one has marked it.
    pub ce: bool,
}

impl EmulatedNetwork {
    /// Take the next packet for a queue in the kernel. Call it after each [`EmulatedNetwork::advance`] until there is none.
    pub fn take_kernel_arrival(&mut self) -> Option<KernelArrival> {
        (0..).zip(&self.kernel_queues).find_map(|(queue, at)| {
            at.port.take_arrival().map(|(number, ce)| KernelArrival { queue, number, ce })
        })
    }

    /// Apply the kernel's decision on packet `number` of `queue` at `now`, and report the outcomes of packets. Returns the time until
    /// which the link takes no further packet, if it takes none now.
    pub fn decide(
        &mut self,
        queue: usize,
        (number, decision): (u32, KernelDecision),
        now: Time,
        report: &mut impl FnMut(Outcome),
    ) -> Option<Time> {
        self.advance(now, report);
        let KernelQueueAt { direction, hop, port } = &self.kernel_queues[queue];
        let (direction, hop) = (*direction, *hop);
        port.decide(number, decision, self.now);
        self.links[direction.index()].advance(self.now);
        self.drain_drops(direction, report);
        self.links[direction.index()].meter(hop).and_then(Meter::full_until)
    }
}
