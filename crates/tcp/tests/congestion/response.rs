//! The window that a control keeps under a steady rate of losses or marks.

use aqmlab_tcp::Algorithm;
use aqmlab_units::Duration;

use crate::clocked::{Signal, Spacing, mean_window};

const RTT: Duration = Duration::from_millis(100);

/// The mean window with evenly spaced losses, beside what theory says.
fn assert_evenly(algorithm: &Algorithm, rtt: Duration, p: f64, expected: f64, tolerance: f64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
    let segments = (60.0 / p) as u64;
    let window = mean_window(algorithm, rtt, Signal::Loss, Spacing::even(p), segments);
    println!("{algorithm} p={p:e} RTT {rtt}: {window:.1}, expected {expected:.1}");
    assert!((window / expected - 1.0).abs() < tolerance, "{algorithm} at {p}: {window}, not {expected}");
}

/// The same for marks at random, W p.
fn marks_in_a_window(algorithm: &Algorithm, p: f64) -> f64 {
    let product = p * mean_window(algorithm, RTT, Signal::Mark, Spacing::random(p), 3_000_000);
    println!("{algorithm} p={p}: W p = {product:.3}");
    product
}

#[test]
fn reno_keeps_the_square_root_of_three_halves_over_p() {
    // Mathis, Semke, Mahdavi and Ott, CCR 1997. The recovery of a window is not in that model, so small ones are off.
    for p in [1e-3, 1e-4, 1e-5] {
        assert_evenly(&Algorithm::Reno, RTT, p, (1.5 / p).sqrt(), 0.1);
    }
}

#[test]
fn under_random_loss_renos_window_is_1_31_over_root_p() {
    // Ott, Kemperman and Mathis 1996: 1.3098 / sqrt(p), the mean over time for independent losses.
    for p in [1e-3, 1e-4] {
        let window = mean_window(&Algorithm::Reno, RTT, Signal::Loss, Spacing::random(p), 10_000_000);
        let constant = window * p.sqrt();
        println!("reno, random p={p:e}: {constant:.3} / sqrt(p)");
        assert!((constant / 1.3098 - 1.0).abs() < 0.1, "{constant} / sqrt(p)");
    }
}

#[test]
fn cubic_keeps_its_published_window_in_the_cubic_region() {
    // RFC 9438 §5.1, table 1: 1.054 (RTT / p)^(3/4). That is without fast convergence, which costs a few per cent here.
    for (p, published) in [(1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0)] {
        assert_evenly(&Algorithm::CubicRfc9438, RTT, p, published, 0.1);
    }
}

#[test]
fn cubic_keeps_renos_window_in_the_reno_friendly_region() {
    // RFC 9438 §5.1, tables 1 and 2: 1.2 / sqrt(p)
    let short = Duration::from_millis(10);
    for (rtt, p, published) in
        [(RTT, 1e-3, 38.0), (short, 1e-3, 38.0), (short, 1e-4, 120.0), (short, 1e-5, 379.0)]
    {
        assert_evenly(&Algorithm::CubicRfc9438, rtt, p, published, 0.1);
    }
}

#[test]
fn cubic_of_linux_keeps_a_larger_window_by_rounding_up() {
    // Its integers round growth up, and what else differs is equal here. By how much is the kernel's to say:
    // tests/kernel/test_response.py.
    for p in [1e-3, 1e-4, 1e-5] {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
        let segments = (60.0 / p) as u64;
        let [linux, rfc] = [&Algorithm::Cubic, &Algorithm::CubicRfc9438]
            .map(|algorithm| mean_window(algorithm, RTT, Signal::Loss, Spacing::even(p), segments));
        assert!(linux > rfc, "{linux} and {rfc} at {p}");
    }
}

#[test]
fn dctcp_keeps_two_evenly_spaced_marks_a_window() {
    // A window grows by a segment a round and falls by W alpha / 2, alpha = p: W = 2 / p (De Schepper et al., "PI2",
    // CoNEXT 2016, appendix). That has a reduction in each round, which marks at even distances give. What is marked
    // does not let it grow: 2 (1 - p) / p.
    for p in [0.1, 0.02, 0.01] {
        let window = mean_window(&Algorithm::Dctcp, RTT, Signal::Mark, Spacing::even(p), 1_000_000);
        println!("dctcp, even p={p}: W p = {:.3}", window * p);
        assert!((window * p / (2.0 * (1.0 - p)) - 1.0).abs() < 0.1, "{} marks", window * p);
    }
}

#[test]
fn dctcp_and_prague_keep_1_plus_root_3_random_marks_in_a_window() {
    // Both reduce at the first mark after a round trip: every W + 1 / p segments by W p / 2, and grow by one in each W.
    // 1 + 1 / (W p) = W p / 2, so W p = 1 + sqrt(3).
    for algorithm in &[Algorithm::Dctcp, Algorithm::Prague] {
        for p in [0.02, 0.01] {
            let product = marks_in_a_window(algorithm, p);
            assert!((product / (1.0 + 3.0_f64.sqrt()) - 1.0).abs() < 0.1, "{algorithm}: {product} marks");
        }
    }
}

#[test]
fn twice_the_marks_leave_half_the_window() {
    // The scalable law: W is inversely proportional to p, not to its square root (RFC 9332 §2.1).
    for algorithm in &[Algorithm::Dctcp, Algorithm::Prague] {
        let ratio = marks_in_a_window(algorithm, 0.02) / marks_in_a_window(algorithm, 0.005);
        assert!((0.9..=1.1).contains(&ratio), "{algorithm}: {ratio}");
    }
}

#[test]
fn on_a_short_path_prague_has_the_rate_of_its_reference_rtt() {
    // draft-briscoe-iccrg-prague-congestion-control, "Reduced RTT-Dependence": the same rate below 25 ms.
    let rate = |rtt_ms| {
        let rtt = Duration::from_millis(rtt_ms);
        let window = mean_window(&Algorithm::Prague, rtt, Signal::Mark, Spacing::random(0.005), 6_000_000);
        window / rtt.as_secs_f64()
    };
    let (short, reference) = (rate(5), rate(25));
    println!("prague: {short:.0} and {reference:.0} segments/s at 5 ms and 25 ms");
    assert!((short / reference - 1.0).abs() < 0.1, "{short} and {reference} segments/s");
}
