//! The rules of the draft, one acknowledgement a round.

use aqmlab_units::Duration;

use super::*;
use crate::congestion::RateSample;

const MSS: u32 = 1000;
/// Bytes per second of the path, and its round trip: 100 segments.
const RATE: u32 = 1_000_000;
const RTT_MS: u64 = 100;
const BDP: u32 = 100 * MSS;

/// A round trip as the control sees it, in one acknowledgement.
#[derive(Clone, Copy)]
struct Round {
    rate: u32,
    in_flight: u32,
    lost: u32,
    rtt_ms: u64,
    app_limited: bool,
    window_limited: bool,
}

/// A round at the path's rate with nothing in the queue.
const STEADY: Round = Round {
    rate: RATE,
    in_flight: BDP - MSS,
    lost: 0,
    rtt_ms: RTT_MS,
    app_limited: false,
    window_limited: false,
};

struct Path {
    cc: Bbr,
    now: Time,
    rounds: u64,
}

impl Path {
    fn new() -> Path {
        let profile = Profile { mss: 1000, initial_window: 10, ..Profile::freebsd_4_5() };
        Path { cc: Bbr::new(&profile), now: Time::from_nanos(1), rounds: 0 }
    }

    fn round(&mut self, round: Round) {
        self.now += Duration::from_millis(round.rtt_ms);
        self.rounds += 1;
        // Each a nanosecond shorter than the one before, so that only a queue brings ProbeRTT.
        let rtt = Duration::from_nanos(round.rtt_ms * 1_000_000 - self.rounds);
        let delivered = round.rate / 10;
        self.cc.on_delivery(&Ack {
            now: self.now,
            bytes: delivered,
            mss: MSS,
            in_flight: round.in_flight,
            lost: round.lost,
            rtt: Some(rtt),
            new_round: true,
            window_limited: round.window_limited,
            rate: Some(RateSample {
                delivered,
                interval: Duration::from_millis(100),
                lost: round.lost,
                in_flight_at_send: round.in_flight,
                app_limited: round.app_limited,
            }),
            ..Ack::default()
        });
    }

    /// Run rounds like this one until the state is `state`. Returns their number.
    fn until(&mut self, state: BbrState, round: Round) -> u32 {
        let mut rounds = 0;
        while self.cc.state != state {
            self.round(round);
            rounds += 1;
            assert!(rounds < 100, "in {:?}, never in {state:?}", self.cc.state);
        }
        rounds
    }

    /// A path that cruises, past Startup and Drain.
    fn cruising() -> Path {
        let mut path = Path::new();
        path.until(BbrState::ProbeBwCruise, Round { in_flight: BDP - MSS, ..STEADY });
        path
    }

    /// A path that probes, with losses that bounded inflight to the bandwidth-delay product.
    fn bounded() -> Path {
        let mut path = Path::cruising();
        path.until(BbrState::ProbeBwUp, STEADY);
        path.round(Round { lost: 5 * MSS, in_flight: BDP, ..STEADY });
        path
    }
}

#[test]
fn startup_ends_after_three_rounds_with_growth_below_a_quarter() {
    let mut path = Path::new();
    for rate in [100_000, 200_000, 400_000, 500_000] {
        path.round(Round { rate, ..STEADY });
    }
    for (rate, state) in
        [(624_000, BbrState::Startup), (624_000, BbrState::Startup), (624_000, BbrState::Drain)]
    {
        path.round(Round { rate, in_flight: 3 * BDP, ..STEADY });
        assert_eq!(path.cc.state, state);
    }
    assert_eq!(path.cc.state.pacing_gain().to_bits(), 0.5_f64.to_bits());
}

#[test]
fn rounds_that_the_application_limits_do_not_end_startup() {
    let mut path = Path::new();
    (0..50).for_each(|_| path.round(Round { app_limited: true, rtt_ms: 50, ..STEADY }));
    assert_eq!(path.cc.state, BbrState::Startup);
}

