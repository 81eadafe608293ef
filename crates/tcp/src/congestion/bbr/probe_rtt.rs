//! The round-trip time of the path without a queue, and ProbeRTT, which drains the queue to measure it.

use aqmlab_units::{Duration, Time};

use super::probe_bw::AckPhase;
use super::{Bbr, BbrState};

/// Validity of `min_rtt`.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// ProbeRTT starts after this time without a sample as low as the lowest, and lasts at least the next.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

/// `min_rtt`, and the state of its probes.
#[derive(Debug, Default)]
pub(super) struct PathDelay {
    /// `None` before the first sample.
    pub(super) min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    /// Time when ProbeRTT may end; `None` until the queue has drained.
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    pub(super) idle_restart: bool,
    /// Segments sent while `C.delivered` was between these were held back by ProbeRTT (`MarkConnectionAppLimited`).
    limited: Option<(u64, u64)>,
}

impl PathDelay {
    /// True if ProbeRTT held back a segment that left when `C.delivered` was `prior_delivered`.
    pub(super) fn limited_segments_sent_at(&self, prior_delivered: u64) -> bool {
        self.limited.is_some_and(|(from, to)| from <= prior_delivered && prior_delivered <= to)
    }
}

impl Bbr {
    /// `UpdateMinRTT()`
    pub(super) fn update_min_rtt(&mut self) {
        let (state, now) = (&mut self.delay, self.now);
        state.probe_rtt_expired = now > state.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = self.rs.rtt
            && (state.probe_rtt_expired || state.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            state.probe_rtt_min_delay = Some(rtt);
            state.probe_rtt_min_stamp = now;
        }
        let min_rtt_expired = now > state.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if let Some(delay) = state.probe_rtt_min_delay
            && (min_rtt_expired || state.min_rtt.is_none_or(|least| delay < least))
        {
            state.min_rtt = Some(delay);
            state.min_rtt_stamp = state.probe_rtt_min_stamp;
        }
    }

    /// `CheckProbeRTT()`
    pub(super) fn check_probe_rtt(&mut self) {
        // An idle period has drained the queue, so the next samples are low without ProbeRTT.
        if self.state != BbrState::ProbeRtt && self.delay.probe_rtt_expired && !self.delay.idle_restart {
            self.state = BbrState::ProbeRtt;
            self.save_cwnd();
            self.delay.probe_rtt_done_stamp = None;
            self.probing.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == BbrState::ProbeRtt {
            self.handle_probe_rtt();
        }
        if self.rs.delivered > 0.0 {
            self.delay.idle_restart = false;
        }
    }

    /// `HandleProbeRTT()`
    fn handle_probe_rtt(&mut self) {
        self.mark_connection_app_limited();
        let Some(done_stamp) = self.delay.probe_rtt_done_stamp else {
            if self.in_flight <= self.probe_rtt_cwnd() {
                self.delay.probe_rtt_done_stamp = Some(self.now + PROBE_RTT_DURATION);
                self.delay.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        };
        self.delay.probe_rtt_round_done |= self.rounds.round_start;
        // CheckProbeRTTDone()
        if self.delay.probe_rtt_round_done && self.now > done_stamp {
            self.delay.probe_rtt_min_stamp = self.now;
            self.restore_cwnd();
            self.exit_probe_rtt();
        }
    }

    /// `ExitProbeRTT()`
    fn exit_probe_rtt(&mut self) {
        self.model.reset_short_term();
        if self.full_pipe.full_bw_reached {
            self.start_probe_bw_down();
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// `MarkConnectionAppLimited()`: segments sent until the data in flight are delivered do not measure the
    /// bandwidth.
    fn mark_connection_app_limited(&mut self) {
        let until = self.delivered.saturating_add(in_whole_bytes(self.in_flight));
        let from = match self.delay.limited {
            Some((from, to)) if self.delivered <= to => from,
            _ => self.delivered,
        };
        self.delay.limited = Some((from, until));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "came from a whole number of bytes"
)]
fn in_whole_bytes(volume: f64) -> u64 {
    volume as u64
}
