//! The memory that a waiting packet takes in Linux 6.12, if it was received from a network interface.
//!
//! The kernel counts allocated memory: room for headers before the data, the data, the description of fragments behind
//! it, in whole cache lines and at least a small head, and the structure of the packet.

use aqmlab_units::Bytes;

/// Room before the data (`NET_SKB_PAD`), and the length of a cache line.
const LINE: u64 = 64;

/// The description of fragments behind the data (`skb_shared_info`).
const SHARED_INFO: u64 = 320;

/// The least that is allocated for data (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_HEAD: u64 = 704;

/// The structure of a packet (`sk_buff`).
const STRUCTURE: u64 = 256;

/// Return the memory that a packet of this size takes.
#[inline]
pub(crate) fn of_packet(size: Bytes) -> u64 {
    // Rounded up to whole lines by a mask, because each packet passes here twice.
    let data = ((size.get() + 2 * LINE - 1) & !(LINE - 1)) + SHARED_INFO;
    data.max(SMALL_HEAD) + STRUCTURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_take_the_memory_that_tc_shows() {
        for (size, memory) in [
            (44, 960),
            (320, 960),
            (384, 1024),
            (448, 1088),
            (576, 1216),
            (641, 1344),
            (1000, 1664),
            (1472, 2112),
            (1500, 2176),
        ] {
            assert_eq!(of_packet(Bytes::new(size)), memory, "{size} B");
        }
    }
}
