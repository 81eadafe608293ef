//! The network of the laboratory for packets of real hosts: the round-trip times of connections, the interfaces
//! of the servers' machines, the link with its queues, and the records of them.
//!
//! Time is the caller's, who may be late. Events since the last call are handled at their own times and in order,
//! so that queues see packets as they would have arrived.

mod connections;
mod flow_states;
mod kernel_queues;
mod packets;
mod sources;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_aqm::Ecn;
use aqmlab_tcp::{Flags, RecoveryCounts, Segment};
use aqmlab_units::{Bytes, Duration, Time};
use aqmlab_workload::Completed;
use aqmlab_workload::sources::Datagram;

pub use self::connections::{End, Route, SourceConnection, SourceFlow, UserConnection};
pub use self::flow_states::FlowState;
pub use self::kernel_queues::KernelArrival;
pub(crate) use self::kernel_queues::KernelQueueAt;
pub(crate) use self::packets::PacketTag;
pub use self::packets::{Outcome, Sent};
use self::sources::SourcesSeen;
use super::hosts::{AccessPath, Hosts, Interface};
use super::recorder::{OwnerTotals, Recorder};
use super::sampling::{Readings, meters};
use super::sources::datagrams;
use crate::capture::ConnectionOrigin;
use crate::explain::Tagged;
use crate::labels::{Labels, PROGRAM, label};
use crate::link::{Forwarding, Link, LinkCounters, Meter, WireEvent};
use crate::packet::{EndpointId, HEADERS, Owner, Packet};
use crate::record::{ExchangeRow, GaugeTable, ResponseTimesTable, Tables};
use crate::side::{Direction, Side};
use crate::slab::Slab;
use crate::spec::Spec;
use crate::summary::{Summary, Window};

/// The network of a spec, a link or a chain, for its users and sources, and for programs, whose connections are
/// between side 0 and side 1.
pub struct EmulatedNetwork {
    now: Time,
    window_start: Time,
    end: Time,
    spec: Spec,
    links: [Box<dyn Link<PacketTag> + Send>; 2],
    kernel_queues: Vec<KernelQueueAt>,
    hosts: Hosts,
    /// Access paths of client and server, by slot.
    access: Vec<[AccessPath; 2]>,
    free: Vec<u32>,
    /// Packets before the link, by arrival time and then in the order in which they were sent; the numbers are
    /// indices of `packets`.
    to_links: BinaryHeap<Reverse<(Time, u64, usize)>>,
    packets: Slab<Packet<PacketTag>>,
    sent: u64,
    next_sample: Time,
    next_reading: Time,
    readings: Readings,
    /// The labels of flows, if a queue uses them.
    labels: Option<Labels>,
    recorder: Recorder,
    sources: SourcesSeen,
}

impl EmulatedNetwork {
    /// The length of the shortest packet: two headers without options.
    pub const SHORTEST: Bytes = Bytes::new(HEADERS);

    pub(crate) fn new(
        spec: &Spec,
        seed: u64,
        mut links: [Box<dyn Link<PacketTag> + Send>; 2],
        kernel_queues: Vec<KernelQueueAt>,
    ) -> EmulatedNetwork {
        let window_start = Time::ZERO + spec.protocol.warmup;
        let labels = Labels::new(spec);
        if let Some(labels) = &labels {
            label(&mut links, labels.of_datagrams(spec));
        }
        EmulatedNetwork {
            now: Time::ZERO,
            window_start,
            end: window_start + spec.protocol.duration,
            links,
            kernel_queues,
            hosts: Hosts::new(spec),
            access: Vec::new(),
            free: Vec::new(),
            to_links: BinaryHeap::new(),
            packets: Slab::default(),
            sent: 0,
            next_sample: window_start + spec.record.queue_every,
            next_reading: window_start,
            readings: Readings::new(spec, seed),
            labels,
            recorder: Recorder::new(spec, None),
            sources: SourcesSeen::new(datagrams(spec, seed)),
            spec: spec.clone(),
        }
    }

    /// The end of the run: of warm-up and measurement window, or an earlier end by [`EmulatedNetwork::end_by`].
    pub fn end(&self) -> Time {
        self.end
    }

    /// End the run at `at`, if that is earlier, but neither before the measurement window starts nor before the
    /// present.
    pub fn end_by(&mut self, at: Time) {
        self.end = self.end.min(at.max(self.now).max(self.window_start));
    }

    /// Open a connection of a user.
    pub fn open(&mut self, connection: &UserConnection) -> Route {
        let side = connection.client_side();
        let number = u64::from(connection.user) + connection.number;
        let machine = self.hosts.machine_for(side.other(), number);
        let access = self.hosts.for_user(machine, connection.min_rtt);
        self.take_place(side, access, (ConnectionOrigin::User(connection.user), Some(machine)))
    }

