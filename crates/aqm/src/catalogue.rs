//! The catalogue of disciplines, and the configuration that selects one of them.

use aqmlab_units::Stream;

use crate::discipline::Boxed;
use crate::{DecidesAt, Discipline, EcnUse, LinkContext, Parameter, Qdisc, QueueConfig};

/// One discipline as the catalogue shows it.
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
    /// The line of thought it belongs to.
    pub family: &'static str,
    /// The point at which it drops and marks.
    pub decides_at: DecidesAt,
    /// The treatment of ECN-capable packets.
    pub ecn: EcnUse,
    /// A summary of one line.
    pub summary: &'static str,
    /// The classes of packets that it treats apart, by name.
    pub classes: &'static [&'static str],
    /// Its parameters, set to their defaults.
    pub parameters: Vec<Parameter>,
    /// Its page in Markdown: idea, equations, where descriptions differ, how it is validated, references.
    pub page: &'static str,
}

impl Entry {
    pub(crate) fn of<D: Discipline>(name: &'static str, page: &'static str) -> Entry {
        Entry {
            name,
            family: D::FAMILY,
            decides_at: D::DECIDES_AT,
            ecn: D::ECN,
            summary: D::SUMMARY,
            classes: D::CLASSES,
            parameters: D::default().parameters(),
            page,
        }
    }
}

/// Declares which disciplines there are, each in one line: its name, which is that of its module and of its page, its
/// name in Rust, and its configuration. All else that is said of it is in its own file.
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

            /// The queue's limit.
            pub fn limit(&self) -> $crate::Limit {
                match self {$(QueueConfig::$Variant(config) => $crate::Settings::limit(config),)+}
            }

            /// The treatment of ECN-capable packets.
            pub fn ecn(&self) -> $crate::EcnUse {
                match self {$(QueueConfig::$Variant(_) => <$Config as $crate::Discipline>::ECN,)+}
            }

            /// This configuration with its automatic values filled in for `link`, checked.
            pub fn resolve(&self, link: &$crate::LinkContext) -> Result<QueueConfig, $crate::ParameterError> {
                Ok(match self {$(
                    QueueConfig::$Variant(config) => QueueConfig::$Variant($crate::Discipline::resolve(config, link)?),
                )+})
            }

            /// Run `visitor` with this discipline in front of `link`. The configuration has passed
            /// [`QueueConfig::resolve`].
            pub fn visit<V: $crate::Visitor>(&self, link: &$crate::LinkContext, visitor: V) -> V::Output {
                match self {$(QueueConfig::$Variant(config) => $crate::Discipline::visit(config, link, visitor),)+}
            }
        }

        /// Every discipline there is, the simplest first.
        pub fn catalogue() -> Vec<$crate::Entry> {
            vec![$($crate::Entry::of::<$Config>(
                stringify!($name),
                include_str!(concat!("../pages/", stringify!($name), ".md")),
            )),+]
        }
    };
}
pub(crate) use disciplines;

impl QueueConfig {
    /// Returns an empty queue of this discipline in front of `link`. The configuration has passed
    /// [`QueueConfig::resolve`].
    ///
    /// The payload of a packet is an index into the caller's own data, so that each discipline is compiled once for all
    /// callers that choose at run time. For code that is compiled for each discipline, write a
    /// [`Visitor`](crate::Visitor).
    pub fn queue(&self, link: &LinkContext, rng: Stream) -> Box<dyn Qdisc<usize> + Send> {
        self.visit(link, Boxed { rng })
    }
}
