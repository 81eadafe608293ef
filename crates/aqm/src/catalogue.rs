//! Which disciplines there are, and how a configuration chooses one.

use std::marker::PhantomData;

use aqmlab_units::Stream;

use crate::discipline::Boxed;
use crate::{
    AredConfig, AvqConfig, BlueConfig, ChokeConfig, CobaltConfig, CodelConfig, DecidesAt, Discipline,
    DroptailConfig, DualPi2Config, FqCobaltConfig, FqCodelConfig, FqPieConfig, FredConfig, LdcConfig, Limit,
    LinkContext, MimdRedConfig, Parameter, ParameterError, Pi2Config, PiConfig, PieConfig, Qdisc, RedConfig,
    RedStarConfig, RemConfig, Settings, SfbConfig, SfqConfig, SredConfig, ThresholdConfig, Visitor,
};

/// One discipline as the catalogue shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry {
    /// Its name in configurations.
    pub name: &'static str,
    /// The line of thought it belongs to.
    pub family: &'static str,
    /// When it drops and marks.
    pub decides_at: DecidesAt,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its page in Markdown.
    pub page: &'static str,
}

impl Entry {
    fn of<D: Discipline>() -> Entry {
        Entry {
            name: D::NAME,
            family: D::FAMILY,
            decides_at: D::DECIDES_AT,
            summary: D::SUMMARY,
            parameters: D::parameters(),
            page: D::PAGE,
        }
    }
}

/// Declares the choice among disciplines: each is one line, and all that is said of it is in its own file.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $Variant:ident($Config:ident),)+) => {
        /// A queue discipline and its parameters; in JSON `{"red": {"min_th": 5}}`.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
        pub enum QueueConfig {$(
            $(#[doc = $doc])+
            $Variant($Config),
        )+}

        impl QueueConfig {
            /// Its name in the catalogue and in configurations.
            pub fn name(&self) -> &'static str {
                match self {$(QueueConfig::$Variant(_) => $Config::NAME,)+}
            }

            /// The most that may wait.
            pub fn limit(&self) -> Limit {
                match self {$(QueueConfig::$Variant(config) => config.limit(),)+}
            }

            /// This configuration with its automatic values filled in for `link`, checked.
            pub fn resolve(&self, link: &LinkContext) -> Result<QueueConfig, ParameterError> {
                Ok(match self {$(
                    QueueConfig::$Variant(config) => QueueConfig::$Variant(config.resolve(link)?),
                )+})
            }

            /// Run `visitor` with this discipline in front of `link`. The configuration has passed
            /// [`QueueConfig::resolve`].
            pub fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
                match self {$(QueueConfig::$Variant(config) => config.visit(link, visitor),)+}
            }
        }

        /// Every discipline there is, the simplest first.
        pub fn catalogue() -> Vec<Entry> {
            vec![$(Entry::of::<$Config>()),+]
        }
    };
}

disciplines! {
    /// Drop-tail.
    Droptail(DroptailConfig),
    /// Random early detection.
    Red(RedConfig),
    /// Adaptive RED.
    Ared(AredConfig),
    /// RED that marks beyond its upper threshold.
    RedStar(RedStarConfig),
    /// RED with a multiplicative adaptation of its probability.
    MimdRed(MimdRedConfig),
    /// Stabilized RED.
    Sred(SredConfig),
    /// Flow random early drop.
    Fred(FredConfig),
    /// CHOKe.
    Choke(ChokeConfig),
    /// The proportional-integral controller.
    Pi(PiConfig),
    /// Random exponential marking.
    Rem(RemConfig),
    /// BLUE.
    Blue(BlueConfig),
    /// Stochastic fair BLUE.
    Sfb(SfbConfig),
    /// The adaptive virtual queue.
    Avq(AvqConfig),
    /// Load/delay control.
    Ldc(LdcConfig),
    /// The threshold of ECN+.
    Threshold(ThresholdConfig),
    /// Controlled delay.
    Codel(CodelConfig),
    /// The CoDel-BLUE alternate.
    Cobalt(CobaltConfig),
    /// The proportional-integral controller enhanced.
    Pie(PieConfig),
    /// The controller whose output is squared.
    Pi2(Pi2Config),
    /// Stochastic fairness queueing.
    Sfq(SfqConfig),
    /// Flow-queue CoDel.
    FqCodel(FqCodelConfig),
    /// Flow-queue COBALT.
    FqCobalt(FqCobaltConfig),
    /// Flow-queue PIE.
    FqPie(FqPieConfig),
    /// The coupled dual queue with a PI2 controller.
    Dualpi2(DualPi2Config),
}

impl QueueConfig {
    /// An empty queue of this discipline in front of `link`, whatever its kind. The configuration has passed
    /// [`QueueConfig::resolve`].
    pub fn queue<P: Send + 'static>(&self, link: &LinkContext, rng: Stream) -> Box<dyn Qdisc<P> + Send> {
        self.visit(link, Boxed { rng, payload: PhantomData })
    }
}
