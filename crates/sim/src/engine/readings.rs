//! What is read off at regular instants, and what must hold at the end.

use aqmlab_tcp::Stack;

use super::{Engine, Event};
use crate::link::{Link, LinkCounters};
use crate::observer::Observer;

impl<S: Stack, L: Link<O::Carried>, O: Observer<S>> Engine<S, L, O> {
    pub(super) fn sample_queues(&mut self) {
        for (direction, link) in self.links.iter_mut().enumerate() {
            link.advance(self.now);
            self.tables.queue.push(self.now, direction, link);
            self.queue_packets.record(u64::from(link.state().packets)).expect("the histogram resizes itself");
        }
        self.wheel.push(self.now + self.spec.record.queue_every, Event::SampleQueues);
    }

    pub(super) fn read_links(&mut self) {
        for (direction, link) in self.links.iter_mut().enumerate() {
            link.advance(self.now);
            let counters = link.counters();
            if self.now == self.window_start {
                self.at_window_start[direction] = counters;
            } else {
                self.tables.link.push(self.now, direction, &self.last_read[direction], &counters);
            }
            self.last_read[direction] = counters;
        }
        if self.now == self.window_start {
            self.note_delivered();
        }
        self.wheel.push(self.now + self.spec.record.link_every, Event::ReadLinks);
    }

    /// offered = delivered + dropped + still inside, at each queue and end to end; and what endpoints believe to be
    /// on the way is on the way.
    pub(super) fn check_conservation(&self) {
        for link in &self.links {
            let LinkCounters { queue, sent, held, .. } = link.counters();
            assert_eq!(queue.offered, queue.queued + queue.refused(), "a packet vanished at the gate");
            let dropped_inside = queue.dropped_at_dequeue + queue.evicted;
            assert_eq!(queue.queued, dropped_inside + sent + held, "a packet vanished in the queue");
        }
        let inside: u64 = self.links.iter().map(Link::inside).sum();
        let on_the_way = self.connections.packets_in_network() + self.sources.datagrams_on_the_way();
        let in_wheel = self.wheel.iter().filter(|event| matches!(event, Event::AtLink { .. })).count() as u64;
        assert_eq!(on_the_way, inside + in_wheel, "a packet vanished between the endpoints");
    }
}
