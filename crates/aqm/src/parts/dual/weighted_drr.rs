//! Weighted deficit round robin between the two queues of low-latency DOCSIS.
//!
//! Each queue in turn gets a credit in proportion to its weight, and sends while the credit lasts.
//!
//! Source: Shreedhar and Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995; CM-SP-MULPIv3.1,
//! annex M: the weight.

use aqmlab_units::Bytes;

use super::scheduler::Lane;

/// The sum of the weights.
const WEIGHTS: i64 = 256;

/// The round of the two queues.
#[derive(Clone, Debug)]
pub(crate) struct WeightedDrr {
    /// The credits of a turn, in bytes times the sum of the weights: of the low-latency queue and of the Classic one.
    quanta: [i64; 2],
    deficits: [i64; 2],
    turn: usize,
}

fn scaled(size: Bytes) -> i64 {
    WEIGHTS * i64::try_from(size.get()).expect("a packet")
}

impl WeightedDrr {
    /// Return a round in which the low-latency queue has `weight` of 256 parts of `quantum`.
    pub(crate) fn new(weight: u32, quantum: Bytes) -> WeightedDrr {
        let quantum = scaled(quantum) / WEIGHTS;
        let weight = i64::from(weight);
        WeightedDrr { quanta: [weight * quantum, (WEIGHTS - weight) * quantum], deficits: [0; 2], turn: 0 }
    }

    /// Choose the queue to serve, given the sizes of their first packets, and charge the packet to it.
    pub(crate) fn serve(&mut self, low_latency: Option<Bytes>, classic: Option<Bytes>) -> Option<Lane> {
        let heads = [low_latency, classic];
        let lanes = [Lane::L4s, Lane::Classic];
        for (lane, head) in heads.iter().enumerate() {
            // An empty queue saves no credit.
            if head.is_none() {
                self.deficits[lane] = 0;
            }
        }
        match heads {
            [None, None] => None,
            [Some(_), None] => Some(Lane::L4s),
            [None, Some(_)] => Some(Lane::Classic),
            [Some(low_latency), Some(classic)] => {
                let costs = [scaled(low_latency), scaled(classic)];
                while self.deficits[self.turn] < costs[self.turn] {
                    self.turn = 1 - self.turn;
                    self.deficits[self.turn] += self.quanta[self.turn];
                }
                self.deficits[self.turn] -= costs[self.turn];
                Some(lanes[self.turn])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_bytes_are_the_weights_for_any_sizes() {
        for (weight, sizes) in [(230, [1500, 1500]), (230, [100, 1500]), (128, [1500, 64]), (1, [1500, 1500])]
        {
            let mut round = WeightedDrr::new(weight, Bytes::new(1500));
            let [low_latency, classic] = sizes.map(|size| Some(Bytes::new(size)));
            let mut bytes = [0, 0];
            for _ in 0..100_000 {
                let lane = usize::from(round.serve(low_latency, classic) == Some(Lane::Classic));
                bytes[lane] += sizes[lane];
            }
            let share = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
            let expected = f64::from(weight) / 256.0;
            assert!((share - expected).abs() < 1e-3, "{share} for {weight} and {sizes:?}");
        }
    }

    #[test]
    fn a_queue_alone_is_served_and_saves_no_credit() {
        let mut round = WeightedDrr::new(230, Bytes::new(1500));
        let packet = Some(Bytes::new(1500));
        for _ in 0..100 {
            assert_eq!(round.serve(None, packet), Some(Lane::Classic));
        }
        let next: Vec<_> = (0..8).map(|_| round.serve(packet, packet)).collect();
        assert_eq!(next, [Some(Lane::L4s); 8], "the Classic queue has 152 B a turn");
        assert_eq!(round.serve(None, None), None);
    }
}
