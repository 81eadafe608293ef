//! Parameters are refused clearly or work.

use std::ops::Range;

use aqmlab_aqm::{
    AvqConfig, AvqLoad, BlueConfig, DecidesAtEnqueue, Ecn, Gate, IdleDecrease, LdcConfig, Limit,
    MimdRedConfig, OutputRate, ParameterError, Qdisc, QueueConfig, RedStarConfig, ThresholdConfig, Visitor,
    catalogue,
};
use aqmlab_units::{Bytes, Duration, Prob, Stream};
use proptest::prelude::*;

use crate::common::{link, rng, walk};

#[test]
fn what_cannot_be_is_refused_with_field_allowed_and_value() {
    let refusal = |config: QueueConfig| config.resolve(&link()).unwrap_err().to_string();
    let red_star = RedStarConfig { max_th: 4.0, ..RedStarConfig::default() };
    assert_eq!(refusal(QueueConfig::RedStar(red_star)), "max_th: must be above min_th = 5 packets, got 4");
    let mimd_red = MimdRedConfig { alpha: 1.0, ..MimdRedConfig::default() };
    assert_eq!(refusal(QueueConfig::MimdRed(mimd_red)), "alpha: must be above 1 and at most 1000, got 1");
    let blue = BlueConfig { freeze_time: Duration::ZERO, ..BlueConfig::default() };
    assert_eq!(
        refusal(QueueConfig::Blue(blue)),
        "freeze_time: must be above 0 s and at most 3600 s, got 0 s"
    );
    let avq = AvqConfig { gamma: Prob::ZERO, ..AvqConfig::default() };
    assert_eq!(refusal(QueueConfig::Avq(avq)), "gamma: must be above 0, got 0");
    let ldc = LdcConfig { w_r: 1.5, ..LdcConfig::default() };
    assert_eq!(refusal(QueueConfig::Ldc(ldc)), "w_r: must be above 0 and at most 1, got 1.5");
    let threshold = ThresholdConfig { threshold: Some(-1.0), ..ThresholdConfig::default() };
    assert_eq!(
        refusal(QueueConfig::Threshold(threshold)),
        "threshold: must be between 0 and 1e9 packets, got -1"
    );
}

/// Mostly numbers of a plausible range, sometimes any number or none at all.
fn number(plausible: Range<f64>) -> impl Strategy<Value = f64> {
    prop_oneof![20 => plausible, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0)]
}

fn prob() -> impl Strategy<Value = Prob> {
    prop_oneof![20 => 0.0..1.0, 1 => Just(0.0), 1 => Just(1.0)].prop_map(Prob::clamped)
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![20 => 0_u64..1_000_000_000, 1 => any::<u64>(), 1 => Just(0)].prop_map(Duration::from_nanos)
}

fn size() -> impl Strategy<Value = Bytes> {
    prop_oneof![20 => 1_u64..2000, 1 => 0..100_000_u64].prop_map(Bytes::new)
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0_u32..200).prop_map(Limit::Packets),
        (0_u64..20_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
        Just(Limit::Packets(u32::MAX)),
        Just(Limit::Bytes(Bytes::new(u64::MAX)))
    ]
}

fn any_config() -> impl Strategy<Value = QueueConfig> {
    let idle_decrease = prop_oneof![Just(IdleDecrease::WhileIdle), Just(IdleDecrease::Once)];
    let blue = (prob(), prob(), span(), idle_decrease, prop::option::of(limit()), limit()).prop_map(
        |(d1, d2, freeze_time, idle_decrease, level, limit)| BlueConfig {
            d1,
            d2,
            freeze_time,
            idle_decrease,
            level,
            limit,
        },
    );
    let load = prop_oneof![Just(AvqLoad::Offered), Just(AvqLoad::Accepted)];
    let avq = (number(0.0..10.0), prob(), number(0.0..2.0), prob(), load, size(), limit()).prop_map(
        |(alpha, gamma, buffer, initial, load, mean_packet, limit)| AvqConfig {
            alpha,
            gamma,
            buffer,
            initial,
            load,
            mean_packet,
            limit,
        },
    );
    let output_rate = prop_oneof![Just(OutputRate::Capacity), Just(OutputRate::Departures)];
    let numbers = (number(0.0..2.0), number(0.0..1.0), number(0.0..1.0), number(0.0..5.0), prob());
    let ldc = (span(), span(), numbers, output_rate, limit()).prop_map(
        |(d_target, tau, (r_target, w_q, w_r, n, delay_weight), output_rate, limit)| LdcConfig {
            d_target,
            r_target,
            tau,
            w_q,
            w_r,
            n,
            delay_weight,
            output_rate,
            limit,
        },
    );
    let threshold = (span(), prop::option::of(number(0.0..30.0)), size(), limit()).prop_map(
        |(target_delay, threshold, mean_packet, limit)| ThresholdConfig {
            target_delay,
            threshold,
            mean_packet,
            limit,
        },
    );
    let red =
        || (number(0.0..9.0), number(9.0..20.0), number(0.0..1.0), prob(), any::<bool>(), size(), limit());
    let red_star = red().prop_map(|(min_th, max_th, w_q, max_p, gentle, mean_packet, limit)| RedStarConfig {
        min_th,
        max_th,
        w_q,
        max_p,
        gentle,
        mean_packet,
        limit,
        ..RedStarConfig::default()
    });
    let mimd_red = (red(), number(1.0..5.0), number(1.0..5.0)).prop_map(
        |((min_th, max_th, w_q, max_p, gentle, mean_packet, limit), alpha, beta)| MimdRedConfig {
            alpha,
            beta,
            min_th,
            max_th,
            w_q,
            max_p,
            gentle,
            mean_packet,
            limit,
            ..MimdRedConfig::default()
        },
    );
    prop_oneof![
        blue.prop_map(QueueConfig::Blue),
        avq.prop_map(QueueConfig::Avq),
        ldc.prop_map(QueueConfig::Ldc),
        threshold.prop_map(QueueConfig::Threshold),
        red_star.prop_map(QueueConfig::RedStar),
        mimd_red.prop_map(QueueConfig::MimdRed),
    ]
}

/// Walks a law and checks that its probabilities are probabilities and that packets are conserved.
struct Survives(Ecn);

impl Visitor for Survives {
    type Payload = ();
    type Output = ();

    fn queue<Q: Qdisc<()> + Send + 'static>(self, _make: impl Fn(Stream) -> Q) {
        unreachable!("these laws decide when a packet arrives");
    }

    fn law<A: DecidesAtEnqueue + Send + 'static>(self, _limit: Limit, make: impl Fn(Stream) -> A) {
        let mut gate = Gate::new(make(rng()), Limit::Packets(20));
        walk(&mut gate, self.0);
        gate.law.probe(&mut |name, value| {
            let top = if ["p", "p_b", "max_p", "p_drop"].contains(&name) { 1.0 } else { f64::MAX };
            assert!((0.0..=top).contains(&value), "{name} = {value}");
        });
        assert_eq!(gate.counters.offered, 20_000);
        assert_eq!(gate.counters.offered, gate.counters.queued + gate.counters.refused());
    }
}

proptest! {
    #[test]
    fn any_parameters_are_refused_in_one_line_or_work(config in any_config(), capable: bool) {
        match config.resolve(&link()) {
            Ok(resolved) => {
                prop_assert_eq!(resolved.resolve(&link()), Ok(resolved.clone()), "what is resolved stays");
                resolved.visit(&link(), Survives(if capable { Ecn::Ect0 } else { Ecn::NotEct }));
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
