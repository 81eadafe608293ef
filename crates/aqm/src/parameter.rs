//! Parameters of disciplines, each declared once.

mod allowed;
mod choice;
mod named;
mod packet_numbers;
#[cfg(feature = "serde")]
pub(crate) mod serial;
mod signed_size;

use std::fmt::Display;

pub(crate) use allowed::Settable;
pub use allowed::{Allowed, Value};
pub use choice::Choice;
pub(crate) use choice::choices;
pub use named::{Bandwidth, Rtt};
pub use packet_numbers::{PacketNumbers, ParsePacketNumbersError};
pub use signed_size::SignedSize;

pub(crate) use aqmlab_units::range::{above, from, up_to};
use aqmlab_units::{Bytes, Duration, Range};

use crate::{Limit, TcWords};

/// An invalid parameter: `max_th: must be above min_th = 12 packets, got 8`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ParameterError {
    /// The parameter's name in its configuration.
    pub field: &'static str,
    /// The accepted values, and the value given.
    pub message: String,
}

/// A parameter of a configuration; in the catalogue, of the one with all defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in the configuration.
    pub name: &'static str,
    /// The unit of its value, or the kind of the value.
    pub unit: &'static str,
    /// Its value.
    pub value: Value,
    /// The accepted values.
    pub allowed: Allowed,
    /// Its meaning.
    pub meaning: String,
    /// The source of its default.
    pub source: &'static str,
    /// Its words in Linux's `tc`, if there are any.
    pub tc: Option<TcWords>,
    /// False if a configuration is written without it: it has its default, and came after the first results.
    pub is_written: bool,
}

/// The parameters of a discipline, as the macro that declares them provides them.
pub trait Settings: Clone + Default {
    /// The parameters in their order, with their values here.
    fn parameters(&self) -> Vec<Parameter>;

    /// The maximum that may wait.
    fn limit(&self) -> Limit;

    /// Check that each parameter alone has an accepted value.
    fn check(&self) -> Result<(), ParameterError>;

    /// Set the parameter `name` to the next value of `map`. Returns false if there is no such parameter.
    #[cfg(feature = "serde")]
    fn read<'de, M: serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<bool, M::Error>;
}

