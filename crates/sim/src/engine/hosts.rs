//! The machines that endpoints run on, and how what they send comes to the link.
//!
//! A window of segments that a server releases at once reaches the link one frame time of its machine's interface
//! apart; without that every burst of slow start would fall upon the queue in one instant. What browsers send
//! (requests and acknowledgements, spread by their round-trip times) is not held up. Each end of a source's connection, and
//! each flow of datagrams, has a machine of its own, as in the dumbbells of the simulators. A packet leaves its machine when
//! its first bit is sent, so that one that finds the interface idle need not wait for it as an event.
//!
//! Behind the interface is what the path adds to the round trip at this end.
//!
//! An interface keeps order, so its packets could stand in a ring with only the foremost in a queue of events; with
//! sixteen rings and a heap that cost 4 % more instructions than giving each packet to the wheel.

mod stacks;

use aqmlab_units::{Bytes, Duration, Time};

pub use self::stacks::{StackId, Stacks};
use crate::link::Transmitter;
use crate::packet::{EndpointId, Owner};
use crate::side::Side;
use crate::spec::{DelayAt, Spec};

/// The interface that an endpoint sends through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface(u16);

impl Interface {
    /// A browser's, which holds nothing up.
    pub(super) const NONE: Interface = Interface(u16::MAX);
    /// That of a machine with no other endpoint.
    const OWN: Interface = Interface(u16::MAX - 1);
}

/// How what an endpoint sends comes to the link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccessPath {
    pub(super) interface: Interface,
    /// What the path adds behind it, in whole microseconds.
    pub(super) delay: Duration,
}

/// All interfaces.
#[derive(Debug)]
pub(super) struct Hosts {
    per_side: u32,
    /// Of the machines that the users' servers run on, both sides.
    servers: Vec<Transmitter>,
    /// Of machines with one endpoint, by its number.
    own: Vec<Transmitter>,
    /// By owner: where delay is added, and an interface that has sent nothing yet.
    delay_at: Vec<DelayAt>,
    new: Vec<Transmitter>,
    /// By source and flow of datagrams.
    datagrams: Vec<Vec<Transmitter>>,
}

impl Hosts {
    pub(super) fn new(spec: &Spec) -> Hosts {
        let overhead = spec.link.overhead;
        let interface = Transmitter::new(spec.hosts.rate, overhead);
        let sources = &spec.sources;
        let of_sources = sources.iter().map(|source| Transmitter::new(source.interface, overhead));
        Hosts {
            per_side: spec.hosts.servers_per_side,
            servers: vec![interface; 2 * spec.hosts.servers_per_side as usize],
            own: Vec::new(),
            delay_at: std::iter::once(spec.users.delay_at)
                .chain(sources.iter().map(|source| source.delay_at))
                .collect(),
            new: std::iter::once(interface).chain(of_sources).collect(),
            datagrams: vec![Vec::new(); sources.len()],
        }
    }

    /// The machine on `side` that serves a web user's connection known by `number`: all machines serve equally often.
    pub(super) fn of(&self, side: Side, number: u64) -> u16 {
        let among = number % u64::from(self.per_side);
        u16::try_from(among + u64::from(side.number()) * u64::from(self.per_side))
            .expect("the spec bounds the number of hosts")
    }

    /// Browser and server of a web user's connection with this round trip, the server on `machine`.
    pub(super) fn for_user(&self, machine: u16, min_rtt: Duration) -> [AccessPath; 2] {
        self.access(Owner::USERS, min_rtt, [Interface::NONE, Interface(machine)])
    }

    /// Client and server of a connection between programs.
    pub(super) fn for_program(&self, min_rtt: Duration) -> [AccessPath; 2] {
        self.access(Owner::USERS, min_rtt, [Interface::NONE; 2])
    }

    /// Client and server of a connection of `source`.
    pub(super) fn for_source(&self, source: Owner, min_rtt: Duration) -> [AccessPath; 2] {
        self.access(source, min_rtt, [Interface::OWN; 2])
    }

    fn access(&self, owner: Owner, min_rtt: Duration, interfaces: [Interface; 2]) -> [AccessPath; 2] {
        let [client, server] = interfaces;
        let [browsers, servers] = self.delay_at[owner.index()].shares(min_rtt);
        [AccessPath { interface: client, delay: browsers }, AccessPath { interface: server, delay: servers }]
    }

    /// The two ends of a connection of `source` have machines that are new.
    pub(super) fn give_machines(&mut self, client: EndpointId, source: Owner) {
        let new = self.new[source.index()];
        for id in [client, client.peer()] {
            if self.own.len() <= id.index() {
                self.own.resize(id.index() + 1, new);
            }
            self.own[id.index()] = new;
        }
    }

    /// `from` sends a packet of `size` through `interface`, which is not [`Interface::NONE`]: when its first bit is sent.
    #[inline]
    pub(super) fn send(&mut self, interface: Interface, from: EndpointId, size: Bytes, now: Time) -> Time {
        let transmitter = if interface == Interface::OWN {
            &mut self.own[from.index()]
        } else {
            &mut self.servers[usize::from(interface.0)]
        };
        transmitter.send(size, now).0
    }

    /// How long a packet that `from` sends through `interface` now would wait in it.
    pub(super) fn backlog(&self, interface: Interface, from: EndpointId, now: Time) -> Duration {
        match interface {
            Interface::NONE => Duration::ZERO,
            Interface::OWN => self.own[from.index()].backlog(now),
            Interface(machine) => self.servers[usize::from(machine)].backlog(now),
        }
    }

    /// Flow `flow` of datagrams of source `source`, from 0, sends a packet of `size`: when its first bit is sent.
    pub(super) fn send_datagram(&mut self, source: u8, flow: u32, size: Bytes, now: Time) -> Time {
        let (flows, flow) = (&mut self.datagrams[usize::from(source)], flow as usize);
        if flows.len() <= flow {
            flows.resize(flow + 1, self.new[Owner::source(source).index()]);
        }
        flows[flow].send(size, now).0
    }
}
