//! The tables and parameters of the model, as people write them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pages::PagesConfig;

/// A mistake in a table or parameter: where, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ConfigError {
    /// The field, such as `think_seconds.nodes[3]`.
    pub path: String,
    /// The fault and the accepted values.
    pub message: String,
}

impl ConfigError {
    /// The same mistake, seen from around `part`.
    pub(crate) fn inside(self, part: &str) -> ConfigError {
        ConfigError { path: format!("{part}.{}", self.path), message: self.message }
    }
}

/// A distribution given by quantiles.
///
/// A draw has probability u to be at or below the value of a node `[u, value]`. Between nodes ln(value) is linear
/// in -ln(1 - u), so that a straight piece is a Pareto piece; above the last node its value is returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuantileConfig {
    /// The source of the numbers.
    pub source: String,
    /// Pairs `[u, value]`: u from 0, increasing, below 1; values above zero, never decreasing.
    pub nodes: Vec<[f64; 2]>,
}

/// A distribution over consecutive whole numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DiscreteConfig {
    /// The number that the first probability belongs to.
    pub min: u8,
    /// Probabilities of `min`, `min + 1` and so on; their sum is 1.
    pub probabilities: Vec<f64>,
}

/// The model of a population of web users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WebConfig {
    /// The name of the model.
    pub name: String,
    /// Its version: results of different versions are not comparable.
    pub version: String,
    /// The basis of the tables, and their changes with dates and reasons.
    pub notes: Vec<String>,
    /// Size of a request in bytes.
    pub request_bytes: QuantileConfig,
    /// Size of the response that holds a page's frame, in bytes.
    pub top_level_bytes: QuantileConfig,
    /// Size of the response that holds an embedded object, in bytes.
    pub embedded_bytes: QuantileConfig,
    /// On persistent connections a response above this many bytes is drawn again; `null`: never.
    pub persistent_response_cap_bytes: Option<u32>,
    /// Embedded objects of a page; at most 200.
    pub embedded_per_page: DiscreteConfig,
    /// Servers that a page with embedded objects is spread over, its own included; 1 to 8.
    pub servers_per_page: DiscreteConfig,
    /// The share of new connections that are persistent, in \[0, 1\].
    pub persistent_probability: f64,
    /// Requests that a persistent connection may carry, rounded; at least 2.
    pub requests_per_persistent_connection: QuantileConfig,
    /// Consecutive pages from one server, rounded; at least 1.
    pub pages_per_visit: QuantileConfig,
    /// Connections of one user that may be active at once, drawn once for each user; 1 to 255.
    pub max_parallel: DiscreteConfig,
    /// Time from the end of one page to the start of the next, in seconds.
    pub think_seconds: QuantileConfig,
    /// Mean time to fetch a page without congestion, in round-trip times. Used only to start the users in
    /// equilibrium.
    pub page_round_trips: f64,
}

/// The distribution of a connection's minimum round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RttConfig {
    /// The source of the numbers.
    pub source: String,
    /// The distribution, in milliseconds.
    pub distribution: RttDistribution,
}

/// Forms that a distribution of round-trip times may take, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RttDistribution {
    /// Whole milliseconds from `min` to `max`, both included, equally likely.
    UniformMs {
        /// The smallest, in milliseconds.
        min: u32,
        /// The largest, in milliseconds.
        max: u32,
    },
    /// Quantiles `[u, milliseconds]`, as the nodes of [`QuantileConfig`].
    QuantilesMs(Vec<[f64; 2]>),
}

impl WebConfig {
    /// Models that ship with the crate.
    pub const SHIPPED: [&str; 2] = ["unc-2001", "unc-2001-v3"];

    /// The shipped model called `name`.
    pub fn shipped(name: &str) -> Result<WebConfig, ConfigError> {
        let text = match name {
            "unc-2001" => include_str!("../data/unc2001.json"),
            "unc-2001-v3" => include_str!("../data/unc2001-v3.json"),
            _ => return Err(unknown("web", name, &WebConfig::SHIPPED)),
        };
        Ok(serde_json::from_str(text).expect("the shipped model is well formed"))
    }

    /// The tables given by quantiles, by field name.
    pub(crate) fn tables(&self) -> [(&'static str, &QuantileConfig); 6] {
        [
            ("request_bytes", &self.request_bytes),
            ("top_level_bytes", &self.top_level_bytes),
            ("embedded_bytes", &self.embedded_bytes),
            ("requests_per_persistent_connection", &self.requests_per_persistent_connection),
            ("pages_per_visit", &self.pages_per_visit),
            ("think_seconds", &self.think_seconds),
        ]
    }

    /// Refuses what cannot be a workload; the first mistake is reported.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (name, table) in self.tables() {
            let largest = match name {
                "requests_per_persistent_connection" | "pages_per_visit" => 60_000.0,
                "think_seconds" => 1e7,
                _ => 4e9,
            };
            check_nodes(&format!("{name}.nodes"), &table.nodes, largest)?;
        }
        check_discrete("embedded_per_page", &self.embedded_per_page, 0, 200)?;
        check_discrete("servers_per_page", &self.servers_per_page, 1, MAX_SERVERS)?;
        check_discrete("max_parallel", &self.max_parallel, 1, 255)?;
        check_range("persistent_probability", self.persistent_probability, 0.0, 1.0)?;
        check_range("page_round_trips", self.page_round_trips, 0.0, 1e6)?;
        match self.persistent_response_cap_bytes {
            Some(cap) => self.check_cap(cap),
            None => Ok(()),
        }
    }

    /// A cap below the smallest response would leave nothing to draw.
    fn check_cap(&self, cap: u32) -> Result<(), ConfigError> {
        let smallest = self.top_level_bytes.nodes[0][1].max(self.embedded_bytes.nodes[0][1]);
        if f64::from(cap) > smallest {
            return Ok(());
        }
        let message = format!("must be above the smallest response, {smallest}, got {cap}");
        Err(ConfigError { path: "persistent_response_cap_bytes".into(), message })
    }
}