/// Declare a configuration. One statement declares a field, its documentation, its default, its accepted values
/// and their check, its text form and its row in the catalogue:
///
/// ```text
/// /// The weight of a new sample in the average.
/// w_q: f64 = 0.002, in above(0.0).up_to(1.0), unit "1", source "Floyd & Jacobson 1993";
/// ```
///
/// At the end there may be a block of another law's parameters, as a field that holds them; in text they are
/// among the others. The block lists the differences: another default with its source, or a `fixed` value, which
/// is then no parameter. A parameter of the same name here replaces an included one, and `before` inserts one
/// among them. With `omit default` a parameter is not written while it has its default, so that specs that do not
/// write it have the keys that they had before it was a parameter.
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $Config:ident {
            $(
                $(#[doc = $meaning:literal])+
                $name:ident: $type:ty = $default:expr
                    $(, in $range:expr)? $(, unit $unit:literal)?, source $source:literal $(, tc $tc:expr)? $(, omit $omit:ident)? $(, before $before:ident)?;
            )*
        }
        $(
            $(#[doc = $block_doc:literal])+
            include $block:ident: $Block:ident {
                $($(#[doc = $other_meaning:literal])* $other:ident = $other_default:expr, source $other_source:literal $(, tc $other_tc:expr)?;)*
            }
            $(fixed $fixed:ident = $fixed_value:expr;)*
        )?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Config {
            $(
                $(#[doc = $meaning])+
                #[doc = concat!("\n\n", $("Unit: ", $unit, ". ",)? "Default: `", stringify!($default), "`. Source: ", $source, ".")]
                pub $name: $type,
            )*
            $(
                $(#[doc = $block_doc])+
                pub $block: $Block,
            )?
        }

        impl Default for $Config {
            fn default() -> $Config {
                $Config {
                    $($name: $default,)*
                    $($block: $Block {
                        $($other: $other_default,)*
                        $($fixed: $fixed_value,)*
                        ..$Block::default()
                    },)?
                }
            }
        }

        impl $crate::Settings for $Config {
            fn parameters(&self) -> Vec<$crate::Parameter> {
                let declared = vec![$(
                    $crate::parameter::DeclaredParameter {
                        parameter: $crate::Parameter {
                            name: stringify!($name),
                            unit: $crate::parameter::parameters!(@unit $type $(, $unit)?),
                            value: $crate::parameter::Settable::value(&self.$name),
                            allowed: <$type as $crate::parameter::Settable>::allowed(
                                $crate::parameter::parameters!(@range $($range)?),
                            ),
                            meaning: $crate::parameter::meaning::<$type>(concat!($($meaning),+)),
                            source: $source,
                            tc: $crate::parameter::parameters!(@option $($tc)?),
                            is_written: $crate::parameter::parameters!(@written self.$name, $default $(, $omit)?),
                        },
                        before: $crate::parameter::parameters!(@option $(stringify!($before))?),
                    },
                )*];
                let included = $crate::parameter::parameters!(@option $(
                    $crate::parameter::with_overrides(
                        $crate::Settings::parameters(&self.$block),
                        &[$($crate::parameter::Override {
                            name: stringify!($other),
                            meaning: concat!($($other_meaning),*),
                            source: $other_source,
                            tc: $crate::parameter::parameters!(@option $($other_tc)?),
                        }),*],
                        &[$(stringify!($fixed)),*],
                    )
                )?);
                $crate::parameter::in_display_order(declared, included.unwrap_or_default())
            }

            fn limit(&self) -> $crate::Limit {
                $crate::parameter::parameters!(@limit self $($block)?)
            }

            fn check(&self) -> Result<(), $crate::ParameterError> {
                $(
                    <$type as $crate::parameter::Settable>::check(
                        &self.$name,
                        $crate::parameter::parameters!(@range $($range)?),
                        stringify!($name),
                        $crate::parameter::parameters!(@unit $type $(, $unit)?),
                    )?;
                )*
                $(
                    $($crate::parameter::check(
                        self.$block.$fixed == $fixed_value,
                        stringify!($fixed),
                        $crate::parameter::Settable::value(&$fixed_value),
                        &self.$block.$fixed,
                    )?;)*
                    $crate::Settings::check(&self.$block)?;
                )?
                Ok(())
            }

            #[cfg(feature = "serde")]
            fn read<'de, M: serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                map: &mut M,
            ) -> Result<bool, M::Error> {
                match name {
                    $(stringify!($name) => {
                        self.$name = map.next_value()?;
                        Ok(true)
                    })*
                    $($(stringify!($fixed) => Ok(false),)*)?
                    _ => $crate::parameter::parameters!(@read self name map $($block)?),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $Config {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::parameter::serial::write(self, serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $Config {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$Config, D::Error> {
                $crate::parameter::serial::read(deserializer)
            }
        }
    };

    (@range) => { Default::default() };
    (@range $range:expr) => { $range };
    (@written $value:expr, $default:expr) => { true };
    (@written $value:expr, $default:expr, default) => { $value != $default };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
    (@unit $type:ty) => { <$type as $crate::parameter::Settable>::UNIT };
    (@unit $type:ty, $unit:literal) => { $unit };
    (@limit $this:ident) => { $crate::parameter::WrittenLimit::written(&$this.limit) };
    (@limit $this:ident $block:ident) => { $crate::Settings::limit(&$this.$block) };
    (@read $this:ident $name:ident $map:ident) => { Ok(false) };
    (@read $this:ident $name:ident $map:ident $block:ident) => {
        $crate::Settings::read(&mut $this.$block, $name, $map)
    };
}
pub(crate) use parameters;

/// A parameter that a configuration declares itself, rather than include it.
pub(crate) struct DeclaredParameter {
    pub(crate) parameter: Parameter,
    /// The included parameter that follows it.
    pub(crate) before: Option<&'static str>,
}

/// Return the meaning of a parameter of type `T`, with the names of values that have one.
pub(crate) fn meaning<T: Settable>(written: &str) -> String {
    let written = written.trim_ascii();
    let allowed = T::allowed(T::Range::default());
    let (Allowed::Choice(choices) | Allowed::Named(choices, _)) = allowed else { return written.to_owned() };
    let mut names: Vec<String> = choices.iter().map(|choice| format!("`{}`", choice.name)).collect();
    let last = names.pop().expect("a choice has values");
    let written = written.trim_end_matches('.');
    if names.is_empty() {
        return format!("{written}, or {last}.");
    }
    format!("{written}: {} or {last}.", names.join(", "))
}

/// Differences of an included parameter from its own declaration.
pub(crate) struct Override {
    pub(crate) name: &'static str,
    /// Its meaning; empty if it stays.
    pub(crate) meaning: &'static str,
    pub(crate) source: &'static str,
    /// Its words in `tc`, if they are others.
    pub(crate) tc: Option<TcWords>,
}

/// Return the parameters of a block without the `fixed` ones, and with the meanings and sources of `overrides`.
pub(crate) fn with_overrides(
    mut block: Vec<Parameter>,
    overrides: &[Override],
    fixed: &[&'static str],
) -> Vec<Parameter> {
    block.retain(|parameter| !fixed.contains(&parameter.name));
    for Override { name, meaning, source, tc } in overrides {
        let parameter = block.iter_mut().find(|parameter| parameter.name == *name);
        let parameter = parameter.expect("the field that has another default is a parameter of the block");
        parameter.source = source;
        parameter.tc = tc.or(parameter.tc);
        if !meaning.is_empty() {
            meaning.trim_ascii().clone_into(&mut parameter.meaning);
        }
    }
    block
}

/// Return the parameters in the order in which they are shown and written.
pub(crate) fn in_display_order(declared: Vec<DeclaredParameter>, included: Vec<Parameter>) -> Vec<Parameter> {
    let (inserted, first): (Vec<DeclaredParameter>, Vec<DeclaredParameter>) =
        declared.into_iter().partition(|declared| declared.before.is_some());
    let mut all: Vec<Parameter> = first.into_iter().map(|declared| declared.parameter).collect();
    let mut inserted = inserted.into_iter().peekable();
    for next in included {
        if all.iter().any(|declared| declared.name == next.name) {
            continue;
        }
        while let Some(declared) = inserted.next_if(|declared| declared.before == Some(next.name)) {
            all.push(declared.parameter);
        }
        all.push(next);
    }
    assert!(
        inserted.next().is_none(),
        "parameters with `before` are declared in the order of the included ones"
    );
    all
}

/// Return an error unless `holds`: `field` must be `must`.
pub(crate) fn check(
    holds: bool,
    field: &'static str,
    must: impl Display,
    got: &impl Settable,
) -> Result<(), ParameterError> {
    let got = got.value();
    if holds { Ok(()) } else { Err(ParameterError { field, message: format!("must be {must}, got {got}") }) }
}

/// The limit of a configuration: none is written for one that follows from the link.
pub(crate) trait WrittenLimit {
    fn written(&self) -> Limit;
}

impl WrittenLimit for Limit {
    fn written(&self) -> Limit {
        *self
    }
}

impl WrittenLimit for Option<Limit> {
    fn written(&self) -> Limit {
        self.unwrap_or(Limit::Packets(u32::MAX))
    }
}

/// A gain: far above useful values, it is a slip and would only overflow.
pub(crate) const GAIN: Range<f64> = above(0.0).up_to(1000.0);

/// The weight of a new sample in a moving average.
pub(crate) const WEIGHT: Range<f64> = above(0.0).up_to(1.0);

/// A queue length in packets.
pub(crate) const LENGTH: Range<f64> = from(0.0).up_to(1e9);

/// The size of a packet, up to the largest that IP has.
pub(crate) const PACKET_SIZE: Range<Bytes> = from(Bytes::new(1)).up_to(Bytes::new(65_535));

/// A number of queues to hash flows to.
pub(crate) const QUEUES: Range<u32> = from(1).up_to(65_536);

/// The credit of a queue in one round: with less, rounds without a packet would cost too much time.
pub(crate) const QUANTUM: Range<Bytes> = from(Bytes::new(64)).up_to(Bytes::new(1_000_000));

/// Upper bound of the delays and intervals of a law.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
