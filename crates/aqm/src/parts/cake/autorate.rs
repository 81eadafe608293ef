//! `autorate-ingress`: an estimate of the rate at which packets arrive, as the rate of the shaper.
//!
//! A window ends when the gap between two packets exceeds the average gap, so that short bursts are averaged. The estimate
//! follows the rates of windows, upwards quickly and downwards slowly, and the shaper gets 15/16 of it.
//!
//! Source: Linux `sch_cake.c`; tc-cake(8), "autorate-ingress".

use aqmlab_units::{Bytes, Duration, Time};

use super::statistics::moving_average;

/// The longest gap that counts.
const MAX_GAP: Duration = Duration::from_secs(1);

/// The time between two changes of the shaper.
const CHANGE_EVERY: Duration = Duration::from_millis(250);

/// An estimate of the arriving rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrivalRate {
    last_arrival: Time,
    /// The average gap in nanoseconds.
    average_gap: u64,
    window_start: Time,
    window_bytes: u64,
    /// In bytes per second.
    peak: u64,
    changed_at: Time,
}

impl ArrivalRate {
    /// The estimate in bytes per second.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// A packet of `size` arrives, which replaces `filtered` bytes. Returns the rate that the shaper gets, in bytes per
    /// second, if it changes.
    pub(crate) fn on_arrival(&mut self, size: Bytes, filtered: Bytes, now: Time) -> Option<u64> {
        self.window_bytes = (self.window_bytes + size.get()).saturating_sub(filtered.get());
        let gap = now.saturating_since(self.last_arrival).min(MAX_GAP).as_nanos();
        self.average_gap = moving_average(self.average_gap, gap, if gap > self.average_gap { 2 } else { 8 });
        self.last_arrival = now;
        if gap <= self.average_gap {
            return None;
        }
        let window = now.saturating_since(self.window_start).as_nanos();
        let rate = u128::from(self.window_bytes) * 1_000_000_000 / u128::from(window.max(1));
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.peak = moving_average(self.peak, rate, if rate > self.peak { 2 } else { 8 });
        (self.window_bytes, self.window_start) = (0, now);
        (now > self.changed_at + CHANGE_EVERY).then(|| {
            self.changed_at = now;
            self.peak * 15 / 16
        })
    }
}