/// A model of what users do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum WorkloadConfig {
    /// Pages of 2001, an object on a connection at a time.
    Web(Box<WebConfig>),
    /// Pages of today, over HTTP/1.1 and HTTP/2.
    Pages(Box<PagesConfig>),
}

impl WorkloadConfig {
    /// Models that ship with the crate.
    pub const SHIPPED: [&str; 3] = [WebConfig::SHIPPED[0], WebConfig::SHIPPED[1], PagesConfig::SHIPPED[0]];

    /// The shipped model called `name`.
    pub fn shipped(name: &str) -> Result<WorkloadConfig, ConfigError> {
        let pages = PagesConfig::shipped(name).map(Box::new).map(WorkloadConfig::Pages);
        let web = || WebConfig::shipped(name).map(Box::new).map(WorkloadConfig::Web);
        pages.map_or_else(web, Ok).map_err(|_| unknown("web", name, &WorkloadConfig::SHIPPED))
    }

    /// Refuses what cannot be a workload; the first mistake is reported.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            WorkloadConfig::Web(config) => config.check(),
            WorkloadConfig::Pages(config) => config.check(),
        }
    }
}

impl RttConfig {
    /// Distributions that ship with the crate.
    pub const SHIPPED: [&str; 3] = ["uniform", "general", "general-moderate"];

    /// The shipped distribution called `name`.
    pub fn shipped(name: &str) -> Result<RttConfig, ConfigError> {
        let mut all: BTreeMap<String, RttConfig> = serde_json::from_str(include_str!("../data/rtt.json"))
            .expect("the shipped round-trip times are well formed");
        all.remove(name).ok_or_else(|| unknown("rtt", name, &RttConfig::SHIPPED))
    }

    /// Refuses what cannot be a distribution of round-trip times.
    pub fn check(&self) -> Result<(), ConfigError> {
        match &self.distribution {
            RttDistribution::UniformMs { min, max } if min > max || *max > MAX_RTT_MS => {
                let message = format!("must have min <= max <= {MAX_RTT_MS}, got min = {min}, max = {max}");
                Err(ConfigError { path: "distribution.uniform_ms".into(), message })
            }
            RttDistribution::UniformMs { .. } => Ok(()),
            RttDistribution::QuantilesMs(nodes) => {
                check_nodes("distribution.quantiles_ms", nodes, f64::from(MAX_RTT_MS))
            }
        }
    }
}

/// The most servers that a page may be spread over: a user counts its objects still to come for each.
pub(crate) const MAX_SERVERS: u8 = 8;

/// A minute, far above every round-trip time.
const MAX_RTT_MS: u32 = 60_000;

/// The answer to a mistake at `path`.
pub(crate) fn refuse<T>(path: &str, message: String) -> Result<T, ConfigError> {
    Err(ConfigError { path: path.into(), message })
}

fn unknown(path: &str, name: &str, known: &[&str]) -> ConfigError {
    ConfigError { path: path.into(), message: format!("unknown `{name}`: choose {}", known.join(", ")) }
}

pub(crate) fn check_range(path: &str, value: f64, min: f64, max: f64) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    refuse(path, format!("must be between {min} and {max}, got {value}"))
}

/// At least two nodes; u from 0, increasing, below 1; values above zero, never decreasing, at most `largest`.
pub(crate) fn check_nodes(path: &str, nodes: &[[f64; 2]], largest: f64) -> Result<(), ConfigError> {
    let fail = |i: usize, message: String| Err(ConfigError { path: format!("{path}[{i}]"), message });
    if nodes.len() < 2 {
        let message = format!("needs at least 2 nodes [u, value], got {}", nodes.len());
        return Err(ConfigError { path: path.into(), message });
    }
    let (mut u_before, mut value_before) = (None, 0.0);
    for (i, &[u, value]) in nodes.iter().enumerate() {
        match u_before {
            None if u != 0.0 => return fail(i, format!("u of the first node must be 0, got {u}")),
            Some(before) if !(before < u && u < 1.0) => {
                return fail(
                    i,
                    format!("u must be above {before}, that of the node before, and below 1, got {u}"),
                );
            }
            _ => u_before = Some(u),
        }
        if !(value > 0.0 && value <= largest) {
            return fail(i, format!("value must be above 0 and at most {largest}, got {value}"));
        }
        if value < value_before {
            return fail(
                i,
                format!("value must not be below {value_before}, that of the node before, got {value}"),
            );
        }
        value_before = value;
    }
    Ok(())
}

/// Probabilities that sum to 1 over whole numbers from `min` to `max` at most.
fn check_discrete(path: &str, config: &DiscreteConfig, min: u8, max: u8) -> Result<(), ConfigError> {
    let fail = |field: &str, message: String| Err(ConfigError { path: format!("{path}.{field}"), message });
    let probabilities = &config.probabilities;
    if probabilities.is_empty() {
        return fail("probabilities", "must not be empty".into());
    }
    if let Some(i) = probabilities.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return fail(
            &format!("probabilities[{i}]"),
            format!("must be between 0 and 1, got {}", probabilities[i]),
        );
    }
    let sum: f64 = probabilities.iter().sum();
    if (sum - 1.0).abs() > 1e-6 {
        return fail("probabilities", format!("must sum to 1 within 0.000001, got {sum}"));
    }
    let last = usize::from(config.min) + probabilities.len() - 1;
    if config.min < min || last > usize::from(max) {
        return fail("min", format!("values must lie from {min} to {max}, got {} to {last}", config.min));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
