//! The TCP of the hosts: one stack for all, or a mix.

use aqmlab_tcp::congestion::Algorithm;
use aqmlab_tcp::{EcnPolicy, HyStartForm, Profile};
use aqmlab_units::range::{above, up_to};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Bytes, ranges};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::control::{CONTROL, ControlTable, check_use, custom, is_custom};
use super::{SourceSpec, SpecError, fault, messages, read, within};
use crate::packet::HEADERS;
use crate::side::Side;

/// The stack of the hosts: a profile's name, its values with those the user has set, and the hosts that differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpSpec {
    /// The profile that the values come from.
    pub profile: String,
    /// The values.
    #[serde(flatten)]
    pub values: Profile,
    /// The parameters of the congestion control, if it is custom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlTable>,
    /// Other stacks, each on a share of the hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixSpec>,
}

/// A share of the hosts whose stack is another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixSpec {
    /// The part of the hosts, from 0 to 1, among those of this source, side and role.
    pub share: f64,
    /// The source whose connections are theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The side of the link that they are on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<u8>,
    /// Their role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The profile that the values come from.
    pub profile: String,
    /// The values.
    #[serde(flatten)]
    pub values: Profile,
    /// The parameters of the congestion control, if it is custom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlTable>,
}

/// The end of a connection that a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It opens connections.
    Client,
    /// It accepts them.
    Server,
}

/// A share of the hosts whose stack is another. Beside these keys it has those of `[tcp]`.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = with_ranges::<HostSelector>))]
pub(super) struct HostSelector {
    /// The part of the hosts, among those of this source, side and role.
    share: f64,
    /// The source whose connections are theirs; those of all sources and of the web users when left out.
    source: Option<String>,
    /// The side of the link that they are on; both when left out.
    side: Option<u8>,
    /// Their role; absent: all roles.
    role: Option<Role>,
}

ranges! {
    HostSelector { share: above(0.0).up_to(1.0), side: up_to(1) }
}

/// Its keys.
const WHOSE: [&str; 4] = ["share", "source", "side", "role"];

/// Stacks are numbered in six bits, the common one included.
pub(crate) const MOST_STACKS: usize = 64;

impl MixSpec {
    /// Are hosts that do this on this side for `source`, or for the web users, among those it is about?
    pub(crate) fn is_about(&self, source: Option<&SourceSpec>, side: Side, role: Role) -> bool {
        let is_its = |its: &String| source.is_some_and(|source| source.config.name() == its);
        self.source.as_ref().is_none_or(is_its)
            && self.side.is_none_or(|its| its == side.number())
            && self.role.is_none_or(|its| its == role)
    }

    /// The values of `base`, or of another profile, with those that are written. A host of another profile uses ECN as
    /// the others do unless it is written otherwise.
    fn read(path: &str, mut written: Map<String, Value>, base: &TcpSpec) -> Result<MixSpec, SpecError> {
        let keys: Map<String, Value> = WHOSE.iter().filter_map(|&key| written.remove_entry(key)).collect();
        let whose: HostSelector = read(path, Value::Object(keys))?;
        within(path, &whose)?;
        let (profile, start) = match written.remove("profile") {
            None => (base.profile.clone(), base.values.clone()),
            Some(name) => {
                let (name, values) = named(&format!("{path}.profile"), name)?;
                (name, Profile { ecn: base.values.ecn, ..values })
            }
        };
        let writes_abe = written.contains_key("abe");
        let mut control = read_control(path, &mut written)?;
        if control.is_none()
            && !written.contains_key("congestion")
            && start.congestion == base.values.congestion
        {
            control.clone_from(&base.control);
        }
        let beside = [&WHOSE[..], &["profile", CONTROL]].concat();
        let mut values = with_values(path, &start, written, control.as_ref(), &beside)?;
        // The hosts of `base` may have it where these cannot.
        values.abe &= writes_abe || has_use_for_abe(&values);
        let HostSelector { share, source, side, role } = whose;
        Ok(MixSpec { share, source, side, role, profile, values, control })
    }
}

/// A value that only some hosts heed: its name, the value as text, whether a host heeds it, and what it needs for that.
type Effect = (&'static str, fn(&Profile) -> String, fn(&Profile) -> bool, &'static str);

