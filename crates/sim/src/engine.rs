//! The engine: users, connections, the link between them, and the main loop that advances time.
//!
//! ```text
//!    client --(its round-trip time: the wheel)--> link queue --(a ring)-----------> server
//!    client <--(a ring)-- link queue <--(at once, or the wheel)-- its machine <--- server
//! ```
//!
//! As in the testbed, the whole round-trip time of a connection is added to the packets of its browser, before
//! the link. The servers are next to the link, behind the network interfaces of a few machines. A spec can put
//! the delay on the other side, or divide it. The ends of a source's connection have an interface each (`hosts`).
//! Packets before the link are events in the wheel, except those that leave an idle interface; packets beyond it
//! are in the links' rings. Events at one time happen in a fixed order: deliveries of direction 0, deliveries of
//! direction 1, then the wheel's in the order in which they were pushed.

mod applications;
mod connections;
mod content;
pub(crate) mod emulated;
mod endpoints;
mod flow_recorder;
pub(crate) mod hosts;
mod limits;
pub(crate) mod observer;
mod prefetch;
mod quic_datagrams;
mod recorder;
mod sampling;
mod sources;
mod timers;
mod wheel;

use aqmlab_tcp::{Sender, WindowScale};
use aqmlab_units::{Bytes, Duration, Time};
use aqmlab_workload::pages::Pages;
use aqmlab_workload::sources::{Source, VectorAction};
use aqmlab_workload::{User, UserAction, Web};

use self::applications::{Flows, PageUsers};
use self::connections::Connections;
use self::content::ApplicationId;
pub(crate) use self::content::UserId;
use self::flow_recorder::FlowRecorder;
use self::hosts::{Hosts, Stacks};
use self::limits::Limits;
use self::observer::Observer;
pub(crate) use self::quic_datagrams::QuicDatagrams;
use self::recorder::Recorder;
use self::sampling::Readings;
use self::sources::{Sources, datagrams};
use self::timers::{TimerEvent, Timers};
use self::wheel::Wheel;
use crate::capture::Capture;
use crate::labels::{Labels, label};
use crate::link::{Forwarding, Link, WireEvent};
use crate::packet::{Owner, Packet};
use crate::record::{GaugeTable, ResponseTimesTable, Tables};
use crate::side::Direction;
use crate::simulation::Simulation;
use crate::spec::Spec;
use crate::summary::Summary;

/// An event in the wheel: nearly always a packet, with the layout that it has in the link, so that it is copied
/// as it is. A control event takes its place, so that an event takes 20 bytes and a node of the wheel 32.
#[derive(Clone, Copy, Debug)]
enum Event<O> {
    /// A packet reaches the link.
    AtLink(Packet<O>),
    /// Anything else.
    Control(ControlEvent),
}

/// Less frequent events.
#[derive(Clone, Copy, Debug)]
enum ControlEvent {
    /// Check some timers.
    Timer(TimerEvent),
    /// A pause of an application is over.
    Wake(ApplicationId),
    /// A source opens a connection or sends a datagram.
    Source(u8),
    /// Sample the queues.
    SampleQueues,
    /// Read the link's counters.
    ReadLinks,
    /// Sample what limits some connections.
    SampleLimits,
    /// Sample the recorded flows.
    SampleFlows,
}

const _: () = assert!(size_of::<Event<WindowScale>>() == 20);

/// The traffic of the network.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) population: Population,
    pub(crate) sources: Vec<Source>,
}

/// The model of the web users.
#[derive(Debug)]
pub(crate) enum Population {
    Web(Box<Web>),
    Pages(Box<Pages>),
}

/// The two directions of the link, and the capture of their queues.
pub(crate) struct Network<L> {
    pub(crate) links: [L; 2],
    pub(crate) capture: Option<Capture>,
}

