//! Strategies of the property tests for settings that several laws share.

use std::ops::Range;

use aqmlab_aqm::{ByteScaling, EcnAboveMax, Mode, RedConfig, Spacing};
use aqmlab_units::{Bytes, Prob};
use proptest::prelude::*;

pub(crate) fn mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(Mode::ALL)
}

pub(crate) fn mean_packet() -> impl Strategy<Value = Bytes> {
    (300_u64..1000).prop_map(Bytes::new)
}

/// RED with thresholds a `width` apart and this weight, every region of which random traffic of a few hundred packets
/// reaches; parameters that are not drawn are those of `base`.
pub(crate) fn red(base: RedConfig, width: Range<f64>, w_q: Range<f64>) -> impl Strategy<Value = RedConfig> {
    let thresholds = (0.5..8.0, width, w_q, 0.01..0.9, any::<bool>());
    let spacing = prop::sample::select(Spacing::ALL);
    let policy = prop::sample::select(EcnAboveMax::ALL);
    let scaling = prop::sample::select(ByteScaling::ALL);
    (thresholds, spacing, policy, scaling, mode(), mean_packet()).prop_map(
        move |((min_th, width, w_q, max_p, gentle), spacing, ecn_policy, byte_scaling, mode, mean_packet)| {
            RedConfig {
                min_th,
                max_th: min_th + width,
                w_q,
                max_p: Prob::clamped(max_p),
                gentle,
                spacing,
                ecn_policy,
                byte_scaling,
                mode,
                mean_packet,
                ..base.clone()
            }
        },
    )
}
