//! Traffic beside the web users.

use std::collections::HashSet;

use aqmlab_units::{BitRate, Bytes};
use aqmlab_workload::sources::{DatagramFlows, SourceConfig};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::hosts::interface_beside;
use super::link::SLOWEST;
use super::{DelayAt, Dscp, LinksSpec, PathSpec, SpecError, at_least, at_most, fault, read};

/// Sources are numbered in eight bits, and 0 is the number of the web users.
const MOST_SOURCES: usize = 255;

/// A source of traffic, and how it stands in the network: `{"bulk": {"flows": 10, "interface": "1 Gbit/s"}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// Its kind and parameters.
    pub config: SourceConfig,
    /// Bit rate of the interfaces of its machines.
    pub interface: BitRate,
    /// At which end of a connection its round-trip time is spent. Datagrams have none.
    pub delay_at: DelayAt,
    /// Its path over links in series.
    pub path: Option<PathSpec>,
    /// The code point of its packets, if it is not the default.
    pub dscp: Option<Dscp>,
    /// The ECN field of its datagrams, if it is not the default.
    pub ecn: Option<EcnField>,
    /// The name of the host at which its flows begin, if they have no hosts of their own.
    pub host: Option<String>,
    /// The name of the host at which its flows end, if it has one.
    pub peer: Option<String>,
    /// The name of the router that translates the address of `host`, if one does.
    pub nat: Option<String>,
}

/// The ECN field of datagrams (RFC 3168, RFC 9331). Of their senders, those of video calls respond to marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EcnField {
    /// Not ECN-capable: congestion drops them.
    #[default]
    NotEct,
    /// ECT(0): congestion marks them.
    Ect0,
    /// ECT(1), the identifier of L4S: dual queues take them for low-latency traffic.
    Ect1,
}

/// The parts of a spec that its sources depend on.
pub(super) struct SourceContext<'a> {
    pub(super) links: &'a LinksSpec,
    /// The interface that the spec writes for servers, if it writes one.
    pub(super) interface: Option<BitRate>,
    pub(super) delay_at: DelayAt,
}

impl SourceSpec {
    /// The sources of a spec.
    pub(super) fn read_all(
        written: Vec<Value>,
        context: &SourceContext<'_>,
    ) -> Result<Vec<SourceSpec>, SpecError> {
        at_most("sources", written.len(), MOST_SOURCES)?;
        let mut names = HashSet::new();
        let mut sources = Vec::new();
        for (number, value) in written.into_iter().enumerate() {
            let source = SourceSpec::read(&format!("sources[{number}]"), value, context)?;
            let (name, kind) = (source.config.name(), source.config.kind());
            if !names.insert(name.to_owned()) {
                let message = format!("must differ from that of every other source, got `{name}`");
                return Err(fault(&format!("sources[{number}].{kind}.name"), message));
            }
            sources.push(source);
        }
        for (number, source) in sources.iter().enumerate() {
            if source.peer.is_some() && sources.iter().any(|other| other.host == source.peer) {
                let at = format!("sources[{number}].{}.peer", source.config.kind());
                let peer = source.peer.as_deref().unwrap_or_default();
                return Err(fault(&at, format!("must not be the `host` of a source, got {peer}")));
            }
        }
        Ok(sources)
    }

