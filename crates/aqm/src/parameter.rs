//! Parameters of disciplines: each declared once, with its meaning, unit, default, range and source.

mod allowed;
mod choice;
#[cfg(feature = "serde")]
pub(crate) mod serial;

use std::fmt::Display;

pub(crate) use allowed::Settable;
pub use allowed::{Allowed, Value};
pub use choice::Choice;
pub(crate) use choice::choices;

pub(crate) use aqmlab_units::range::{above, from, up_to};
use aqmlab_units::{Bytes, Duration, Range};

use crate::Limit;

/// The error for an invalid parameter: `max_th: must be above min_th = 12 packets, got 8`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ParameterError {
    /// The parameter's name in its configuration.
    pub field: &'static str,
    /// The accepted values, and the value that was given.
    pub message: String,
}

/// A parameter of a configuration; in the catalogue, of the one with all defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in the configuration.
    pub name: &'static str,
    /// The unit of its value, or the kind of value it is.
    pub unit: &'static str,
    /// Its value.
    pub value: Value,
    /// Its accepted values.
    pub allowed: Allowed,
    /// Its meaning.
    pub meaning: String,
    /// The source of its default.
    pub source: &'static str,
}

/// The parameters of a discipline, as the macro that declares them generates it.
pub trait Settings: Clone + Default {
    /// The parameters in their order, as they are set here.
    fn parameters(&self) -> Vec<Parameter>;

    /// The queue's limit.
    fn limit(&self) -> Limit;

    /// Checks that each parameter is in its own range.
    fn check(&self) -> Result<(), ParameterError>;

    /// Sets the parameter `name` to the next value in `map`; returns false if no parameter has that name.
    #[cfg(feature = "serde")]
    fn read<'de, M: serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<bool, M::Error>;
}

/// Declares a configuration. One statement is a field, its documentation, its default, what may be written for it, the
/// check of that, its text form and its row in the catalogue:
///
/// ```text
/// /// The weight of a new sample in the average.
/// w_q: f64 = 0.002, in above(0.0).up_to(1.0), unit "1", source "Floyd & Jacobson 1993";
/// ```
///
/// Last may come the parameters of another law that this one is made of, as a field that holds them; in text they stand
/// among the others. What differs is said there: another default, which needs another source, or a `fixed` value,
/// which is then no parameter. A parameter of the same name here takes an included one's place, and `before` puts one
/// among them.
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $Config:ident {
            $(
                $(#[doc = $meaning:literal])+
                $name:ident: $type:ty = $default:expr
                    $(, in $range:expr)? $(, unit $unit:literal)?, source $source:literal $(, before $before:ident)?;
            )*
        }
        $(
            $(#[doc = $block_doc:literal])+
            include $block:ident: $Block:ident {
                $($(#[doc = $other_meaning:literal])* $other:ident = $other_default:expr, source $other_source:literal;)*
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
                let own = vec![$(
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
                        },
                        before: $crate::parameter::parameters!(@option $(stringify!($before))?),
                    },
                )*];
                let included = $crate::parameter::parameters!(@option $(
                    $crate::parameter::included(
                        $crate::Settings::parameters(&self.$block),
                        &[$((stringify!($other), concat!($($other_meaning),*), $other_source)),*],
                        &[$(stringify!($fixed)),*],
                    )
                )?);
                $crate::parameter::in_display_order(own, included.unwrap_or_default())
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
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
    (@unit $type:ty) => { <$type as $crate::parameter::Settable>::UNIT };
    (@unit $type:ty, $unit:literal) => { $unit };
    (@limit $this:ident) => { $this.limit };
    (@limit $this:ident $block:ident) => { $crate::Settings::limit(&$this.$block) };
    (@read $this:ident $name:ident $map:ident) => { Ok(false) };
    (@read $this:ident $name:ident $map:ident $block:ident) => {
        $crate::Settings::read(&mut $this.$block, $name, $map)
    };
}
pub(crate) use parameters;

/// A parameter that a configuration declares itself.
pub(crate) struct DeclaredParameter {
    pub(crate) parameter: Parameter,
    /// The included parameter that it precedes.
    pub(crate) before: Option<&'static str>,
}

/// Returns the documentation of a parameter of type `T`; for a choice, with its names appended.
pub(crate) fn meaning<T: Settable>(written: &str) -> String {
    let written = written.trim_ascii();
    let Allowed::Choice(choices) = T::allowed(T::Range::default()) else { return written.to_owned() };
    let mut names: Vec<String> = choices.iter().map(|choice| format!("`{}`", choice.name)).collect();
    let last = names.pop().expect("a choice has values");
    format!("{}: {} or {last}.", written.trim_end_matches('.'), names.join(", "))
}

/// The parameters of a block without the `fixed` ones, and with other meanings and sources where they differ.
pub(crate) fn included(
    mut block: Vec<Parameter>,
    others: &[(&'static str, &'static str, &'static str)],
    fixed: &[&'static str],
) -> Vec<Parameter> {
    block.retain(|parameter| !fixed.contains(&parameter.name));
    for (name, meaning, source) in others {
        let parameter = block.iter_mut().find(|parameter| parameter.name == *name);
        let parameter = parameter.expect("the field that has another default is a parameter of the block");
        parameter.source = source;
        if !meaning.is_empty() {
            meaning.trim_ascii().clone_into(&mut parameter.meaning);
        }
    }
    block
}

/// Returns all parameters in display order.
pub(crate) fn in_display_order(own: Vec<DeclaredParameter>, included: Vec<Parameter>) -> Vec<Parameter> {
    let (among, first): (Vec<DeclaredParameter>, Vec<DeclaredParameter>) =
        own.into_iter().partition(|own| own.before.is_some());
    let mut all: Vec<Parameter> = first.into_iter().map(|own| own.parameter).collect();
    let mut among = among.into_iter().peekable();
    for next in included {
        if all.iter().any(|own| own.name == next.name) {
            continue;
        }
        while let Some(own) = among.next_if(|own| own.before == Some(next.name)) {
            all.push(own.parameter);
        }
        all.push(next);
    }
    assert!(
        among.next().is_none(),
        "parameters placed before included ones are declared in the order of these"
    );
    all
}

/// Returns an error for `field`, which must be `must`, unless the condition `holds`.
pub(crate) fn check(
    holds: bool,
    field: &'static str,
    must: impl Display,
    got: &impl Settable,
) -> Result<(), ParameterError> {
    let got = got.value();
    if holds { Ok(()) } else { Err(ParameterError { field, message: format!("must be {must}, got {got}") }) }
}

/// A gain. Values far above the useful ones are mistakes, and would only overflow.
pub(crate) const GAIN: Range<f64> = above(0.0).up_to(1000.0);

/// The weight of a new sample in a moving average.
pub(crate) const WEIGHT: Range<f64> = above(0.0).up_to(1.0);

/// A queue length in packets.
pub(crate) const LENGTH: Range<f64> = from(0.0).up_to(1e9);

/// The size of a packet, up to the largest that IP has.
pub(crate) const PACKET_SIZE: Range<Bytes> = from(Bytes::new(1)).up_to(Bytes::new(65_535));

/// A number of queues to hash flows onto.
pub(crate) const QUEUES: Range<u32> = from(1).up_to(65_536);

/// The credit of a queue for one round: with less, rounds without a packet would cost too much.
pub(crate) const QUANTUM: Range<Bytes> = from(Bytes::new(64)).up_to(Bytes::new(1_000_000));

/// The upper bound of delays and intervals.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
