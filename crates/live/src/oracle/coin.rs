//! The coin of the kernel's disciplines (`kernel/um/coin.c`), for ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aqmlab_aqm::{Coin, FlowKey};

/// The generator `SplitMix64` (Steele, Lea and Flood 2014), of which all copies have one state.
#[derive(Clone)]
pub(crate) struct SharedCoin {
    seed: u64,
    state: Arc<AtomicU64>,
}

impl SharedCoin {
    pub(crate) fn new(seed: u64) -> SharedCoin {
        SharedCoin { seed, state: Arc::new(AtomicU64::new(seed)) }
    }
}

impl Coin for SharedCoin {
    fn toss(&mut self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn flow_key(&mut self) -> FlowKey {
        // Another coin: the kernel tosses it once, at a time that ours does not know.
        let mut other = SharedCoin::new(!self.seed);
        FlowKey([other.toss(), other.toss()])
    }
}
