//! The tables of a workload of pages, as a spec has them, and their checks.

use serde::{Deserialize, Serialize};

use crate::QuantileConfig;
use crate::config::{ConfigError, check_nodes, check_range, refuse};

/// The model of a population that browses pages of today.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PagesConfig {
    /// The name of the model.
    pub name: String,
    /// Its version: results of different versions are not comparable.
    pub version: String,
    /// The basis of the tables, and their changes with dates and reasons.
    pub notes: Vec<String>,
    /// The resources of a page, by kind.
    pub resources: KindsConfig,
    /// The correlation of each kind's number of resources with the size of the page, on the normal scale.
    pub number_correlation: ShareConfig,
    /// The correlation of each kind's bytes with its number of resources, on the normal scale.
    pub bytes_correlation: ShareConfig,
    /// Scripts that another script loads, of all but the first.
    pub scripts_by_scripts: ShareConfig,
    /// Of the scripts that the document loads, those that block rendering.
    pub blocking_scripts: ShareConfig,
    /// Images that a style sheet loads.
    pub images_by_css: ShareConfig,
    /// Images that a script loads.
    pub images_by_scripts: ShareConfig,
    /// Resources from other origins than that of the page.
    pub other_origins: ShareConfig,
    /// The number of other origins of a page, rounded down.
    pub origins_per_page: QuantileConfig,
    /// Pages whose own origin speaks HTTP/1.1; all others speak HTTP/2 or HTTP/3.
    pub http1_own_origin: ShareConfig,
    /// Other origins that speak HTTP/1.1.
    pub http1_other_origins: ShareConfig,
    /// HTTP/3; no origin speaks it without.
    // Tables of stored results are older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http3: Option<Http3Config>,
    /// Sizes of requests.
    pub requests: RequestsConfig,
    /// Sizes of TLS handshakes.
    pub tls: TlsConfig,
    /// Connections that resume an earlier TLS session.
    pub resumed_connections: ShareConfig,
    /// Mean of the exponential time from the end of a page to the start of the next, in seconds.
    pub think_seconds: MeanConfig,
    /// Mean time to load a page without congestion, in seconds. Used only to start the users in equilibrium.
    pub page_seconds: MeanConfig,
}

/// The resources of a page, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KindsConfig {
    /// HTML: the document, which is the largest of them, and frames.
    pub html: KindConfig,
    /// Style sheets.
    pub css: KindConfig,
    /// Scripts.
    pub script: KindConfig,
    /// Fonts.
    pub font: KindConfig,
    /// Images.
    pub image: KindConfig,
    /// Everything else: calls, beacons, text.
    pub other: KindConfig,
}

/// The resources of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KindConfig {
    /// Their number on a page, rounded down.
    pub per_page: QuantileConfig,
    /// Their sizes.
    pub kilobytes: SizesConfig,
}

/// The sizes of the resources of one kind, in kilobytes of 1,024 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SizesConfig {
    /// Of all of them together on a page, which log-normal weights divide.
    PerPage {
        /// The source of the numbers.
        source: String,
        /// The quantiles, as the nodes of [`QuantileConfig`].
        nodes: Vec<[f64; 2]>,
        /// The standard deviation of a weight's logarithm.
        weights_sigma: f64,
    },
    /// Of each.
    PerResource(QuantileConfig),
}

/// A share of 1, or a correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShareConfig {
    /// The source of the number.
    pub source: String,
    /// From 0 to 1.
    pub share: f64,
}

/// A mean time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeanConfig {
    /// The source of the number.
    pub source: String,
    /// Seconds.
    pub mean: f64,
}

/// Sizes of requests in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestsConfig {
    /// The source of the numbers.
    pub source: String,
    /// Over HTTP/1.1.
    pub http1: u32,
    /// The first one of a connection over HTTP/2, with what opens the connection.
    pub http2_first: u32,
    /// Later ones over HTTP/2, whose header compression refers to the first.
    pub http2_later: u32,
}

/// Origins that speak HTTP/3, and the sizes of their requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Http3Config {
    /// Of the origins that do not speak HTTP/1.1, those with HTTP/3.
    pub origins: ShareConfig,
    /// Sizes of requests.
    pub requests: Http3RequestsConfig,
}

/// Sizes of requests over HTTP/3 in bytes, without the headers of QUIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Http3RequestsConfig {
    /// The source of the numbers.
    pub source: String,
    /// The settings that each end sends before its first request or response.
    pub settings: u32,
    /// The first request of a connection.
    pub first: u32,
    /// Later ones, whose header compression refers to the first.
    pub later: u32,
}

