//! Scripted drops and marks, against sets of numbers.

use std::collections::BTreeSet;

use aqmlab_aqm::{Aqm, Ecn, QueueState, Scripted, ScriptedConfig, Verdict};
use aqmlab_units::{Bytes, Time};
use proptest::prelude::*;

use crate::common::packet;

fn script(numbers: &BTreeSet<u32>) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

proptest! {
    #[test]
    fn exactly_the_packets_of_the_script_are_dropped_or_marked(
        drop in prop::collection::btree_set(1_u32..60, 0..20),
        mark in prop::collection::btree_set(1_u32..60, 0..20),
    ) {
        let config = ScriptedConfig {
            drop: script(&drop).parse().unwrap(),
            mark: script(&mark).parse().unwrap(),
            ..ScriptedConfig::default()
        };
        let mut law = Scripted::new(&config);
        for number in 1..70 {
            let queue = QueueState { packets: 0, bytes: Bytes::ZERO };
            let expected = match (drop.contains(&number), mark.contains(&number)) {
                (true, _) => Verdict::Drop,
                (false, true) => Verdict::Mark,
                (false, false) => Verdict::Pass,
            };
            prop_assert_eq!(law.on_enqueue(&packet(500, Ecn::Ect0), queue, Time::ZERO), expected);
        }
    }
}
