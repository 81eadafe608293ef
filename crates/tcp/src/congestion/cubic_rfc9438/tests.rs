use super::*;
use crate::HyStartForm;

const MSS: u32 = 1000;
const RTT_MS: u64 = 100;

fn cubic(segments: u8, change: impl FnOnce(&mut Profile)) -> CubicRfc9438 {
    let mut profile = Profile {
        mss: 1000,
        initial_window: segments,
        ecn: crate::EcnPolicy::Rfc3168,
        ..Profile::freebsd_4_5()
    };
    change(&mut profile);
    CubicRfc9438::new(&profile)
}

fn acked(now_ms: u64) -> Ack {
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

/// A loss at `segments`, and congestion avoidance from 0 s on.
fn after_loss_at(segments: u8) -> CubicRfc9438 {
    let mut cc = cubic(segments, |_| {});
    cc.on_fast_retransmit(u32::from(segments) * MSS, MSS);
    cc.on_recovered(cc.cwnd(), MSS);
    cc
}

/// Round trips of a full window each, until `until_ms`.
fn grow(cc: &mut CubicRfc9438, from_ms: u64, until_ms: u64) {
    for now in (from_ms..until_ms).step_by(100) {
        for _ in 0..cc.cwnd() / MSS {
            cc.on_delivery(&acked(now));
            cc.on_ack(&acked(now));
        }
    }
}

#[test]
fn a_loss_leaves_seven_tenths() {
    // RFC 9438 §4.6
    let cc = after_loss_at(200);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (140 * MSS, 140 * MSS));
}

#[test]
fn the_window_is_back_at_w_max_after_k_seconds() {
    // RFC 9438 §4.2: K = cbrt(200 * 0.3 / 0.4) = 5.31 s. It is flat there, so half a segment is close enough.
    let mut cc = after_loss_at(200);
    grow(&mut cc, 0, 5_400);
    assert!((f64::from(cc.cwnd()) / f64::from(MSS) - 200.0).abs() < 0.5, "{}", cc.cwnd());
}

#[test]
fn the_window_aims_at_where_the_curve_is_a_round_trip_later() {
    // RFC 9438 §4.2: an acknowledgement 1 s after the epoch began, and W_cubic(1.1 s).
    let mut cc = after_loss_at(200);
    cc.on_delivery(&acked(0));
    cc.on_ack(&acked(0));
    let before = cc.window.cwnd;
    cc.on_ack(&acked(1000));
    let target = 1000.0 * (0.4 * (1.1 - libm::cbrt(60.0 / 0.4)).powi(3) + 200.0);
    let expected = before + (target - before) * 1000.0 / before;
    assert!((cc.window.cwnd - expected).abs() < 1.0, "{} and {expected}", cc.window.cwnd);
}

#[test]
fn growth_is_concave_before_w_max_and_convex_after_it() {
    // RFC 9438 §4.4-4.5
    let mut cc = after_loss_at(200);
    let mut growth = Vec::new();
    for second in 0..11 {
        let before = cc.cwnd();
        grow(&mut cc, second * 1000, (second + 1) * 1000);
        growth.push(cc.cwnd() - before);
    }
    assert!(growth[..5].is_sorted_by(|a, b| a > b), "{growth:?}");
    assert!(growth[5..].is_sorted_by(|a, b| a < b), "{growth:?}");
}

#[test]
fn a_small_window_grows_like_renos_average() {
    // RFC 9438 §4.3: 0.53 segments a round trip to where the loss was, and one from there.
    let mut cc = after_loss_at(10);
    let mut rounds = 0;
    while cc.cwnd() < 10 * MSS {
        grow(&mut cc, rounds * 100, (rounds + 1) * 100);
        rounds += 1;
    }
    assert!((5..=7).contains(&rounds), "{rounds} rounds");
    let start = cc.cwnd();
    grow(&mut cc, rounds * 100, rounds * 100 + 300);
    let grown = f64::from(cc.cwnd() - start) / f64::from(MSS);
    assert!((2.4..=3.1).contains(&grown), "{grown} segments in three rounds");
}

#[test]
fn a_fall_of_the_saturation_point_lowers_w_max_further() {
    // RFC 9438 §4.7
    let mut cc = after_loss_at(100);
    assert_eq!(cc.window.w_max, Some(100_000.0));
    cc.on_fast_retransmit(70 * MSS, MSS);
    assert_eq!(cc.window.w_max, Some(70_000.0 * 0.85));
}