const EFFECTS: [Effect; 5] = [
    (
        "hystart",
        |its| its.hystart.to_string(),
        has_hystart,
        "a congestion control with it: `hystart` is for cubic, `hystart++` for reno and cubic-rfc9438",
    ),
    (
        "pacing_burst",
        |its| its.pacing_burst.to_string(),
        |its| {
            its.quic.is_some()
                || matches!(its.congestion, Algorithm::Prague | Algorithm::Bbr | Algorithm::Custom(_))
        },
        "congestion = prague, bbr or a custom control, or QUIC",
    ),
    (
        "ledbat_target",
        |its| its.ledbat_target.to_string(),
        |its| its.congestion == Algorithm::Ledbat,
        "congestion = ledbat",
    ),
    (
        "prague_reference_rtt",
        |its| its.prague_reference_rtt.to_string(),
        |its| its.congestion == Algorithm::Prague,
        "congestion = prague",
    ),
    (
        "dctcp_two_acks",
        |its| its.dctcp_two_acks.to_string(),
        |its| its.ecn == EcnPolicy::Dctcp,
        "ecn = dctcp",
    ),
];

/// Can the congestion control end slow start in this form? Without one, only CUBIC has lost its own.
fn has_hystart(its: &Profile) -> bool {
    match its.hystart {
        HyStartForm::Off | HyStartForm::Linux => its.congestion == Algorithm::Cubic,
        HyStartForm::PlusPlus => matches!(its.congestion, Algorithm::Reno | Algorithm::CubicRfc9438),
    }
}

/// Does a host answer marks at all, by a control that can reduce less for them?
fn has_use_for_abe(its: &Profile) -> bool {
    its.ecn != EcnPolicy::Off
        && matches!(its.congestion, Algorithm::Reno | Algorithm::Cubic | Algorithm::CubicRfc9438)
}

impl TcpSpec {
    /// The profile of those who name none.
    pub(super) const DEFAULT_PROFILE: &str = "linux-6";

    /// A profile's values, each of which may be set by its name, and the mix.
    pub(super) fn read(mut written: Map<String, Value>) -> Result<TcpSpec, SpecError> {
        let name = written.remove("profile").unwrap_or_else(|| TcpSpec::DEFAULT_PROFILE.into());
        let (profile, start) = named("tcp.profile", name)?;
        let mix: Vec<Map<String, Value>> =
            written.remove("mix").map_or(Ok(Vec::new()), |mix| read("tcp.mix", mix))?;
        let control = read_control("tcp", &mut written)?;
        let values = with_values("tcp", &start, written, control.as_ref(), &["profile", "mix", CONTROL])?;
        let mut spec = TcpSpec { profile, values, control, mix: Vec::new() };
        let entries = mix.into_iter().enumerate();
        spec.mix = entries
            .map(|(number, entry)| MixSpec::read(&format!("tcp.mix[{number}]"), entry, &spec))
            .collect::<Result<_, _>>()?;
        Ok(spec)
    }

