//! Selection of one of the engine's two paths by configuration.

use aqmlab_aqm::{
    CobaltConfig, CodelConfig, DecidesAtEnqueue, DelayFrom, Limit, Pi2Config, PieConfig, Qdisc, QueueConfig,
    SignalAt, Visitor,
};
use aqmlab_units::Stream;

use crate::common::link;

/// A visitor that returns whether the discipline is a law that decides on arrival.
struct DecidesOnArrival;

impl Visitor for DecidesOnArrival {
    type Payload = ();
    type Output = bool;

    fn law<A: DecidesAtEnqueue + Send + 'static>(self, _limit: Limit, _make: impl Fn(Stream) -> A) -> bool {
        true
    }

    fn queue<Q: Qdisc<()> + Send + 'static>(self, _make: impl Fn(Stream) -> Q) -> bool {
        false
    }
}

#[test]
fn only_laws_with_the_link_rate_need_no_departures() {
    let is_law = |config: QueueConfig| config.visit(&link(), DecidesOnArrival);
    for delay_from in [DelayFrom::Timestamp, DelayFrom::RateEstimate, DelayFrom::LinkRate] {
        let by_link_rate = delay_from == DelayFrom::LinkRate;
        assert_eq!(is_law(QueueConfig::Pie(PieConfig { delay_from, ..PieConfig::default() })), by_link_rate);
        let pi2 = Pi2Config { delay_from, ..Pi2Config::default() };
        assert_eq!(is_law(QueueConfig::Pi2(pi2.clone())), by_link_rate);
        assert!(!is_law(QueueConfig::Pi2(Pi2Config { signal_at: SignalAt::Departure, ..pi2 })));
    }
    assert!(!is_law(QueueConfig::Codel(CodelConfig::default())));
    assert!(!is_law(QueueConfig::Cobalt(CobaltConfig::default())));
}
