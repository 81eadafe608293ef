//! HyStart as in Linux: a train of acknowledgements or a rise of the round-trip time ends slow start.
//!
//! Source: Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55 (2011), and the behaviour of
//! `tcp_cubic.c` in Linux 6.12. Differs from Linux: the allowance for aggregation is 1 ms at any rate; Linux allows less
//! above 2 Gbit/s.

use aqmlab_units::{Duration, Time};

use super::Ack;

/// The smallest window that is judged, in segments.
const LOW_WINDOW: u32 = 16;
/// Acknowledgements so close to each other belong to one train.
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Delay of acknowledgements by aggregation at sender and receiver.
const AGGREGATION: Duration = Duration::from_millis(1);
/// Samples of a round before its delay is judged.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the rise in round-trip time that ends slow start; between them it is an eighth.
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);

/// The current round of slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStart {
    round_start: Time,
    /// The last acknowledgement of the train that began with the round.
    last_ack: Time,
    /// The shortest round-trip time of the round.
    curr_rtt: Option<Duration>,
    sample_cnt: u32,
}

impl HyStart {
    /// Take a sample. Returns true if slow start ends at `cwnd` segments; `delay_min` is the connection's shortest round-trip
    /// time.
    pub(super) fn ends_slow_start(
        &mut self,
        ack: &Ack,
        rtt: Duration,
        delay_min: Duration,
        cwnd: u32,
    ) -> bool {
        if ack.new_round {
            *self = HyStart { round_start: ack.now, last_ack: ack.now, ..HyStart::default() };
        }
        cwnd >= LOW_WINDOW && (self.is_train_long(ack.now, delay_min) | self.is_delay_higher(rtt, delay_min))
    }

    /// A train as long as half a round trip fills the path.
    fn is_train_long(&mut self, now: Time, delay_min: Duration) -> bool {
        if now - self.last_ack > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        2 * (now - self.round_start).as_nanos() > (delay_min + AGGREGATION).as_nanos()
    }

    fn is_delay_higher(&mut self, rtt: Duration, delay_min: Duration) -> bool {
        let curr_rtt = self.curr_rtt.map_or(rtt, |least| least.min(rtt));
        self.curr_rtt = Some(curr_rtt);
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
            return false;
        }
        let rise = Duration::from_nanos(delay_min.as_nanos() / 8).clamp(MIN_RISE, MAX_RISE);
        curr_rtt > delay_min + rise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Return the number of the acknowledgement that ends slow start, in a round of 64 that arrive `spacing` apart with
    /// the round-trip time `rtt`.
    fn ends_at(spacing: Duration, rtt: Duration, cwnd: u32) -> Option<u64> {
        let mut hystart = HyStart::default();
        (0..64).find(|&i| {
            let ack = Ack { now: Time::ZERO + spacing * i, new_round: i == 0, ..Ack::default() };
            hystart.ends_slow_start(&ack, rtt, RTT, cwnd)
        })
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // (100 ms + 1 ms) / 2 = 50.5 ms
        assert_eq!(ends_at(Duration::from_millis(1), RTT, 16), Some(51));
        assert_eq!(ends_at(Duration::from_millis(2), RTT, 16), Some(26));
    }

    #[test]
    fn acknowledgements_more_than_2_ms_apart_are_no_train() {
        assert_eq!(ends_at(Duration::from_micros(2_001), RTT, 16), None);
    }

    #[test]
    fn a_rise_by_an_eighth_in_nine_samples_ends_slow_start() {
        let apart = Duration::from_millis(3);
        assert_eq!(ends_at(apart, Duration::from_micros(112_500), 16), None);
        assert_eq!(ends_at(apart, Duration::from_micros(112_501), 16), Some(8));
    }

    #[test]
    fn a_window_below_16_segments_is_not_judged() {
        assert_eq!(ends_at(Duration::from_millis(1), RTT * 2, 15), None);
    }
}