    /// The values of each stack, that of most hosts first.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        std::iter::once(&self.values).chain(self.mix.iter().map(|entry| &entry.values))
    }

    /// The same, to change them.
    pub(super) fn profiles_mut(&mut self) -> impl Iterator<Item = &mut Profile> {
        std::iter::once(&mut self.values).chain(self.mix.iter_mut().map(|entry| &mut entry.values))
    }

    pub(super) fn check(&self, mtu: Bytes, sources: &[SourceSpec]) -> Result<(), SpecError> {
        check_values("tcp", &self.values, mtu)?;
        check_use("tcp", &self.values, self.control.as_ref())?;
        for (number, entry) in self.mix.iter().enumerate() {
            let path = format!("tcp.mix[{number}]");
            check_values(&path, &entry.values, mtu)?;
            check_use(&path, &entry.values, entry.control.as_ref())?;
            if entry.role == Some(Role::Server) && entry.values.quic.is_some() != self.values.quic.is_some() {
                let message = "must not be server: a client chooses between TCP and QUIC, got server";
                return Err(fault(&format!("{path}.role"), message.to_owned()));
            }
            if let Some(name) = &entry.source {
                check_source(&format!("{path}.source"), name, sources)?;
            }
        }
        self.check_effects()?;
        if self.mix.len() >= MOST_STACKS {
            let message = format!("must have fewer than {MOST_STACKS} entries, got {}", self.mix.len());
            return Err(fault("tcp.mix", message));
        }
        for source in std::iter::once(None).chain(sources.iter().map(Some)) {
            self.check_shares(source)?;
        }
        Ok(())
    }

    /// Returns true if any host negotiates ECN.
    pub(super) fn has_ecn(&self) -> bool {
        self.profiles().any(|its| its.ecn != EcnPolicy::Off)
    }

    /// A value that differs from the profile's has an effect on some host, and one that differs from the common one too has
    /// an effect on the hosts of its entry. Specs in full have all values, so that what is written cannot be told from the
    /// profile's own.
    fn check_effects(&self) -> Result<(), SpecError> {
        for (field, value, has_effect, needed) in EFFECTS {
            let usual =
                |profile| value(&Profile::from_name(profile).expect("a spec names a profile that there is"));
            let common = value(&self.values);
            let is_heeded = |its: &Profile| value(its) == common && has_effect(its);
            if common != usual(&self.profile) && !self.profiles().any(is_heeded) {
                let message = format!("has no effect: no host has {needed}, got {common}");
                return Err(fault(&format!("tcp.{field}"), message));
            }
            for (number, entry) in self.mix.iter().enumerate() {
                let its = value(&entry.values);
                if its != common && its != usual(&entry.profile) && !has_effect(&entry.values) {
                    let message = format!("has no effect: these hosts do not have {needed}, got {its}");
                    return Err(fault(&format!("tcp.mix[{number}].{field}"), message));
                }
            }
        }
        Ok(())
    }

    /// Those of the hosts of `source`, or of the web users, leave something or nothing to the common stack.
    fn check_shares(&self, source: Option<&SourceSpec>) -> Result<(), SpecError> {
        let ends = Side::BOTH.map(|side| [(side, Role::Client), (side, Role::Server)]);
        for (side, role) in ends.into_iter().flatten() {
            let about = self.mix.iter().filter(|entry| entry.is_about(source, side, role));
            let is_of_source = about.clone().any(|entry| entry.source.is_some());
            let sum: f64 = about.map(|entry| entry.share).sum();
            // Shares written in decimals may miss 1 by a rounding.
            if sum > 1.0 + 1e-9 {
                let role = if role == Role::Client { "clients" } else { "servers" };
                let whose = source.filter(|_| is_of_source).map(|source| source.config.name());
                let whose = whose.map(|name| format!(" for source `{name}`")).unwrap_or_default();
                let side = side.number();
                let message = format!("must share out at most all {role} of side {side}{whose}, got {sum}");
                return Err(fault("tcp.mix", message));
            }
        }
        Ok(())
    }
}

/// Checks that `name` is a source that has connections.
pub(super) fn check_source(path: &str, name: &str, sources: &[SourceSpec]) -> Result<(), SpecError> {
    let mut names = Vec::new();
    for SourceSpec { config, .. } in sources {
        if config.datagrams().is_none() {
            names.push(config.name());
        } else if config.name() == name {
            return Err(fault(path, format!("`{name}` sends datagrams, without TCP")));
        }
    }
    if names.contains(&name) {
        return Ok(());
    }
    let known = if names.is_empty() {
        "there is none with connections".into()
    } else {
        format!("choose {}", names.join(", "))
    };
    Err(fault(path, format!("no source is called `{name}`: {known}")))
}

/// A profile by its name.
fn named(path: &str, name: Value) -> Result<(String, Profile), SpecError> {
    let name: String = read(path, name)?;
    match Profile::from_name(&name) {
        Some(profile) => Ok((name, profile)),
        None => Err(fault(path, messages::unknown_choice(&name, &Profile::names()))),
    }
}

fn read_control(path: &str, written: &mut Map<String, Value>) -> Result<Option<ControlTable>, SpecError> {
    written.remove(CONTROL).map(|table| read(&format!("{path}.{CONTROL}"), table)).transpose()
}

