//! Random traffic: packets that arrive at a queue and leave it.

use aqmlab_aqm::Ecn;
use aqmlab_units::Stream;
use proptest::prelude::*;

/// One thing that happens to a queue, after a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Arrive { after_us: u32, flow: u32, size: u64, ecn: Ecn },
    Leave { after_us: u32 },
}

impl Operation {
    /// The pause before it.
    pub(crate) fn after_us(self) -> u32 {
        let (Operation::Arrive { after_us, .. } | Operation::Leave { after_us }) = self;
        after_us
    }
}

/// A few hundred packets of some flows that fill the queue and drain it, with idle periods.
pub(crate) fn traffic() -> impl Strategy<Value = Vec<Operation>> {
    traffic_with(prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1)])
}

/// The same, with these ECN fields.
pub(crate) fn traffic_with(
    ecn: impl Strategy<Value = Ecn> + Clone + 'static,
) -> impl Strategy<Value = Vec<Operation>> {
    let pause = prop_oneof![8 => 0_u32..300, 1 => 0_u32..20_000];
    let size = prop_oneof![Just(40_u64), Just(1500), Just(1514), 28_u64..1501];
    // Some flows send much and some little.
    let flow = prop_oneof![3 => 0_u32..2, 2 => 0_u32..8, 1 => 0_u32..40];
    let arrive = (pause.clone(), flow, size, ecn);
    let operation = prop_oneof![
        4 => arrive.prop_map(|(after_us, flow, size, ecn)| Operation::Arrive { after_us, flow, size, ecn }),
        3 => pause.prop_map(|after_us| Operation::Leave { after_us }),
    ];
    prop::collection::vec(operation, 1..800)
}

/// Thousands of packets in phases of growing and of draining queues, for what takes many round trips.
pub(crate) fn phases(seed: u64, operations: usize) -> Vec<Operation> {
    let mut chance = Stream::named(seed, "traffic");
    let mut below = move |most: u64| u32::try_from(chance.below(most)).expect("small");
    let mut load = 50;
    (0..operations)
        .map(|number| {
            if number % 150 == 0 {
                load = 30 + below(45);
            }
            let longest = if below(100) == 0 { 20_000 } else { 200 };
            let after_us = below(longest);
            if below(100) >= load {
                return Operation::Leave { after_us };
            }
            let any = 40 + u64::from(below(1461));
            let size = [40, 1500, any][below(3) as usize];
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][below(4) as usize];
            Operation::Arrive { after_us, flow: 0, size, ecn }
        })
        .collect()
}
