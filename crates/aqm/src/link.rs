//! What a law may know of the link behind its queue.

use aqmlab_units::{BitRate, Bytes};

/// The link that a queue feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkContext {
    /// Its bit rate on the wire.
    pub rate: BitRate,
    /// Bytes that each packet costs beyond its IP length: 38 for Ethernet (preamble 8, header 14, check sequence 4,
    /// gap 12).
    pub overhead: Bytes,
}

impl LinkContext {
    /// C, the papers' link capacity: packets of this mean IP length per second, their overhead included.
    pub fn packets_per_sec(&self, mean_packet: Bytes) -> f64 {
        self.rate.packets_per_sec(mean_packet + self.overhead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_of_each_frame_lowers_the_capacity_in_packets() {
        let rate = BitRate::from_mbit_per_sec(100);
        let ethernet = LinkContext { rate, overhead: Bytes::new(38) };
        let capacity = ethernet.packets_per_sec(Bytes::new(1500));
        assert!((capacity - 8127.4).abs() < 0.1, "a 100 Mbit/s Ethernet carries 8,127 full packets a second");
    }
}
