//! The link behind a queue, as a law knows it.

use aqmlab_units::{BitRate, Bytes};

/// The link that a queue feeds.
///
/// ```
/// use aqmlab_aqm::LinkContext;
/// use aqmlab_units::{BitRate, Bytes};
///
/// // Ethernet whose queue counts IP lengths, as in the papers.
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(100), header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
/// assert_eq!(link.on_wire(Bytes::new(1500)), Bytes::new(1538));
/// assert_eq!(link.packets_per_sec(Bytes::new(1500)).round(), 8127.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkContext {
    /// Its bit rate on the wire.
    pub rate: BitRate,
    /// Bytes of each frame's header that the queue counts: a packet's size is its IP length plus these.
    pub header: Bytes,
    /// Bytes of each packet on the wire beyond its size: including the header, 38 for Ethernet (preamble 8,
    /// header 14, check sequence 4, gap 12).
    pub overhead: Bytes,
    /// The bursts that its token bucket lets pass, if it has one; `rate` is the bucket's.
    pub peak: Option<Peak>,
}

/// The bursts that a token bucket lets pass at more than its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The rate of a burst.
    pub rate: BitRate,
    /// The bytes of the longest burst, frames' overhead included.
    pub burst: Bytes,
}

impl LinkContext {
    /// The size on the wire of a packet of this IP length.
    pub fn on_wire(&self, ip_length: Bytes) -> Bytes {
        ip_length + self.header + self.overhead
    }

    /// C, the papers' link capacity: packets of this mean IP length per second, including their frames.
    pub fn packets_per_sec(&self, mean_packet: Bytes) -> f64 {
        self.rate.packets_per_sec(self.on_wire(mean_packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_of_each_frame_lowers_the_capacity_in_packets() {
        let rate = BitRate::from_mbit_per_sec(100);
        for header in [0, 14] {
            let (header, overhead) = (Bytes::new(header), Bytes::new(38 - header));
            let capacity =
                LinkContext { rate, header, overhead, peak: None }.packets_per_sec(Bytes::new(1500));
            assert!(
                (capacity - 8127.4).abs() < 0.1,
                "a 100 Mbit/s Ethernet carries 8,127 full packets a second, however much of a frame its queue counts"
            );
        }
    }
}
