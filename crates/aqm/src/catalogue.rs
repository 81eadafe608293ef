//! Which laws there are, and how a configuration chooses one.

use aqmlab_units::Stream;

use crate::{
    Aqm, Ared, AredConfig, Droptail, DroptailConfig, Limit, LinkContext, Parameter, ParameterError, Pi,
    PiConfig, Red, RedConfig, Rem, RemConfig,
};

/// A queue discipline and its parameters; in JSON `{"red": {"min_th": 5}}`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum QueueConfig {
    /// Drop-tail.
    Droptail(DroptailConfig),
    /// Random early detection.
    Red(RedConfig),
    /// Adaptive RED.
    Ared(AredConfig),
    /// The proportional-integral controller.
    Pi(PiConfig),
    /// Random exponential marking.
    Rem(RemConfig),
}

/// Code that runs for any law.
///
/// A law chosen at run time and code compiled for each law meet here: [`QueueConfig::visit`] calls
/// [`Visitor::visit`] with the chosen law as a type, so that the code inside has no dynamic dispatch per packet.
pub trait Visitor {
    /// What the code returns.
    type Output;

    /// Run with laws of type `A`, of which `make` makes any number: one for each direction of a link, each with a
    /// random stream of its own.
    fn visit<A: Aqm + Send + 'static>(self, make: impl Fn(Stream) -> A) -> Self::Output;
}

impl QueueConfig {
    /// Its name in the catalogue and in configurations.
    pub fn name(&self) -> &'static str {
        match self {
            QueueConfig::Droptail(_) => "droptail",
            QueueConfig::Red(_) => "red",
            QueueConfig::Ared(_) => "ared",
            QueueConfig::Pi(_) => "pi",
            QueueConfig::Rem(_) => "rem",
        }
    }

    /// The most that may wait.
    pub fn limit(&self) -> Limit {
        match self {
            QueueConfig::Droptail(config) => config.limit,
            QueueConfig::Red(config) => config.limit,
            QueueConfig::Ared(config) => config.limit,
            QueueConfig::Pi(config) => config.limit,
            QueueConfig::Rem(config) => config.limit,
        }
    }

    /// This configuration with its automatic values filled in for `link`, checked.
    pub fn resolve(&self, link: &LinkContext) -> Result<QueueConfig, ParameterError> {
        Ok(match self {
            QueueConfig::Droptail(config) => QueueConfig::Droptail(config.resolve()?),
            QueueConfig::Red(config) => QueueConfig::Red(config.resolve()?),
            QueueConfig::Ared(config) => QueueConfig::Ared(config.resolve(link)?),
            QueueConfig::Pi(config) => QueueConfig::Pi(config.resolve()?),
            QueueConfig::Rem(config) => QueueConfig::Rem(config.resolve()?),
        })
    }

    /// Run `visitor` with this law behind `link`. The configuration has passed [`QueueConfig::resolve`].
    pub fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match self {
            QueueConfig::Droptail(_) => visitor.visit(|_| Droptail),
            QueueConfig::Red(config) => visitor.visit(|rng| Red::new(config, link, rng)),
            QueueConfig::Ared(config) => visitor.visit(|rng| Ared::new(config, link, rng)),
            QueueConfig::Pi(config) => visitor.visit(|rng| Pi::new(config, link, rng)),
            QueueConfig::Rem(config) => visitor.visit(|rng| Rem::new(config, link, rng)),
        }
    }
}

/// One law as the catalogue shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry {
    /// Its name in configurations.
    pub name: &'static str,
    /// The line of thought it belongs to.
    pub family: &'static str,
    /// When it decides about a packet: at `enqueue` or at `dequeue`.
    pub decides_at: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// Every law there is, the simplest first.
pub fn catalogue() -> Vec<Entry> {
    vec![
        Entry {
            name: "droptail",
            family: "drop-tail",
            decides_at: "enqueue",
            summary: "Drops what arrives at a full queue: no active management",
            parameters: DroptailConfig::parameters(),
        },
        Entry {
            name: "red",
            family: "RED",
            decides_at: "enqueue",
            summary: "Signals with a probability that grows with the average queue between two thresholds",
            parameters: RedConfig::parameters(),
        },
        Entry {
            name: "ared",
            family: "RED",
            decides_at: "enqueue",
            summary: "RED that derives its settings from a target delay and adapts max_p to hold the average",
            parameters: AredConfig::parameters(),
        },
        Entry {
            name: "pi",
            family: "control theory",
            decides_at: "enqueue",
            summary: "A proportional-integral controller that drives the queue to a reference length",
            parameters: PiConfig::parameters(),
        },
        Entry {
            name: "rem",
            family: "optimization",
            decides_at: "enqueue",
            summary: "Signals with a probability exponential in a price for excess demand and backlog",
            parameters: RemConfig::parameters(),
        },
    ]
}
