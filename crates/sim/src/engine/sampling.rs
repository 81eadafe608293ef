//! Samples at regular instants, and the checks at the end.

use aqmlab_tcp::Sender;
use aqmlab_units::Time;
use hdrhistogram::Histogram;

use super::observer::Observer;
use super::recorder::OwnerTotals;
use super::{ControlEvent, Engine, Event};
use crate::link::{DelayByOwner, Link, LinkCounters, Meter};
use crate::record::{GaugeTable, LinkDirection, Tables};
use crate::side::Direction;
use crate::spec::{HopSpec, Spec};
use crate::summary::{LinkWindow, Window};

/// The last readings of each link, in each direction.
#[derive(Debug)]
pub(super) struct Readings {
    links: Vec<[Reading; 2]>,
    /// The links stand in a chain, where rows name theirs.
    in_chain: bool,
    /// The queues may have different laws.
    several_laws: bool,
    /// Of the run.
    pub(super) seed: u64,
}

#[derive(Debug)]
struct Reading {
    /// Counters at the last reading for the table of the link.
    last: LinkCounters,
    /// Counters at the start of the measured window.
    at_window_start: LinkCounters,
    /// The queueing delays up to the start of the window.
    delays_at_window_start: Option<DelayByOwner>,
    /// Sampled lengths of its queue.
    queue_packets: Histogram<u64>,
}

/// The meters of each link, in each direction.
pub(super) type Meters<'a> = Vec<[&'a dyn Meter; 2]>;

pub(super) fn meters<O>([forth, back]: &[impl Link<O>; 2]) -> Meters<'_> {
    forth.meters().zip(back.meters()).map(|(forth, back)| [forth, back]).collect()
}

impl Readings {
    pub(super) fn new(spec: &Spec, seed: u64) -> Readings {
        let reading = || Reading {
            last: LinkCounters::default(),
            at_window_start: LinkCounters::default(),
            delays_at_window_start: None,
            queue_packets: Histogram::new(3).expect("three significant digits are allowed"),
        };
        Readings {
            links: spec.links.hops().iter().map(|_| [reading(), reading()]).collect(),
            seed,
            in_chain: spec.links.is_chain(),
            several_laws: spec.links.is_chain()
                || spec
                    .links
                    .hops()
                    .iter()
                    .map(HopSpec::queues)
                    .any(|[forth, back]| forth.name() != back.name()),
        }
    }

    /// Each link's direction as rows name it, what can be read off it, and what has been.
    fn each<'a>(
        &'a mut self,
        meters: &Meters<'a>,
    ) -> impl Iterator<Item = (LinkDirection, &'a dyn Meter, &'a mut Reading)> {
        let (in_chain, several_laws) = (self.in_chain, self.several_laws);
        (1..).zip(self.links.iter_mut().zip(meters)).flat_map(move |(number, (readings, &meters))| {
            let link = in_chain.then_some(number);
            let directions = Direction::BOTH.map(|direction| LinkDirection { link, direction, several_laws });
            let pairs = directions.into_iter().zip(meters).zip(readings);
            pairs.map(|((place, meter), reading)| (place, meter, reading))
        })
    }

    pub(super) fn sample_queues(&mut self, meters: &Meters<'_>, now: Time, tables: &mut Tables) {
        for (place, meter, reading) in self.each(meters) {
            tables.queue.push(now, place, meter);
            let sampled = &mut reading.queue_packets;
            sampled.record(u64::from(meter.state().packets)).expect("the histogram resizes itself");
        }
    }

    pub(super) fn begin_window(&mut self, meters: &Meters<'_>) {
        for (_, meter, reading) in self.each(meters) {
            reading.last = meter.counters();
            reading.at_window_start = reading.last;
            reading.delays_at_window_start = Some(meter.delays());
        }
    }

    pub(super) fn read_links(&mut self, meters: &Meters<'_>, now: Time, tables: &mut Tables) {
        for (place, meter, reading) in self.each(meters) {
            let counters = meter.counters();
            tables.link.push(now, place, &reading.last, &counters);
            reading.last = counters;
        }
    }

    /// Returns the current state of the links for a watcher; reading it does not change the run.
    pub(super) fn gauges<O>(&mut self, links: &mut [impl Link<O>; 2], now: Time) -> GaugeTable {
        for link in &mut *links {
            link.advance(now);
        }
        let mut gauges = GaugeTable::default();
        for (place, meter, _) in self.each(&meters(links)) {
            gauges.push(place, meter);
        }
        gauges
    }

    /// Link by link, the measured window up to now.
    pub(super) fn window(&self, meters: &Meters<'_>) -> Vec<[LinkWindow; 2]> {
        let link = |(readings, meters): (&[Reading; 2], &[&dyn Meter; 2])| {
            Direction::BOTH.map(|direction| {
                let (reading, meter) = (&readings[direction.index()], meters[direction.index()]);
                let delays = meter.delays();
                LinkWindow {
                    before: reading.at_window_start,
                    after: meter.counters(),
                    delays: match &reading.delays_at_window_start {
                        Some(before) => delays.since(before),
                        None => delays,
                    },
                    queue_packets: reading.queue_packets.clone(),
                }
            })
        };
        self.links.iter().zip(meters).map(link).collect()
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    pub(super) fn sample_queues(&mut self) {
        for link in &mut self.links {
            link.advance(self.now);
        }
        self.readings.sample_queues(&meters(&self.links), self.now, &mut self.recorder.tables);
        self.wheel.push(self.now + self.spec.record.queue_every, Event::Control(ControlEvent::SampleQueues));
    }

    pub(super) fn read_links(&mut self) {
        for link in &mut self.links {
            link.advance(self.now);
        }
        let meters = meters(&self.links);
        if self.now == self.window_start {
            self.readings.begin_window(&meters);
            self.note_delivered();
        } else {
            self.readings.read_links(&meters, self.now, &mut self.recorder.tables);
        }
        self.wheel.push(self.now + self.spec.record.link_every, Event::Control(ControlEvent::ReadLinks));
    }

    /// The measured window up to now.
    pub(super) fn window(&self) -> Window {
        let OwnerTotals { completed, aborted, .. } = self.recorder.total();
        let links = self.readings.window(&meters(&self.links));
        Window {
            links,
            seed: self.readings.seed,
            start: self.window_start,
            end: self.now,
            completed,
            aborted,
            repeats: self.recorder.repeats,
        }
    }

    /// offered = delivered + dropped + still inside, at each queue and end to end; and what endpoints believe to be
    /// on the way is on the way.
    pub(super) fn check_conservation(&self) {
        let links = || self.links.iter().flat_map(Link::meters);
        for link in links() {
            let LinkCounters { queue, sent, held, .. } = link.counters();
            assert_eq!(queue.offered, queue.queued + queue.refused(), "a packet vanished on arrival");
            let dropped_inside = queue.dropped_at_dequeue + queue.evicted;
            assert_eq!(queue.queued, dropped_inside + sent + held, "a packet vanished in the queue");
        }
        let inside: u64 = links().map(Meter::inside).sum();
        let on_the_way = self.connections.packets_in_network() + self.sources.datagrams_on_the_way();
        let in_wheel = self.wheel.iter().filter(|event| matches!(event, Event::AtLink(_))).count() as u64;
        assert_eq!(on_the_way, inside + in_wheel, "a packet vanished between the endpoints");
    }
}
