//! Loss detection by time (RFC 8985 §6): a segment is lost if one sent a reordering window later has arrived.

use aqmlab_units::{Duration, Time};

use super::{DUP_THRESH, Record, Scoreboard};
use crate::Seq;

/// Recoveries for which a widened reordering window lasts (RFC 8985 §6.2 step 4).
const REO_WND_PERSIST: u8 = 16;

/// RFC 8985 §5.3's variables, with its names.
#[derive(Debug)]
pub(crate) struct Rack {
    /// Departure and end of the segment that was sent last among those that have arrived.
    newest: Option<(Time, Seq)>,
    /// The round-trip time of that segment.
    rtt: Duration,
    /// The minimum round-trip time of the connection. The RFC expires it; here a path's delay is constant.
    min_rtt: Option<Duration>,
    /// The highest sequence number that has arrived.
    fack: Seq,
    reordering_seen: bool,
    reo_wnd_mult: u8,
    reo_wnd_persist: u8,
    /// End of the round trip in which the window was widened.
    dsack_round: Option<Seq>,
}

impl Rack {
    pub(crate) fn new() -> Rack {
        Rack {
            newest: None,
            rtt: Duration::ZERO,
            min_rtt: None,
            fack: Seq::ZERO,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: None,
        }
    }

    /// §6.2 step 1.
    pub(crate) fn on_round_trip(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// The minimum round-trip time, once there is a sample.
    pub(crate) fn measured_min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    pub(crate) fn min_rtt(&self) -> Duration {
        self.min_rtt.unwrap_or(Duration::ZERO)
    }

    /// §6.2 steps 2 and 3: `record` has arrived.
    #[inline(always)]
    pub(crate) fn on_delivered(&mut self, record: &Record, now: Time) {
        if self.fack < record.end {
            self.fack = record.end;
        } else if record.end < self.fack && !record.retransmitted {
            self.reordering_seen = true;
        }
        let rtt = now.saturating_since(record.sent_at);
        // The original has arrived instead of the retransmission. As Linux (`tcp_rack_advance`), and unlike the RFC, it heeds no
        // timestamps.
        if record.retransmitted && rtt < self.min_rtt() {
            return;
        }
        self.rtt = rtt;
        if self.newest.is_none_or(|newest| is_after((record.sent_at, record.end), newest)) {
            self.newest = Some((record.sent_at, record.end));
        }
    }

    /// §6.2 step 4: a duplicate that the peer reports widens the window, once a round trip.
    pub(crate) fn on_acknowledged(&mut self, una: Seq, next: Seq, has_dsack: bool) {
        // Numbers compare modulo 2^32: left behind by 2^31 bytes, it would seem to be ahead.
        self.fack = self.fack.max(una);
        if self.dsack_round.is_some_and(|round| round <= una) {
            self.dsack_round = None;
        }
        if has_dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// §6.2 step 4: a recovery has ended.
    pub(crate) fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// The reordering window (§6.2 step 4).
    fn reo_wnd(&self, board: &Scoreboard, in_recovery: bool, srtt: Duration) -> Duration {
        // Without reordering so far, a window would only delay repair once other evidence of a loss is strong.
        if !self.reordering_seen && (in_recovery || board.sacked_segments() >= DUP_THRESH) {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.min_rtt().as_nanos() / 4 * u64::from(self.reo_wnd_mult)).min(srtt)
    }

    /// §6.2 step 5. Returns true if segments were found lost, and the time at which to check again.
    #[inline]
    pub(crate) fn detect(
        &self,
        board: &mut Scoreboard,
        in_recovery: bool,
        srtt: Duration,
        now: Time,
    ) -> (bool, Option<Time>) {
        let Some(newest) = self.newest else { return (false, None) };
        let is_overtaken = |record: &Record| is_after(newest, (record.sent_at, record.end));
        if board.is_in_order(is_overtaken) {
            return (false, None);
        }
        let wait = self.rtt + self.reo_wnd(board, in_recovery, srtt);
        board.lose_overtaken(is_overtaken, wait, now)
    }

    /// §6.3: at a timeout the first segment is lost, and so are all sent a round-trip time and a window ago.
    pub(crate) fn on_timeout(&self, board: &mut Scoreboard, srtt: Duration, now: Time) {
        let wait = self.rtt + self.reo_wnd(board, false, srtt);
        board.lose_where(1, |_| true);
        board.lose_where(usize::MAX, |record| record.sent_at + wait <= now);
    }
}

/// §6.1, `RACK_sent_after`: by time, then by number.
fn is_after(a: (Time, Seq), b: (Time, Seq)) -> bool {
    b.0 < a.0 || (a.0 == b.0 && b.1 < a.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_RTT: Duration = Duration::from_millis(100);

    /// Return the state after `duplicates` reports, in one round trip each.
    fn widened(duplicates: u32) -> Rack {
        let mut rack = Rack::new();
        rack.on_round_trip(MIN_RTT);
        for round in 0..duplicates {
            rack.on_acknowledged(Seq::new(round), Seq::new(round + 1), true);
        }
        rack
    }

    /// The reordering window, in quarters of the minimum round-trip time.
    fn quarters(rack: &Rack, srtt: Duration) -> f64 {
        4.0 * (rack.reo_wnd(&Scoreboard::default(), false, srtt) / MIN_RTT)
    }

    #[test]
    fn a_widened_reordering_window_lasts_16_recoveries() {
        // RFC 8985 section 6.2 step 4
        let mut rack = widened(2);
        for _ in 0..16 {
            assert!((quarters(&rack, MIN_RTT * 2) - 3.0).abs() < 1e-9);
            rack.on_recovered();
        }
        assert!((quarters(&rack, MIN_RTT * 2) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_further_duplicate_renews_the_16_recoveries() {
        let mut rack = widened(1);
        (0..15).for_each(|_| rack.on_recovered());
        rack.on_acknowledged(Seq::new(10), Seq::new(11), true);
        (0..15).for_each(|_| rack.on_recovered());
        assert!((quarters(&rack, MIN_RTT * 2) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_reordering_window_is_at_most_the_smoothed_round_trip() {
        // RFC 8985 section 6.2 step 4
        let srtt = Duration::from_millis(110);
        assert!((quarters(&widened(3), srtt) - 4.0).abs() < 1e-9);
        assert!((quarters(&widened(6), srtt) - 4.4).abs() < 1e-9);
    }
}
