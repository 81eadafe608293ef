//! Parameters of laws: declared once, checked with one kind of error.

use std::fmt::Display;

use aqmlab_units::{Bytes, Duration, Prob};

use crate::Limit;

/// A parameter that cannot be: `max_th: must be above min_th = 12 packets, got 8`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ParameterError {
    /// The parameter's name in its configuration.
    pub field: &'static str,
    /// What it must be, and what it is.
    pub message: String,
}

/// One row of a law's parameter table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Parameter {
    /// Its name in the configuration.
    pub name: &'static str,
    /// The unit of its value, or the kind of value it is.
    pub unit: &'static str,
    /// Its default, as it is written in a configuration; `automatic` when it follows from the link.
    pub default: String,
    /// What it means.
    pub meaning: &'static str,
    /// Where its default comes from.
    pub source: &'static str,
}

/// Declares a configuration: from one statement a field, its documentation, its default and its row in the
/// catalogue. A function could not read the documentation, and a second table would drift from the first.
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $Config:ident {$(
            $(#[doc = $meaning:literal])+
            $name:ident: $type:ty = $default:expr, unit $unit:literal, source $source:literal;
        )+}
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
        pub struct $Config {$(
            $(#[doc = $meaning])+
            #[doc = concat!("\n\nUnit: ", $unit, ". Default: `", stringify!($default), "`. Source: ", $source, ".")]
            pub $name: $type,
        )+}

        impl Default for $Config {
            fn default() -> $Config {
                $Config { $($name: $default,)+ }
            }
        }

        impl $crate::Settings for $Config {
            fn limit(&self) -> $crate::Limit {
                self.limit
            }

            fn parameters() -> Vec<$crate::Parameter> {
                let defaults = $Config::default();
                vec![$(
                    $crate::Parameter {
                        name: stringify!($name),
                        unit: $unit,
                        default: $crate::parameter::Shown::shown(&defaults.$name),
                        meaning: concat!($($meaning),+).trim_ascii(),
                        source: $source,
                    },
                )+]
            }
        }
    };
}
pub(crate) use parameters;

/// The names of an option's values, as they are written in a configuration.
macro_rules! display_names {
    ($Option:ident { $($Variant:ident => $name:literal),+ }) => {
        impl std::fmt::Display for $Option {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($Option::$Variant => $name),+ })
            }
        }
    };
}
pub(crate) use display_names;

/// A value as it is written in a configuration.
pub(crate) trait Shown {
    fn shown(&self) -> String;
}

impl Shown for f64 {
    fn shown(&self) -> String {
        // `Debug` writes 1.822e-5 where `Display` writes 0.00001822.
        let text = format!("{self:?}");
        text.strip_suffix(".0").unwrap_or(&text).to_owned()
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "automatic".to_owned(), Shown::shown)
    }
}

macro_rules! shown_by_display {
    ($($type:ty),+) => {$(
        impl Shown for $type {
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )+};
}
shown_by_display!(
    bool,
    u32,
    Bytes,
    Duration,
    Prob,
    Limit,
    crate::Mode,
    crate::IdleDecrease,
    crate::AvqLoad,
    crate::OutputRate,
    crate::Spacing,
    crate::ByteScaling,
    crate::EcnPolicy,
    crate::SredVariant,
    crate::AboveMax,
    crate::FullBins,
    crate::AboveHalf,
    crate::Hashing,
    crate::Sqrt,
    crate::NextMarkFrom,
    crate::Reentry,
    crate::DelayFrom,
    crate::LightLoad,
    crate::Decay,
    crate::SignalAt,
    crate::Turns,
    crate::End,
    crate::Half,
    crate::Backlog,
    crate::NoRoom,
    crate::ThroughOld,
    crate::Native,
    crate::Decide,
    crate::Controlled,
    crate::Overload,
    crate::Share
);

/// `field` must be what `holds` says.
pub(crate) fn check(
    holds: bool,
    field: &'static str,
    must: impl Display,
    got: impl Display,
) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError { field, message: format!("must be {must}, got {got}") }) }
}

/// A gain or weight: far above what is useful is a slip, and would only overflow.
pub(crate) fn check_gain(field: &'static str, value: f64) -> Result<(), ParameterError> {
    check(value > 0.0 && value <= 1000.0, field, "above 0 and at most 1000", value)
}

/// A queue length in packets.
pub(crate) fn check_packets(field: &'static str, value: f64) -> Result<(), ParameterError> {
    check((0.0..=1e9).contains(&value), field, "between 0 and 1e9 packets", value)
}

/// What every law's configuration has: a mean packet of some size and a queue with some room.
pub(crate) fn check_queue(mean_packet: Bytes, limit: Limit) -> Result<(), ParameterError> {
    let possible = Bytes::ZERO < mean_packet && mean_packet <= Bytes::new(65_535);
    check(possible, "mean_packet", "between 1 B and 65535 B, the largest IP packet", mean_packet)?;
    check_limit(limit)
}

/// A limit that lets something in.
pub(crate) fn check_limit(limit: Limit) -> Result<(), ParameterError> {
    check(!limit.is_zero(), "limit", "at least 1 packet or 1 B", limit)
}

/// A number of queues to hash flows onto.
pub(crate) fn check_flows(flows: u32) -> Result<(), ParameterError> {
    check((1..=65_536).contains(&flows), "flows", "between 1 and 65536", flows)
}

/// The credit of a queue for one round: with less, rounds without a packet would cost too much.
pub(crate) fn check_quantum(quantum: Bytes) -> Result<(), ParameterError> {
    let possible = (64..=1_000_000).contains(&quantum.get());
    check(possible, "quantum", "between 64 B and 1000000 B", quantum)
}
