//! Parameters are refused in one line or work.

use std::ops::Range;

use aqmlab_aqm::{
    Admission, CobaltConfig, CodelConfig, Decay, Ecn, LightLoad, Limit, Packet, ParameterError, Pi2Config,
    PieConfig, QueueConfig, QueueState, Reentry, SignalAt, catalogue,
};
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};
use proptest::prelude::*;

use super::pie::delay_from;
use super::{link, rng};

fn span(plausible: Range<u64>) -> impl Strategy<Value = Duration> {
    prop_oneof![20 => plausible, 1 => any::<u64>(), 1 => Just(0)].prop_map(Duration::from_nanos)
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0_u32..200).prop_map(Limit::Packets),
        (0_u64..20_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ]
}

fn any_codel() -> impl Strategy<Value = QueueConfig> {
    (span(0..10_000_000), span(0..100_000_000), 0_u64..3000, limit(), any::<bool>()).prop_map(
        |(target, interval, mtu, limit, paper)| {
            QueueConfig::Codel(CodelConfig {
                target,
                interval,
                mtu: Bytes::new(mtu),
                reentry: if paper { Reentry::Paper } else { Reentry::Delta },
                limit,
                ..CodelConfig::default()
            })
        },
    )
}

/// Mostly numbers of a plausible range, sometimes any number or none at all.
fn number(plausible: Range<f64>) -> impl Strategy<Value = f64> {
    prop_oneof![20 => plausible, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0)]
}

fn any_pie() -> impl Strategy<Value = QueueConfig> {
    let times = (span(0..20_000_000), span(0..20_000_000), span(0..200_000_000));
    let gains = (number(0.0..10.0), number(0.0..100.0), 0.0..1.0);
    let rate = (0_u64..20_000, number(0.0..1.0));
    (times, gains, delay_from(), rate, any::<[bool; 5]>(), number(0.0..1.0), 0_u64..3000, limit()).prop_map(
        |(times, gains, delay_from, rate, switches, decay_factor, mean_packet, limit)| {
            let [derandomize, cap, steep, now, light] = switches;
            QueueConfig::Pie(PieConfig {
                qdelay_ref: times.0,
                t_update: times.1,
                max_burst: times.2,
                alpha: gains.0,
                beta: gains.1,
                mark_ecnth: Prob::clamped(gains.2),
                delay_from,
                dq_threshold: Bytes::new(rate.0),
                dq_weight: rate.1,
                derandomize,
                cap,
                steep,
                light_load: if now { LightLoad::Now } else { LightLoad::LastUpdate },
                decay: if light { Decay::Light } else { Decay::Idle },
                decay_factor,
                mean_packet: Bytes::new(mean_packet),
                limit,
            })
        },
    )
}

fn any_cobalt() -> impl Strategy<Value = QueueConfig> {
    let times = (span(0..10_000_000), span(0..100_000_000), span(0..10_000_000));
    (times, 0_u64..80_000, any::<bool>(), 0.0..1.0, 0.0..1.0, limit()).prop_map(
        |(times, mtu, blue_on_delay, p_inc, p_dec, limit)| {
            QueueConfig::Cobalt(CobaltConfig {
                target: times.0,
                interval: times.1,
                mtu: Bytes::new(mtu),
                p_inc: Prob::clamped(p_inc),
                p_dec: Prob::clamped(p_dec),
                blue_on_delay,
                blue_threshold: times.2,
                limit,
                ..CobaltConfig::default()
            })
        },
    )
}

fn any_pi2() -> impl Strategy<Value = QueueConfig> {
    let times = (span(0..20_000_000), span(0..20_000_000));
    let gains = (number(0.0..10.0), number(0.0..100.0), number(0.0..4.0));
    let rate = (0_u64..20_000, number(0.0..1.0));
    (times, gains, delay_from(), rate, any::<[bool; 2]>(), 0_u64..3000, limit()).prop_map(
        |(times, gains, delay_from, rate, [coupled, departure], min_backlog, limit)| {
            QueueConfig::Pi2(Pi2Config {
                target: times.0,
                t_update: times.1,
                alpha: gains.0,
                beta: gains.1,
                coupled,
                k: gains.2,
                signal_at: if departure { SignalAt::Departure } else { SignalAt::Arrival },
                min_backlog: Bytes::new(min_backlog),
                delay_from,
                dq_threshold: Bytes::new(rate.0),
                dq_weight: rate.1,
                limit,
            })
        },
    )
}

/// Ten thousand arrivals and departures at random, over idle hours too, with every packet accounted for.
fn walk(config: &QueueConfig) {
    let mut queue = config.queue::<u32>(&link(), rng());
    let mut steps = Stream::named(3, "steps");
    let (mut nanos, mut offered, mut lost, mut sent) = (0, 0, 0, 0);
    for step in 0..10_000_u32 {
        nanos += if step % 2500 == 2499 { 4_000_000_000_000 } else { steps.below(400_000) };
        let now = Time::from_nanos(nanos);
        // An idle hour has millions of updates; a law that wants each is shown only some.
        for _ in 0..1000 {
            let Some(due) = queue.poll_timeout().filter(|due| *due <= now) else { break };
            queue.on_timeout(due);
        }
        if steps.below(100) < 60 {
            let ecn = if steps.below(2) == 0 { Ecn::NotEct } else { Ecn::Ect1 };
            let packet = Packet { size: Bytes::new(40 + steps.below(1461)), ecn, flow: 0 };
            offered += 1;
            let admission = queue.enqueue(packet, step, now, &mut |_| lost += 1);
            assert!(admission != Admission::Marked || ecn.is_capable());
        } else {
            sent += u64::from(queue.dequeue(now, &mut |_| lost += 1).is_some());
        }
        queue.probe(&mut |name, value| {
            let top = if name.starts_with('p') { 1.0 } else { f64::MAX };
            assert!((0.0..=top).contains(&value), "{name} = {value}");
        });
    }
    let QueueState { packets, .. } = queue.state();
    assert_eq!(offered, lost + sent + u64::from(packets));
    let counters = queue.counters();
    assert_eq!((counters.offered, counters.dropped()), (offered, lost));
    assert_eq!(counters.delivered(packets), sent);
}

proptest! {
    #[test]
    fn any_parameters_are_refused_in_one_line_or_work(config in prop_oneof![any_codel(), any_cobalt(), any_pie(), any_pi2()]) {
        match config.resolve(&link()) {
            Ok(resolved) => {
                prop_assert_eq!(resolved.resolve(&link()), Ok(resolved.clone()), "what is resolved stays");
                walk(&resolved);
            }
            Err(ParameterError { field, message }) => {
                let law = catalogue().into_iter().find(|entry| entry.name == config.name()).expect("in the catalogue");
                prop_assert!(law.parameters.iter().any(|parameter| parameter.name == field), "{field}");
                prop_assert!(message.starts_with("must be ") && message.contains(", got "), "{message}");
                prop_assert!(!message.contains('\n'));
            }
        }
    }
}
