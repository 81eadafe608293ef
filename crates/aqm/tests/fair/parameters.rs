//! Parameters are refused in one line or work.

use std::ops::Range;

use aqmlab_aqm::{
    Controlled, Decide, DelayFrom, DualPi2Config, Ecn, End, FqCobaltConfig, FqCodelConfig, FqPieConfig, Half,
    Limit, Native, NoRoom, Overload, Packet, ParameterError, QueueConfig, SfqConfig, Share, ThroughOld,
    Turns, catalogue,
};
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};
use proptest::prelude::*;

use crate::rig::link;

/// Mostly numbers of a plausible range, sometimes any number or none at all.
fn number(plausible: Range<f64>) -> impl Strategy<Value = f64> {
    prop_oneof![20 => plausible, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0)]
}

fn count(plausible: Range<u32>) -> impl Strategy<Value = u32> {
    prop_oneof![20 => plausible, 1 => Just(0), 1 => Just(u32::MAX)]
}

fn span(plausible: Range<u64>) -> impl Strategy<Value = Duration> {
    prop_oneof![20 => plausible, 1 => any::<u64>(), 1 => Just(0)].prop_map(Duration::from_nanos)
}

fn size(plausible: Range<u64>) -> impl Strategy<Value = Bytes> {
    prop_oneof![20 => plausible, 1 => any::<u64>(), 1 => Just(0)].prop_map(Bytes::new)
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0_u32..200).prop_map(Limit::Packets),
        (0_u64..20_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ]
}

const MS: u64 = 1_000_000;

fn any_sfq() -> impl Strategy<Value = QueueConfig> {
    let turns = prop_oneof![Just(Turns::Packet), Just(Turns::Deficit), Just(Turns::Surplus)];
    let times = (span(0..30 * MS), any::<[bool; 2]>());
    (count(1..100), turns, size(60..3000), count(1..50), times, limit()).prop_map(
        |(flows, turns, quantum, depth, (perturb, flags), limit)| {
            let drop = if flags[0] { End::Head } else { End::Tail };
            let rehash = flags[1];
            QueueConfig::Sfq(SfqConfig { flows, turns, quantum, depth, drop, perturb, rehash, limit })
        },
    )
}

fn any_fq_codel() -> impl Strategy<Value = QueueConfig> {
    let codel = (span(0..10 * MS), span(0..100 * MS), size(0..3000));
    (count(1..100), size(60..3000), codel, count(1..70), any::<[bool; 3]>(), limit()).prop_map(
        |(flows, quantum, (target, interval, mtu), drop_batch, flags, limit)| {
            QueueConfig::FqCodel(FqCodelConfig {
                flows,
                quantum,
                target,
                interval,
                mtu,
                drop_half: if flags[0] { Half::Packets } else { Half::Bytes },
                drop_batch,
                count_evicted: flags[1],
                through_old: if flags[2] { ThroughOld::Always } else { ThroughOld::IfAny },
                limit,
                ..FqCodelConfig::default()
            })
        },
    )
}

fn any_fq_pie() -> impl Strategy<Value = QueueConfig> {
    let pie = (span(0..20 * MS), span(0..20 * MS), number(0.0..10.0), number(0.0..50.0), span(0..100 * MS));
    let delay =
        prop_oneof![Just(DelayFrom::Timestamp), Just(DelayFrom::RateEstimate), Just(DelayFrom::LinkRate)];
    let rest = (delay, size(0..30_000), number(0.0..1.0), number(0.0..1.0), size(0..2000));
    (count(1..100), size(60..3000), pie, count(1..70), rest, (any::<[bool; 5]>(), limit())).prop_map(
        |(
            flows,
            quantum,
            (qdelay_ref, t_update, alpha, beta, max_burst),
            drop_batch,
            rest,
            (flags, limit),
        )| {
            let (delay_from, dq_threshold, dq_weight, decay_factor, mean_packet) = rest;
            QueueConfig::FqPie(FqPieConfig {
                flows,
                quantum,
                no_room: if flags[0] { NoRoom::Arrival } else { NoRoom::Fattest },
                drop_batch,
                through_old: if flags[1] { ThroughOld::Always } else { ThroughOld::Never },
                qdelay_ref,
                t_update,
                alpha,
                beta,
                max_burst,
                delay_from,
                dq_threshold,
                dq_weight,
                derandomize: flags[2],
                cap: flags[3],
                steep: flags[4],
                decay_factor,
                mean_packet,
                limit,
                ..FqPieConfig::default()
            })
        },
    )
}

fn any_fq_cobalt() -> impl Strategy<Value = QueueConfig> {
    let cobalt = (span(0..10 * MS), span(0..100 * MS), size(0..3000), 0.0..1.0, 0.0..0.1);
    (count(0..9), size(60..3000), cobalt, span(0..100 * MS), any::<[bool; 2]>(), limit()).prop_map(
        |(sets, quantum, (target, interval, mtu, p_inc, p_dec), blue_threshold, flags, limit)| {
            QueueConfig::FqCobalt(FqCobaltConfig {
                flows: sets.saturating_mul(8),
                quantum,
                spare_last: flags[0],
                target,
                interval,
                mtu,
                p_inc: Prob::clamped(p_inc),
                p_dec: Prob::clamped(p_dec),
                blue_on_delay: flags[1],
                blue_threshold,
                limit,
                ..FqCobaltConfig::default()
            })
        },
    )
}

