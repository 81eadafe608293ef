//! Parameters are refused clearly or work.

mod common;

use std::ops::Range;

use aqmlab_aqm::{
    AredConfig, ByteScaling, DecidesAtEnqueue, Ecn, Gate, Limit, Mode, ParameterError, PiConfig, Qdisc,
    QueueConfig, RedConfig, RemConfig, Spacing, Visitor, catalogue,
};
use aqmlab_units::{Bytes, Duration, Prob, Stream};
use common::{link, rng, walk};
use proptest::prelude::*;

#[test]
fn what_contradicts_itself_is_refused_with_field_allowed_and_value() {
    let refusal = |config: QueueConfig| config.resolve(&link()).unwrap_err().to_string();
    let red = RedConfig { min_th: 12.0, max_th: 8.0, ..RedConfig::default() };
    assert_eq!(refusal(QueueConfig::Red(red)), "max_th: must be above min_th = 12 packets, got 8");
    let ared = AredConfig { max_p: Prob::clamped(0.6), ..AredConfig::default() };
    assert_eq!(
        refusal(QueueConfig::Ared(ared)),
        "max_p: must be between max_p_bottom = 0.01 and max_p_top = 0.5, got 0.6"
    );
    let pi = PiConfig { a: 1e-5, ..PiConfig::default() };
    assert_eq!(refusal(QueueConfig::Pi(pi)), "a: must be above b = 1.816e-5 and at most 1000, got 1e-5");
    let rem = RemConfig { limit: Limit::Packets(0), ..RemConfig::default() };
    assert_eq!(refusal(QueueConfig::Rem(rem)), "limit: must be at least 1 packet or 1 B, got 0 packets");
}

#[test]
fn gains_and_packet_sizes_end_where_it_is_said() {
    let accepts = |config: QueueConfig| config.resolve(&link()).is_ok();
    for (gain, taken) in [(0.0, false), (1e-9, true), (1000.0, true), (1000.1, false), (f64::NAN, false)] {
        assert_eq!(
            accepts(QueueConfig::Rem(RemConfig { alpha: gain, ..RemConfig::default() })),
            taken,
            "{gain}"
        );
    }
    for (size, taken) in [(0, false), (1, true), (65_535, true), (65_536, false)] {
        let mean_packet = Bytes::new(size);
        assert_eq!(
            accepts(QueueConfig::Rem(RemConfig { mean_packet, ..RemConfig::default() })),
            taken,
            "{size}"
        );
    }
}

/// Mostly numbers of a plausible range, sometimes any number or none at all.
fn number(plausible: Range<f64>) -> impl Strategy<Value = f64> {
    prop_oneof![20 => plausible, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0)]
}

fn prob(plausible: Range<f64>) -> impl Strategy<Value = Prob> {
    prop_oneof![20 => plausible, 1 => Just(0.0), 1 => Just(1.0)].prop_map(Prob::clamped)
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
        (0_u64..20_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ]
}

fn any_red() -> impl Strategy<Value = RedConfig> {
    let spacing = prop_oneof![
        Just(Spacing::Uniform),
        Just(Spacing::Figure2),
        Just(Spacing::Wait),
        Just(Spacing::Altq),
        Just(Spacing::Geometric)
    ];
    let byte_scaling = prop_oneof![Just(ByteScaling::BeforeSpacing), Just(ByteScaling::AfterSpacing)];
    let mode = prop_oneof![Just(Mode::Packet), Just(Mode::Byte)];
    (
        number(0.0..9.0),
        number(9.0..20.0),
        number(0.0..1.0),
        prob(0.0..1.0),
        any::<bool>(),
        spacing,
        byte_scaling,
        mode,
        size(),
        limit(),
    )
        .prop_map(
            |(min_th, max_th, w_q, max_p, gentle, spacing, byte_scaling, mode, mean_packet, limit)| {
                RedConfig {
                    min_th,
                    max_th,
                    w_q,
                    max_p,
                    gentle,
                    spacing,
                    byte_scaling,
                    mode,
                    mean_packet,
                    limit,
                    ..RedConfig::default()
                }
            },
        )
}

fn any_config() -> impl Strategy<Value = QueueConfig> {
    let ared = (
        any_red(),
        any::<[bool; 3]>(),
        number(0.0..1.0),
        number(0.0..1.0),
        prob(0.0..0.2),
        prob(0.5..1.0),
        span(),
        span(),
    )
        .prop_map(|(red, given, alpha, beta, max_p_bottom, max_p_top, interval, target_delay)| {
            AredConfig {
                min_th: given[0].then_some(red.min_th),
                max_th: given[1].then_some(red.max_th),
                w_q: given[2].then_some(red.w_q),
                max_p: red.max_p,
                alpha,
                beta,
                max_p_bottom,
                max_p_top,
                interval,
                target_delay,
                mode: red.mode,
                mean_packet: red.mean_packet,
                limit: red.limit,
                ..AredConfig::default()
            }
        });
    let pi = (number(0.0..20.0), number(0.5..1.0), number(0.0..0.6), number(1.0..1000.0), size(), limit())
        .prop_map(|(q_ref, a, b, sampling_hz, mean_packet, limit)| PiConfig {
            q_ref,
            a,
            b,
            sampling_hz,
            mean_packet,
            limit,
            ..PiConfig::default()
        });
    let rem =
        (number(0.0..20.0), number(0.0..1.0), number(0.0..1.0), number(1.0..2.0), span(), size(), limit())
            .prop_map(|(q_ref, gamma, alpha, phi, tau, mean_packet, limit)| RemConfig {
                q_ref,
                gamma,
                alpha,
                phi,
                tau,
                mean_packet,
                limit,
                ..RemConfig::default()
            });
    prop_oneof![
        any_red().prop_map(QueueConfig::Red),
        ared.prop_map(QueueConfig::Ared),
        pi.prop_map(QueueConfig::Pi),
        rem.prop_map(QueueConfig::Rem),
    ]
}

/// Walks a law and checks that its probabilities are probabilities.
struct Survives;

impl Visitor for Survives {
    type Payload = ();
    type Output = ();

    fn queue<Q: Qdisc<()> + Send + 'static>(self, _make: impl Fn(Stream) -> Q) {}

    fn law<A: DecidesAtEnqueue + Send + 'static>(self, _limit: Limit, make: impl Fn(Stream) -> A) {
        let mut gate = Gate::new(make(rng()), Limit::Packets(20));
        walk(&mut gate, Ecn::NotEct);
        gate.law.probe(&mut |name, value| {
            let top = if ["p", "p_b", "max_p"].contains(&name) { 1.0 } else { f64::MAX };
            assert!((0.0..=top).contains(&value), "{name} = {value}");
        });
        assert_eq!(gate.counters.offered, 20_000);
    }
}

proptest! {
    #[test]
    fn any_parameters_are_refused_in_one_line_or_work(config in any_config()) {
        match config.resolve(&link()) {
            Ok(resolved) => resolved.visit(&link(), Survives),
            Err(ParameterError { field, message }) => {
                let law = catalogue().into_iter().find(|entry| entry.name == config.name()).expect("in the catalogue");
                prop_assert!(law.parameters.iter().any(|parameter| parameter.name == field), "{field}");
                prop_assert!(message.starts_with("must be ") && message.contains(", got "), "{message}");
                prop_assert!(!message.contains('\n'));
            }
        }
    }
}
