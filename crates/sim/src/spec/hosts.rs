//! The machines of servers and sources, and the rate of interfaces that a spec does not write.

use aqmlab_units::range::from;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, ranges};
use serde::{Deserialize, Serialize};

use super::{Hops, LinksSpec, SpecError, within};

/// The machines that servers run on: what one sends leaves through its interface, a frame after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostsSpec {
    /// Machines on each side of the link.
    pub servers_per_side: u32,
    /// Bit rate of their network interfaces.
    pub rate: BitRate,
}

/// The machines that servers run on: what one sends leaves through its interface, a frame after the other.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Hosts", transform = with_ranges::<RawHosts>))]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawHosts {
    /// Machines on each side of the link.
    servers_per_side: u32,
    /// Bit rate of their network interfaces. Left out it is ten times that of the fastest link, and at least 1 Gbit/s, so that
    /// packets queue at the link and not in the hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rate: Option<BitRate>,
}

ranges! {
    RawHosts { servers_per_side: from(1).up_to(10_000), rate: from(BitRate::from_mbit_per_sec(1)) }
}

impl Default for RawHosts {
    fn default() -> RawHosts {
        RawHosts { servers_per_side: 8, rate: None }
    }
}

impl RawHosts {
    /// The hosts beside `links`.
    pub(super) fn read(self, links: &LinksSpec) -> Result<HostsSpec, SpecError> {
        within("hosts", &self)?;
        let rate = self.rate.unwrap_or_else(|| interface_beside(links, None));
        Ok(HostsSpec { servers_per_side: self.servers_per_side, rate })
    }
}

/// The ratio of an interface to the link beside it: at the rate of the link a single flow would queue in its host.
const TIMES_AS_FAST: u64 = 10;

/// Gigabit Ethernet, which any host of today has.
const LEAST: BitRate = BitRate::from_mbit_per_sec(1_000);

/// The interface of a host whose packets go over `links`, those of `hops` alone where given.
pub(super) fn interface_beside(links: &LinksSpec, hops: Option<Hops>) -> BitRate {
    let faster = links.fastest(hops).bits_per_sec().saturating_mul(TIMES_AS_FAST);
    BitRate::from_bits_per_sec(faster).map_or(LEAST, |rate| rate.max(LEAST))
}