    fn read(path: &str, mut written: Value, context: &SourceContext<'_>) -> Result<SourceSpec, SpecError> {
        // What a source sends knows nothing of where: that is taken out of its table.
        let mut take = |key: &str| {
            let (kind, table) = written.as_object_mut()?.iter_mut().next()?;
            let has_key = key != "delay_at" || !SourceConfig::sends_datagrams(kind);
            if has_key { table.as_object_mut()?.remove(key) } else { None }
        };
        let (way, interface, delay_at) = (take("path"), take("interface"), take("delay_at"));
        let (dscp, ecn) = (take("dscp"), take("ecn"));
        let (host, peer, nat) = (take("host"), take("peer"), take("nat"));
        let config: SourceConfig = read(path, written)?;
        config.check().map_err(|error| fault(&format!("{path}.{}", error.path), error.message))?;
        let mtu = context.links.mtu();
        if let Some(DatagramFlows { largest, .. }) = config.datagrams()
            && largest > mtu
        {
            let key = if matches!(config, SourceConfig::Datagrams(_)) { ".packet" } else { "" };
            let message = format!("must have packets of at most link.mtu = {mtu}, got {largest}");
            return Err(fault(&format!("{path}.{}{key}", config.kind()), message));
        }
        let at = |key: &str| format!("{path}.{}.{key}", config.kind());
        let least = least_interface(&config, context.links.first().overhead);
        let way = PathSpec::read(&at("path"), way, context.links.in_series())?;
        let interface = match (interface, context.interface) {
            (Some(written), _) => read(&at("interface"), written)?,
            (None, Some(of_servers)) => of_servers.max(least),
            (None, None) => interface_beside(context.links, way.map(PathSpec::hops)).max(least),
        };
        at_least(&at("interface"), interface, least)?;
        let delay_at = delay_at.map_or(Ok(context.delay_at), |written| read(&at("delay_at"), written))?;
        let dscp = dscp.map(|written| read(&at("dscp"), written)).transpose()?;
        let ecn: Option<EcnField> = ecn.map(|written| read(&at("ecn"), written)).transpose()?;
        if ecn.is_some() && config.datagrams().is_none() {
            let message = "is of the hosts of a connection: write tcp.ecn, or tcp.mix with this source";
            return Err(fault(&at("ecn"), message.to_owned()));
        }
        let host: Option<String> = host.map(|written| read(&at("host"), written)).transpose()?;
        let peer: Option<String> = peer.map(|written| read(&at("peer"), written)).transpose()?;
        let nat: Option<String> = nat.map(|written| read(&at("nat"), written)).transpose()?;
        if let (Some(nat), None) = (&nat, &host) {
            return Err(fault(&at("nat"), format!("needs `host`, the host behind it, got {nat}")));
        }
        Ok(SourceSpec { config, interface, delay_at, path: way, dscp, ecn, host, peer, nat })
    }
}

/// Returns the rate of the slowest interface for such a source: datagrams are sent at their rate without feedback, so that
/// the queue of a slower interface would grow without bound.
fn least_interface(config: &SourceConfig, overhead: Bytes) -> BitRate {
    let Some(DatagramFlows { rate, smallest, .. }) = config.datagrams() else { return SLOWEST };
    let frame = u128::from((smallest + overhead).get());
    let bits = (u128::from(rate.bits_per_sec()) * frame).div_ceil(u128::from(smallest.get()));
    let bits =
        u64::try_from(bits).expect("a rate is bounded, and a frame is not much longer than its packet");
    BitRate::from_bits_per_sec(bits).map_or(SLOWEST, |rate| rate.max(SLOWEST))
}

fn value<T: Serialize, E: serde::ser::Error>(part: &T) -> Result<Value, E> {
    serde_json::to_value(part).map_err(E::custom)
}

impl Serialize for SourceSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut whole = value(&self.config)?;
        let table = &mut whole[self.config.kind()];
        table["interface"] = value(&self.interface)?;
        if self.config.datagrams().is_none() {
            table["delay_at"] = value(&self.delay_at)?;
        }
        if let Some(path) = &self.path {
            table["path"] = value(path)?;
        }
        if let Some(dscp) = &self.dscp {
            table["dscp"] = value(dscp)?;
        }
        if let Some(ecn) = &self.ecn {
            table["ecn"] = value(ecn)?;
        }
        if let Some(host) = &self.host {
            table["host"] = value(host)?;
        }
        if let Some(peer) = &self.peer {
            table["peer"] = value(peer)?;
        }
        if let Some(nat) = &self.nat {
            table["nat"] = value(nat)?;
        }
        whole.serialize(serializer)
    }
}
