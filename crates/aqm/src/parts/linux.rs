//! The arithmetic of Linux's queue disciplines: whole numbers and rounding as in Linux 6.12 (DualPI2, which came with 6.17: 7.3), so that each packet has the
//! fate that it has there, at the same nanosecond.
//!
//! Source: the behaviour of Linux 6.12, with which the oracle of laws compares each of them (docs/guide/kernel-laws.md).

pub(crate) mod choke;
pub(crate) mod codel;
pub(crate) mod coin;
pub(crate) mod drop_head;
pub(crate) mod dualpi2;
pub(crate) mod fifo;
pub(crate) mod flow_hash;
pub(crate) mod flow_queue;
pub(crate) mod fq;
pub(crate) mod memory;
pub(crate) mod pie;
pub(crate) mod red;
pub(crate) mod sfb;
pub(crate) mod sfq;
pub(crate) mod timer;

use crate::parameter::choices;
use crate::{ParameterError, Settings};

choices! {
    /// The description that a law follows.
    pub enum Variant {
        /// The publications, in floating point and nanoseconds, with the choices of the other parameters.
        Published = "published",
        /// Linux 6.12 in every detail: units of time, whole numbers, rounding and the order of decisions.
        Linux = "linux",
    }
}

/// Return `config` with the values that Linux has no choice of, if it is of Linux's variant. Another value that is
/// not the default is refused.
pub(crate) fn with_linux_values<C: Settings>(
    config: &C,
    variant: Variant,
    set_linux_values: impl FnOnce(&mut C),
) -> Result<C, ParameterError> {
    let mut linux = config.clone();
    if variant == Variant::Linux {
        set_linux_values(&mut linux);
    }
    let defaults = C::default().parameters();
    for ((given, fixed), default) in config.parameters().iter().zip(linux.parameters()).zip(defaults) {
        if given.value != fixed.value && given.value != default.value {
            let message = format!("must be {} with variant = linux, got {}", fixed.value, given.value);
            return Err(ParameterError { field: given.name, message });
        }
    }
    Ok(linux)
}

#[cfg(test)]
mod tests {
    use aqmlab_units::{BitRate, Bytes};

    use super::*;
    use crate::{
        CodelConfig, DelayFrom, Discipline, EcnAboveMax, Limit, LinkContext, NextMarkFrom, PieConfig,
        RedConfig, SfbConfig, Sqrt,
    };

    fn resolved(config: &CodelConfig) -> Result<CodelConfig, ParameterError> {
        with_linux_values(config, config.variant, CodelConfig::set_linux_values)
    }

    #[test]
    fn the_variant_of_linux_has_the_values_of_linux() {
        let linux = CodelConfig { variant: Variant::Linux, ..CodelConfig::default() };
        let complete = resolved(&linux).unwrap();
        assert_eq!(complete.sqrt, Sqrt::Newton16);
        assert_eq!(resolved(&complete).unwrap(), complete);
        assert_eq!(resolved(&CodelConfig::default()).unwrap(), CodelConfig::default());
    }

    #[test]
    fn a_delay_that_linux_does_not_measure_is_refused() {
        let config =
            PieConfig { variant: Variant::Linux, delay_from: DelayFrom::LinkRate, ..PieConfig::default() };
        let refused = config.check_linux().unwrap_err().to_string();
        assert_eq!(
            refused,
            "delay_from: must be timestamp or rate_estimate with variant = linux, got link_rate"
        );
    }

    #[test]
    fn numbers_that_red_of_linux_does_not_have_are_refused() {
        let red = RedConfig { variant: Variant::Linux, w_q: 0.002, ..RedConfig::default() };
        let link = LinkContext {
            rate: BitRate::from_mbit_per_sec(1),
            header: Bytes::ZERO,
            overhead: Bytes::ZERO,
            peak: None,
        };
        let refused = |config: &RedConfig| config.resolve(&link).unwrap_err().to_string();
        assert_eq!(refused(&red), "w_q: must be a power of two below 1 with variant = linux, got 0.002");
        let large = RedConfig { w_q: 0.125, max_th: 1e6, ..red.clone() };
        assert!(refused(&large).starts_with("max_th: must be less than 2^31 times w_q"));
        let gentle = RedConfig { w_q: 0.125, ecn_policy: EcnAboveMax::MarkInGentle, ..red };
        assert!(refused(&gentle).starts_with("ecn_policy: must be mark or drop_above_max"));
    }

    #[test]
    fn numbers_that_sfb_of_linux_does_not_have_are_refused() {
        let sfb = SfbConfig { variant: Variant::Linux, ..SfbConfig::default() };
        let link = LinkContext {
            rate: BitRate::from_mbit_per_sec(1),
            header: Bytes::ZERO,
            overhead: Bytes::ZERO,
            peak: None,
        };
        assert!(sfb.resolve(&link).is_ok());
        let refused = |config: SfbConfig| config.resolve(&link).unwrap_err().to_string();
        assert_eq!(
            refused(SfbConfig { penalty_rate: 1.5, ..sfb.clone() }),
            "penalty_rate: must be a whole number with variant = linux, got 1.5"
        );
        assert_eq!(
            refused(SfbConfig { levels: 2, ..sfb.clone() }),
            "levels: must be 8 with variant = linux, got 2"
        );
        let bytes = SfbConfig { limit: Limit::Bytes(Bytes::new(9000)), ..sfb };
        assert!(refused(bytes).starts_with("limit: must be a number of packets with variant = linux"));
    }

    #[test]
    fn a_value_that_linux_does_not_have_is_refused() {
        let config = CodelConfig {
            variant: Variant::Linux,
            next_mark_from: NextMarkFrom::Now,
            ..CodelConfig::default()
        };
        let refused = resolved(&config).unwrap_err().to_string();
        assert_eq!(refused, "next_mark_from: must be drop_next with variant = linux, got now");
    }
}
