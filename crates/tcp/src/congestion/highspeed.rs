//! `HighSpeed` TCP: Reno up to a window of 38 segments; a larger window grows faster and is reduced less.
//!
//! Source: RFC 3649 §5 (the response function) and its table in appendix B. Decrease and increase of a window
//! follow from three numbers: `LOW_WINDOW`, `HIGH_WINDOW` and the decrease at the latter.
//!
//! Differs from the RFC, which counts segments: the window grows by bytes acknowledged, as Reno's (RFC 3465).
//! Slow start is that of RFC 5681, without the limit of RFC 3742 and without HyStart++. The rest of TCP is as in
//! Reno, but the threshold after a timeout is the window times 1 - b(w), as in Linux (`tcp_highspeed.c`).

use super::aimd::{AimdWindow, whole};
use super::{Ack, CongestionControl};
use crate::Profile;

/// Segments. Up to this window the response is that of standard TCP at a loss of 10^-3.
const LOW_WINDOW: f64 = 38.0;
/// Segments: the window at a loss of 10^-7. The next value is the share of it that a loss takes.
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;
/// The line through both points would reach zero at 570,000 segments; it ends where the table of appendix B does.
const LEAST_DECREASE: f64 = 0.09;

/// `HighSpeed` TCP's window.
#[derive(Clone, Copy, Debug)]
pub struct HighSpeed(AimdWindow);

/// b(w) = (`HIGH_DECREASE` - 0.5) (log w - log `LOW_WINDOW`) / (log `HIGH_WINDOW` - log `LOW_WINDOW`) + 0.5: the share of
/// the window that a loss takes.
fn decrease(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    let position = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    (0.5 + (HIGH_DECREASE - 0.5) * position).max(LEAST_DECREASE)
}

/// a(w) = w^2 p(w) 2 b(w) / (2 - b(w)), with p(w) = 0.078 / w^1.2: the segments that a round trip adds.
fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = decrease(w);
    (0.078 * libm::pow(w, 0.8) * 2.0 * b / (2.0 - b)).max(1.0)
}

/// The window after a loss or mark at `window` bytes: (1 - b(w)) w.
fn reduced(window: u32, mss: u32) -> f64 {
    let window = f64::from(window);
    (1.0 - decrease(window / f64::from(mss))) * window
}

impl CongestionControl for HighSpeed {
    fn new(profile: &Profile) -> HighSpeed {
        HighSpeed(AimdWindow::new(profile))
    }

    fn cwnd(&self) -> u32 {
        whole(self.0.cwnd())
    }

    fn ssthresh(&self) -> u32 {
        whole(self.0.ssthresh())
    }

    /// Slow start below the threshold; from it on w = w + a(w) / w for each segment acknowledged.
    fn on_ack(&mut self, ack: &Ack) {
        if self.0.in_slow_start() {
            self.0.grow_in_slow_start(ack);
        } else if ack.window_limited {
            let (cwnd, mss) = (self.0.cwnd(), f64::from(ack.mss));
            // One acknowledgement counts for a window at most.
            let share = (f64::from(ack.bytes) / cwnd).min(1.0);
            self.0.grow(increase(cwnd / mss) * mss * share);
        }
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.0.on_loss(reduced(window, mss), mss);
    }

    fn on_recovered(&mut self, _flight: u32, _mss: u32) {
        self.0.on_recovered();
    }

    fn on_timeout(&mut self, window: u32, mss: u32) {
        self.0.on_timeout(reduced(window, mss), mss);
    }

    fn on_spurious(&mut self) {
        self.0.on_spurious();
    }

