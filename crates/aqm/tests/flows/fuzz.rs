//! Parameters are refused in one line or work, on any traffic.

use std::collections::VecDeque;
use std::ops::Range;

use aqmlab_aqm::{
    AboveHalf, AboveMax, ByteScaling, ChokeConfig, EcnPolicy, FredConfig, FullBins, Hashing, Limit, Mode,
    ParameterError, QueueConfig, SfbConfig, Spacing, SredConfig, SredVariant, catalogue,
};
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};
use proptest::prelude::*;

use crate::model::{Operation, link, packet, traffic};

/// Mostly numbers of a plausible range, sometimes any number or none at all.
fn number(plausible: Range<f64>) -> impl Strategy<Value = f64> {
    prop_oneof![20 => plausible, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0)]
}

fn whole(plausible: Range<u32>) -> impl Strategy<Value = u32> {
    prop_oneof![20 => plausible, 1 => Just(0), 1 => Just(u32::MAX)]
}

fn prob() -> impl Strategy<Value = Prob> {
    prop_oneof![20 => 0.0..1.0, 1 => Just(0.0), 1 => Just(1.0), 1 => Just(1e-300)].prop_map(Prob::clamped)
}

fn span(millis: Range<u64>) -> impl Strategy<Value = Duration> {
    prop_oneof![
        20 => millis.prop_map(Duration::from_millis),
        1 => Just(Duration::ZERO),
        1 => any::<u64>().prop_map(Duration::from_nanos)
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0_u32..200).prop_map(Limit::Packets),
        (0_u64..50_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ]
}

fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![20 => 1_u64..2000, 1 => 0..100_000_u64].prop_map(Bytes::new)
}

fn any_config() -> impl Strategy<Value = QueueConfig> {
    let spacing = || {
        prop_oneof![
            Just(Spacing::Uniform),
            Just(Spacing::Figure2),
            Just(Spacing::Wait),
            Just(Spacing::Altq),
            Just(Spacing::Geometric)
        ]
    };
    let mode = || prop_oneof![Just(Mode::Packet), Just(Mode::Byte)];
    let variant = prop_oneof![Just(SredVariant::Simple), Just(SredVariant::Full)];
    let sred = (variant, prob(), whole(1..30), prob(), number(1.0..300.0), limit()).prop_map(
        |(variant, p_max, m, r, max_flows, limit)| SredConfig { variant, p_max, m, r, max_flows, limit },
    );
    let above_max = prop_oneof![Just(AboveMax::Drop), Just(AboveMax::TwoPackets)];
    let fred = (
        (prop::option::of(number(0.0..9.0)), prop::option::of(number(5.0..20.0))),
        (number(0.0..1.0), prob(), whole(0..6)),
        (above_max, spacing(), mode()),
        size(),
        limit(),
    )
        .prop_map(
            |((min_th, max_th), (w_q, max_p, minq), (above_max, spacing, mode), mean_packet, limit)| {
                FredConfig { min_th, max_th, w_q, max_p, minq, above_max, spacing, mode, mean_packet, limit }
            },
        );
    let policy =
        prop_oneof![Just(EcnPolicy::DropAboveMax), Just(EcnPolicy::MarkInGentle), Just(EcnPolicy::Mark)];
    let scaling = prop_oneof![Just(ByteScaling::BeforeSpacing), Just(ByteScaling::AfterSpacing)];
    let choke = (
        (number(0.0..9.0), number(5.0..20.0), number(0.0..1.0), prob()),
        (spacing(), policy, mode(), scaling),
        size(),
        limit(),
    )
        .prop_map(
            |(
                (min_th, max_th, w_q, max_p),
                (spacing, ecn_policy, mode, byte_scaling),
                mean_packet,
                limit,
            )| {
                ChokeConfig {
                    min_th,
                    max_th,
                    w_q,
                    max_p,
                    spacing,
                    ecn_policy,
                    mode,
                    byte_scaling,
                    mean_packet,
                    limit,
                }
            },
        );
    let full_bins = prop_oneof![Just(FullBins::All), Just(FullBins::Any)];
    let above_half = prop_oneof![Just(AboveHalf::Mark), Just(AboveHalf::DropSome)];
    let hashing = prop_oneof![Just(Hashing::Fixed), Just(Hashing::Moving), Just(Hashing::DoubleBuffered)];
    let sfb = (
        (whole(1..5), whole(1..30), whole(1..5), whole(3..10)),
        (full_bins, above_half, hashing),
        (prob(), prob(), number(0.0..100.0), whole(0..20)),
        (span(1..50), span(0..20)),
        limit(),
    )
        .prop_map(
            |(
                (levels, bins, bin_size, max),
                (full_bins, above_half, hashing),
                (increment, decrement, penalty_rate, penalty_burst),
                (rehash_interval, warmup_time),
                limit,
            )| SfbConfig {
                levels,
                bins,
                bin_size,
                max,
                full_bins,
                increment,
                decrement,
                above_half,
                penalty_rate,
                penalty_burst,
                hashing,
                rehash_interval,
                warmup_time,
                limit,
            },
        );
    prop_oneof![
        sred.prop_map(QueueConfig::Sred),
        fred.prop_map(QueueConfig::Fred),
        choke.prop_map(QueueConfig::Choke),
        sfb.prop_map(QueueConfig::Sfb),
    ]
}