/// The engine for hosts with the TCP `S` and links of kind `L`, observed by `O`.
pub(crate) struct Engine<S: Sender, L, O: Observer<S> = ()> {
    now: Time,
    window_start: Time,
    end: Time,
    spec: Spec,
    stacks: Stacks,
    wheel: Wheel<Event<O::PacketTag>>,
    links: [L; 2],
    observer: O,
    connections: Connections<S>,
    hosts: Hosts,
    timers: Timers,
    /// The model of users of 2001, and their states.
    web: Option<Web>,
    users: Vec<User>,
    /// Actions of users for the current event; empty between events.
    actions: Vec<UserAction>,
    /// The users who load pages of today, if that is what users do.
    pages: Option<Box<PageUsers>>,
    sources: Sources,
    flows: Flows,
    /// Actions of a source's connection for the current event; empty between events.
    flow_actions: Vec<VectorAction>,
    recorder: Recorder,
    readings: Readings,
    limits: Limits,
    /// The labels of flows, if a queue uses them.
    labels: Option<Labels>,
    /// Notified of new connections.
    capture: Option<Capture>,
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    pub(crate) fn new(
        spec: &Spec,
        seed: u64,
        traffic: Traffic,
        network: Network<L>,
        observer: O,
    ) -> Engine<S, L, O> {
        // A few events a bucket, which share the cost of advancing to it: in that time the fastest link sends
        // four packets of about 500 bytes.
        let links = spec.links.hops().iter().flat_map(|hop| hop.link.contexts());
        let fastest = links.map(|link| link.rate).max().expect("there is a link");
        let spacing = fastest.time_to_send(Bytes::new(2_000));
        let window_start = Time::ZERO + spec.protocol.warmup;
        let (web, pages) = match traffic.population {
            Population::Web(web) => (Some(*web), None),
            Population::Pages(pages) => (None, Some(Box::new(PageUsers::new(*pages)))),
        };
        let mut engine = Engine {
            now: Time::ZERO,
            window_start,
            end: window_start + spec.protocol.duration,
            spec: spec.clone(),
            wheel: Wheel::new(spacing),
            links: network.links,
            observer,
            connections: Connections::new(1 + spec.sources.len()),
            hosts: Hosts::new(spec),
            timers: Timers::new(&spec.tcp),
            stacks: Stacks::new(spec, seed),
            web,
            pages,
            users: Vec::new(),
            actions: Vec::new(),
            sources: Sources::new(traffic.sources, datagrams(spec, seed), window_start),
            flows: Flows::default(),
            flow_actions: Vec::new(),
            recorder: Recorder::new(spec, FlowRecorder::new(spec, seed)),
            readings: Readings::new(spec, seed),
            limits: Limits::new(1 + spec.sources.len(), seed, window_start),
            labels: Labels::new(spec),
            capture: network.capture,
        };
        if let Some(labels) = &engine.labels {
            label(&mut engine.links, labels.of_datagrams(spec));
        }
        for number in 0..2 * spec.users.per_side {
            let first_wake = engine.add_user(number);
            let id = UserId(number);
            // The users of one side are the same with and without users on the other.
            if id.side().number() < spec.users.sides {
                engine.wheel.push(
                    Time::ZERO + first_wake,
                    Event::Control(ControlEvent::Wake(ApplicationId::User(id))),
                );
            }
        }
        for number in engine.sources.numbers() {
            engine.schedule_source(number);
        }
        engine.wheel.push(window_start + spec.record.queue_every, Event::Control(ControlEvent::SampleQueues));
        // The first reading is the start of the window.
        engine.wheel.push(window_start, Event::Control(ControlEvent::ReadLinks));
        engine.schedule_limits_sample();
        if engine.recorder.flows.is_some() {
            engine.wheel.push(window_start, Event::Control(ControlEvent::SampleFlows));
        }
        engine
    }

    /// Add the next user. Returns the time of its first page.
    fn add_user(&mut self, number: u32) -> Duration {
        match (&self.web, &mut self.pages) {
            (Some(web), _) => {
                let (user, first_wake) = web.user(number);
                self.users.push(user);
                first_wake
            }
            (None, Some(pages)) => pages.add(number),
            (None, None) => unreachable!("users have a model"),
        }
    }

    /// The main loop: handle events up to `until`, the earliest first.
    fn run_until(&mut self, until: Time) {
        loop {
            let deliveries = [self.links[0].next_delivery(), self.links[1].next_delivery()];
            let direction =
                if deliveries[1] < deliveries[0] { Direction::REVERSE } else { Direction::FORWARD };
            let delivery = deliveries[direction.index()];
            let event = self.wheel.peek();
            if delivery <= event {
                if delivery > until {
                    break;
                }
                self.now = delivery;
                // The state of a later packet's endpoint is loaded while this packet is handled.
                self.connections.prefetch(self.links[direction.index()].peek_prefetch());
                match self.links[direction.index()].forward_to_next_hop() {
                    Forwarding::Forwarded => self.drain_drops(direction),
                    Forwarding::AtDestination => {
                        let packet = self.links[direction.index()].deliver();
                        self.receive(packet);
                    }
                }
            } else {
                if event > until {
                    break;
                }
                self.now = event;
                match *self.wheel.pop() {
                    Event::AtLink(ref packet) => {
                        if let Some(direction) = arrive(&mut self.links, packet, self.now) {
                            self.drain_drops(direction);
                        }
                    }
                    Event::Control(event) => self.handle(event),
                }
            }
        }
        self.now = until;
    }

