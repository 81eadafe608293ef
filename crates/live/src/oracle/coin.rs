//! The coin of the kernel's disciplines (`kernel/um/coin.c`), for ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aqmlab_aqm::Coin;

/// The generator `SplitMix64` (Steele, Lea and Flood 2014), of which all copies have one state.
#[derive(Clone)]
pub(crate) struct SharedCoin(Arc<AtomicU64>);

impl SharedCoin {
    pub(crate) fn new(seed: u64) -> SharedCoin {
        SharedCoin(Arc::new(AtomicU64::new(seed)))
    }
}

impl Coin for SharedCoin {
    fn toss(&mut self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
