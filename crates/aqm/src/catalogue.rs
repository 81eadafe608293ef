//! The catalogue of disciplines, and the choice of one by a configuration.

use aqmlab_units::Stream;

use crate::discipline::Boxed;
use crate::{DecidesAt, Discipline, EcnUse, LinkContext, Parameter, Qdisc, QueueConfig, Tc};

/// A discipline's entry in the catalogue.
///
/// ```
/// let codel = aqmlab_aqm::catalogue().into_iter().find(|entry| entry.name == "codel").expect("it is there");
/// assert_eq!(codel.family, "delay");
/// for parameter in &codel.parameters {
///     println!("{} = {} {}: {} ({})", parameter.name, parameter.value, parameter.unit, parameter.meaning, parameter.source);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry {
    /// Its name in configurations.
    pub name: &'static str,
    /// The family of disciplines it belongs to.
    pub family: &'static str,
    /// The time of its drops and marks.
    pub decides_at: DecidesAt,
    /// The treatment of ECN-capable packets.
    pub ecn: EcnUse,
    /// Its effect, in one line.
    pub summary: &'static str,
    /// The classes of packets that it treats separately, by name.
    pub classes: &'static [&'static str],
    /// The words of Linux's `tc` for it, if it has any.
    pub tc: Option<Tc>,
    /// Its parameters, set to their defaults.
    pub parameters: Vec<Parameter>,
    /// Its page in Markdown: idea, equations, where descriptions differ, how it is validated, references.
    pub page: &'static str,
}

impl Entry {
    pub(crate) fn from_discipline<D: Discipline>(name: &'static str, page: &'static str) -> Entry {
        Entry {
            name,
            family: D::FAMILY,
            decides_at: D::DECIDES_AT,
            ecn: D::ECN,
            summary: D::SUMMARY,
            classes: D::CLASSES,
            tc: D::TC,
            parameters: D::default().parameters(),
            page,
        }
    }
}

/// Declare the disciplines, one a line: its name, which is that of its module and of its page, its name in Rust,
/// and its configuration. Everything else about it is in its own file.
macro_rules! disciplines {
    ($($name:ident: $Variant:ident($Config:ident),)+) => {
        $(
            mod $name;
            pub use $name::*;
        )+

        /// A queue discipline and its parameters; in JSON `{"red": {"min_th": 5}}`.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
        pub enum QueueConfig {$(
            #[doc = concat!("`", stringify!($name), "`")]
            $Variant($Config),
        )+}

        impl QueueConfig {
            /// Its name in the catalogue and in configurations.
            pub fn name(&self) -> &'static str {
                match self {$(QueueConfig::$Variant(_) => stringify!($name),)+}
            }

            /// The maximum that may wait.
            pub fn limit(&self) -> $crate::Limit {
                match self {$(QueueConfig::$Variant(config) => $crate::Settings::limit(config),)+}
            }

            /// The treatment of ECN-capable packets.
            pub fn ecn(&self) -> $crate::EcnUse {
                match self {$(QueueConfig::$Variant(_) => <$Config as $crate::Discipline>::ECN,)+}
            }

            /// Check this configuration, and fill in its automatic values for `link`.
            pub fn resolve(&self, link: &$crate::LinkContext) -> Result<QueueConfig, $crate::ParameterError> {
                Ok(match self {$(
                    QueueConfig::$Variant(config) => QueueConfig::$Variant($crate::Discipline::resolve(config, link)?),
                )+})
            }

            /// Run `visitor` with this discipline in front of `link`. The configuration must have passed
            /// [`QueueConfig::resolve`].
            pub fn visit<V: $crate::Visitor>(&self, link: &$crate::LinkContext, visitor: V) -> V::Output {
                match self {$(QueueConfig::$Variant(config) => $crate::Discipline::visit(config, link, visitor),)+}
            }
        }

        /// All disciplines, the simplest first.
        pub fn catalogue() -> Vec<$crate::Entry> {
            vec![$($crate::Entry::from_discipline::<$Config>(
                stringify!($name),
                include_str!(concat!("../pages/", stringify!($name), ".md")),
            )),+]
        }
    };
}
pub(crate) use disciplines;

impl QueueConfig {
    /// Return an empty queue of this discipline in front of `link`. The configuration must have passed
    /// [`QueueConfig::resolve`].
    ///
    /// The payload of its packets is a number, by which the caller finds its own data: so each discipline is
    /// compiled once for all callers that choose at run time. Code that must be compiled for each is a
    /// [`Visitor`](crate::Visitor).
    pub fn queue(&self, link: &LinkContext, rng: Stream) -> Box<dyn Qdisc<usize> + Send> {
        self.visit(link, Boxed { rng })
    }
}
