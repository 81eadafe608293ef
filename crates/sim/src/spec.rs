//! The spec of a run, as JSON: checked, with every default filled in.

mod control;
mod delay;
mod delay_changes;
mod dscp;
mod flows;
mod hosts;
mod http3;
mod impairments;
mod link;
mod links;
mod loss;
mod messages;
mod outages;
mod parse;
mod per_direction;
mod profile;
mod queue;
mod rate;
mod raw;
#[cfg(feature = "schema")]
mod schema;
mod sides;
mod sources;
mod tcp;
mod testbed;

use aqmlab_units::range::{from, up_to};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, Range, ranges};
use aqmlab_workload::{RttConfig, WorkloadConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::side::Direction;

pub use self::control::ControlTable;
pub use self::delay::DelayAt;
pub use self::delay_changes::DelayChange;
pub(crate) use self::delay_changes::Delays;
pub use self::dscp::Dscp;
pub use self::flows::{FlowInstants, FlowsSpec};
pub use self::hosts::HostsSpec;
pub(crate) use self::impairments::Impairments;
pub use self::impairments::{EcnPath, ReorderSpec};
pub(crate) use self::link::RATES;
pub use self::link::{LinkSpec, RateChange};
pub use self::links::{HopSpec, LinksSpec, PathSpec};
pub(crate) use self::links::{Hops, MOST_LINKS};
pub use self::loss::{BurstsSpec, FourStateSpec, GilbertElliottSpec, LossSpec, StateChange, TwoStatesSpec};
pub(crate) use self::outages::Outages;
pub use self::outages::{OutagePackets, OutageSpec};
pub(crate) use self::parse::within;
use self::parse::{at_least, at_most, fault, named_or_table, read, workload_table};
pub use self::per_direction::PerDirection;
pub use self::profile::ProfileSpec;
use self::queue::QueuePair;
pub use self::queue::{CustomLaw, DisciplineSpec, KernelDiscipline, QueueSpec};
pub use self::rate::RateSpec;
use self::raw::{RawSpec, RawUsers};
#[cfg(feature = "schema")]
pub use self::schema::{SourceKeys, written_schema};
pub use self::sides::SidesSpec;
use self::sources::SourceContext;
pub use self::sources::{EcnField, SourceSpec};
pub(crate) use self::tcp::MOST_STACKS;
pub use self::tcp::{MixSpec, Role, TcpSpec};
pub use self::testbed::{Testbed, TestbedValue};

/// An experiment in which nothing is left open: defaults filled in, tables in full.
///
/// [`Spec::from_json`] reads what a person writes (names of profiles and tables, defaults left out); what it
/// serialises to reads back as itself and determines the results together with the seed.
#[derive(Clone, Debug, Serialize)]
pub struct Spec {
    /// The names of the two sides, which decide no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<SidesSpec>,
    /// The links, each with its queues.
    #[serde(flatten)]
    pub links: LinksSpec,
    /// The machines of the servers.
    pub hosts: HostsSpec,
    /// The TCP of all hosts.
    pub tcp: TcpSpec,
    /// The web users.
    pub users: UsersSpec,
    /// Traffic beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceSpec>,
    /// The times of the run.
    pub protocol: ProtocolSpec,
    /// The tables that are recorded.
    pub record: RecordSpec,
}

/// A mistake of the user's, and where: `queue.red.max_th: must be above min_th = 12 packets, got 8`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct SpecError {
    /// The field, from the top of the spec.
    pub path: String,
    /// The condition and the given value.
    pub message: String,
}

/// The web users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsersSpec {
    /// Users on each side of the link.
    pub per_side: u32,
    /// On how many sides there are any: both, or side 0 alone.
    // Left out of a spec in full unless it is 1: it is younger than stored results.
    #[serde(skip_serializing_if = "are_both")]
    pub sides: u8,
    /// Their behaviour.
    pub workload: WorkloadConfig,
    /// The minimum round-trip times to their servers.
    pub rtt: RttConfig,
    /// At which end that is spent.
    pub delay_at: DelayAt,
    /// Their share of origins with HTTP/3, if it is not that of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http3: Option<f64>,
    /// Their path over links in series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathSpec>,
}

/// The simulated times, and the measured part of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Protocol", transform = with_ranges::<ProtocolSpec>))]
#[serde(deny_unknown_fields, default)]
pub struct ProtocolSpec {
    /// Simulated time before the measured window.
    pub warmup: Duration,
    /// Simulated time of the measured window.
    pub duration: Duration,
}

ranges! {
    ProtocolSpec { warmup: up_to(WEEK), duration: from(Duration::from_millis(1)).up_to(WEEK) }
}

impl Default for ProtocolSpec {
    fn default() -> ProtocolSpec {
        ProtocolSpec { warmup: Duration::from_secs(30), duration: Duration::from_secs(5 * 60) }
    }
}

/// The tables of a run beside its summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Record", transform = with_ranges::<RecordSpec>))]
#[serde(deny_unknown_fields, default)]
pub struct RecordSpec {
    /// Sampling period of the queues: packets, bytes and the law's variables.
    pub queue_every: Duration,
    /// Period over which the link's counters are summed.
    pub link_every: Duration,
    /// One row for each request?
    pub exchanges: bool,
    /// One row for each packet that a queue drops?
    // Left out of a spec in full unless it is true: it is younger than stored results.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = false)))]
    pub losses: bool,
    /// The time between two rows of each connection of a source, such as `"10 ms"`, or `"changes"` for a row after each
    /// change; or a table that chooses the sources, and web users.
    // Left out of a spec in full unless it is given, for the same reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsSpec>,
}

ranges! {
    RecordSpec { queue_every: PERIODS, link_every: PERIODS }
}

