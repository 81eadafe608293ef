//! Fairness among hosts: the number of bulk flows of each host divides the quantum of its flows.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018, section III-C; Linux `sch_cake.c`.

use super::options::Isolation;
use super::sets::{PerQueue, QUEUES, ways};

/// The hosts of one end of flows, in a set-associative table.
#[derive(Clone, Debug)]
struct HostTable {
    tags: PerQueue<u32>,
    bulk_flows: PerQueue<u16>,
}

impl HostTable {
    fn new() -> HostTable {
        HostTable { tags: PerQueue::new(|| 0), bulk_flows: PerQueue::new(|| 0) }
    }

    /// Return the place of a host with this hash: its own, or one without bulk flows, or one that it shares.
    fn place(&mut self, hash: u32) -> u16 {
        let own = ways(hash).find(|&way| self.tags[way] == hash);
        let idle = || ways(hash).find(|&way| self.bulk_flows[way] == 0);
        let place = own.or_else(idle).unwrap_or(hash as usize % QUEUES);
        self.tags[place] = hash;
        u16::try_from(place).expect("a table has 1024 places")
    }
}

/// The places of a flow's two hosts in their tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowHosts {
    source: u16,
    destination: u16,
}

/// The hosts of a tin's flows, as far as they have equal shares.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    sources: Option<HostTable>,
    destinations: Option<HostTable>,
}

impl Hosts {
    pub(crate) fn new(isolation: Isolation) -> Hosts {
        Hosts {
            sources: isolation.is_fair_to_sources().then(HostTable::new),
            destinations: isolation.is_fair_to_destinations().then(HostTable::new),
        }
    }

    /// True if the hosts of flows matter.
    pub(crate) fn are_used(&self) -> bool {
        self.sources.is_some() || self.destinations.is_some()
    }

    /// Return the places of hosts with these hashes.
    pub(crate) fn place(&mut self, source: u32, destination: u32) -> FlowHosts {
        let place = |table: &mut Option<HostTable>, hash| table.as_mut().map_or(0, |table| table.place(hash));
        FlowHosts {
            source: place(&mut self.sources, source),
            destination: place(&mut self.destinations, destination),
        }
    }

    /// A flow of these hosts has become a bulk flow.
    #[inline]
    pub(crate) fn add_bulk_flow(&mut self, flow: FlowHosts) {
        for (table, host) in [(&mut self.sources, flow.source), (&mut self.destinations, flow.destination)] {
            if let Some(table) = table {
                table.bulk_flows[usize::from(host)] += 1;
            }
        }
    }

    /// A flow of these hosts is no longer a bulk flow.
    #[inline]
    pub(crate) fn remove_bulk_flow(&mut self, flow: FlowHosts) {
        for (table, host) in [(&mut self.sources, flow.source), (&mut self.destinations, flow.destination)] {
            if let Some(table) = table {
                table.bulk_flows[usize::from(host)] -= 1;
            }
        }
    }

    /// The number of bulk flows among which the share of a host of this flow is divided, at least 1.
    #[inline]
    pub(crate) fn load(&self, flow: FlowHosts) -> u16 {
        let of = |table: &Option<HostTable>, host: u16| {
            table.as_ref().map_or(1, |table| table.bulk_flows[usize::from(host)])
        };
        of(&self.sources, flow.source).max(of(&self.destinations, flow.destination)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flows_load_is_the_larger_of_its_hosts_bulk_flows() {
        let mut hosts = Hosts::new(Isolation::TripleIsolate);
        let flows: Vec<FlowHosts> = [(1, 9), (1, 8), (1, 7), (2, 7)].map(|(a, b)| hosts.place(a, b)).into();
        for &flow in &flows {
            hosts.add_bulk_flow(flow);
        }
        assert_eq!(flows.iter().map(|&flow| hosts.load(flow)).collect::<Vec<_>>(), [3, 3, 3, 2]);
        hosts.remove_bulk_flow(flows[0]);
        assert_eq!(hosts.load(flows[0]), 2, "the flows of the same host count for one that is no bulk flow");
        assert_eq!(Hosts::new(Isolation::Flows).load(FlowHosts::default()), 1);
    }
}