    /// A mark is a congestion event, as a loss is (RFC 3649 §5).
    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        self.0.on_mark(reduced(window, mss), mss);
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.0.on_idle(initial_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn ack() -> Ack {
        Ack { bytes: MSS, mss: MSS, window_limited: true, ..Ack::default() }
    }

    /// Return a control in congestion avoidance with a window of `segments` segments.
    fn avoiding(segments: u32) -> HighSpeed {
        HighSpeed(HighSpeed::new(&Profile { mss: 1000, ..Profile::freebsd_4_5() }).0.avoiding(segments * MSS))
    }

    /// RFC 3649, appendix B: a window, the segments added there in a round trip, and the share that a loss takes.
    const TABLE: [(u32, u32, f64); 15] = [
        (118, 2, 0.44),
        (221, 3, 0.41),
        (347, 4, 0.38),
        (495, 5, 0.37),
        (663, 6, 0.35),
        (851, 7, 0.34),
        (1058, 8, 0.33),
        (1284, 9, 0.32),
        (1529, 10, 0.31),
        (1793, 11, 0.30),
        (2076, 12, 0.29),
        (2378, 13, 0.28),
        (3039, 15, 0.27),
        (5036, 20, 0.25),
        (84_035, 71, 0.10),
    ];

    #[test]
    fn a_round_trip_adds_and_a_loss_takes_as_the_rfc_prints() {
        for (w, a, b) in TABLE {
            // Growth at the first acknowledgement of a window, times the window.
            let growth = |segments| {
                let mut cc = avoiding(segments);
                let before = cc.0.cwnd();
                cc.on_ack(&ack());
                (cc.0.cwnd() - before) / f64::from(MSS) * f64::from(segments)
            };
            let printed = f64::from(a);
            // The table has 1 / 12.8 for 0.078, so its last row differs by 0.1 %.
            assert!((growth(w) / printed - 1.0).abs() < 0.004, "{} segments at {w}, not {a}", growth(w));
            let mut cc = avoiding(w);
            cc.on_fast_retransmit(w * MSS, MSS);
            cc.on_recovered(0, MSS);
            let lost = 1.0 - f64::from(cc.cwnd()) / f64::from(w * MSS);
            assert!((lost - b).abs() < 0.0051, "{lost} given up at {w}, not {b}");
        }
    }

    #[test]
    fn up_to_38_segments_it_is_reno() {
        let mut cc = avoiding(20);
        (0..20).for_each(|_| cc.on_ack(&ack()));
        assert!((20_900..=21_000).contains(&cc.cwnd()), "{}", cc.cwnd());
        let mut cc = avoiding(38);
        cc.on_fast_retransmit(38 * MSS, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (19 * MSS, 19 * MSS));
    }

    /// The mean window over time, in segments, with a loss every 1 / p segments.
    fn mean_window(p: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
        let distance = (1.0 / p).round() as u64;
        let mut cc = avoiding(100);
        let (mut time, mut segments) = (0.0, 0_u32);
        for segment in 0..80 * distance {
            if segment % distance == 0 {
                cc.on_fast_retransmit(cc.cwnd(), MSS);
                cc.on_recovered(0, MSS);
            }
            cc.on_ack(&ack());
            if segment >= 40 * distance {
                segments += 1;
                time += f64::from(MSS) / cc.0.cwnd();
            }
        }
        f64::from(segments) / time
    }

    #[test]
    fn evenly_spaced_losses_give_the_response_function_of_the_rfc() {
        // RFC 3649, table 2: 0.12 / p^0.835
        for (p, published) in [(1e-4, 263.0), (1e-5, 1795.0)] {
            let window = mean_window(p);
            println!("highspeed p={p:e}: {window:.0}, published {published}");
            assert!((window / published - 1.0).abs() < 0.1, "{window} at {p}, not {published}");
        }
    }

    #[test]
    fn a_mark_takes_what_a_loss_takes_and_may_leave_one_segment() {
        let mut cc = avoiding(1058);
        cc.on_ecn_echo(1058 * MSS, MSS);
        assert!((0.66..0.68).contains(&(f64::from(cc.cwnd()) / f64::from(1058 * MSS))));
        let mut cc = avoiding(2);
        (0..3).for_each(|_| cc.on_ecn_echo(cc.cwnd(), MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 2 * MSS));
    }

    #[test]
    fn a_window_beyond_the_rfcs_table_is_reduced_as_in_its_last_row() {
        let mut cc = avoiding(1_000_000);
        cc.on_fast_retransmit(1_000_000 * MSS, MSS);
        assert_eq!(cc.cwnd(), 910_000 * MSS);
    }

    #[test]
    fn a_spurious_loss_is_undone_and_a_repeat_keeps_the_threshold() {
        let mut cc = avoiding(663);
        cc.on_timeout(663 * MSS, MSS);
        let threshold = cc.ssthresh();
        cc.on_timeout(MSS, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, threshold));
        cc.on_spurious();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (663 * MSS, 663 * MSS));
        cc.on_ecn_echo(663 * MSS, MSS);
        cc.on_spurious();
        assert!(cc.cwnd() < 663 * MSS, "a mark cannot be spurious");
    }
}
