//! Distributions of sizes and times as specs write them (exponential, lognormal, Pareto, quantiles), and their draws.

use aqmlab_units::{Bytes, Duration, Stream};
use serde::{Deserialize, Serialize};

use super::variates::{exponential, normal};
use crate::QuantileConfig;
use crate::config::{ConfigError, check_nodes, refuse};
use crate::quantile::Quantile;
use crate::sampler::Sampler;

/// The largest size that is drawn, 1 TB: an hour at 2 Gbit/s. A draw beyond it is this.
pub(crate) const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000);
/// The longest time that is drawn or given, about four months. A draw beyond it is this.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(10_000_000);

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SizeConfig {
    /// Always the same.
    Fixed(Bytes),
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Bytes,
    },
    /// Pareto: a size of at least `mean` (`shape` - 1) / `shape`.
    Pareto {
        /// The mean.
        mean: Bytes,
        /// The tail index, above 1 and at most 100.
        shape: f64,
    },
    /// Pareto of the second kind (Lomax), which begins at nothing: the sizes of ns-2's web traffic, `ParetoII`.
    ParetoIi {
        /// The mean.
        mean: Bytes,
        /// The tail index, above 1 and at most 100.
        shape: f64,
    },
    /// Lognormal, with a Pareto tail from some size on.
    Lognormal {
        /// The median.
        median: Bytes,
        /// The standard deviation of the natural logarithm, above 0 and at most 10.
        sigma: f64,
        /// Replaces the sizes above `tail.from`; absent: the lognormal itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tail: Option<TailConfig>,
    },
    /// A table of quantiles, in bytes.
    Quantiles(QuantileConfig),
}

/// A Pareto tail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TailConfig {
    /// The size at which the tail begins.
    pub from: Bytes,
    /// The tail index, above 0 and at most 100.
    pub shape: f64,
    /// The largest size, above `from`: larger ones are drawn again.
    pub max: Bytes,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TimeConfig {
    /// Always the same.
    Fixed(Duration),
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Pareto: a time of at least `mean` (`shape` - 1) / `shape`.
    Pareto {
        /// The mean.
        mean: Duration,
        /// The tail index, above 1 and at most 100.
        shape: f64,
    },
}

impl SizeConfig {
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        match self {
            SizeConfig::Fixed(size) => check_size(&format!("{path}.fixed"), *size),
            SizeConfig::Exponential { mean } => check_size(&format!("{path}.exponential.mean"), *mean),
            SizeConfig::Pareto { mean, shape } => {
                check_size(&format!("{path}.pareto.mean"), *mean)?;
                check_shape(&format!("{path}.pareto.shape"), *shape, 1.0)
            }
            SizeConfig::ParetoIi { mean, shape } => {
                check_size(&format!("{path}.pareto_ii.mean"), *mean)?;
                check_shape(&format!("{path}.pareto_ii.shape"), *shape, 1.0)
            }
            SizeConfig::Lognormal { median, sigma, tail } => {
                check_size(&format!("{path}.lognormal.median"), *median)?;
                check_above(&format!("{path}.lognormal.sigma"), *sigma, 0.0, 10.0)?;
                tail.as_ref().map_or(Ok(()), |tail| tail.check(&format!("{path}.lognormal.tail")))
            }
            SizeConfig::Quantiles(table) => {
                check_nodes(&format!("{path}.quantiles.nodes"), &table.nodes, MAX_SIZE.as_f64())
            }
        }
    }
}

impl TailConfig {
    fn check(&self, path: &str) -> Result<(), ConfigError> {
        check_size(&format!("{path}.from"), self.from)?;
        check_size(&format!("{path}.max"), self.max)?;
        check_shape(&format!("{path}.shape"), self.shape, 0.0)?;
        if self.max <= self.from {
            return refuse(
                &format!("{path}.max"),
                format!("must be above from = {}, got {}", self.from, self.max),
            );
        }
        Ok(())
    }
}

impl TimeConfig {
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        match self {
            TimeConfig::Fixed(time) => check_time(&format!("{path}.fixed"), *time),
            TimeConfig::Exponential { mean } => check_time(&format!("{path}.exponential.mean"), *mean),
            TimeConfig::Pareto { mean, shape } => {
                check_time(&format!("{path}.pareto.mean"), *mean)?;
                check_shape(&format!("{path}.pareto.shape"), *shape, 1.0)
            }
        }
    }
}

impl TimeConfig {
    /// The mean.
    pub(crate) fn mean(&self) -> Duration {
        match self {
            TimeConfig::Fixed(mean) | TimeConfig::Exponential { mean } | TimeConfig::Pareto { mean, .. } => {
                *mean
            }
        }
    }
}

/// A checked distribution, ready for drawing, of bytes or of seconds.
#[derive(Clone, Debug)]
enum Distribution {
    Constant(f64),
    Exponential { mean: f64 },
    Pareto { scale: f64, shape: f64 },
    ParetoIi { scale: f64, shape: f64 },
    Lognormal { mu: f64, sigma: f64, tail: Option<Tail> },
    Quantile(Box<Sampler>),
}

