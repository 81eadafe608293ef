//! Impairments of the wire of a link beside losses: late, damaged, duplicated and changed packets, and steps of the delay.

use aqmlab_units::range::{above, from};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, Range, ranges};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Serialize};

use super::delay_changes::Delays;
use super::outages::Outages;
use super::per_direction::{DIRECTIONS, OneDirection, check_in_range};
use super::{
    LinkSpec, LossSpec, OutagePackets, PerDirection, ProfileSpec, SpecError, TcpSpec, at_most, fault, within,
};
use crate::link::{CapacitySpec, PathChanges};
use crate::side::Direction;

/// Packets that arrive late, so that others overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Reorder", transform = with_ranges::<ReorderSpec>))]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// The probability that a packet is late.
    pub probability: f64,
    /// The time by which it is late.
    pub delay: Duration,
}

/// The treatment of ECN by the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EcnPath {
    /// ECN passes.
    Pass,
    /// The ECN field of every packet is cleared: Not-ECT.
    Bleach,
    /// CE is changed back to the code point before the mark.
    ClearCe,
    /// ECT(1) is changed to ECT(0).
    RewriteEct1,
    /// A SYN that requests ECN is lost (RFC 3168, section 6.1.1.1).
    RefuseSyn,
}

ranges! {
    ReorderSpec { probability: PROBABILITIES, delay: above(Duration::ZERO).up_to(LONGEST) }
}

/// The probabilities.
pub(super) const PROBABILITIES: Range<f64> = from(0.0).up_to(1.0);

/// The longest delay of a link.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// The longest run.
pub(super) const MOST_TIME: Duration = Duration::from_secs(2 * 7 * 24 * 3600);

impl OneDirection for f64 {
    const KEYS: &'static [&'static str] = &DIRECTIONS;
    const EXPECTED: &'static str = "a probability, or a table of up and down";

    fn from_table<'de, A: MapAccess<'de>>(_: A) -> Result<f64, A::Error> {
        Err(A::Error::missing_field("up"))
    }
}

impl OneDirection for Duration {
    const KEYS: &'static [&'static str] = &DIRECTIONS;
    const EXPECTED: &'static str = "a time such as \"5 ms\", or a table of up and down";

    fn from_table<'de, A: MapAccess<'de>>(_: A) -> Result<Duration, A::Error> {
        Err(A::Error::missing_field("up"))
    }
}

impl OneDirection for EcnPath {
    const KEYS: &'static [&'static str] = &DIRECTIONS;
    const EXPECTED: &'static str =
        "pass, bleach, clear_ce, rewrite_ect1 or refuse_syn, or a table of up and down";

    fn from_table<'de, A: MapAccess<'de>>(_: A) -> Result<EcnPath, A::Error> {
        Err(A::Error::missing_field("up"))
    }
}

impl OneDirection for ReorderSpec {
    const KEYS: &'static [&'static str] = &["up", "down", "probability", "delay"];
    const EXPECTED: &'static str = "a table of probability and delay, or of up and down";

    fn from_table<'de, A: MapAccess<'de>>(table: A) -> Result<ReorderSpec, A::Error> {
        ReorderSpec::deserialize(MapAccessDeserializer::new(table))
    }
}

/// The impairments of one direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    pub(crate) loss: Option<LossSpec>,
    pub(crate) bit_error_rate: f64,
    pub(crate) duplicate: f64,
    pub(crate) jitter: Duration,
    pub(crate) reorder: Option<ReorderSpec>,
    pub(crate) profile: Option<ProfileSpec>,
    pub(crate) ecn: EcnPath,
    /// Those in which packets are lost.
    pub(crate) outages: Outages,
    pub(crate) delays: Delays,
    /// The changes of the path that belongs to the capacity.
    pub(crate) path: PathChanges,
}

impl LinkSpec {
    /// Returns the impairments of the wire of `direction`, if there are any.
    pub(crate) fn impairments(&self, direction: Direction) -> Option<Impairments> {
        let impairments = Impairments {
            loss: self.loss(direction),
            bit_error_rate: self.bit_error_rate.as_ref().map_or(0.0, |rate| *rate.of(direction)),
            duplicate: self.duplicate.as_ref().map_or(0.0, |duplicate| *duplicate.of(direction)),
            jitter: self.jitter.as_ref().map_or(Duration::ZERO, |jitter| *jitter.of(direction)),
            reorder: self.reorder.map(|reorder| *reorder.of(direction)).filter(|reorder| !reorder.is_none()),
            profile: self.profile.as_ref().map(|profile| profile.of(direction).clone()),
            ecn: self.ecn.map_or(EcnPath::Pass, |ecn| *ecn.of(direction)),
            outages: Outages::new(&self.outages, OutagePackets::Lost),
            delays: Delays::new(self),
            path: self.rate.of(direction).kind().map(CapacitySpec::path_changes).unwrap_or_default(),
        };
        impairments.has_any().then_some(impairments)
    }