#[test]
fn a_loss_after_a_mark_in_its_window_does_not_grow_it() {
    // RFC 3168 §6.1.2
    let mut cc = cubic(100, |_| {});
    cc.on_ecn_echo(100 * MSS, MSS);
    cc.on_fast_retransmit(140 * MSS, MSS);
    assert_eq!(cc.cwnd(), 70 * MSS);
}

#[test]
fn after_a_timeout_w_max_is_where_congestion_avoidance_begins() {
    // RFC 9438 §4.8
    let mut cc = cubic(100, |_| {});
    cc.on_timeout(100 * MSS, MSS);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 70 * MSS));
    cc.on_timeout(MSS, MSS);
    assert_eq!(cc.ssthresh(), 70 * MSS, "a repeated timeout keeps it");
    (0..69).for_each(|_| cc.on_ack(&acked(0)));
    cc.on_ack(&acked(100));
    let epoch = cc.window.epoch.expect("congestion avoidance has begun");
    assert_eq!((epoch.k, epoch.w_max), (0.0, 70_000.0));
}

#[test]
fn the_window_never_grows_by_more_than_half_in_a_round_trip() {
    // RFC 9438 §4.2: the target is at most 1.5 cwnd, however long ago the epoch began.
    let mut cc = after_loss_at(100);
    cc.on_ack(&acked(0));
    let start = cc.cwnd();
    (0..start / MSS).for_each(|_| cc.on_ack(&acked(60_000)));
    assert!(cc.cwnd() <= start + start / 2 + start / 4, "{}", cc.cwnd());
}

#[test]
fn time_without_use_of_the_window_does_not_count() {
    // RFC 9438 §5.8
    let steady = {
        let mut cc = after_loss_at(200);
        grow(&mut cc, 0, 2_000);
        grow(&mut cc, 2_000, 3_000);
        cc.cwnd()
    };
    let mut limited = after_loss_at(200);
    grow(&mut limited, 0, 2_000);
    (2_000..60_000).step_by(100).for_each(|now| limited.on_ack(&Ack { window_limited: false, ..acked(now) }));
    grow(&mut limited, 60_000, 61_000);
    let mut idle = after_loss_at(200);
    grow(&mut idle, 0, 1_900);
    (0..idle.cwnd() / MSS).for_each(|_| idle.on_ack(&Ack { in_flight: 0, ..acked(1_900) }));
    grow(&mut idle, 60_000, 61_000);
    for other in [limited.cwnd(), idle.cwnd()] {
        assert!(steady.abs_diff(other) < 2 * MSS, "{steady} and {other}");
    }
}

#[test]
fn a_spurious_loss_restores_a_window_that_is_still_smaller() {
    // RFC 9438 §4.9.2
    let mut cc = after_loss_at(20);
    cc.on_spurious();
    assert_eq!((cc.cwnd(), cc.ssthresh()), (20 * MSS, MAX_WINDOW));
    let mut cc = after_loss_at(20);
    grow(&mut cc, 0, 6_000);
    let grown = cc.cwnd();
    assert!(grown > 20 * MSS);
    cc.on_spurious();
    assert_eq!(cc.cwnd(), grown);
}

#[test]
fn a_mark_leaves_70_percent_or_85_with_abe() {
    // RFC 9438 §4.6, RFC 8511 §3
    for (abe, kept) in [(false, 49_000), (true, 59_500)] {
        let mut cc = cubic(100, |profile| profile.abe = abe);
        cc.on_ecn_echo(100 * MSS, MSS);
        assert_eq!(cc.cwnd(), 70 * MSS, "in slow start");
        cc.on_ecn_echo(70 * MSS, MSS);
        assert_eq!(cc.cwnd(), kept);
        (0..40).for_each(|_| cc.on_ecn_echo(cc.cwnd(), MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 2 * MSS));
    }
}

#[test]
fn delay_ends_slow_start_without_a_reduction() {
    // RFC 9438 §4.10
    let mut cc = cubic(10, |profile| profile.hystart = HyStartForm::PlusPlus);
    for round in 0..8 {
        for i in 0..8 {
            let rtt = Some(Duration::from_millis(if round == 0 { 80 } else { 120 }));
            cc.on_ack(&Ack { rtt, new_round: i == 0, ..acked(round * 100) });
        }
    }
    assert!(!cc.in_slow_start() && cc.cwnd() > 18 * MSS, "{}", cc.cwnd());
}
