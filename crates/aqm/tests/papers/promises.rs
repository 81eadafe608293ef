//! Guarantees of RED, ARED, PI and REM.

use aqmlab_aqm::{
    Aqm, Ared, AredConfig, Discipline, Ecn, EcnAboveMax, LinkContext, Pi, PiConfig, QueueState, Red,
    RedConfig, Rem, RemConfig, Verdict,
};
use aqmlab_units::{BitRate, Bytes, Prob, Time};

use crate::common::{link, packet, probed, rng};

#[test]
fn above_max_th_the_policy_decides_on_ecn_capable_packets() {
    let verdict = |ecn_policy, packets: u32| {
        let config = RedConfig {
            min_th: 5.0,
            max_th: 15.0,
            w_q: 1.0,
            max_p: Prob::ONE,
            ecn_policy,
            ..RedConfig::default()
        };
        let mut red = Red::new(&config, &link(), rng());
        let queue = QueueState { packets, bytes: Bytes::new(500 * u64::from(packets)) };
        let mut judge = || red.on_enqueue(&packet(500, Ecn::Ect0), queue, Time::ZERO);
        let _first_crossing = judge();
        (0..20).map(|_| judge()).find(|verdict| *verdict != Verdict::Pass).expect("p_b is at least one half")
    };
    let policies = [EcnAboveMax::DropAboveMax, EcnAboveMax::MarkInGentle, EcnAboveMax::Mark];
    assert_eq!(policies.map(|policy| verdict(policy, 12)), [Verdict::Mark; 3], "between the thresholds");
    assert_eq!(
        policies.map(|policy| verdict(policy, 20)),
        [Verdict::Drop, Verdict::Mark, Verdict::Mark],
        "in the gentle region"
    );
    assert_eq!(
        policies.map(|policy| verdict(policy, 30)),
        [Verdict::Drop, Verdict::Drop, Verdict::Mark],
        "from twice max_th on"
    );
}

/// The decision of ns-3's `RedQueueDisc::DoEnqueue` on an ECN-capable packet that it signals: from the end of its curve on the
/// mark is "forced", and `UseHardDrop` drops there alone.
fn ns3(use_hard_drop: bool, gentle: bool, avg: f64, max_th: f64) -> Verdict {
    let forced = if gentle { avg >= 2.0 * max_th } else { avg >= max_th };
    if forced && use_hard_drop { Verdict::Drop } else { Verdict::Mark }
}

#[test]
fn ns3_with_hard_drop_is_mark_in_gentle_and_without_it_mark() {
    for (ecn_policy, use_hard_drop) in [(EcnAboveMax::MarkInGentle, true), (EcnAboveMax::Mark, false)] {
        for (gentle, packets) in [(true, 12), (true, 20), (true, 30), (false, 12), (false, 20)] {
            let config = RedConfig { w_q: 1.0, max_p: Prob::ONE, gentle, ecn_policy, ..RedConfig::default() };
            let queue = QueueState { packets, bytes: Bytes::new(500 * u64::from(packets)) };
            let mut red = Red::new(&config, &link(), rng());
            let signal = (0..50)
                .map(|_| red.on_enqueue(&packet(500, Ecn::Ect0), queue, Time::ZERO))
                .find(|verdict| *verdict != Verdict::Pass);
            let expected = ns3(use_hard_drop, gentle, f64::from(packets), config.max_th);
            assert_eq!(signal, Some(expected), "{ecn_policy}, gentle {gentle}, {packets} packets");
        }
    }
}

#[test]
fn nothing_is_signalled_while_at_most_one_packet_waits() {
    let config = RedConfig { min_th: 0.0, max_th: 0.1, w_q: 1.0, ..RedConfig::default() };
    let mut red = Red::new(&config, &link(), rng());
    let queue = QueueState { packets: 1, bytes: Bytes::new(500) };
    for _ in 0..100 {
        assert_eq!(red.on_enqueue(&packet(500, Ecn::NotEct), queue, Time::ZERO), Verdict::Pass);
    }
}

#[test]
fn byte_mode_spares_small_packets_in_proportion() {
    let config = PiConfig { q_ref: 0.0, a: 0.011, b: 0.01, ..PiConfig::default() };
    let mut pi = Pi::new(&config, &link(), rng());
    // One sample of five mean packets sets p = 5 a.
    let queue = QueueState { packets: 5, bytes: Bytes::new(2500) };
    pi.on_timeout(queue, pi.poll_timeout().unwrap());
    let p = probed(&pi, "p");
    assert!((p - 0.055).abs() < 1e-12);
    for (size, expected) in [(40, p * 0.08), (500, p), (1500, p * 3.0)] {
        let n = 100_000;
        let signals =
            (0..n).filter(|_| pi.on_enqueue(&packet(size, Ecn::NotEct), queue, Time::ZERO) != Verdict::Pass);
        let share = signals.count() as f64 / f64::from(n);
        let error = (expected * (1.0 - expected) / f64::from(n)).sqrt();
        assert!((share - expected).abs() < 4.0 * error, "{size} B: {share}, not {expected}");
    }
}