    /// Returns the key of an impairment that the link has, if any.
    pub(crate) fn impairment(&self) -> Option<&'static str> {
        let keys = [
            ("loss", self.loss.is_some()),
            ("bit_error_rate", self.bit_error_rate.is_some()),
            ("duplicate", self.duplicate.is_some()),
            ("jitter", self.jitter.is_some()),
            ("reorder", self.reorder.is_some()),
            ("profile", self.profile.is_some()),
            ("ecn", self.ecn.is_some()),
            ("outages", !self.outages.is_empty()),
            ("delay_changes", !self.delay_changes.is_empty()),
        ];
        keys.into_iter().find(|(_, is_present)| *is_present).map(|(key, _)| key)
    }

    /// Returns it without impairments that change nothing, which are those of a link that writes none.
    pub(super) fn without_neutral_impairments(self) -> LinkSpec {
        let is_lossy = Direction::BOTH.iter().any(|&direction| self.loss(direction).is_some());
        LinkSpec {
            loss: self.loss.filter(|_| is_lossy),
            bit_error_rate: self.bit_error_rate.filter(|rate| has_any(rate.both())),
            duplicate: self.duplicate.filter(|duplicate| has_any(duplicate.both())),
            jitter: self.jitter.filter(|jitter| jitter.both() != [Duration::ZERO; 2]),
            reorder: self.reorder.filter(|reorder| !reorder.both().iter().all(ReorderSpec::is_none)),
            ecn: self.ecn.filter(|ecn| ecn.both() != [EcnPath::Pass; 2]),
            ..self
        }
    }

    /// Checks its impairments; `path` is where it stands in the spec.
    pub(super) fn check_impairments(&self, path: &str) -> Result<(), SpecError> {
        for (path, loss) in each(self.loss.as_ref(), &format!("{path}.loss")) {
            loss.check(&path)?;
        }
        for (key, probability) in [("bit_error_rate", &self.bit_error_rate), ("duplicate", &self.duplicate)] {
            for (path, probability) in each(probability.as_ref(), &format!("{path}.{key}")) {
                check_in_range(&path, *probability, PROBABILITIES)?;
            }
        }
        for (path, jitter) in each(self.jitter.as_ref(), &format!("{path}.jitter")) {
            at_most(&path, *jitter, LONGEST)?;
        }
        for (path, reorder) in each(self.reorder.as_ref(), &format!("{path}.reorder")) {
            within(&path, reorder)?;
        }
        for (path, profile) in each(self.profile.as_ref(), &format!("{path}.profile")) {
            profile.check(&path)?;
        }
        self.check_outages(&format!("{path}.outages"))?;
        self.check_delay_changes(&format!("{path}.delay_changes"))
    }

    /// Checks that ECN that the path changes is that of some host; `path` is where the link stands in the spec.
    pub(super) fn check_ecn_path(&self, path: &str, tcp: &TcpSpec) -> Result<(), SpecError> {
        match self.ecn {
            Some(_) if !tcp.has_ecn() => {
                Err(fault(&format!("{path}.ecn"), "has no effect: no host has ECN (tcp.ecn)".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// Returns each value with its path, of values at `path`.
fn each<'a, T: PartialEq>(values: Option<&'a PerDirection<T>>, path: &str) -> Vec<(String, &'a T)> {
    values.map_or_else(Vec::new, |values| values.each(path))
}

fn has_any(probabilities: [f64; 2]) -> bool {
    probabilities.into_iter().any(|probability| probability > 0.0)
}

impl ReorderSpec {
    fn is_none(&self) -> bool {
        self.probability <= 0.0
    }
}

impl EcnPath {
    /// Returns true if the ECN field of packets is changed.
    pub(crate) fn changes_packets(self) -> bool {
        !matches!(self, EcnPath::Pass | EcnPath::RefuseSyn)
    }
}

impl Impairments {
    pub(crate) fn is_lossy(&self) -> bool {
        self.loss.is_some()
            || self.bit_error_rate > 0.0
            || self.ecn == EcnPath::RefuseSyn
            || !self.outages.is_empty()
            || self.path.loss
            || self.profile.as_ref().is_some_and(ProfileSpec::is_lossy)
    }

    fn has_any(&self) -> bool {
        self.is_lossy()
            || self.duplicate > 0.0
            || self.jitter > Duration::ZERO
            || self.reorder.is_some()
            || self.profile.is_some()
            || self.ecn != EcnPath::Pass
            || self.delays.vary()
            || self.path.any()
    }
}