/// Every packet is accounted for, none overtakes another, and what the probe shows can be.
fn survives(config: &QueueConfig, traffic: &[Operation]) -> Result<(), TestCaseError> {
    let mut queue = config.queue::<usize>(&link(), Stream::named(1, "queue"));
    let mut inside: VecDeque<usize> = VecDeque::new();
    let (mut nanos, mut offered, mut delivered, mut dropped) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (serial, operation) in traffic.iter().enumerate() {
        let (Operation::Arrive { after_us, .. } | Operation::Leave { after_us }) = *operation;
        nanos += u64::from(after_us) * 1000;
        let now = Time::from_nanos(nanos);
        while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
            queue.on_timeout(due);
            prop_assert!(queue.poll_timeout() > Some(due), "time goes on");
        }
        if let Operation::Arrive { flow, size, ecn, .. } = *operation {
            offered += 1;
            let mut lost = Vec::new();
            let admission =
                queue.enqueue(packet(flow, size, ecn), serial, now, &mut |serial| lost.push(serial));
            inside.push_back(serial);
            inside.retain(|serial| !lost.contains(serial));
            prop_assert_eq!(admission.is_queued(), inside.back() == Some(&serial));
            dropped += lost.len() as u64;
        } else if let Some(departure) =
            queue.dequeue(now, &mut |_| panic!("nothing is dropped on its way out"))
        {
            delivered += 1;
            prop_assert_eq!(Some(departure.payload), inside.pop_front(), "none overtakes another");
        }
        let (counters, waiting) = (queue.counters(), queue.state().packets);
        prop_assert_eq!(waiting as usize, inside.len());
        prop_assert_eq!((counters.offered, counters.dropped()), (offered, dropped));
        prop_assert_eq!(counters.delivered(waiting), delivered);
        prop_assert_eq!(offered, delivered + dropped + u64::from(waiting));
        let mut wrong = None;
        queue.probe(&mut |name, value| {
            let top = if ["P", "p_b", "p_max"].contains(&name) { 1.0 } else { f64::MAX };
            if !(0.0..=top).contains(&value) {
                wrong = Some(format!("{name} = {value}"));
            }
        });
        prop_assert_eq!(wrong, None);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_parameters_are_refused_in_one_line_or_work(config in any_config(), traffic in traffic()) {
        match config.resolve(&link()) {
            Ok(resolved) => {
                prop_assert_eq!(resolved.resolve(&link()), Ok(resolved.clone()), "what is resolved stays as it is");
                survives(&resolved, &traffic)?;
            }
            Err(ParameterError { field, message }) => {
                let entry = catalogue().into_iter().find(|entry| entry.name == config.name());
                let entry = entry.expect("in the catalogue");
                prop_assert!(entry.parameters.iter().any(|parameter| parameter.name == field), "{field}");
                prop_assert!(message.starts_with("must be ") && message.contains(", got "), "{message}");
                prop_assert!(!message.contains('\n'));
            }
        }
    }
}

#[test]
fn what_contradicts_itself_is_refused_with_field_allowed_and_value() {
    let refusal = |config: QueueConfig| config.resolve(&link()).unwrap_err().to_string();
    let sred = SredConfig { m: 0, ..SredConfig::default() };
    assert_eq!(refusal(QueueConfig::Sred(sred)), "m: must be between 1 and 1000000 flows, got 0");
    let fred = FredConfig { min_th: Some(90.0), max_th: Some(80.0), ..FredConfig::default() };
    assert_eq!(refusal(QueueConfig::Fred(fred)), "max_th: must be above min_th = 90 packets, got 80");
    let choke = ChokeConfig { max_th: 50.0, ..ChokeConfig::default() };
    assert_eq!(refusal(QueueConfig::Choke(choke)), "max_th: must be above min_th = 100 packets, got 50");
    let sfb = SfbConfig { warmup_time: Duration::from_secs(700), ..SfbConfig::default() };
    assert_eq!(
        refusal(QueueConfig::Sfb(sfb)),
        "warmup_time: must be below rehash_interval = 600 s, got 700 s"
    );
}