#[test]
fn losses_end_startup_if_many_and_frequent_in_recovery() {
    let lossy = Round { lost: 5 * MSS, app_limited: true, ..STEADY };
    for (recovering, events, lost, ends) in [
        (true, 6, 5 * MSS, true),
        (false, 6, 5 * MSS, false),
        (true, 5, 5 * MSS, false),
        (true, 6, MSS, false),
    ] {
        let mut path = Path::new();
        path.round(STEADY);
        if recovering {
            path.cc.on_fast_retransmit(BDP, MSS);
        }
        // A round with losses is judged when it ends.
        path.cc.losses.loss_events_in_round = events - 2;
        (0..2).for_each(|_| path.round(Round { lost, ..lossy }));
        assert_eq!(path.cc.full_pipe.full_bw_reached, ends, "{recovering}, {events}, {lost}");
        assert_eq!(path.cc.model.inflight_longterm.is_finite(), ends);
    }
}

#[test]
fn drain_ends_at_the_bdp_or_after_three_rounds() {
    for (in_flight, rounds) in [(BDP - MSS, 1), (BDP + MSS, 4)] {
        let mut path = Path::new();
        path.until(BbrState::Drain, Round { in_flight: 3 * BDP, ..STEADY });
        for round in 1..=rounds {
            path.round(Round { in_flight, ..STEADY });
            assert_eq!(path.cc.state == BbrState::Drain, round < rounds);
        }
    }
}

#[test]
fn probe_bw_goes_down_cruises_refills_for_a_round_and_goes_up() {
    let mut path = Path::new();
    path.until(BbrState::ProbeBwDown, Round { in_flight: 3 * BDP, ..STEADY });
    path.round(Round { in_flight: BDP + MSS, ..STEADY });
    assert_eq!(path.cc.state, BbrState::ProbeBwDown, "the queue has not drained");
    path.round(STEADY);
    assert_eq!(path.cc.state, BbrState::ProbeBwCruise);
    let waited = path.until(BbrState::ProbeBwRefill, STEADY);
    assert!((18..=30).contains(&waited), "2 s to 3 s of 100 ms: {waited}");
    assert_eq!(path.until(BbrState::ProbeBwUp, STEADY), 1);
    assert_eq!(path.until(BbrState::ProbeBwDown, STEADY), 3, "a plateau ends the probe");
}

#[test]
fn a_small_window_probes_as_often_as_renos_sawtooth() {
    // IsRenoCoexistenceProbeTime(): ten segments, so ten rounds or nine.
    let small = Round { rate: RATE / 10, in_flight: 9 * MSS, ..STEADY };
    let mut path = Path::new();
    path.until(BbrState::ProbeBwCruise, small);
    let waited = path.until(BbrState::ProbeBwRefill, small);
    assert!((9..=10).contains(&waited), "{waited} rounds");
}

#[test]
fn a_large_window_probes_after_63_round_trips_at_the_latest() {
    // IsRenoCoexistenceProbeTime(): a target of 100 segments, and 63 rounds of 10 ms are less than the 2 s of the clock.
    let fast = Round { rate: 10 * RATE, rtt_ms: 10, ..STEADY };
    let mut path = Path::new();
    path.until(BbrState::ProbeBwCruise, fast);
    let waited = path.until(BbrState::ProbeBwRefill, fast);
    assert!((62..=63).contains(&waited), "{waited} rounds");
}

#[test]
fn the_bound_grows_twice_as_fast_each_round_for_30_rounds() {
    // RaiseInflightLongtermSlope(): segments of one byte, so that no floor hides the slope.
    let mut path = Path::cruising();
    path.cc.mss = 1.0;
    path.cc.control.cwnd = 2.0_f64.powi(32);
    path.cc.probing.bw_probe_up_rounds = 0;
    for round in 0..35 {
        path.cc.raise_inflight_longterm_slope();
        let acked_per_segment = path.cc.probing.probe_up_acked_per_inc;
        assert!((acked_per_segment - 2.0_f64.powi(32 - round.min(30))).abs() < 1e-3, "round {round}");
    }
}

#[test]
fn too_many_losses_bound_inflight_and_end_the_probe() {
    let path = Path::bounded();
    assert_eq!(path.cc.state, BbrState::ProbeBwDown);
    assert!((path.cc.model.inflight_longterm - f64::from(BDP)).abs() < 1.0);
    let mut tolerant = Path::cruising();
    tolerant.until(BbrState::ProbeBwUp, STEADY);
    tolerant.round(Round { lost: 2 * MSS, in_flight: BDP, ..STEADY });
    assert_eq!(tolerant.cc.state, BbrState::ProbeBwUp, "2 % is not too much");
}

