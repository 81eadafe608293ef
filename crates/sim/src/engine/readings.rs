//! What is read off at regular instants, and what must hold at the end.

use aqmlab_tcp::Stack;
use hdrhistogram::Histogram;

use super::{Engine, Event};
use crate::link::{Link, LinkCounters, Meter, Waited};
use crate::observer::Observer;
use crate::record::LinkDirection;
use crate::spec::Spec;
use crate::summary::{LinkWindow, Window};

/// What has been read off each link, in each direction.
#[derive(Debug)]
pub(super) struct Readings(Vec<[Reading; 2]>);

#[derive(Debug)]
struct Reading {
    /// Counters at the last reading for the table of the link.
    last: LinkCounters,
    /// Counters at the start of the measured window.
    at_window_start: LinkCounters,
    /// What packets had waited by then.
    waited_at_window_start: Option<Waited>,
    /// Sampled lengths of its queue.
    queue_packets: Histogram<u64>,
}

impl Readings {
    pub(super) fn new(spec: &Spec) -> Readings {
        let reading = || Reading {
            last: LinkCounters::default(),
            at_window_start: LinkCounters::default(),
            waited_at_window_start: None,
            queue_packets: Histogram::new(3).expect("three significant digits are allowed"),
        };
        Readings(spec.links().map(|_| [reading(), reading()]).collect())
    }
}

impl<S: Stack, L: Link<O::Carried>, O: Observer<S>> Engine<S, L, O> {
    /// Where the rows of a link's direction belong.
    fn place(&self, link: usize, direction: usize) -> LinkDirection {
        let number = u8::try_from(link + 1).expect("the spec bounds the number of links");
        LinkDirection { link: (!self.spec.chain.is_empty()).then_some(number), direction }
    }

    pub(super) fn sample_queues(&mut self) {
        for link in &mut self.links {
            link.advance(self.now);
        }
        for number in 0..self.readings.0.len() {
            for direction in 0..2 {
                let place = self.place(number, direction);
                let link = self.links[direction].meter(number).expect("a reading for each link");
                self.tables.queue.push(self.now, place, link);
                let sampled = &mut self.readings.0[number][direction].queue_packets;
                sampled.record(u64::from(link.state().packets)).expect("the histogram resizes itself");
            }
        }
        self.wheel.push(self.now + self.spec.record.queue_every, Event::SampleQueues);
    }

    pub(super) fn read_links(&mut self) {
        for link in &mut self.links {
            link.advance(self.now);
        }
        for number in 0..self.readings.0.len() {
            for direction in 0..2 {
                let place = self.place(number, direction);
                let link = self.links[direction].meter(number).expect("a reading for each link");
                let counters = link.counters();
                let reading = &mut self.readings.0[number][direction];
                if self.now == self.window_start {
                    reading.at_window_start = counters;
                    reading.waited_at_window_start = Some(link.waited());
                } else {
                    self.tables.link.push(self.now, place, &reading.last, &counters);
                }
                reading.last = counters;
            }
        }
        if self.now == self.window_start {
            self.note_delivered();
        }
        self.wheel.push(self.now + self.spec.record.link_every, Event::ReadLinks);
    }

    /// The measured window up to now.
    pub(super) fn window(&self) -> Window {
        let links = self.readings.0.iter().enumerate().map(|(number, readings)| {
            [0, 1].map(|direction| {
                let link = self.links[direction].meter(number).expect("a reading for each link");
                let reading = &readings[direction];
                let waited = link.waited();
                LinkWindow {
                    before: reading.at_window_start,
                    after: link.counters(),
                    waited: match &reading.waited_at_window_start {
                        Some(before) => waited.since(before),
                        None => waited,
                    },
                    queue_packets: reading.queue_packets.clone(),
                }
            })
        });
        Window {
            links: links.collect(),
            start: self.window_start,
            end: self.now,
            completed: self.completed,
            aborted: self.aborted,
        }
    }

    /// offered = delivered + dropped + still inside, at each queue and end to end; and what endpoints believe to be
    /// on the way is on the way.
    pub(super) fn check_conservation(&self) {
        let links = || self.links.iter().flat_map(Link::meters);
        for link in links() {
            let LinkCounters { queue, sent, held, .. } = link.counters();
            assert_eq!(queue.offered, queue.queued + queue.refused(), "a packet vanished at the gate");
            let dropped_inside = queue.dropped_at_dequeue + queue.evicted;
            assert_eq!(queue.queued, dropped_inside + sent + held, "a packet vanished in the queue");
        }
        let inside: u64 = links().map(Meter::inside).sum();
        let on_the_way = self.connections.packets_in_network() + self.sources.datagrams_on_the_way();
        let in_wheel = self.wheel.iter().filter(|event| matches!(event, Event::AtLink { .. })).count() as u64;
        assert_eq!(on_the_way, inside + in_wheel, "a packet vanished between the endpoints");
    }
}
