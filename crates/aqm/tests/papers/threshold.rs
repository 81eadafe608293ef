//! The threshold of ECN+: Kuzmanovic (2005), and its properties.

use aqmlab_aqm::{
    AdmissionControl, Aqm, Discipline, Ecn, LinkContext, QueueState, Threshold, ThresholdConfig, Verdict,
};
use aqmlab_units::{BitRate, Bytes, Duration, Time};
use proptest::prelude::*;

use crate::common::{link, packet, walk};

fn verdict(config: &ThresholdConfig, ecn: Ecn, packets: u32) -> Verdict {
    let queue = QueueState { packets, bytes: Bytes::new(500 * u64::from(packets)) };
    Threshold::new(config, &link()).on_enqueue(&packet(500, ecn), queue, Time::ZERO)
}

proptest! {
    #[test]
    fn above_the_threshold_exactly_the_ecn_capable_are_marked(
        threshold in 0.0..300.0, packets in 0_u32..400, capable: bool
    ) {
        let config = ThresholdConfig { threshold: Some(threshold), ..ThresholdConfig::default() };
        let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
        // The paper's two clauses: no packets are marked below, all packets are marked above.
        let expected = match (threshold < f64::from(packets), capable) {
            (true, true) => Verdict::Mark,
            _ => Verdict::Pass,
        };
        prop_assert_eq!(verdict(&config, ecn, packets), expected);
    }
}

#[test]
fn a_queue_that_stands_at_the_threshold_does_not_exceed_it() {
    let config = ThresholdConfig { threshold: Some(20.0), ..ThresholdConfig::default() };
    assert_eq!([20, 21].map(|q| verdict(&config, Ecn::Ect0, q)), [Verdict::Pass, Verdict::Mark]);
    for ecn in [Ecn::Ect1, Ecn::Ce] {
        assert_eq!(verdict(&config, ecn, 21), Verdict::Mark);
    }
}

#[test]
fn the_automatic_threshold_is_link_rate_times_target_delay() {
    for (mbit, millis, expected) in [(100, 5, 116.2), (10, 5, 11.62), (100, 20, 464.7)] {
        let link = LinkContext { rate: BitRate::from_mbit_per_sec(mbit), ..link() };
        let config =
            ThresholdConfig { target_delay: Duration::from_millis(millis), ..ThresholdConfig::default() };
        let resolved = config.resolve(&link).unwrap();
        let threshold = resolved.threshold.expect("resolved");
        assert!((threshold - expected).abs() < 0.1, "{threshold} packets at {mbit} Mbit/s");
        assert_eq!(resolved.resolve(&link), Ok(resolved), "resolving is idempotent");
    }
}

#[test]
fn only_a_full_queue_drops() {
    let config = ThresholdConfig { threshold: Some(5.0), ..ThresholdConfig::default() };
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        // The walk reaches 25 packets.
        let mut control =
            AdmissionControl::new(Threshold::new(&config, &link()), aqmlab_aqm::Limit::Packets(24));
        walk(&mut control, ecn);
        let counters = control.counters;
        assert!(counters.dropped_by_limit > 0);
        assert_eq!(counters.dropped(), counters.dropped_by_limit);
        assert_eq!(counters.marked > 0, ecn == Ecn::Ect0);
    }
}