/// A Pareto tail from e^`ln_from` up to a largest size.
#[derive(Clone, Debug)]
struct Tail {
    ln_from: f64,
    shape: f64,
    /// The share of the untruncated tail that lies below the largest size.
    share: f64,
}

/// Draws sizes.
#[derive(Clone, Debug)]
pub(crate) struct Size(Distribution);

/// Draws times.
#[derive(Clone, Debug)]
pub(crate) struct Span(Distribution);

impl Size {
    /// From a checked configuration.
    pub(crate) fn new(config: &SizeConfig) -> Size {
        Size(match config {
            SizeConfig::Fixed(size) => Distribution::Constant(size.as_f64()),
            SizeConfig::Exponential { mean } => Distribution::Exponential { mean: mean.as_f64() },
            SizeConfig::Pareto { mean, shape } => Distribution::pareto(mean.as_f64(), *shape),
            SizeConfig::ParetoIi { mean, shape } => {
                Distribution::ParetoIi { scale: mean.as_f64() * (shape - 1.0), shape: *shape }
            }
            SizeConfig::Lognormal { median, sigma, tail } => Distribution::Lognormal {
                mu: libm::log(median.as_f64()),
                sigma: *sigma,
                tail: tail.as_ref().map(Tail::new),
            },
            SizeConfig::Quantiles(table) => {
                Distribution::Quantile(Box::new(Sampler::new(Quantile::new(&table.nodes))))
            }
        })
    }

    /// A draw: the nearest whole number of bytes, at least one, at most [`MAX_SIZE`].
    pub(crate) fn draw(&self, stream: &mut Stream) -> Bytes {
        whole_bytes(self.0.draw(stream))
    }
}

/// The nearest whole number of bytes, at least one, at most [`MAX_SIZE`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
pub(crate) fn whole_bytes(bytes: f64) -> Bytes {
    Bytes::new((bytes + 0.5) as u64).clamp(Bytes::new(1), MAX_SIZE)
}

impl Span {
    /// From a checked configuration.
    pub(crate) fn new(config: &TimeConfig) -> Span {
        Span(match config {
            TimeConfig::Fixed(time) => Distribution::Constant(time.as_secs_f64()),
            TimeConfig::Exponential { mean } => Distribution::Exponential { mean: mean.as_secs_f64() },
            TimeConfig::Pareto { mean, shape } => Distribution::pareto(mean.as_secs_f64(), *shape),
        })
    }

    /// A draw of at most [`MAX_TIME`].
    pub(crate) fn draw(&self, stream: &mut Stream) -> Duration {
        Duration::from_secs_f64(self.0.draw(stream)).min(MAX_TIME)
    }
}

impl Distribution {
    fn pareto(mean: f64, shape: f64) -> Distribution {
        Distribution::Pareto { scale: mean * (shape - 1.0) / shape, shape }
    }

    fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Exponential { mean } => mean * exponential(stream),
            // x = scale (1 - u)^(-1 / shape)
            Distribution::Pareto { scale, shape } => scale * libm::exp(exponential(stream) / shape),
            // x = scale ((1 - u)^(-1 / shape) - 1)
            Distribution::ParetoIi { scale, shape } => scale * libm::expm1(exponential(stream) / shape),
            Distribution::Lognormal { mu, sigma, tail } => {
                let ln_body = mu + sigma * normal(stream);
                libm::exp(match tail {
                    Some(tail) if ln_body > tail.ln_from => tail.draw_ln(stream),
                    _ => ln_body,
                })
            }
            Distribution::Quantile(sampler) => sampler.draw(stream),
        }
    }
}

impl Tail {
    fn new(config: &TailConfig) -> Tail {
        let (ln_from, ln_max) = (libm::log(config.from.as_f64()), libm::log(config.max.as_f64()));
        // 1 - (from / max)^shape
        let share = -libm::expm1(config.shape * (ln_from - ln_max));
        Tail { ln_from, shape: config.shape, share }
    }

    /// ln x for x = from (1 - share u)^(-1 / shape), which ends at the largest size.
    fn draw_ln(&self, stream: &mut Stream) -> f64 {
        self.ln_from - libm::log1p(-self.share * stream.uniform()) / self.shape
    }
}

pub(crate) fn check_size(path: &str, size: Bytes) -> Result<(), ConfigError> {
    if size > Bytes::ZERO && size <= MAX_SIZE {
        return Ok(());
    }
    refuse(path, format!("must be above 0 B and at most 1 TB, got {size}"))
}

pub(crate) fn check_time(path: &str, time: Duration) -> Result<(), ConfigError> {
    if time <= MAX_TIME {
        return Ok(());
    }
    refuse(path, format!("must be at most {MAX_TIME}, got {time}"))
}

fn check_shape(path: &str, shape: f64, above: f64) -> Result<(), ConfigError> {
    check_above(path, shape, above, 100.0)
}

