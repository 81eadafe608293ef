//! Rate samples of acknowledgements, and packet-timed round trips.

use aqmlab_units::Duration;

use super::Bbr;
use crate::congestion::Ack;

/// RS, the rate sample of the last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) newly_acked: f64,
    /// Bytes delivered since the segment was sent.
    pub(super) delivered: f64,
    /// `C.delivered` when it was sent.
    pub(super) prior_delivered: u64,
    /// Zero when there is no sample.
    pub(super) delivery_rate: f64,
    pub(super) rtt: Option<Duration>,
    pub(super) tx_in_flight: f64,
    pub(super) lost: f64,
    pub(super) is_app_limited: bool,
}

/// Packet-timed round trips: one ends when a segment is acknowledged that was sent after it began.
#[derive(Debug, Default)]
pub(super) struct RoundCounter {
    next_round_delivered: u64,
    pub(super) round_count: u64,
    /// The last acknowledgement began a round.
    pub(super) round_start: bool,
    pub(super) rounds_since_probe_up: u64,
    /// The whole window was used, in this round and in the previous one.
    cwnd_limited: [bool; 2],
}

impl RoundCounter {
    /// `C.is_cwnd_limited`: the whole window was used at some time in the last round trip.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited != [false; 2]
    }
}

impl Bbr {
    /// Convert `ack` to the draft's rate sample.
    pub(super) fn take_sample(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.delivered += u64::from(ack.bytes);
        self.in_flight = f64::from(ack.in_flight);
        self.mss = f64::from(ack.mss);
        self.rounds.cwnd_limited[0] |= ack.window_limited;
        self.rs = Sample { newly_acked: f64::from(ack.bytes), rtt: ack.rtt, ..Sample::default() };
        let Some(rate) = ack.rate else { return };
        let prior_delivered = self.delivered.saturating_sub(u64::from(rate.delivered));
        let has_rate = rate.interval > Duration::ZERO;
        self.rs = Sample {
            delivered: f64::from(rate.delivered),
            prior_delivered,
            delivery_rate: if has_rate {
                f64::from(rate.delivered) / rate.interval.as_secs_f64()
            } else {
                0.0
            },
            tx_in_flight: f64::from(rate.in_flight_at_send),
            lost: f64::from(rate.lost),
            is_app_limited: rate.app_limited || self.delay.limited_segments_sent_at(prior_delivered),
            ..self.rs
        };
    }

    /// `UpdateRound()`
    pub(super) fn update_round(&mut self) {
        self.rounds.round_start = self.rs.prior_delivered >= self.rounds.next_round_delivered;
        if self.rounds.round_start {
            self.start_round();
            self.rounds.round_count += 1;
            self.rounds.rounds_since_probe_up += 1;
            self.rounds.cwnd_limited.rotate_right(1);
            self.rounds.cwnd_limited[0] = false;
        }
    }

    /// `StartRound()`
    pub(super) fn start_round(&mut self) {
        self.rounds.next_round_delivered = self.delivered;
    }
}
