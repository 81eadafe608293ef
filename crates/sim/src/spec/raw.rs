//! The spec as a person writes it: parts that name a table or a profile are still open.

use aqmlab_units::range::{from, up_to};
use aqmlab_units::ranges;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::hosts::RawHosts;
#[cfg(feature = "schema")]
use super::schema::{Links, RttTable, SourceEntry, TestbedName, Workload};
use super::{DelayAt, ProtocolSpec, RecordSpec};
#[cfg(feature = "schema")]
use super::{PathSpec, QueueSpec, TcpSpec};

/// A whole experiment but for the seed.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Experiment"))]
#[serde(deny_unknown_fields)]
pub(super) struct RawSpec {
    /// The testbed whose values hold where the spec writes none: see docs/guide/testbeds.md.
    // They have been put in its place when the rest is read.
    #[serde(rename = "testbed")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<TestbedName>"))]
    _testbed: Option<String>,
    /// Names of side 0 and side 1, such as `["home", "internet"]`: results call direction 0 `home→internet` then, and
    /// direction 1 `internet→home`; without names they are `forward` and `reverse`. Names decide no result.
    pub(super) sides: Option<[String; 2]>,
    /// The link between the sides, a table; or links in series between the routers 1, 2 and so on, a list of such tables: see
    /// docs/guide/topology.md.
    #[serde(default = "ethernet")]
    #[cfg_attr(feature = "schema", schemars(with = "Links"))]
    pub(super) link: Value,
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "QueueSpec", extend("default" = drop_tail())))]
    pub(super) queue: Option<Value>,
    /// The queue discipline of direction 1, where it is another.
    #[cfg_attr(feature = "schema", schemars(with = "Option<QueueSpec>"))]
    pub(super) queue_back: Option<Value>,
    #[serde(default)]
    pub(super) hosts: RawHosts,
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "TcpSpec"))]
    pub(super) tcp: Map<String, Value>,
    #[serde(default)]
    pub(super) users: RawUsers,
    /// Traffic beside the web users, each `{"bulk": {"flows": 10}}`: see docs/guide/sources.md.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<SourceEntry>"))]
    pub(super) sources: Vec<Value>,
    #[serde(default)]
    pub(super) protocol: ProtocolSpec,
    #[serde(default)]
    pub(super) record: RecordSpec,
}

/// The web users on each side of the link, who browse the servers of the other side.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Users", transform = with_ranges::<RawUsers>))]
#[serde(deny_unknown_fields)]
pub(super) struct RawUsers {
    /// Users on each side.
    pub(super) per_side: u32,
    /// On how many sides there are any: 2, or 1 for side 0 alone, whose data come in direction 1.
    #[serde(default = "both")]
    pub(super) sides: u8,
    /// The model of what users fetch and how long they think: see docs/workload.md.
    #[serde(default = "unc_2001_v3")]
    #[cfg_attr(feature = "schema", schemars(with = "Workload"))]
    pub(super) workload: Value,
    /// The table of minimum round-trip times. `uniform` is 10 to 150 ms.
    #[serde(default = "uniform")]
    #[cfg_attr(feature = "schema", schemars(with = "RttTable"))]
    pub(super) rtt: Value,
    /// The ends that add a connection's minimum round-trip time.
    #[serde(default)]
    pub(super) delay_at: DelayAt,
    /// Of the origins with HTTP/2 or HTTP/3, the part with HTTP/3, in place of that of the workload: 0 is HTTP/2 alone. Only
    /// for pages: see docs/workload-2024.md.
    pub(super) http3: Option<f64>,
    /// With links in series: the router at which side 0 is and that of side 1, counted from 1; unless given the first and
    /// the last.
    #[cfg_attr(feature = "schema", schemars(with = "Option<PathSpec>"))]
    pub(super) path: Option<Value>,
}

ranges! {
    RawUsers { per_side: up_to(5_000_000), sides: from(1).up_to(2), http3: from(0.0).up_to(1.0) }
}

impl Default for RawUsers {
    /// No users.
    fn default() -> RawUsers {
        RawUsers {
            per_side: 0,
            sides: both(),
            workload: unc_2001_v3(),
            rtt: uniform(),
            delay_at: DelayAt::default(),
            http3: None,
            path: None,
        }
    }
}

/// A link with all defaults.
fn ethernet() -> Value {
    json!({})
}

pub(super) fn drop_tail() -> Value {
    json!({"droptail": {}})
}

fn both() -> u8 {
    2
}

fn unc_2001_v3() -> Value {
    "unc-2001-v3".into()
}

fn uniform() -> Value {
    "uniform".into()
}
