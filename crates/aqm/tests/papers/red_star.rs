//! RED*: Kuzmanovic (2005), and what it promises.

use aqmlab_aqm::{
    Admission, AdmissionControl, ByteScaling, DecidesAtEnqueue, Discipline, Ecn, Limit, Mode, Qdisc,
    QueueConfig, RedConfig, RedStarConfig, Spacing, Visitor,
};
use aqmlab_units::{Bytes, Prob, Stream};
use proptest::prelude::*;

use crate::common::oracle::compare_law;
use crate::common::traffic::traffic;
use crate::common::{rng, slow_link, walk};
use crate::oracle::red;

fn red_star() -> impl Strategy<Value = RedStarConfig> {
    let thresholds = (0.5..8.0, 1.0..10.0, 0.02..1.0, 0.01..0.9, any::<bool>());
    let spacing = prop_oneof![
        Just(Spacing::Uniform),
        Just(Spacing::Figure2),
        Just(Spacing::Wait),
        Just(Spacing::Altq),
        Just(Spacing::Geometric)
    ];
    let scaling = prop_oneof![Just(ByteScaling::BeforeSpacing), Just(ByteScaling::AfterSpacing)];
    let mode = prop_oneof![Just(Mode::Packet), Just(Mode::Byte)];
    (thresholds, spacing, scaling, mode, 300_u64..1000).prop_map(
        |((min_th, width, w_q, max_p, gentle), spacing, byte_scaling, mode, mean_packet)| RedStarConfig {
            red: RedConfig {
                min_th,
                max_th: min_th + width,
                w_q,
                max_p: Prob::clamped(max_p),
                gentle,
                spacing,
                byte_scaling,
                mode,
                mean_packet: Bytes::new(mean_packet),
                ..RedStarConfig::default().red
            },
        },
    )
}

proptest! {
    #[test]
    fn red_star_decides_as_its_paper_does(config in red_star(), seed: u64, traffic in traffic()) {
        compare_law(&QueueConfig::RedStar(config.clone()), seed, |rng| red::Red::new(&config.red, rng), &traffic)?;
    }
}

/// Walks the law in front of a queue that is never full.
struct Walk(Ecn);

impl Visitor for Walk {
    type Payload = ();
    type Output = Vec<Admission>;

    fn queue<Q: Qdisc<()> + Send + 'static>(self, _make: impl Fn(Stream) -> Q) -> Self::Output {
        unreachable!("RED* decides when a packet arrives")
    }

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Self::Output {
        walk(&mut AdmissionControl::new(make(rng()), limit), self.0)
    }
}

#[test]
fn an_ecn_capable_packet_is_never_dropped_however_long_the_queue() {
    // The average is far beyond twice max_th for most of the walk, where RED would drop all.
    let config = RedStarConfig {
        red: RedConfig { min_th: 1.0, max_th: 2.0, w_q: 1.0, ..RedStarConfig::default().red },
    };
    let count = |ecn, admission| {
        config.visit(&slow_link(), Walk(ecn)).into_iter().filter(|found| *found == admission).count()
    };
    let marked = count(Ecn::Ect0, Admission::Marked);
    assert!(marked > 10_000);
    assert_eq!(marked + count(Ecn::Ect0, Admission::Queued), 20_000);
    assert_eq!(count(Ecn::NotEct, Admission::DroppedEarly), marked);
}