/// A fluid queue: `excess` times the link's capacity arrives, less the signalled share (as if dropped). Returns the
/// queue in packets and p after this many seconds.
fn fluid<A: Aqm>(law: &mut A, excess: f64, secs: f64) -> (f64, f64) {
    let c = link().packets_per_sec(Bytes::new(500));
    let (mut q, mut last) = (0.0_f64, Time::ZERO);
    while last.as_secs_f64() < secs {
        let now = law.poll_timeout().expect("a control law samples");
        let p = probed(law, "p");
        q = (q + (excess * (1.0 - p) - 1.0) * c * (now - last).as_secs_f64()).max(0.0);
        let bytes = Bytes::new(to_whole(500.0 * q));
        law.on_timeout(
            QueueState {
                packets: u32::try_from(to_whole(q)).expect("a queue of less than four billion"),
                bytes,
            },
            now,
        );
        last = now;
    }
    (q, probed(law, "p"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "queues are small and not negative"
)]
fn to_whole(x: f64) -> u64 {
    x.round() as u64
}

#[test]
fn pi_integrates_until_the_queue_stands_at_its_reference() {
    for (excess, q_ref) in [(1.05, 24.0), (1.3, 240.0)] {
        let mut pi = Pi::new(&PiConfig { q_ref, ..PiConfig::default() }, &link(), rng());
        let (q, p) = fluid(&mut pi, excess, 200.0);
        assert!((q - q_ref).abs() < 0.01 * q_ref, "the queue stands at {q}, not {q_ref}");
        assert!((p - (1.0 - 1.0 / excess)).abs() < 1e-3, "p = {p} does not balance {excess}");
    }
}

#[test]
fn rems_price_rises_with_excess_arrivals_and_falls_to_zero() {
    let mut rem = Rem::new(&RemConfig::default(), &link(), rng());
    let mut price = 0.0;
    let empty = QueueState::default();
    for _ in 0..100 {
        // 46.5 packets of 500 B fit into tau.
        (0..60).for_each(|_| {
            rem.on_enqueue(&packet(500, Ecn::NotEct), empty, Time::ZERO);
        });
        rem.on_timeout(QueueState { packets: 24, bytes: Bytes::new(12_000) }, rem.poll_timeout().unwrap());
        let raised = probed(&rem, "price");
        assert!(raised > price);
        price = raised;
    }
    for _ in 0..100 {
        rem.on_timeout(empty, rem.poll_timeout().unwrap());
    }
    assert_eq!((probed(&rem, "price"), probed(&rem, "p")), (0.0, 0.0));
}

/// `max_p` after each of 300 checks, when every arrival finds `packets` waiting.
fn adapted(packets: u32) -> Vec<f64> {
    let config =
        AredConfig { min_th: Some(12.0), max_th: Some(36.0), w_q: Some(0.5), ..AredConfig::default() };
    let mut ared = Ared::new(&config, &link(), rng());
    let queue = QueueState { packets, bytes: Bytes::new(500 * u64::from(packets)) };
    (0..300)
        .map(|_| {
            let now = ared.poll_timeout().expect("ARED checks its average");
            (0..30).for_each(|_| {
                ared.on_enqueue(&packet(500, Ecn::Ect0), queue, now);
            });
            ared.on_timeout(queue, now);
            probed(&ared, "max_p")
        })
        .collect()
}

#[test]
fn max_p_moves_towards_the_band_and_stops_at_its_bounds() {
    let above = adapted(30);
    assert!(above.is_sorted() && above[0] > 0.1, "a long queue raises max_p");
    assert_eq!(above.last(), Some(&0.5));
    let below = adapted(15);
    assert!(below.is_sorted_by(|a, b| a >= b) && below[0] < 0.1, "a short queue lowers max_p");
    assert_eq!(below.last(), Some(&0.01));
    assert!(adapted(24).iter().all(|max_p| (max_p - 0.1).abs() < 1e-12), "inside the band nothing moves");
}

#[test]
fn ared_keeps_at_least_five_packets_below_min_th_on_a_slow_link() {
    let slow = LinkContext { rate: BitRate::from_mbit_per_sec(1), ..link() };
    let resolved = AredConfig::default().resolve(&slow).unwrap();
    assert_eq!((resolved.min_th, resolved.max_th), (Some(5.0), Some(15.0)));
}

#[test]
fn ared_finds_the_papers_thresholds_at_their_frame_size() {
    // Le et al.: 60 and 180 packets, and a weight next to 1/16384 is 1/24000, at 521 B a frame.
    let config = AredConfig {
        red: RedConfig { mean_packet: Bytes::new(521), ..AredConfig::default().red },
        ..AredConfig::default()
    };
    let link = LinkContext { overhead: Bytes::ZERO, ..link() };
    let resolved = config.resolve(&link).unwrap();
    let (min_th, max_th, w_q) = (resolved.min_th.unwrap(), resolved.max_th.unwrap(), resolved.w_q.unwrap());
    assert!((min_th - 60.0).abs() < 0.1 && (max_th - 180.0).abs() < 0.1);
    assert!((1.0 / w_q - 24_000.0).abs() < 10.0);
    assert_eq!(resolved.resolve(&link), Ok(resolved), "resolving is idempotent");
}