#[test]
fn a_bound_is_never_cut_below_seven_tenths_of_the_target() {
    let mut path = Path::cruising();
    path.until(BbrState::ProbeBwUp, STEADY);
    path.round(Round { lost: 5 * MSS, in_flight: BDP / 10, ..STEADY });
    let floor = 0.7 * f64::from(BDP);
    assert!(
        (path.cc.model.inflight_longterm / floor - 1.0).abs() < 0.01,
        "{}",
        path.cc.model.inflight_longterm
    );
}

#[test]
fn cruising_leaves_headroom_below_the_bound() {
    let mut path = Path::bounded();
    path.until(BbrState::ProbeBwCruise, Round { in_flight: 80 * MSS, ..STEADY });
    path.round(Round { in_flight: 80 * MSS, ..STEADY });
    assert_eq!(path.cc.cwnd(), 85 * MSS);
}

#[test]
fn a_precautionary_probe_stops_at_the_bound_then_continues() {
    let mut path = Path::bounded();
    path.until(BbrState::ProbeBwUp, Round { in_flight: 80 * MSS, ..STEADY });
    path.round(Round { in_flight: BDP, ..STEADY });
    assert_eq!(path.cc.state, BbrState::ProbeBwDown, "precaution");
    path.round(Round { in_flight: 80 * MSS, ..STEADY });
    assert_eq!(path.cc.state, BbrState::ProbeBwRefill, "without a pause");
    path.until(BbrState::ProbeBwUp, Round { in_flight: 80 * MSS, ..STEADY });
    let before = path.cc.model.inflight_longterm;
    path.round(Round { in_flight: BDP, window_limited: true, ..STEADY });
    path.round(Round { in_flight: BDP, window_limited: true, ..STEADY });
    assert_eq!(path.cc.state, BbrState::ProbeBwUp);
    assert!(path.cc.model.inflight_longterm > before);
}

#[test]
fn cruising_losses_lower_short_term_bounds_by_at_most_30_pct() {
    for (delivered, expected) in [(RATE * 9 / 10, 0.9), (RATE / 2, 0.7)] {
        let mut path = Path::cruising();
        // Judged when a round with losses has ended; the first knows what was delivered before them.
        (0..4).for_each(|_| path.round(Round { rate: delivered, lost: MSS, ..STEADY }));
        let share = path.cc.model.bw_shortterm / f64::from(RATE);
        assert!((share - expected).abs() < 0.01, "{share}");
        path.until(BbrState::ProbeBwRefill, STEADY);
        assert!(path.cc.model.bw_shortterm.is_infinite(), "refilling forgets them");
    }
}

#[test]
fn a_bandwidth_expires_after_two_cycles() {
    let mut path = Path::cruising();
    let slower = Round { rate: RATE / 2, in_flight: BDP / 2 - MSS, ..STEADY };
    let mut cycles = 0;
    while path.cc.model.max_bw > 0.6 * f64::from(RATE) {
        path.until(BbrState::ProbeBwUp, slower);
        path.until(BbrState::ProbeBwCruise, slower);
        cycles += 1;
        assert!(cycles <= 3);
    }
    assert_eq!(cycles, 2);
}

#[test]
fn probe_rtt_starts_after_5_s_and_lasts_200_ms_and_a_round() {
    let mut path = Path::cruising();
    let queued = Round { rtt_ms: 120, in_flight: BDP, ..STEADY };
    let rounds = path.until(BbrState::ProbeRtt, queued);
    assert!((35..=42).contains(&rounds), "{rounds} rounds of 120 ms");
    assert_eq!(path.cc.cwnd().next_multiple_of(MSS), BDP / 2);
    (0..10).for_each(|_| path.round(queued));
    assert_eq!(path.cc.state, BbrState::ProbeRtt, "the queue has not drained");
    let drained = Round { in_flight: BDP / 2 - MSS, ..STEADY };
    let rounds = path.until(BbrState::ProbeBwCruise, drained);
    assert_eq!(rounds, 4, "one to see it drained, and more than 200 ms");
    assert!(path.cc.cwnd() > BDP, "the window is restored");
}

