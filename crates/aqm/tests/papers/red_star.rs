//! RED*: Kuzmanovic (2005), and its properties.

use aqmlab_aqm::{
    Admission, AdmissionControl, DecidesAtEnqueue, Discipline, Ecn, Limit, Qdisc, QueueConfig, RedConfig,
    RedStarConfig, Visitor,
};
use aqmlab_units::Stream;
use proptest::prelude::*;

use crate::common::oracle::compare_law;
use crate::common::traffic::traffic;
use crate::common::{rng, slow_link, walk};
use crate::oracle::red;
use crate::settings;

fn red_star() -> impl Strategy<Value = RedStarConfig> {
    let base = RedStarConfig::default().red;
    let ecn_policy = base.ecn_policy;
    settings::red(base, 1.0..10.0, 0.02..1.0)
        .prop_map(move |red| RedStarConfig { red: RedConfig { ecn_policy, ..red } })
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
fn an_ecn_capable_packet_is_never_dropped_at_any_length() {
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
