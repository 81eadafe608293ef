//! The packets of many queues, and the length of each and of all.

use std::collections::VecDeque;

use aqmlab_units::Bytes;

use crate::parts::overflow::{Eviction, QueueEnd};
use crate::{Departure, QueueState};

/// Many first-in first-out queues.
#[derive(Clone, Debug)]
pub(crate) struct FlowStore<P> {
    queues: Vec<VecDeque<Departure<P>>>,
    /// Separate from the queues, because the search for the longest reads all of them.
    lengths: Vec<QueueState>,
    total: QueueState,
}

impl<P> FlowStore<P> {
    /// Return `queues` empty queues.
    pub(crate) fn new(queues: usize) -> FlowStore<P> {
        FlowStore {
            queues: (0..queues).map(|_| VecDeque::new()).collect(),
            lengths: vec![QueueState::default(); queues],
            total: QueueState::default(),
        }
    }

    /// The length of one queue.
    #[inline]
    pub(crate) fn length(&self, queue: usize) -> QueueState {
        self.lengths[queue]
    }

    /// The length of all queues together.
    #[inline]
    pub(crate) fn total(&self) -> QueueState {
        self.total
    }

    /// The size of the first packet of a queue, or zero.
    #[inline]
    pub(crate) fn head(&self, queue: usize) -> Bytes {
        self.queues[queue].front().map_or(Bytes::ZERO, |head| head.packet.size)
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: usize, packet: Departure<P>) {
        self.lengths[queue] = plus_packet(self.lengths[queue], packet.packet.size);
        self.total = plus_packet(self.total, packet.packet.size);
        self.queues[queue].push_back(packet);
    }

    #[inline]
    pub(crate) fn pop(&mut self, queue: usize, end: QueueEnd) -> Option<Departure<P>> {
        let popped = match end {
            QueueEnd::Head => self.queues[queue].pop_front()?,
            QueueEnd::Tail => self.queues[queue].pop_back()?,
        };
        self.lengths[queue] = minus_packet(self.lengths[queue], popped.packet.size);
        self.total = minus_packet(self.total, popped.packet.size);
        Some(popped)
    }

    /// Remove and return all packets, queue by queue.
    pub(crate) fn take(&mut self) -> Vec<Departure<P>> {
        self.lengths.fill(QueueState::default());
        self.total = QueueState::default();
        self.queues.iter_mut().flat_map(|queue| queue.drain(..)).collect()
    }

    /// The first of the longest queues.
    pub(crate) fn longest(&self, eviction: Eviction) -> usize {
        let measures = self.lengths.iter().map(|&length| eviction.measure(length)).enumerate();
        measures.fold((0, 0), |longest, next| if next.1 > longest.1 { next } else { longest }).0
    }
}

/// Return `queue` plus a packet of `size`.
pub(crate) fn plus_packet(queue: QueueState, size: Bytes) -> QueueState {
    QueueState { packets: queue.packets + 1, bytes: queue.bytes + size }
}

fn minus_packet(queue: QueueState, size: Bytes) -> QueueState {
    QueueState { packets: queue.packets - 1, bytes: queue.bytes - size }
}
