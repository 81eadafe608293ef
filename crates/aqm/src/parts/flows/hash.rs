//! Hash of flows to queues, with a secret: plain or set-associative.
//!
//! With the plain hash, flows that hash to one queue share it. The set-associative one first looks for a free
//! queue in the same set, so that flows share only when all eight queues of their set are taken.
//!
//! Source: McKenney, "Stochastic fairness queueing", INFOCOM 1990, and RFC 8290, section 4.1 (plain); Høiland-Jørgensen,
//! Täht and Morton, "Piece of CAKE", LANMAN 2018, section III-B (set-associative).
//!
//! Differs from both in the hash function, which is a random stream's first draw; any function that mixes well
//! will do.

use aqmlab_units::Stream;

/// Queues in a set.
pub(crate) const WAYS: usize = 8;

/// Return the hash of a flow under this perturbation.
#[inline]
fn hash_flow(perturbation: u64, flow: u32) -> u64 {
    Stream::numbered(perturbation, u64::from(flow)).next_u64()
}

/// A hash of flows to queues.
#[derive(Clone, Debug)]
pub(crate) struct FlowHash {
    queues: usize,
    perturbation: u64,
    /// For each queue, the hash of the flow that last used it; empty for a plain hash.
    tags: Vec<Option<u64>>,
}

impl FlowHash {
    /// Return a hash under which flows share queues by chance.
    pub(crate) fn plain(queues: usize, perturbation: u64) -> FlowHash {
        FlowHash { queues, perturbation, tags: Vec::new() }
    }

    /// Return a hash under which flows look for a free queue in their set. `queues` is a multiple of [`WAYS`].
    pub(crate) fn set_associative(queues: usize, perturbation: u64) -> FlowHash {
        FlowHash { queues, perturbation, tags: vec![None; queues] }
    }

    /// Change the hash function.
    pub(crate) fn perturb(&mut self, perturbation: u64) {
        self.perturbation = perturbation;
        self.tags.fill(None);
    }

    /// Return the queue of `flow` under a plain hash.
    #[inline]
    pub(crate) fn plain_queue_of(&self, flow: u32) -> usize {
        self.direct(hash_flow(self.perturbation, flow))
    }

    /// The queue that a hash selects.
    #[inline]
    fn direct(&self, hash: u64) -> usize {
        usize::try_from(hash % self.queues as u64).expect("below the number of queues")
    }

    /// Return the queue of a packet of `flow`; `is_free` returns true for a queue that no flow uses.
    #[inline]
    pub(crate) fn queue_of(&mut self, flow: u32, is_free: impl Fn(usize) -> bool) -> usize {
        let hash = hash_flow(self.perturbation, flow);
        let direct = self.direct(hash);
        if self.tags.is_empty() || self.tags[direct] == Some(hash) {
            return direct;
        }
        // Prefer the flow's own queue, then a free one; if the set is full, share the one that the hash selects.
        let set = direct - direct % WAYS;
        let mut ways = (direct..direct + WAYS).map(|way| set + way % WAYS);
        let queue = ways
            .clone()
            .find(|&way| self.tags[way] == Some(hash))
            .or_else(|| ways.find(|&way| is_free(way)))
            .unwrap_or(direct);
        self.tags[queue] = Some(hash);
        queue
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn flows_of_one_set_share_no_queue_before_all_eight_are_taken() {
        let mut hash = FlowHash::set_associative(WAYS, 1);
        let mut taken: BTreeMap<usize, u32> = BTreeMap::new();
        for flow in 0..8 {
            let queue = hash.queue_of(flow, |queue| !taken.contains_key(&queue));
            assert_eq!(taken.insert(queue, flow), None, "flow {flow} has queue {queue} alone");
        }
        for (&queue, &flow) in &taken {
            assert_eq!(hash.queue_of(flow, |_| false), queue, "a flow keeps its queue");
        }
        let shared = hash.queue_of(8, |_| false);
        assert_eq!(
            shared,
            FlowHash::plain(WAYS, 1).queue_of(8, |_| false),
            "the ninth uses the queue that its hash selects"
        );
    }

    #[test]
    fn a_flow_finds_its_old_queue_again_if_no_other_took_it() {
        let mut hash = FlowHash::set_associative(64, 7);
        let before: Vec<usize> = (0..20).map(|flow| hash.queue_of(flow, |_| false)).collect();
        let last_of: BTreeMap<usize, usize> =
            before.iter().enumerate().map(|(flow, &queue)| (queue, flow)).collect();
        for (queue, flow) in last_of {
            let flow = u32::try_from(flow).expect("small");
            assert_eq!(hash.queue_of(flow, |_| true), queue);
        }
    }

    #[test]
    fn plain_hashes_spread_flows_evenly_and_perturbation_moves_them() {
        let mut hash = FlowHash::plain(64, 42);
        let mut cells = [0_u32; 64];
        (0..64_000).for_each(|flow| cells[hash.queue_of(flow, |_| false)] += 1);
        // 63 degrees of freedom: 0.1 % and 99.9 % points 33 and 104.
        let chi2: f64 = cells.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(33.0 < chi2 && chi2 < 104.0, "chi-square {chi2}");
        let before: Vec<usize> = (0..1000).map(|flow| hash.queue_of(flow, |_| false)).collect();
        hash.perturb(43);
        let moved = (0_u32..).zip(before).filter(|&(flow, queue)| hash.queue_of(flow, |_| false) != queue);
        assert!(moved.count() > 950, "all but one in 64 flows move");
    }
}