fn any_dualpi2() -> impl Strategy<Value = QueueConfig> {
    let pi = (span(0..20 * MS), span(0..20 * MS), number(0.0..10.0), number(0.0..50.0), number(0.5..5.0));
    let delays = (span(0..2 * MS), span(0..2 * MS), span(0..2 * MS), span(0..60 * MS));
    let counts = (count(0..3), size(0..5000), count(0..110), size(0..70_000));
    (pi, delays, counts, any::<[bool; 5]>(), limit()).prop_map(
        |((target, t_update, alpha, beta, k), (step, min_th, range, tshift), counts, flags, limit)| {
            let (min_left, min_backlog, classic_weight, mtu) = counts;
            QueueConfig::Dualpi2(DualPi2Config {
                target,
                t_update,
                alpha,
                beta,
                k,
                controlled: if flags[0] { Controlled::Longer } else { Controlled::Classic },
                native: if flags[1] { Native::Step } else { Native::Ramp },
                step,
                min_th,
                range,
                min_left,
                min_backlog,
                decide: if flags[2] { Decide::Random } else { Decide::Recur },
                share: if flags[3] { Share::Wrr } else { Share::TsFifo },
                classic_weight,
                mtu,
                tshift,
                overload: if flags[4] { Overload::Drop } else { Overload::Overflow },
                limit,
            })
        },
    )
}

/// Arrivals and departures of many flows at random, over an idle hour too, with every packet accounted for.
fn walk(config: &QueueConfig) {
    let mut queue = config.queue::<u32>(&link(), Stream::named(1, "queue"));
    let mut steps = Stream::named(3, "steps");
    let (mut nanos, mut offered, mut lost, mut sent) = (0, 0, 0, 0);
    for step in 0..4_000_u32 {
        nanos += if step == 3000 { 4_000_000_000_000 } else { steps.below(400_000) };
        let now = Time::from_nanos(nanos);
        // An idle hour has millions of updates; a discipline that wants each is shown only some.
        for _ in 0..5 {
            let Some(due) = queue.poll_timeout().filter(|due| *due <= now) else { break };
            queue.on_timeout(due);
            assert!(queue.poll_timeout() > Some(due), "the promised instant counts");
        }
        if steps.below(100) < 60 {
            let ecn =
                [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::try_from(steps.below(4)).expect("small")];
            let flow = u32::try_from(steps.below(20)).expect("small");
            let packet = Packet { size: Bytes::new(40 + steps.below(1461)), ecn, flow };
            offered += 1;
            queue.enqueue(packet, step, now, &mut |_| lost += 1);
        } else {
            sent += u64::from(queue.dequeue(now, &mut |_| lost += 1).is_some());
        }
        queue.probe(&mut |name, value| {
            let top = if ["p'", "p_c", "p_cl"].contains(&name) { 1.0 } else { f64::MAX };
            assert!((0.0..=top).contains(&value), "{name} = {value}");
        });
    }
    let waiting = queue.state().packets;
    assert_eq!(offered, lost + sent + u64::from(waiting));
    let counters = queue.counters();
    assert_eq!((counters.offered, counters.dropped(), counters.delivered(waiting)), (offered, lost, sent));
}

proptest! {
    #[test]
    fn any_parameters_are_refused_in_one_line_or_work(
        config in prop_oneof![any_sfq(), any_fq_codel(), any_fq_pie(), any_fq_cobalt(), any_dualpi2()],
    ) {
        match config.resolve(&link()) {
            Ok(resolved) => {
                prop_assert_eq!(resolved.resolve(&link()), Ok(resolved.clone()), "what is resolved stays");
                walk(&resolved);
            }
            Err(ParameterError { field, message }) => {
                let entry = catalogue().into_iter().find(|entry| entry.name == config.name()).expect("in the catalogue");
                prop_assert!(entry.parameters.iter().any(|parameter| parameter.name == field), "{field}");
                prop_assert!(message.starts_with("must be ") && message.contains(", got "), "{message}");
                prop_assert!(!message.contains('\n'));
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_could_be() {
    let refusal = |config: QueueConfig| config.resolve(&link()).unwrap_err().to_string();
    assert_eq!(
        refusal(QueueConfig::Sfq(SfqConfig { flows: 0, ..SfqConfig::default() })),
        "flows: must be between 1 and 65536, got 0"
    );
    assert_eq!(
        refusal(QueueConfig::FqCodel(FqCodelConfig { quantum: Bytes::new(10), ..FqCodelConfig::default() })),
        "quantum: must be between 64 B and 1000000 B, got 10 B"
    );
    assert_eq!(
        refusal(QueueConfig::FqCobalt(FqCobaltConfig { flows: 1001, ..FqCobaltConfig::default() })),
        "flows: must be a multiple of 8, got 1001"
    );
    assert_eq!(
        refusal(QueueConfig::Dualpi2(DualPi2Config { classic_weight: 100, ..DualPi2Config::default() })),
        "classic_weight: must be between 1 and 99 percent, got 100"
    );
}