    /// Handle a control event, whose time has come.
    #[inline(never)]
    fn handle(&mut self, event: ControlEvent) {
        match event {
            ControlEvent::Timer(event) => self.on_timer(event),
            ControlEvent::Wake(application) => self.wake(application),
            ControlEvent::Source(number) => self.run_source(number),
            ControlEvent::SampleQueues => self.sample_queues(),
            ControlEvent::ReadLinks => self.read_links(),
            ControlEvent::SampleLimits => self.sample_limits(),
            ControlEvent::SampleFlows => self.sample_flows(),
        }
    }

    /// A packet arrives at the link at the time of its departure from the host.
    #[inline(never)]
    fn reach_link(&mut self, packet: &Packet<O::PacketTag>) {
        if let Some(direction) = arrive(&mut self.links, packet, self.now) {
            self.drain_drops(direction);
        }
    }

    /// Handle the packets that a link has dropped or lost, which will not arrive, and copies of packets, which will.
    #[inline(never)]
    fn drain_drops(&mut self, direction: Direction) {
        match self.links[direction.index()].pop_wire_event() {
            Some(WireEvent::Lost(packet)) => self.on_loss(&packet),
            Some(WireEvent::Copied(packet)) if packet.to.is_datagram() => self.copied_datagram(&packet),
            Some(WireEvent::Copied(packet)) => {
                self.observer.copied(&packet);
                self.connections.copied_packet(packet.to.peer());
            }
            None => {}
        }
        while let Some(packet) = self.links[direction.index()].pop_drop() {
            self.on_drop(&packet, direction);
        }
    }

    fn on_drop(&mut self, packet: &Packet<O::PacketTag>, direction: Direction) {
        self.observer.lost(packet, &self.links[direction.index()], self.now);
        if self.spec.record.losses && self.window_start <= self.now {
            let owner = packet.to.datagram_owner();
            let owner = owner.unwrap_or_else(|| self.connections.session(packet.to).owner());
            self.recorder.tables.losses.push(self.now, packet.to, owner);
        }
        self.on_loss(packet);
    }

    /// Handle a packet that will not arrive.
    fn on_loss(&mut self, packet: &Packet<O::PacketTag>) {
        if packet.to.is_datagram() {
            return self.lose_datagram(packet);
        }
        self.observer.discarded(packet);
        let from = packet.to.peer();
        self.connections.lost_packet(from);
        self.connections.release_if_done(from);
    }
}

/// Offer a packet to the link in its direction, which is returned if the link has drops.
#[inline(always)]
fn arrive<L: Link<O>, O>(links: &mut [L; 2], packet: &Packet<O>, now: Time) -> Option<Direction> {
    let direction = packet.to.peer().direction();
    links[direction.index()].arrive(packet, now).then_some(direction)
}

impl<S: Sender, L: Link<O::PacketTag> + Send, O: Observer<S> + Send> Simulation for Engine<S, L, O>
where
    O::PacketTag: Send,
{
    fn advance(&mut self, until: Time) {
        let until = until.min(self.end);
        if until > self.now {
            self.run_until(until);
        }
        if self.now == self.end {
            // Departures after a link's last arrival are not events: they are worked out here.
            for direction in Direction::BOTH {
                self.links[direction.index()].advance(self.end);
                self.drain_drops(direction);
            }
            self.check_conservation();
        }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn end(&self) -> Time {
        self.end
    }

    fn tables(&mut self) -> &mut Tables {
        &mut self.recorder.tables
    }

    fn gauges(&mut self) -> GaugeTable {
        self.readings.gauges(&mut self.links, self.now)
    }

    fn response_times(&self) -> ResponseTimesTable {
        self.recorder.total().times.table()
    }

    fn summary(&mut self) -> Summary {
        let window = self.window();
        let sources = self.source_summaries(&window);
        let users = self.users_summary(&window);
        let users_limited_by_percent = self.limits.percent(Owner::USERS);
        let of_links = Summary::new(&self.spec, &window, &self.recorder.total().times);
        let pages = self.pages.as_ref().map(|pages| pages.loads.quality());
        Summary { users, users_limited_by_percent, pages, sources, ..of_links }
    }
}
