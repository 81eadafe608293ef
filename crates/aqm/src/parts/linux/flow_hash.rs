//! Linux's hash of flows: `SipHash` with a secret key, over the protocol, ports and addresses of a packet.
//!
//! Source: Aumasson and Bernstein, "`SipHash`: a fast short-input PRF", INDOCRYPT 2012, with 2 and 4 rounds; the behaviour of
//! Linux 6.12.
//!
//! A flow has a number here and no addresses: its packets have the hash of IPv4 packets without ports from 0.0.0.0 to 10.0.0.0 plus
//! the number.

use crate::parts::linux::coin::Coin;

/// The key of the hash.
#[derive(Clone, Copy, Debug)]
pub struct FlowKey(pub [u64; 2]);

/// The least significant byte of a destination, 10.0.0.0 plus the number of a flow.
const FIRST_ADDRESS: u32 = 0x0A00_0000;

/// The words of eight bytes that are hashed.
const WORDS: usize = 6;

impl FlowKey {
    /// Draw a key.
    pub(crate) fn draw(coin: &mut impl Coin) -> FlowKey {
        FlowKey([coin.toss(), coin.toss()])
    }

    /// Return the hash of a flow, which is never 0.
    pub(crate) fn hash(self, flow: u32) -> u32 {
        let address = FIRST_ADDRESS.wrapping_add(flow).swap_bytes();
        // The type of the packet, IPv4 in the network's byte order, and the destination are all that is not 0.
        let words = [u64::from(0x0800_u16.swap_bytes()), 0, 0, 0, 0, u64::from(address)];
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is the hash")]
        let hash = self.sip_hash(words) as u32;
        hash.max(1)
    }

    fn sip_hash(self, words: [u64; WORDS]) -> u64 {
        let [k0, k1] = self.0;
        let mut state = State([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]);
        for word in words.into_iter().chain([(8 * WORDS as u64) << 56]) {
            state.0[3] ^= word;
            state.round();
            state.round();
            state.0[0] ^= word;
        }
        state.0[2] ^= 0xff;
        (0..4).for_each(|_| state.round());
        state.0.into_iter().fold(0, |all, part| all ^ part)
    }
}

struct State([u64; 4]);

impl State {
    fn round(&mut self) {
        let [mut v0, mut v1, mut v2, mut v3] = self.0;
        v0 = v0.wrapping_add(v1);
        v2 = v2.wrapping_add(v3);
        v1 = v1.rotate_left(13) ^ v0;
        v3 = v3.rotate_left(16) ^ v2;
        v0 = v0.rotate_left(32).wrapping_add(v3);
        v2 = v2.wrapping_add(v1);
        v1 = v1.rotate_left(17) ^ v2;
        v3 = v3.rotate_left(21) ^ v0;
        v2 = v2.rotate_left(32);
        self.0 = [v0, v1, v2, v3];
    }
}

/// A hash of flows to queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinuxFlowHash {
    key: FlowKey,
    queues: u32,
    reduction: Reduction,
}

/// The queue of a hash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reduction {
    /// The hash as a fraction of 2^32, times the number of queues.
    Scale,
    /// The lowest bits; the number of queues is a power of two.
    Mask,
}

impl LinuxFlowHash {
    /// Return a hash to this many queues.
    pub(crate) fn new(key: FlowKey, queues: u32, reduction: Reduction) -> LinuxFlowHash {
        LinuxFlowHash { key, queues, reduction }
    }

    /// Return the hash with another key.
    pub(crate) fn with_key(self, key: FlowKey) -> LinuxFlowHash {
        LinuxFlowHash { key, ..self }
    }

    /// Return the queue of a flow.
    pub(crate) fn queue_of(self, flow: u32) -> usize {
        let hash = self.key.hash(flow);
        let queue = match self.reduction {
            Reduction::Scale => (u64::from(hash) * u64::from(self.queues)) >> 32,
            Reduction::Mask => u64::from(hash & (self.queues - 1)),
        };
        usize::try_from(queue).expect("below the number of queues")
    }
}

#[cfg(test)]
mod tests {
    #![expect(deprecated, reason = "only the deprecated hasher has 2 and 4 rounds")]

    use std::hash::{Hasher, SipHasher};

    use super::*;

    #[test]
    fn the_hash_is_siphash_of_the_words() {
        let (key, words) =
            (FlowKey([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]), [8, 1, u64::MAX, 3, 4, 5]);
        let mut hasher = SipHasher::new_with_keys(key.0[0], key.0[1]);
        for word in words {
            hasher.write(&word.to_le_bytes());
        }
        assert_eq!(key.sip_hash(words), hasher.finish());
    }

    #[test]
    fn flows_spread_evenly_over_queues_by_either_reduction() {
        for reduction in [Reduction::Scale, Reduction::Mask] {
            let hash = LinuxFlowHash::new(FlowKey([1, 2]), 64, reduction);
            let mut cells = [0_u32; 64];
            (0..64_000).for_each(|flow| cells[hash.queue_of(flow)] += 1);
            // 63 degrees of freedom: 0.1 % and 99.9 % points 33 and 104.
            let chi2: f64 = cells.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
            assert!(33.0 < chi2 && chi2 < 104.0, "{reduction:?}: chi-square {chi2}");
        }
    }
}