    /// Open a connection of a source. Each of its ends has its own interface.
    pub fn open_of_source(&mut self, connection: &SourceConnection) -> Route {
        let owner = Owner::source(connection.source);
        let access = self.hosts.for_source(owner, connection.min_rtt);
        let origin = ConnectionOrigin::Source(connection.source);
        let route = self.take_place(Side::numbered(connection.side), access, (origin, None));
        self.hosts.give_machines(route.0, owner);
        route
    }

    /// Open a connection of a program on side 0, whose path adds `min_rtt` to a round trip. No interface delays
    /// the packets of either end.
    pub fn open_program(&mut self, min_rtt: Duration) -> Route {
        let host = (ConnectionOrigin::User(PROGRAM), None);
        self.take_place(Side::default(), self.hosts.for_program(min_rtt), host)
    }

    /// Opens a connection of `origin` with a server on `machine`, if it is one of the users' servers.
    fn take_place(
        &mut self,
        side: Side,
        access: [AccessPath; 2],
        (origin, machine): (ConnectionOrigin, Option<u16>),
    ) -> Route {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.access.push(access);
            u32::try_from(self.access.len() - 1).expect("fewer than 2^29 connections")
        });
        self.access[slot as usize] = access;
        let (client, owner) = (EndpointId::client(slot, side), origin.owner());
        for link in &mut self.links {
            link.opened(client, owner);
        }
        if let Some(labels) = &self.labels {
            label(&mut self.links, labels.of_connection(client, origin, machine));
        }
        self.sources.opened(slot, owner);
        Route(client)
    }

    /// Close a connection that sends no more packets.
    pub fn close(&mut self, route: Route) {
        self.free.push(route.0.slot());
    }

    /// Send a packet at `now`, which must not be earlier than for the packet before.
    pub fn send(&mut self, route: Route, from: End, packet: &Sent, now: Time) {
        let client = route.0;
        let (sender, index) = match from {
            End::Client => (client, 0),
            End::Server => (client.peer(), 1),
        };
        let AccessPath { interface, delay } = self.access[client.slot() as usize][index];
        let first_bit = if interface == Interface::NONE {
            now
        } else {
            self.hosts.send(interface, sender, packet.size, now)
        };
        self.sources.sent(client.slot());
        let segment = Segment { len: packet.data(), ..Segment::default() };
        self.schedule(Packet { to: sender.peer(), segment }, packet, first_bit + delay);
    }

    /// Send a datagram of source `source` at `now`, which must not be earlier than for the packet before.
    pub fn send_datagram(&mut self, source: u8, datagram: &Datagram, packet: &Sent, now: Time) {
        let first_bit = self.hosts.send_datagram(source, datagram, packet.size, now);
        let tagged = self.sources.datagrams(source).send(source, datagram, self.window_start);
        self.schedule(tagged, packet, first_bit);
    }

    /// Schedule the arrival of `sent` at the link at `at`.
    fn schedule(&mut self, mut packet: Packet<PacketTag>, sent: &Sent, at: Time) {
        packet.segment.flags = match sent.ecn {
            Ecn::NotEct => Flags::NONE,
            Ecn::Ect0 => Flags::ECT,
            Ecn::Ect1 => Flags::ECT1,
            Ecn::Ce => Flags::CE,
        };
        packet.segment.options = Tagged::new(sent.number);
        let index = self.packets.put(packet);
        self.to_links.push(Reverse((at.max(self.now), self.sent, index)));
        self.sent += 1;
    }

    /// The time of the network's next event.
    pub fn next_event(&self) -> Time {
        let arrival = self.to_links.peek().map_or(Time::MAX, |&Reverse((at, ..))| at);
        let deliveries = self.links.iter().map(Link::next_delivery);
        deliveries.fold(arrival, Time::min).min(self.next_sample).min(self.next_reading)
    }

    /// Advance to `until`, or to the end if that is earlier, and report the outcomes of packets. At one time,
    /// deliveries come before arrivals at the link, as in the simulator.
    pub fn advance(&mut self, until: Time, report: &mut impl FnMut(Outcome)) {
        let until = until.min(self.end);
        loop {
            let now = self.next_event();
            if now > until {
                break;
            }
            self.now = now;
            if let Some(direction) = Direction::BOTH
                .into_iter()
                .find(|direction| self.links[direction.index()].next_delivery() == now)
            {
                if self.links[direction.index()].forward_to_next_hop() == Forwarding::AtDestination {
                    let packet = self.links[direction.index()].deliver();
                    report(Outcome::Delivered {
                        number: packet.segment.options.number(),
                        at: now,
                        side: 1 - direction.index(),
                        ce: packet.segment.flags.contains(Flags::CE),
                    });
                }
                self.drain_drops(direction, report);
            } else if let Some(&Reverse((at, _, index))) = self.to_links.peek()
                && at == now
            {
                self.to_links.pop();
                let packet = self.packets.take(index);
                let direction = packet.to.peer().direction();
                self.links[direction.index()].arrive(&packet, now);
                self.drain_drops(direction, report);
            } else if self.next_sample == now {
                self.advance_links(report);
                self.readings.sample_queues(&meters(&self.links), now, &mut self.recorder.tables);
                self.next_sample = now + self.spec.record.queue_every;
            } else {
                self.advance_links(report);
                self.read_links();
                self.next_reading = now + self.spec.record.link_every;
            }
        }
        self.now = self.now.max(until);
        if self.now == self.end {
            self.advance_links(report);
            self.check_conservation();
        }
    }

    fn advance_links(&mut self, report: &mut impl FnMut(Outcome)) {
        for direction in Direction::BOTH {
            self.links[direction.index()].advance(self.now);
            self.drain_drops(direction, report);
        }
    }

    fn read_links(&mut self) {
        let meters = meters(&self.links);
        if self.now == self.window_start {
            self.sources.begin_window();
            self.readings.begin_window(&meters);
        } else {
            self.readings.read_links(&meters, self.now, &mut self.recorder.tables);
        }
    }

    fn drain_drops(&mut self, direction: Direction, report: &mut impl FnMut(Outcome)) {
        if let Some(WireEvent::Lost(packet)) = self.links[direction.index()].pop_wire_event() {
            self.sources.lost(&packet, self.window_start);
            report(Outcome::Lost { number: packet.segment.options.number() });
        }
        while let Some(packet) = self.links[direction.index()].pop_drop() {
            let owner = self.sources.lost(&packet, self.window_start);
            if self.spec.record.losses && self.window_start <= self.now {
                self.recorder.tables.losses.push(self.now, packet.to, owner);
            }
            report(Outcome::Lost { number: packet.segment.options.number() });
        }
    }

    /// Check that each packet offered to a queue was sent, dropped, or is still in it.
    fn check_conservation(&self) {
        let links = self.links.iter().flat_map(Link::meters);
        for LinkCounters { queue, sent, held, .. } in links.map(Meter::counters) {
            assert_eq!(queue.offered, queue.queued + queue.refused(), "a packet vanished on arrival");
            let dropped_inside = queue.dropped_at_dequeue + queue.evicted;
            assert_eq!(queue.queued, dropped_inside + sent + held, "a packet vanished in the queue");
        }
    }

    /// Record an exchange of `user` that was completed at `now`. Its recoveries are unknown.
    pub fn completed(&mut self, user: u32, exchange: &Completed, now: Time) {
        self.write_down(
            Owner::USERS,
            &ExchangeRow {
                exchange,
                side: Side::numbered((user & 1) as u8),
                user: user.into(),
                recovery: RecoveryCounts::default(),
            },
            now,
        );
    }

    /// Record an exchange of a user that ended at `now` without its response.
    pub fn aborted(&mut self, now: Time) {
        self.give_up(Owner::USERS, now);
    }

    /// Record retransmissions in the measurement window, as hosts count them.
    pub fn repeated(&mut self, segments: u64) {
        self.recorder.repeats += segments;
    }

    fn write_down(&mut self, owner: Owner, row: &ExchangeRow<'_>, now: Time) {
        if self.is_measured(now) {
            self.recorder.completed(owner, row);
        }
    }

    fn give_up(&mut self, owner: Owner, now: Time) {
        if self.is_measured(now) {
            self.recorder.aborted(owner, now);
        }
    }

    fn is_measured(&self, now: Time) -> bool {
        self.recorder.counts(now) && now <= self.end
    }

    /// New rows of the time series, to be taken out.
    pub fn tables(&mut self) -> &mut Tables {
        &mut self.recorder.tables
    }

    /// The current readings of the links.
    pub fn gauges(&mut self) -> GaugeTable {
        self.readings.gauges(&mut self.links, self.now)
    }

    /// The histogram of response times so far.
    pub fn response_times(&self) -> ResponseTimesTable {
        self.recorder.total().times.table()
    }

    /// The summary of the run, at its end.
    pub fn summary(&self) -> Summary {
        let OwnerTotals { completed, aborted, times } = self.recorder.total();
        let links = self.readings.window(&meters(&self.links));
        let repeats = self.recorder.repeats;
        let window = Window {
            links,
            seed: self.readings.seed,
            start: self.window_start,
            end: self.now,
            completed,
            aborted,
            repeats,
        };
        let (users, sources) = self.summaries(&window);
        Summary { users, sources, ..Summary::new(&self.spec, &window, &times) }
    }
}