/// Periods of samples.
const PERIODS: Range<Duration> = from(Duration::from_micros(100)).up_to(WEEK);

impl Default for RecordSpec {
    fn default() -> RecordSpec {
        RecordSpec {
            queue_every: Duration::from_millis(10),
            link_every: Duration::from_millis(100),
            exchanges: false,
            losses: false,
            flows: None,
        }
    }
}

impl Spec {
    /// Read and check a spec.
    pub fn from_json(text: &str) -> Result<Spec, SpecError> {
        let mut document: Value =
            serde_json::from_str(text).map_err(|error| fault("spec", error.to_string()))?;
        Testbed::fill_in(&mut document)?;
        let mut written: RawSpec = read("", document)?;
        let sides = written.sides.map(SidesSpec::read).transpose()?;
        sides::number_sides(sides.as_ref(), &mut written.sources, &mut written.tcp)?;
        let used_queues =
            links::check_use(&written.link, written.queue.as_ref(), written.queue_back.as_ref());
        let queue = written.queue.unwrap_or_else(raw::drop_tail);
        let queues = QueuePair::new("queue", queue, written.queue_back);
        let links = LinksSpec::read(written.link, &queues)?;
        used_queues?;
        let users = UsersSpec::read(written.users, links.in_series())?;
        let context =
            SourceContext { links: &links, interface: written.hosts.rate, delay_at: users.delay_at };
        let sources = SourceSpec::read_all(written.sources, &context)?;
        let hosts = written.hosts.read(&links)?;
        let spec = Spec {
            links,
            hosts,
            tcp: TcpSpec::read(written.tcp)?,
            users,
            sources,
            protocol: written.protocol,
            record: written.record,
            sides,
        };
        spec.check()?;
        Ok(spec)
    }

    /// The disciplines of queues in a Linux kernel with their links, in the order of links and then of directions.
    pub fn kernel_disciplines(&self) -> Vec<(&LinkSpec, &KernelDiscipline)> {
        let queues = self.links.hops().iter().flat_map(|hop| hop.queues().map(|queue| (&hop.link, queue)));
        let disciplines = queues.filter_map(|(link, queue)| match &queue.discipline {
            DisciplineSpec::Kernel { kernel } => Some((link, kernel)),
            DisciplineSpec::Known(_) | DisciplineSpec::Custom(_) => None,
        });
        disciplines.collect()
    }

    /// The name of `direction`: `home→internet`, or without names of sides `forward` or `reverse`.
    pub(crate) fn direction_name(&self, direction: Direction) -> String {
        SidesSpec::direction(self.sides.as_ref(), direction)
    }

    /// Refuses labels of flows, which packets to a kernel's queue do not carry.
    fn check_labels(&self) -> Result<(), SpecError> {
        for (number, source) in self.sources.iter().enumerate() {
            let dscp = source.dscp.map(|dscp| dscp.to_string());
            let labels = [("dscp", dscp), ("host", source.host.clone()), ("peer", source.peer.clone())];
            for (key, label) in labels {
                if let Some(label) = label {
                    let message = format!("packets to a queue of a kernel do not have it, got {label}");
                    return Err(fault(&format!("sources[{number}].{}.{key}", source.config.kind()), message));
                }
            }
        }
        Ok(())
    }

    /// Refuses hosts without TCP, over which pages use HTTP/1.1 and HTTP/2.
    fn check_pages(&self) -> Result<(), SpecError> {
        if !matches!(self.users.workload, WorkloadConfig::Pages(_)) || self.users.per_side == 0 {
            return Ok(());
        }
        let mix = (0..).zip(&self.tcp.mix).filter(|(_, entry)| entry.source.is_none());
        let mix = mix.map(|(number, entry)| (format!("tcp.mix[{number}]"), &entry.values));
        let mut stacks = std::iter::once(("tcp".to_owned(), &self.tcp.values)).chain(mix);
        match stacks.find(|(_, values)| values.quic.is_some()) {
            Some((path, _)) => {
                let message =
                    "must be a profile of TCP: pages use QUIC for HTTP/3 (users.http3), got \"quic\"";
                Err(fault(&format!("{path}.profile"), message.to_owned()))
            }
            None => self.check_http3(),
        }
    }

    /// Checks conditions between parts, and absurd sizes.
    fn check(&self) -> Result<(), SpecError> {
        within("protocol", &self.protocol)?;
        within("record", &self.record)?;
        if let Some(flows) = &self.record.flows {
            flows.check(&self.users, &self.sources)?;
        }
        if !self.kernel_disciplines().is_empty() {
            self.check_labels()?;
        }
        self.links.check_ecn_paths(&self.tcp)?;
        self.tcp.check(self.links.mtu(), &self.sources)?;
        self.check_pages()
    }
}

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

impl UsersSpec {
    /// The users of a spec with `links` links in series.
    fn read(written: RawUsers, links: usize) -> Result<UsersSpec, SpecError> {
        within("users", &written)?;
        let (workload, shipped) = (written.workload, WorkloadConfig::shipped);
        let workload = named_or_table("users.workload", workload, shipped, workload_table)?;
        let rtt: RttConfig = named_or_table("users.rtt", written.rtt, RttConfig::shipped, read)?;
        workload.check().map_err(|error| fault(&format!("users.workload.{}", error.path), error.message))?;
        rtt.check().map_err(|error| fault(&format!("users.rtt.{}", error.path), error.message))?;
        let path = PathSpec::read("users.path", written.path, links)?;
        let http3 = UsersSpec::read_http3(written.http3, &workload)?;
        Ok(UsersSpec {
            per_side: written.per_side,
            sides: written.sides,
            workload,
            rtt,
            delay_at: written.delay_at,
            http3,
            path,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn are_both(sides: &u8) -> bool {
    *sides == 2
}

#[cfg(test)]
mod tests;
