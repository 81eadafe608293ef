//! The line below both disciplines: one packet after another, at times that no other event of a pattern has.

use aqmlab_units::{BitRate, Bytes};

/// Events of one kind are this far apart, in nanoseconds.
pub(crate) const GRID: u64 = 1000;

/// The place of arrivals in the grid. Ticks of the kernel's clock, on which timers of disciplines fire, have the place 0.
pub(crate) const ARRIVAL: u64 = 250;

/// The place at which the line becomes free.
const FREE: u64 = 750;

/// A serial line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) rate: BitRate,
}

impl Line {
    /// Returns the time at which the line is free again after a packet of `size` that it takes `now`.
    pub(crate) fn free_at(self, now: u64, size: Bytes) -> u64 {
        on_grid(now + self.rate.time_to_send(size).as_nanos(), FREE)
    }
}

/// Returns the first time from `time` on that has this place in the grid.
pub(crate) fn on_grid(time: u64, place: u64) -> u64 {
    (time + GRID - 1 - place) / GRID * GRID + place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_never_free_when_a_packet_arrives() {
        let line = Line { rate: BitRate::from_mbit_per_sec(7) };
        for (now, size) in (0..3000).zip(40..) {
            let free = line.free_at(now, Bytes::new(size));
            let sent = line.rate.time_to_send(Bytes::new(size)).as_nanos();
            assert!((now + sent..now + sent + GRID).contains(&free));
            assert_eq!(free % GRID, FREE);
            assert_eq!(on_grid(now, ARRIVAL) % GRID, ARRIVAL);
        }
    }
}
