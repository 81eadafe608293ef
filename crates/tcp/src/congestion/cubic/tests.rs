use super::*;

const MSS: u32 = 1000;
const RTT_MS: u64 = 100;

fn cubic(segments: u8, hystart: HyStartForm) -> Cubic {
    Cubic::new(&Profile { mss: 1000, initial_window: segments, hystart, ..Profile::linux_6() })
}

fn ack(now_ms: u64) -> Ack {
    Ack {
        now: Time::ZERO + Duration::from_millis(now_ms),
        bytes: MSS,
        mss: MSS,
        in_flight: MSS,
        rtt: Some(Duration::from_millis(RTT_MS)),
        window_limited: true,
        ..Ack::default()
    }
}

fn deliver(cc: &mut Cubic, ack: Ack) {
    cc.on_delivery(&ack);
    cc.on_ack(&ack);
}

/// A connection in congestion avoidance from 0 s on, after a loss at `segments`.
fn after_loss_at(segments: u8) -> Cubic {
    let mut cc = cubic(segments, HyStartForm::Off);
    cc.on_fast_retransmit(cc.cwnd(), MSS);
    cc.on_recovered(cc.cwnd(), MSS);
    cc
}

/// Acknowledge a full window at each round trip, until `until_ms`.
fn grow(cc: &mut Cubic, from_ms: u64, until_ms: u64) {
    for now in (from_ms..until_ms).step_by(100) {
        for _ in 0..cc.cwnd {
            deliver(cc, ack(now));
        }
    }
}

#[test]
fn a_loss_leaves_717_of_1024_segments() {
    // BICTCP_BETA
    let cc = after_loss_at(200);
    assert_eq!((cc.cwnd, cc.ssthresh, cc.curve.w_max), (140, 140, 200));
}

#[test]
fn the_window_is_back_at_w_max_after_k_seconds() {
    // RFC 9438 §4.2: K = cbrt(200 * 0.3 / 0.4) = 5.31 s; the target is one round trip ahead.
    let mut cc = after_loss_at(200);
    grow(&mut cc, 0, 5_400);
    assert!(cc.cwnd.abs_diff(200) <= 1, "{}", cc.cwnd);
}

#[test]
fn the_window_grows_by_whole_segments() {
    // At 1.9 s the target is 0.4 * (2.0 - 5.31)^3 + 200 = 185.5 segments, and the window grows by one for 140 / 46 of them.
    let mut cc = after_loss_at(200);
    deliver(&mut cc, ack(0));
    cc.curve.update(140, 1, 1_900, Duration::from_millis(RTT_MS));
    assert_eq!(cc.curve.cnt, 3);
}

#[test]
fn the_window_never_grows_by_more_than_half_in_a_round_trip() {
    let mut cc = after_loss_at(100);
    deliver(&mut cc, ack(0));
    deliver(&mut cc, ack(60_000));
    assert_eq!(cc.curve.cnt, MIN_CNT);
}

#[test]
fn before_a_loss_the_window_grows_by_5_percent_a_round_trip() {
    let mut cc = cubic(100, HyStartForm::Off);
    cc.ssthresh = 100;
    grow(&mut cc, 0, 100);
    assert_eq!(cc.cwnd, 105);
}

#[test]
fn a_small_window_grows_like_reno_by_eight_fifteenths() {
    // The curve is flat around 7 segments; 20 round trips of 8/15 segments.
    let mut cc = after_loss_at(10);
    grow(&mut cc, 0, 2_000);
    assert!((16..=18).contains(&cc.cwnd), "{}", cc.cwnd);
}

#[test]
fn an_earlier_loss_lowers_w_max_further() {
    // RFC 9438 §4.7: 70 * (1 + 0.7) / 2
    let mut cc = after_loss_at(100);
    cc.on_fast_retransmit(cc.cwnd(), MSS);
    assert_eq!(cc.curve.w_max, 59);
}

#[test]
fn a_loss_after_a_mark_in_its_window_reduces_no_further() {
    let mut cc = cubic(100, HyStartForm::Off);
    cc.on_ecn_echo(100 * MSS, MSS);
    cc.on_fast_retransmit(100 * MSS, MSS);
    assert_eq!((cc.cwnd, cc.ssthresh), (70, 70));
}

#[test]
fn a_timeout_starts_afresh_with_hystart() {
    let mut cc = cubic(100, HyStartForm::Linux);
    cc.hystart = None;
    cc.on_timeout(cc.cwnd(), MSS);
    assert_eq!((cc.cwnd, cc.ssthresh, cc.curve.w_max), (1, 70, 0));
    assert!(cc.hystart.is_some() && cc.delay_min.is_none());
}

#[test]
fn a_pause_does_not_count_for_the_curve() {
    let mut paused = after_loss_at(200);
    grow(&mut paused, 0, 2_000);
    let mut steady = paused.clone();
    deliver(&mut paused, Ack { in_flight: 0, ..ack(2_000) });
    deliver(&mut steady, ack(2_000));
    grow(&mut paused, 60_000, 61_000);
    grow(&mut steady, 2_000, 3_000);
    assert!(paused.cwnd.abs_diff(steady.cwnd) <= 1, "{} and {}", paused.cwnd, steady.cwnd);
}

#[test]
fn a_spurious_loss_restores_the_window() {
    let mut cc = after_loss_at(20);
    cc.on_spurious();
    assert_eq!((cc.cwnd, cc.ssthresh), (20, u32::MAX));
}

#[test]
fn hystart_ends_slow_start_at_the_window() {
    let mut cc = cubic(20, HyStartForm::Linux);
    for i in 0..60 {
        deliver(&mut cc, Ack { new_round: i == 0, ..ack(i) });
    }
    // The train lasts (100 ms + 1 ms) / 2 at the 52nd acknowledgement.
    assert_eq!((cc.ssthresh, cc.hystart.is_none()), (71, true));
}

#[test]
fn after_a_pause_the_threshold_keeps_three_quarters() {
    let mut cc = after_loss_at(200);
    cc.ssthresh = 50;
    cc.on_idle(10 * MSS);
    assert_eq!((cc.cwnd, cc.ssthresh), (10, 105));
}