/// The values of `profile` with those that are written, and the parameters of a custom congestion control; `beside` them
/// the table may have other keys, which have been read.
fn with_values(
    path: &str,
    profile: &Profile,
    mut written: Map<String, Value>,
    control: Option<&ControlTable>,
    beside: &[&str],
) -> Result<Profile, SpecError> {
    let mut values = serde_json::to_value(profile).expect("a profile has a JSON form");
    let table = values.as_object_mut().expect("a profile is an object");
    if let Some(quic) = written.remove(QUIC) {
        merge_quic(path, table, quic)?;
    }
    if let Some(unknown) = written.keys().find(|key| !table.contains_key(*key)) {
        let known: Vec<&str> = beside.iter().copied().chain(table.keys().map(String::as_str)).collect();
        return Err(fault(&format!("{path}.{unknown}"), messages::unknown_key(unknown, &known)));
    }
    if written.contains_key("receive_window") {
        // As a program's `SO_RCVBUF` does.
        written.entry("receive_window_tuning").or_insert(false.into());
    }
    table.extend(written);
    let name = table["congestion"].as_str().filter(|name| is_custom(name)).map(str::to_owned);
    let Some(name) = name else { return read(path, values) };
    // A profile reads the names of built-in controls alone.
    table.insert("congestion".to_owned(), Algorithm::default().name().into());
    let congestion = Algorithm::Custom(custom(path, &name, control)?);
    Ok(Profile { congestion, ..read(path, values)? })
}

/// The key of the values that only QUIC has.
const QUIC: &str = "quic";

/// Merge the written values of QUIC into those of the profile `table`.
fn merge_quic(path: &str, table: &mut Map<String, Value>, quic: Value) -> Result<(), SpecError> {
    let path = format!("{path}.{QUIC}");
    let written: Map<String, Value> = read(&path, quic)?;
    match table.get_mut(QUIC).and_then(Value::as_object_mut) {
        Some(values) => {
            if let Some(unknown) = written.keys().find(|key| !values.contains_key(*key)) {
                let known: Vec<&str> = values.keys().map(String::as_str).collect();
                return Err(fault(&format!("{path}.{unknown}"), messages::unknown_key(unknown, &known)));
            }
            values.extend(written);
            Ok(())
        }
        None => Err(fault(&path, "has no effect on TCP: it needs profile = \"quic\"".to_owned())),
    }
}

/// Refuse values that QUIC does not use and that differ from the profile's, where the hosts speak QUIC.
fn check_quic(path: &str, values: &Profile) -> Result<(), SpecError> {
    let in_json = |profile: &Profile| serde_json::to_value(profile).expect("a profile has a JSON form");
    let (values, usual) = (in_json(values), in_json(&Profile::quic()));
    let table = values.as_object().expect("a profile is an object");
    match table.iter().find(|&(key, value)| !OF_QUIC.contains(&key.as_str()) && *value != usual[key]) {
        None => Ok(()),
        Some((key, value)) => {
            Err(fault(&format!("{path}.{key}"), format!("has no effect on QUIC, got {value}")))
        }
    }
}

/// Values that QUIC uses.
const OF_QUIC: [&str; 17] = [
    "mss",
    "receive_window",
    "initial_window",
    "initial_rto",
    "tick",
    "connect_timeout",
    "delayed_ack",
    "ack_every",
    "pacing_burst",
    "min_window",
    "ecn",
    "congestion",
    "abe",
    "ledbat_target",
    "prague_reference_rtt",
    "hystart",
    QUIC,
];

/// Bytes of IPv4 and UDP header.
pub(super) const UDP_HEADERS: u64 = 28;

/// Checks the values of a stack, and the size of its segments.
fn check_values(path: &str, values: &Profile, mtu: Bytes) -> Result<(), SpecError> {
    let at = |field: &str| format!("{path}.{field}");
    values.check().map_err(|(field, message)| fault(&at(field), message))?;
    let headers = if values.quic.is_some() { UDP_HEADERS } else { HEADERS };
    if values.quic.is_some() {
        check_quic(path, values)?;
    }
    let most_data = mtu.get().saturating_sub(headers);
    if u64::from(values.mss) > most_data {
        let message = format!("must be at most link.mtu - {headers} = {most_data}, got {}", values.mss);
        return Err(fault(&at("mss"), message));
    }
    Ok(())
}