#[test]
fn samples_of_probe_rtt_neither_lower_max_bw_nor_end_startup() {
    let mut path = Path::cruising();
    path.until(BbrState::ProbeRtt, Round { rtt_ms: 120, ..STEADY });
    path.round(Round { in_flight: BDP / 2 - MSS, ..STEADY });
    path.round(Round { rate: RATE / 2, in_flight: BDP / 2, ..STEADY });
    assert!(path.cc.rs.is_app_limited);
}

#[test]
fn an_idle_restart_replaces_probe_rtt() {
    let mut path = Path::cruising();
    path.now += Duration::from_secs(6);
    path.cc.on_idle(10 * MSS);
    path.round(Round { rtt_ms: 120, ..STEADY });
    assert_ne!(path.cc.state, BbrState::ProbeRtt);
    assert!(path.cc.cwnd() > BDP, "idling does not cost the window");
}

#[test]
fn a_spurious_loss_restores_bounds_window_and_state() {
    let mut path = Path::cruising();
    path.until(BbrState::ProbeBwUp, STEADY);
    let cwnd = path.cc.cwnd();
    path.round(Round { lost: 5 * MSS, ..STEADY });
    assert!(path.cc.model.inflight_longterm.is_finite());
    path.cc.on_spurious();
    assert!(path.cc.model.inflight_longterm.is_infinite());
    assert_eq!(path.cc.state, BbrState::ProbeBwRefill);
    assert!(path.cc.cwnd() >= cwnd);
}

#[test]
fn a_timeout_leaves_a_segment_and_recovery_restores_the_window() {
    let mut path = Path::cruising();
    let cwnd = path.cc.cwnd();
    path.cc.on_timeout(cwnd, MSS);
    assert_eq!(path.cc.cwnd(), MSS);
    path.cc.on_recovered(0, MSS);
    assert_eq!(path.cc.cwnd(), cwnd);
}

#[test]
fn an_echoed_mark_acts_like_a_loss() {
    let mut path = Path::new();
    path.round(STEADY);
    path.cc.on_ecn_echo(BDP, MSS);
    path.round(Round { in_flight: 3 * BDP, ..STEADY });
    assert_eq!(path.cc.state, BbrState::Drain);
    let mut path = Path::cruising();
    path.until(BbrState::ProbeBwUp, STEADY);
    path.cc.on_ecn_echo(BDP, MSS);
    assert_eq!(path.cc.state, BbrState::ProbeBwDown);
    let mut path = Path::cruising();
    path.cc.on_ecn_echo(BDP, MSS);
    path.round(STEADY);
    assert!(path.cc.model.bw_shortterm.is_finite());
}

#[test]
fn the_time_to_the_next_probe_is_random_and_reproducible() {
    let wait = |shift| {
        let mut path = Path::new();
        path.now += Duration::from_nanos(shift);
        path.until(BbrState::ProbeBwCruise, STEADY);
        path.cc.probing.bw_probe_wait
    };
    let waits: Vec<f64> = (0..1000).map(|shift| wait(shift).as_secs_f64()).collect();
    assert!(waits.iter().all(|wait| (2.0..=3.0).contains(wait)));
    let mean = waits.iter().sum::<f64>() / 1000.0;
    // Five standard errors of a uniform draw.
    assert!((mean - 2.5).abs() < 5.0 * 0.289 / 1000.0_f64.sqrt(), "{mean} s");
    assert_eq!(wait(7), wait(7));
}

#[test]
fn the_first_window_is_paced_over_a_round_trip_at_startups_gain() {
    let mut path = Path::new();
    // 2.77 * 10 segments in a nominal 1 ms, then in 100 ms.
    assert_eq!(path.cc.pacing_rate().map(BitRate::bits_per_sec), Some(221_600_000));
    path.round(Round { rate: 10_000, ..STEADY });
    assert_eq!(path.cc.pacing_rate().map(BitRate::bits_per_sec), Some(2_216_000));
}

#[test]
fn pacing_is_a_hundredth_below_the_bandwidth_while_cruising() {
    let path = Path::cruising();
    assert_eq!(path.cc.pacing_rate().map(BitRate::bits_per_sec), Some(7_920_000));
}