pub(crate) fn check_above(path: &str, value: f64, above: f64, most: f64) -> Result<(), ConfigError> {
    if value > above && value <= most {
        return Ok(());
    }
    refuse(path, format!("must be above {above} and at most {most}, got {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(json: &str, n: u32) -> Vec<f64> {
        let config: SizeConfig = serde_json::from_str(json).expect("well formed");
        config.check("size").expect("valid");
        let (size, mut stream) = (Size::new(&config), Stream::named(3, "test"));
        let mut drawn: Vec<f64> = (0..n).map(|_| size.draw(&mut stream).as_f64()).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    fn mean(drawn: &[f64]) -> f64 {
        drawn.iter().sum::<f64>() / drawn.len() as f64
    }

    #[test]
    fn exponential_and_pareto_sizes_have_the_given_mean() {
        let exponential = sizes(r#"{"exponential": {"mean": "20 kB"}}"#, 200_000);
        assert!((mean(&exponential) / 20e3 - 1.0).abs() < 0.01, "4 standard errors");
        // Shape 3 has a variance: 1.5 % are 4 standard errors of its mean, at most.
        let pareto = sizes(r#"{"pareto": {"mean": "20 kB", "shape": 3}}"#, 200_000);
        assert!((mean(&pareto) / 20e3 - 1.0).abs() < 0.015, "{}", mean(&pareto));
        assert!(pareto[0] >= 13_333.0, "no size below mean (shape - 1) / shape");
        // S(x) = (scale / x)^3: the median is scale 2^(1/3).
        assert!((pareto[100_000] / (13_333.3 * 1.259_921) - 1.0).abs() < 0.01);
    }

    #[test]
    fn lomax_sizes_begin_at_zero_and_have_the_given_mean() {
        let drawn = sizes(r#"{"pareto_ii": {"mean": "20 kB", "shape": 3}}"#, 200_000);
        assert!((mean(&drawn) / 20e3 - 1.0).abs() < 0.016, "4 standard errors: {}", mean(&drawn));
        assert!(drawn[0] < 10.0, "{}", drawn[0]);
        // S(x) = (1 + x / scale)^-3 with scale = 2 mean: the quantile u is scale ((1 - u)^(-1/3) - 1).
        for (smaller, quantile) in [(100_000, 40e3 * 0.259_921), (180_000, 40e3 * 1.154_435)] {
            assert!((drawn[smaller] / quantile - 1.0).abs() < 0.02, "{smaller}: {}", drawn[smaller]);
        }
    }

    #[test]
    fn a_lognormal_with_a_pareto_tail_follows_each_on_its_side() {
        // Median 1,000 B and 90 % at 10 kB, then index 1.17 up to 100 MB.
        let tailed = r#"{"lognormal": {"median": "1000 B", "sigma": 1.796702,
            "tail": {"from": "10 kB", "shape": 1.17, "max": "100 MB"}}}"#;
        let drawn = sizes(tailed, 400_000);
        let share_below = |x: f64| drawn.partition_point(|&d| d <= x) as f64 / drawn.len() as f64;
        for (x, share) in [(1e3, 0.5), (1e4, 0.9), (1e5, 1.0 - 0.1 * libm::pow(10.0, -1.17))] {
            assert!((share_below(x) - share).abs() < 0.0035, "{} of the sizes below {x}", share_below(x));
        }
        assert!(drawn[399_999] <= 1e8 && drawn[399_999] > 1e7);
    }

    #[test]
    fn a_constant_is_drawn_and_nothing_is_smaller_than_a_byte() {
        assert_eq!(sizes(r#"{"fixed": "300 B"}"#, 3), [300.0; 3]);
        let smallest = sizes(r#"{"lognormal": {"median": "1 B", "sigma": 10}}"#, 1_000)[0];
        assert!((smallest - 1.0).abs() < 1e-9, "{smallest}");
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_its_path() {
        let refusal = |json: &str| {
            let config: SizeConfig = serde_json::from_str(json).expect("well formed");
            config.check("size").expect_err("refused").to_string()
        };
        assert_eq!(
            refusal(r#"{"pareto": {"mean": "1 kB", "shape": 1}}"#),
            "size.pareto.shape: must be above 1 and at most 100, got 1"
        );
        assert_eq!(
            refusal(r#"{"pareto_ii": {"mean": "1 kB", "shape": 1}}"#),
            "size.pareto_ii.shape: must be above 1 and at most 100, got 1"
        );
        assert_eq!(refusal(r#"{"fixed": "0 B"}"#), "size.fixed: must be above 0 B and at most 1 TB, got 0 B");
        assert_eq!(
            refusal(
                r#"{"lognormal": {"median": "1 kB", "sigma": 1, "tail": {"from": "9 B", "shape": 1, "max": "9 B"}}}"#
            ),
            "size.lognormal.tail.max: must be above from = 9 B, got 9 B"
        );
        let time = TimeConfig::Fixed(Duration::from_secs(20_000_000)).check("off").expect_err("refused");
        assert!(time.to_string().starts_with("off.fixed: must be at most"), "{time}");
    }
}