/// Sizes of the messages of a TLS 1.3 handshake over TCP in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The source of the numbers.
    pub source: String,
    /// The client's first flight.
    pub client_hello: u32,
    /// The server's flight of a full handshake, certificates among it.
    pub server_full: u32,
    /// The server's flight of a resumed one.
    pub server_resumed: u32,
    /// The client's second flight, which goes with its first request.
    pub client_finished: u32,
}

/// The most resources of one kind on a page.
const MOST_RESOURCES: f64 = 1_000.0;

/// The most kilobytes of one kind on a page: all kinds together stay below the 2^31 bytes that a connection may have under
/// way.
const MOST_KILOBYTES: f64 = 300_000.0;

/// More bytes than a handshake or a request has.
const MOST_BYTES: u32 = 100_000;

impl PagesConfig {
    /// Models that ship with the crate.
    pub const SHIPPED: [&str; 1] = ["web-2024"];

    /// The shipped model called `name`.
    pub fn shipped(name: &str) -> Option<PagesConfig> {
        let text = match name {
            "web-2024" => include_str!("../../data/web2024.json"),
            _ => return None,
        };
        Some(serde_json::from_str(text).expect("the shipped model is well formed"))
    }

    /// Refuses what cannot be a workload; the first mistake is reported.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (name, kind) in self.resources.by_name() {
            kind.check().map_err(|error| error.inside(&format!("resources.{name}")))?;
        }
        check_nodes("origins_per_page.nodes", &self.origins_per_page.nodes, 1_000.0)?;
        for (name, share) in self.shares() {
            check_range(&format!("{name}.share"), share.share, 0.0, 1.0)?;
        }
        let by_others = self.images_by_css.share + self.images_by_scripts.share;
        check_range("images_by_css.share + images_by_scripts.share", by_others, 0.0, 1.0)?;
        check_range("think_seconds.mean", self.think_seconds.mean, 0.0, 1e7)?;
        check_range("page_seconds.mean", self.page_seconds.mean, 0.0, 1e6)?;
        let (requests, tls) = (&self.requests, &self.tls);
        let http3 = self.http3.iter().flat_map(|http3| {
            let Http3RequestsConfig { settings, first, later, .. } = http3.requests;
            [
                ("http3.requests.settings", settings),
                ("http3.requests.first", first),
                ("http3.requests.later", later),
            ]
        });
        let of_tcp = [
            ("requests.http1", requests.http1),
            ("requests.http2_first", requests.http2_first),
            ("requests.http2_later", requests.http2_later),
            ("tls.client_hello", tls.client_hello),
            ("tls.server_full", tls.server_full),
            ("tls.server_resumed", tls.server_resumed),
            ("tls.client_finished", tls.client_finished),
        ];
        for (name, bytes) in of_tcp.into_iter().chain(http3) {
            if !(1..=MOST_BYTES).contains(&bytes) {
                return refuse(name, format!("must be between 1 and {MOST_BYTES} bytes, got {bytes}"));
            }
        }
        Ok(())
    }

    fn shares(&self) -> impl Iterator<Item = (&'static str, &ShareConfig)> {
        let http3 = self.http3.iter().map(|http3| ("http3.origins", &http3.origins));
        let others = [
            ("number_correlation", &self.number_correlation),
            ("bytes_correlation", &self.bytes_correlation),
            ("scripts_by_scripts", &self.scripts_by_scripts),
            ("blocking_scripts", &self.blocking_scripts),
            ("images_by_css", &self.images_by_css),
            ("images_by_scripts", &self.images_by_scripts),
            ("other_origins", &self.other_origins),
            ("http1_own_origin", &self.http1_own_origin),
            ("http1_other_origins", &self.http1_other_origins),
            ("resumed_connections", &self.resumed_connections),
        ];
        others.into_iter().chain(http3)
    }
}

impl KindsConfig {
    /// The kinds in the order in which a page draws them.
    pub(crate) fn by_name(&self) -> [(&'static str, &KindConfig); 6] {
        [
            ("html", &self.html),
            ("css", &self.css),
            ("script", &self.script),
            ("font", &self.font),
            ("image", &self.image),
            ("other", &self.other),
        ]
    }
}

impl KindConfig {
    fn check(&self) -> Result<(), ConfigError> {
        check_nodes("per_page.nodes", &self.per_page.nodes, MOST_RESOURCES)?;
        match &self.kilobytes {
            SizesConfig::PerPage { nodes, weights_sigma, .. } => {
                check_nodes("kilobytes.per_page.nodes", nodes, MOST_KILOBYTES)?;
                check_range("kilobytes.per_page.weights_sigma", *weights_sigma, 0.0, 5.0)
            }
            SizesConfig::PerResource(table) => {
                check_nodes("kilobytes.per_resource.nodes", &table.nodes, MOST_KILOBYTES / MOST_RESOURCES)
            }
        }
    }
}
