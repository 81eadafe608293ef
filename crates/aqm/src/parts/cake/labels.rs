//! The labels of flows, and the hashes of flows and hosts.

use std::collections::BTreeMap;

use aqmlab_units::Stream;

use super::options::Isolation;
use super::tin::HostHashes;
use crate::{FlowLabel, HostAddress};

/// The labels of flows. A flow without one has code point 0, and two hosts of its own.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    isolation: Isolation,
    nat: bool,
    secret: u64,
    by_flow: BTreeMap<u32, FlowLabel>,
    /// Some flow has another code point than 0.
    has_code_points: bool,
}

/// Set in the number of a host that is not labelled, which is its flow's.
const UNLABELLED: u64 = 1 << 32;

/// Set in the number of a host, so that its hash differs from that of a flow.
const HOST: u64 = 1 << 33;

impl Labels {
    pub(crate) fn new(isolation: Isolation, nat: bool, secret: u64) -> Labels {
        Labels { isolation, nat, secret, by_flow: BTreeMap::new(), has_code_points: false }
    }

    pub(crate) fn insert(&mut self, flow: u32, label: FlowLabel) {
        self.has_code_points |= label.dscp != 0;
        self.by_flow.insert(flow, label);
    }

    /// The code point of a flow's packets.
    #[inline]
    pub(crate) fn dscp(&self, flow: u32) -> u8 {
        if !self.has_code_points {
            return 0;
        }
        self.by_flow.get(&flow).map_or(0, |label| label.dscp)
    }

    #[inline]
    fn hash(&self, number: u64) -> u32 {
        (Stream::numbered(self.secret, number).next_u64() >> 32) as u32
    }

    fn host_hash(&self, flow: u32, host: Option<HostAddress>) -> u32 {
        let address = |host: HostAddress| if self.nat { host.inner } else { host.outer };
        self.hash(HOST | host.map_or(UNLABELLED | u64::from(flow), |host| u64::from(address(host))))
    }

    /// The hashes of a flow's hosts.
    pub(crate) fn host_hashes(&self, flow: u32) -> HostHashes {
        let label = self.by_flow.get(&flow);
        HostHashes {
            source: self.host_hash(flow, label.map(|label| label.source)),
            destination: self.host_hash(flow, label.map(|label| label.destination)),
        }
    }

    /// The hash that decides the queue of a flow.
    #[inline]
    pub(crate) fn flow_hash(&self, flow: u32) -> u32 {
        if self.isolation.separates_flows() {
            return self.hash(flow.into());
        }
        let HostHashes { source, destination } = self.host_hashes(flow);
        let mut hash = 0;
        if self.isolation.separates_sources() {
            hash ^= source;
        }
        if self.isolation.separates_destinations() {
            // Apart from the source, so that a pair and its reverse differ.
            hash ^= destination.rotate_left(16);
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(isolation: Isolation, nat: bool) -> Labels {
        let mut labels = Labels::new(isolation, nat, 7);
        for (flow, source, inner, destination) in [(0, 1, 11, 5), (1, 1, 12, 5), (2, 2, 11, 5), (3, 1, 11, 6)]
        {
            labels.insert(
                flow,
                FlowLabel {
                    dscp: 0,
                    source: HostAddress { outer: source, inner },
                    destination: HostAddress::public(destination),
                },
            );
        }
        labels
    }

    /// Return, for each of the flows 0 to 3, the first flow with its queue.
    fn shared(isolation: Isolation, nat: bool) -> Vec<u32> {
        let labels = labels(isolation, nat);
        let hash = |flow| labels.flow_hash(flow);
        (0..4).map(|flow| (0..4).find(|&first| hash(first) == hash(flow)).expect("itself")).collect()
    }

    #[test]
    fn each_mode_puts_flows_together_by_its_part_of_the_label() {
        for (isolation, together, behind_nat) in [
            (Isolation::Flowblind, [0, 0, 0, 0], [0, 0, 0, 0]),
            (Isolation::Srchost, [0, 0, 2, 0], [0, 1, 0, 0]),
            (Isolation::Dsthost, [0, 0, 0, 3], [0, 0, 0, 3]),
            (Isolation::Hosts, [0, 0, 2, 3], [0, 1, 0, 3]),
            (Isolation::Flows, [0, 1, 2, 3], [0, 1, 2, 3]),
            (Isolation::TripleIsolate, [0, 1, 2, 3], [0, 1, 2, 3]),
        ] {
            assert_eq!(shared(isolation, false), together, "{isolation}");
            assert_eq!(shared(isolation, true), behind_nat, "{isolation} nat");
        }
    }
}
