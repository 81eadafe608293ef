//! The model, ready for drawing: tables and parameters, the same for all users.

use aqmlab_units::{Duration, Prob, Stream};

use crate::discrete::Discrete;
use crate::quantile::Quantile;
use crate::sampler::Sampler;
use crate::{ConfigError, QuantileConfig, RttConfig, RttDistribution, WebConfig};

/// The model of a population of web users: immutable, shared by all of them.
#[derive(Clone, Debug)]
pub struct Web {
    /// The key of the family of streams, one for each user.
    pub(crate) users: u64,
    pub(crate) embedded_per_page: Discrete,
    pub(crate) servers_per_page: Discrete,
    pub(crate) max_parallel: Discrete,
    /// The exact distribution of think times, which the start in equilibrium needs.
    pub(crate) think_exact: Quantile,
    /// Round trips that a page takes on an idle network.
    pub(crate) page_round_trips: f64,
    pub(crate) rtt: Rtt,
    think: Sampler,
    request: Sampler,
    top_level: ResponseSize,
    embedded: ResponseSize,
    persistent: Prob,
    requests_per_persistent_connection: Sampler,
    pages_per_visit: Sampler,
}

impl Web {
    /// The model for the tables of `config` and `rtt`, in the run `seed`.
    pub fn new(config: &WebConfig, rtt: &RttConfig, seed: u64) -> Result<Web, ConfigError> {
        config.check()?;
        rtt.check()?;
        let think_exact = Quantile::new(&config.think_seconds.nodes);
        let cap = config.persistent_response_cap_bytes;
        Ok(Web {
            users: Stream::key(seed, "web/user"),
            embedded_per_page: Discrete::new(&config.embedded_per_page),
            servers_per_page: Discrete::new(&config.servers_per_page),
            max_parallel: Discrete::new(&config.max_parallel),
            page_round_trips: config.page_round_trips,
            rtt: Rtt::new(&rtt.distribution),
            think: Sampler::new(think_exact.clone()),
            think_exact,
            request: sampler(&config.request_bytes),
            top_level: ResponseSize::new(&config.top_level_bytes, cap),
            embedded: ResponseSize::new(&config.embedded_bytes, cap),
            persistent: Prob::clamped(config.persistent_probability),
            requests_per_persistent_connection: sampler(&config.requests_per_persistent_connection),
            pages_per_visit: sampler(&config.pages_per_visit),
        })
    }

    /// Time from the end of a page to the start of the next.
    pub(crate) fn think(&self, stream: &mut Stream) -> Duration {
        Duration::from_secs_f64(self.think.draw(stream))
    }

    /// Consecutive pages from one server.
    pub(crate) fn pages_per_visit(&self, stream: &mut Stream) -> u16 {
        rounded(self.pages_per_visit.draw(stream)).max(1)
    }

    /// The minimum round-trip time of a new connection.
    pub fn min_rtt(&self, stream: &mut Stream) -> Duration {
        self.rtt.draw(stream)
    }

    /// The number of requests a new connection may carry if it is persistent.
    pub(crate) fn persistence(&self, stream: &mut Stream) -> Option<u16> {
        let persistent = stream.chance(self.persistent);
        persistent.then(|| rounded(self.requests_per_persistent_connection.draw(stream)).max(2))
    }

    /// Bytes of a request.
    pub(crate) fn request_size(&self, stream: &mut Stream) -> u32 {
        size(self.request.draw(stream))
    }

    /// Bytes of a response.
    pub(crate) fn response_size(&self, top_level: bool, persistent: bool, stream: &mut Stream) -> u32 {
        let table = if top_level { &self.top_level } else { &self.embedded };
        size(table.draw(persistent, stream))
    }
}

/// Response sizes, with the cap that holds on persistent connections.
#[derive(Clone, Debug)]
struct ResponseSize {
    sampler: Sampler,
    /// The fraction of responses that a persistent connection may carry.
    below_cap: f64,
}

impl ResponseSize {
    fn new(config: &QuantileConfig, cap: Option<u32>) -> ResponseSize {
        let exact = Quantile::new(&config.nodes);
        let below_cap = cap.map_or(1.0, |cap| exact.fraction_below(f64::from(cap)));
        ResponseSize { sampler: Sampler::new(exact), below_cap }
    }

    #[inline]
    fn draw(&self, persistent: bool, stream: &mut Stream) -> f64 {
        let fraction = if persistent { self.below_cap } else { 1.0 };
        self.sampler.draw_lowest(fraction, stream)
    }
}

/// Minimum round-trip times.
#[derive(Clone, Debug)]
pub(crate) enum Rtt {
    UniformMs { min: u32, max: u32 },
    QuantilesMs { sampler: Box<Sampler>, exact: Quantile },
}

impl Rtt {
    pub(crate) fn new(distribution: &RttDistribution) -> Rtt {
        match distribution {
            RttDistribution::UniformMs { min, max } => Rtt::UniformMs { min: *min, max: *max },
            RttDistribution::QuantilesMs(nodes) => {
                let exact = Quantile::new(nodes);
                Rtt::QuantilesMs { sampler: Box::new(Sampler::new(exact.clone())), exact }
            }
        }
    }

    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> Duration {
        match self {
            Rtt::UniformMs { min, max } => {
                Duration::from_millis(u64::from(*min) + stream.below(u64::from(max - min) + 1))
            }
            Rtt::QuantilesMs { sampler, .. } => Duration::from_secs_f64(sampler.draw(stream) * 1e-3),
        }
    }

    /// The mean, in seconds.
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Rtt::UniformMs { min, max } => f64::midpoint(f64::from(*min), f64::from(*max)) * 1e-3,
            Rtt::QuantilesMs { exact, .. } => exact.mean() * 1e-3,
        }
    }

    /// A draw in seconds from the length-biased distribution, by two uniform draws; see [`Quantile::length_biased`].
    pub(crate) fn length_biased(&self, u: f64, v: f64) -> f64 {
        match self {
            Rtt::UniformMs { min, max } => {
                // The density x / ∫x dx gives F(x) = (x^2 - min^2) / (max^2 - min^2).
                let (min, max) = (f64::from(*min), f64::from(*max));
                (min * min + u * (max * max - min * min)).sqrt() * 1e-3
            }
            Rtt::QuantilesMs { exact, .. } => exact.length_biased(u, v) * 1e-3,
        }
    }
}

fn sampler(config: &QuantileConfig) -> Sampler {
    Sampler::new(Quantile::new(&config.nodes))
}

/// The nearest whole number of bytes, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked tables hold sizes up to 4e9"
)]
fn size(bytes: f64) -> u32 {
    ((bytes + 0.5) as u32).max(1)
}

/// The nearest whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked tables end at 60,000")]
fn rounded(count: f64) -> u16 {
    (count + 0.5) as u16
}
