//! The labels of flows, for disciplines that classify by hosts and code points.
//!
//! Each user is a host, and so is each server machine. A source is many hosts, as if it were many users: each of its
//! connections, or flows of datagrams, has one, and all go to the first server machine of the other side. These are the
//! hosts of live runs too. A source with a named host has that one, and
//! its flows have a peer each, or that with a name.

use aqmlab_aqm::{FlowLabel, HostAddress, QueueConfig};

use crate::capture::ConnectionOrigin;
use crate::link::Link;
use crate::packet::EndpointId;
use crate::side::Side;
use crate::spec::{DisciplineSpec, Dscp, HopSpec, SourceSpec, Spec};

/// Addresses of users, of server machines, and of the hosts of sources.
const USERS: u32 = 0;
const MACHINES: u32 = 1 << 30;
const SOURCES: u32 = 1 << 31;

/// Addresses of hosts with names, of the routers with names that translate theirs, and of peers with names of their own;
/// sources are fewer than each of them.
const NAMED: u32 = 3 << 29;
const TRANSLATORS: u32 = NAMED + (1 << 8);
const PEERS: u32 = TRANSLATORS + (1 << 8);

/// The number of programs among users.
pub(crate) const PROGRAM: u32 = MACHINES - 1;

/// A flow, as the packets to an endpoint, and its label.
pub(crate) type Labelled = (EndpointId, FlowLabel);

/// The labels of the flows of a run.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    machines_per_side: u32,
    /// Those of sources, by number.
    sources: Vec<SourceLabel>,
}

/// The label of a source's flows.
#[derive(Clone, Copy, Debug)]
struct SourceLabel {
    dscp: u8,
    /// The address of the host of all its flows, if they have one.
    host: Option<HostAddress>,
    /// The address of the host at which they end, if it has a name.
    peer: Option<HostAddress>,
}

impl SourceLabel {
    /// Returns the hosts at which a flow begins and ends. `own` is an address of the flow, and `machine` that to which sources
    /// send.
    fn ends(self, own: HostAddress, machine: HostAddress) -> [HostAddress; 2] {
        // A named host has many peers, as a home has; else the shares of hosts would be those of the peer.
        let unnamed = if self.host.is_some() { own } else { machine };
        [self.host.unwrap_or(own), self.peer.unwrap_or(unnamed)]
    }
}

impl Labels {
    /// Returns the labels of the flows of `spec`, if a queue classifies by them.
    pub(crate) fn new(spec: &Spec) -> Option<Labels> {
        let mut queues = spec.links.hops().iter().flat_map(HopSpec::queues);
        let are_used = queues.any(|queue| match &queue.discipline {
            DisciplineSpec::Known(config) => {
                matches!(config, QueueConfig::Cake(_) | QueueConfig::DocsisLld(_))
            }
            DisciplineSpec::Custom(_) | DisciplineSpec::Kernel { .. } => false,
        });
        // A name's number is its first place among the names of all sources.
        let number = |name: &String, of: fn(&SourceSpec) -> &Option<String>| {
            let first =
                spec.sources.iter().filter_map(|source| of(source).as_ref()).position(|other| other == name);
            u32::try_from(first.expect("a name of a source")).expect("few sources")
        };
        let address = |host: &String, nat: &Option<String>| {
            let inner = NAMED + number(host, |source| &source.host);
            let outer = nat.as_ref().map(|nat| TRANSLATORS + number(nat, |source| &source.nat));
            HostAddress { outer: outer.unwrap_or(inner), inner }
        };
        let peer = |name: &String| HostAddress::public(PEERS + number(name, |source| &source.peer));
        let sources = spec.sources.iter().map(|source| SourceLabel {
            dscp: source.dscp.map_or(0, Dscp::number),
            host: source.host.as_ref().map(|host| address(host, &source.nat)),
            peer: source.peer.as_ref().map(peer),
        });
        let sources = sources.collect();
        are_used.then_some(Labels { machines_per_side: spec.hosts.servers_per_side, sources })
    }

    /// Returns the labels of both directions of a connection, whose server is `machine`; `None` for a source's own.
    pub(crate) fn of_connection(
        &self,
        client: EndpointId,
        origin: ConnectionOrigin,
        machine: Option<u16>,
    ) -> [Labelled; 2] {
        let first = self.first_machine(client.side().other());
        let machine = machine.map_or(first, |machine| HostAddress::public(MACHINES + u32::from(machine)));
        let (dscp, [host, server]) = match origin {
            ConnectionOrigin::User(number) => (0, [HostAddress::public(USERS + number), machine]),
            ConnectionOrigin::Source(number) => {
                let label = self.sources[usize::from(number)];
                (label.dscp, label.ends(HostAddress::public(SOURCES | client.number()), machine))
            }
        };
        [
            (client.peer(), FlowLabel { dscp, source: host, destination: server }),
            (client, FlowLabel { dscp, source: server, destination: host }),
        ]
    }

    /// Returns the labels of all flows of datagrams of `spec`.
    pub(crate) fn of_datagrams(&self, spec: &Spec) -> Vec<Labelled> {
        let mut labels = Vec::new();
        for (number, source) in (0_u8..).zip(&spec.sources) {
            let Some(datagrams) = source.config.datagrams() else { continue };
            // The first side that sends has the host.
            let begins = Side::BOTH[usize::from(!datagrams.sides[0])];
            let machine = self.first_machine(begins.other());
            for flow in 0..datagrams.flows {
                let to = EndpointId::datagram(number, flow, begins);
                let label = self.sources[usize::from(number)];
                let [source, destination] = label.ends(HostAddress::public(SOURCES | to.number()), machine);
                let dscp = label.dscp;
                labels.push((to, FlowLabel { dscp, source, destination }));
                if datagrams.sides == [true; 2] {
                    let back = EndpointId::datagram(number, flow, begins.other());
                    labels.push((back, FlowLabel { dscp, source: destination, destination: source }));
                }
            }
        }
        labels
    }

    /// The address of the first server machine of a side, to which sources send.
    fn first_machine(&self, side: Side) -> HostAddress {
        HostAddress::public(MACHINES + u32::from(side.number()) * self.machines_per_side)
    }
}

/// Labels flows in the directions of `links` in which their packets go.
pub(crate) fn label<L: Link<O>, O>(links: &mut [L; 2], labels: impl IntoIterator<Item = Labelled>) {
    for (to, label) in labels {
        links[to.peer().direction().index()].label_flow(to, label);
    }
}
