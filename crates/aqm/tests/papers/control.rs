//! RED, ARED, PI and REM decide as dull transcriptions of their papers do, packet by packet, on random traffic.

use aqmlab_aqm::{AredConfig, Discipline, PiConfig, QueueConfig, RedConfig, RemConfig};
use aqmlab_units::{Duration, Prob};
use proptest::prelude::*;

use crate::common::oracle::compare_law;
use crate::common::slow_link;
use crate::common::traffic::traffic;
use crate::oracle;
use crate::settings::{self, mean_packet, mode};

/// Settings whose every region random traffic of a few hundred packets reaches.
fn red() -> impl Strategy<Value = RedConfig> {
    settings::red(RedConfig::default(), 1.0..10.0, 0.02..1.0)
}

/// Adaptation every few milliseconds, so that `max_p` moves within the traffic.
fn ared() -> impl Strategy<Value = AredConfig> {
    (red(), 1_u64..20, 0.001..0.2, 0.5..0.99).prop_map(|(red, millis, alpha, beta)| AredConfig {
        min_th: Some(red.min_th),
        max_th: Some(red.max_th),
        w_q: Some(red.w_q),
        max_p: red.max_p,
        interval: Duration::from_millis(millis),
        alpha,
        beta,
        max_p_top: Prob::clamped(0.9),
        red: RedConfig {
            spacing: red.spacing,
            ecn_policy: red.ecn_policy,
            mode: red.mode,
            byte_scaling: red.byte_scaling,
            mean_packet: red.mean_packet,
            ..AredConfig::default().red
        },
        ..AredConfig::default()
    })
}

fn pi() -> impl Strategy<Value = PiConfig> {
    (0.0..20.0, 0.001..0.05, 0.0..0.01, mode(), mean_packet()).prop_map(
        |(q_ref, b, above, mode, mean_packet)| PiConfig {
            q_ref,
            a: b + above + 1e-6,
            b,
            mode,
            mean_packet,
            ..PiConfig::default()
        },
    )
}

fn rem() -> impl Strategy<Value = RemConfig> {
    let w_x = prop_oneof![Just(1.0), 0.002..1.0];
    (0.0..20.0, 0.01..2.0, 0.01..0.5, 1.001..1.5, w_x, mode(), mean_packet()).prop_map(
        |(q_ref, gamma, alpha, phi, w_x, mode, mean_packet)| RemConfig {
            q_ref,
            gamma,
            alpha,
            phi,
            w_x,
            mode,
            mean_packet,
            ..RemConfig::default()
        },
    )
}

proptest! {
    #[test]
    fn red_decides_as_its_paper_does(config in red(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::Red(config.clone()), seed, |rng| oracle::red::Red::new(&config, rng), &traffic)?;
    }

    #[test]
    fn ared_decides_as_its_paper_does(config in ared(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::Ared(config.clone()), seed, |rng| oracle::ared::Ared::new(&config, rng), &traffic)?;
    }

    #[test]
    fn pi_decides_as_its_paper_does(config in pi(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::Pi(config.clone()), seed, |rng| oracle::pi::Pi::new(&config, rng), &traffic)?;
    }

    #[test]
    fn rem_decides_as_its_paper_does(config in rem(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::Rem(config.clone()), seed, |rng| oracle::rem::Rem::new(&config, rng), &traffic)?;
    }
}
