//! The machines of the endpoints, and their access to the link.
//!
//! A window of segments that a server releases at once reaches the link one frame time of its machine's interface
//! apart; otherwise every burst of slow start would hit the queue at one time. The packets of browsers (requests
//! and acknowledgements, spread by their round-trip times) are not delayed. Each end of a source's connection,
//! and each flow of datagrams, has its own machine, as in the dumbbells of the simulators. A packet leaves its
//! machine when its first bit is sent, so that one that finds the interface idle needs no event.
//!
//! Behind the interface is the delay that the path adds at this end.
//!
//! An interface keeps order, so its packets could be in a ring with only the first one in a queue of events. With
//! sixteen rings and a heap that cost 4 % more instructions than one event in the wheel for each packet.

mod stacks;

use aqmlab_units::{Bytes, Duration, Time};
use aqmlab_workload::sources::Datagram;

pub use self::stacks::{StackId, Stacks};
use crate::link::Transmitter;
use crate::packet::{EndpointId, Owner};
use crate::side::Side;
use crate::spec::{DelayAt, Spec};

/// The interface that an endpoint sends through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface(u16);

impl Interface {
    /// That of a browser, which delays no packet.
    pub(super) const NONE: Interface = Interface(u16::MAX);
    /// That of a machine with no other endpoint.
    const OWN: Interface = Interface(u16::MAX - 1);
}

/// The path from an endpoint to the link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccessPath {
    pub(super) interface: Interface,
    /// The delay behind the interface, in whole microseconds.
    pub(super) delay: Duration,
}

/// All interfaces.
#[derive(Debug)]
pub(super) struct Hosts {
    per_side: u32,
    /// Interfaces of the machines of the users' servers, of both sides.
    servers: Vec<Transmitter>,
    /// Interfaces of machines with one endpoint, by its number.
    own: Vec<Transmitter>,
    /// Position of the delay, by owner.
    delay_at: Vec<DelayAt>,
    new: Vec<Transmitter>,
    /// Interfaces of flows of datagrams: by source, then those of side 0 and of side 1 for each flow.
    datagrams: Vec<Vec<Transmitter>>,
}

impl Hosts {
    pub(super) fn new(spec: &Spec) -> Hosts {
        let overhead = spec.links.first().overhead;
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

    /// Return the machine on `side` for a web user's connection with this `number`: all machines serve equally
    /// often.
    pub(super) fn machine_for(&self, side: Side, number: u64) -> u16 {
        let index = number % u64::from(self.per_side);
        u16::try_from(index + u64::from(side.number()) * u64::from(self.per_side))
            .expect("the spec bounds the number of hosts")
    }

    /// Access of browser and server for a web user's connection with this round-trip time, with the server on
    /// `machine`.
    pub(super) fn for_user(&self, machine: u16, min_rtt: Duration) -> [AccessPath; 2] {
        self.access(Owner::USERS, min_rtt, [Interface::NONE, Interface(machine)])
    }

    /// Access of client and server for a connection between programs.
    pub(super) fn for_program(&self, min_rtt: Duration) -> [AccessPath; 2] {
        self.access(Owner::USERS, min_rtt, [Interface::NONE; 2])
    }

    /// Access of client and server for a connection of `source`.
    pub(super) fn for_source(&self, source: Owner, min_rtt: Duration) -> [AccessPath; 2] {
        self.access(source, min_rtt, [Interface::OWN; 2])
    }

    fn access(&self, owner: Owner, min_rtt: Duration, interfaces: [Interface; 2]) -> [AccessPath; 2] {
        let [client, server] = interfaces;
        let [browsers, servers] = self.delay_at[owner.index()].shares(min_rtt);
        [AccessPath { interface: client, delay: browsers }, AccessPath { interface: server, delay: servers }]
    }

    /// Give the two ends of a connection of `source` new machines.
    pub(super) fn give_machines(&mut self, client: EndpointId, source: Owner) {
        let new = self.new[source.index()];
        for id in [client, client.peer()] {
            if self.own.len() <= id.index() {
                self.own.resize(id.index() + 1, new);
            }
            self.own[id.index()] = new;
        }
    }

    /// Send a packet of `size` from `from` through `interface`, which must not be [`Interface::NONE`]. Returns
    /// the time at which its first bit is sent.
    #[inline]
    pub(super) fn send(&mut self, interface: Interface, from: EndpointId, size: Bytes, now: Time) -> Time {
        let transmitter = if interface == Interface::OWN {
            &mut self.own[from.index()]
        } else {
            &mut self.servers[usize::from(interface.0)]
        };
        transmitter.send(size, now).0
    }

    /// The time that a packet which `from` sends through `interface` now would wait there.
    pub(super) fn backlog(&self, interface: Interface, from: EndpointId, now: Time) -> Duration {
        match interface {
            Interface::NONE => Duration::ZERO,
            Interface::OWN => self.own[from.index()].backlog(now),
            Interface(machine) => self.servers[usize::from(machine)].backlog(now),
        }
    }

    /// Send a datagram of source `source` as a packet of `size`. Returns the time at which its first bit is sent.
    pub(super) fn send_datagram(&mut self, source: u8, datagram: &Datagram, size: Bytes, now: Time) -> Time {
        let ends = &mut self.datagrams[usize::from(source)];
        let end = 2 * datagram.flow as usize + usize::from(datagram.side);
        if ends.len() <= end {
            ends.resize(end + 1, self.new[Owner::source(source).index()]);
        }
        ends[end].send(size, now).0
    }
}
