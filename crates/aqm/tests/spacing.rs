//! RED spaces its signals as each variant promises, at a constant average.

use aqmlab_aqm::{
    Aqm, ByteScaling, Ecn, LinkContext, Mode, Packet, QueueState, Red, RedConfig, Spacing, Verdict,
};
use aqmlab_units::{BitRate, Bytes, Prob, Stream, Time};

const SIGNALS: u32 = 40_000;

/// Counts of the gaps between signals, from signal to signal, when ten packets of 500 B always wait: the average is 10,
/// half-way between the thresholds, and `p_b` is 1/20.
fn gaps(config: &RedConfig, size: u64) -> Vec<u32> {
    let config = RedConfig {
        min_th: 5.0,
        max_th: 15.0,
        w_q: 1.0,
        max_p: Prob::clamped(0.1),
        mean_packet: Bytes::new(500),
        ..config.clone()
    };
    let link = LinkContext {
        rate: BitRate::from_mbit_per_sec(10),
        header: Bytes::ZERO,
        overhead: Bytes::ZERO,
        peak: None,
    };
    let mut red = Red::new(&config, &link, Stream::named(1, "spacing"));
    let queue = QueueState { packets: 10, bytes: Bytes::new(5000) };
    let pkt = Packet { size: Bytes::new(size), ecn: Ecn::Ect0, flow: 0 };
    let mut gap = || {
        let passed =
            (1..1000).take_while(|_| red.on_enqueue(&pkt, queue, Time::ZERO) == Verdict::Pass).count();
        1 + passed
    };
    gap(); // The first one begins at the crossing, not at a signal.
    let mut counts = vec![0; 1000];
    (0..SIGNALS).for_each(|_| counts[gap()] += 1);
    counts
}

/// Every gap lies in `shortest..=longest` and each is as frequent as the others: chi-square below its 99.9 % point, by
/// the approximation of Wilson and Hilferty.
fn assert_uniform(counts: &[u32], shortest: usize, longest: usize) {
    let within: u32 = counts[shortest..=longest].iter().sum();
    assert_eq!(within, SIGNALS, "gaps outside {shortest}..={longest}");
    let expected = f64::from(SIGNALS) / (longest - shortest + 1) as f64;
    let chi2: f64 =
        counts[shortest..=longest].iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    let freedom = (longest - shortest) as f64;
    let bound = freedom * (1.0 - 2.0 / (9.0 * freedom) + 3.09 * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
    assert!(chi2 < bound, "chi-square {chi2:.1} above {bound:.1}");
}

#[test]
fn uniform_gaps_span_one_packet_to_the_inverse_probability() {
    let gaps = gaps(&RedConfig { spacing: Spacing::Uniform, ..RedConfig::default() }, 500);
    assert_uniform(&gaps, 1, 20);
}

#[test]
fn figure_2s_gaps_end_one_packet_before_section_7s() {
    let gaps = gaps(&RedConfig { spacing: Spacing::Figure2, ..RedConfig::default() }, 500);
    assert_uniform(&gaps, 1, 19);
}

#[test]
fn waiting_moves_the_same_gaps_up_by_the_inverse_probability() {
    let gaps = gaps(&RedConfig { spacing: Spacing::Wait, ..RedConfig::default() }, 500);
    assert_uniform(&gaps, 20, 39);
}

#[test]
fn altq_gaps_reach_to_twice_the_inverse_probability() {
    let gaps = gaps(&RedConfig { spacing: Spacing::Altq, ..RedConfig::default() }, 500);
    assert_uniform(&gaps, 1, 39);
}

#[test]
fn geometric_gaps_are_those_of_independent_signals() {
    let counts = gaps(&RedConfig { spacing: Spacing::Geometric, ..RedConfig::default() }, 500);
    let n = f64::from(SIGNALS);
    let mean = counts.iter().enumerate().map(|(gap, &count)| gap as f64 * f64::from(count)).sum::<f64>() / n;
    // Mean 20, standard deviation sqrt(380): four standard errors.
    assert!((mean - 20.0).abs() < 4.0 * (380.0 / n).sqrt(), "mean gap {mean}");
    let first_share = f64::from(counts[1]) / n;
    assert!((first_share - 0.05).abs() < 4.0 * (0.05 * 0.95 / n).sqrt(), "P(gap = 1) = {first_share}");
}

#[test]
fn in_byte_mode_signals_are_proportional_to_packet_size() {
    for byte_scaling in [ByteScaling::BeforeSpacing, ByteScaling::AfterSpacing] {
        let config = RedConfig { mode: Mode::Byte, byte_scaling, ..RedConfig::default() };
        assert_uniform(&gaps(&config, 1000), 1, 10);
    }
}
