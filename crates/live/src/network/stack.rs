//! The kernel's TCP, set as the spec's `tcp` says where the kernel can be told, and read back.

use std::collections::BTreeMap;
use std::fs;

use aqmlab_tcp::{EcnPolicy, Profile};
use aqmlab_units::Duration;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Context, Error};
use crate::network::netlink::RouteMetrics;
use crate::network::sockets;

/// The settings of a run's hosts.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    settings: Vec<(&'static str, String)>,
    /// The congestion control: set on each socket of ours, and for programs by the route.
    pub(crate) congestion: String,
    /// The most that a receiver's packets are to say that it has room for, in bytes.
    pub(crate) offers_at_most: Option<u16>,
    pub(crate) metrics: RouteMetrics,
}

/// Values of a profile that the kernel has its own of, and is not told.
const KERNELS_OWN: [&str; 16] = [
    "newreno",
    "initial_rto",
    "rto_margin",
    "tick",
    "data_backoff",
    "delayed_ack",
    "quick_acks",
    "quick_acks_after_mark",
    "pacing_burst",
    "min_window",
    "cubic_alpha_one",
    // Of LEDBAT, which it does not have.
    "ledbat_target",
    "dctcp_two_acks",
    "receive_window_tuning",
    "hystart",
    // Without AccECN, which is refused, it says nothing.
    "accecn_option",
];

/// The kernel's wait for the answer to a first SYN (RFC 6298), which nothing changes.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The setting of ECN.
const ECN: &str = "ipv4/tcp_ecn";

/// The largest window without scaling.
const UNSCALED: u16 = u16::MAX;

impl Stack {
    /// That of `profile`, which stands at `path` in the spec; refused where the kernel cannot do what it says.
    pub(crate) fn of(path: &str, profile: &Profile) -> Result<Stack, Error> {
        check_supported(path, profile)?;
        let (buffers, offers_at_most) = receive_buffers(profile);
        let linear = linear_timeouts(&profile.syn_backoff);
        let number = |number: u64| number.to_string();
        let yes = |yes: bool| u8::from(yes).to_string();
        Ok(Stack {
            settings: vec![
                (ECN, yes(profile.ecn == EcnPolicy::Rfc3168)),
                ("ipv4/tcp_ecn_fallback", yes(profile.ecn_fallback)),
                ("ipv4/tcp_sack", yes(profile.sack)),
                ("ipv4/tcp_timestamps", yes(profile.timestamps)),
                ("ipv4/tcp_window_scaling", yes(profile.window_scaling)),
                ("ipv4/tcp_recovery", yes(profile.rack)),
                ("ipv4/tcp_frto", if profile.frto { "2" } else { "0" }.to_owned()),
                ("ipv4/tcp_slow_start_after_idle", yes(profile.restart_after_idle)),
                ("ipv4/tcp_rto_min_us", number(profile.min_rto.as_micros())),
                ("ipv4/tcp_rto_max_ms", number(profile.max_rto.as_micros() / 1000)),
                ("ipv4/tcp_syn_linear_timeouts", number(linear.into())),
                ("ipv4/tcp_syn_retries", number(syn_retries(profile, linear).into())),
                ("ipv4/tcp_synack_retries", number(profile.syn_ack_retransmits.into())),
                ("ipv4/tcp_retries2", number(profile.data_retransmits.into())),
                ("ipv4/tcp_rmem", buffers),
                // What connections before found out about a host is not for those after.
                ("ipv4/tcp_no_metrics_save", "1".to_owned()),
                // Room for thousands of connections that begin and end.
                ("ipv4/tcp_max_syn_backlog", "65536".to_owned()),
                ("ipv4/tcp_max_tw_buckets", "1000000".to_owned()),
                ("core/somaxconn", "65535".to_owned()),
                ("ipv6/conf/all/disable_ipv6", "1".to_owned()),
                ("ipv6/conf/default/disable_ipv6", "1".to_owned()),
            ],
            congestion: profile.congestion.to_string(),
            offers_at_most,
            metrics: RouteMetrics {
                mss: profile.mss.into(),
                // A server's window has grown by the time that it first uses it, where the handshake opens it.
                initial_window: u32::from(profile.initial_window)
                    + u32::from(profile.handshake_ack_opens_window),
                quick_ack: profile.ack_every == 1,
                congestion: profile.congestion.to_string(),
            },
        })
    }

    /// Set them in the network namespace of the calling thread; what the kernel then says they are.
    pub(crate) fn apply(&self) -> Result<Settings, Error> {
        let mut settings = Settings {
            read_back: BTreeMap::new(),
            route: self.metrics.clone(),
            offers_at_most: self.offers_at_most,
            kernels_own: KERNELS_OWN.to_vec(),
        };
        for (name, value) in &self.settings {
            // What an older kernel, or one without IPv6, cannot be told.
            if !fs::exists(path(name)).unwrap_or(false) {
                settings.kernels_own.push(name);
                continue;
            }
            let now = set(name, value)?;
            if now != *value {
                return Err(Error::Odd(format!("{name}: the kernel makes {now} of {value}")));
            }
            settings.read_back.insert(*name, now);
        }
        Ok(settings)
    }
}

fn check_supported(path: &str, profile: &Profile) -> Result<(), Error> {
    if let Some(why) = lacks_ecn(profile.ecn) {
        return Err(Error::Refused(format!("{path}.ecn: live has no {}: {why}", profile.ecn)));
    }
    let lacks = [
        // `tcp_minshall_check` of its `tcp_output.c`.
        ("nagle", profile.nagle, "Linux holds a small segment back behind another small one alone"),
        ("abe", profile.abe, "Linux answers a mark as it answers a loss"),
    ];
    if let Some((what, _, why)) = lacks.iter().find(|(_, asked_for, _)| *asked_for) {
        return Err(Error::Refused(format!("{path}.{what}: live has none: {why}")));
    }
    Ok(())
}

/// The setting of receive buffers that gives the profile's window, and the most that is offered, where the router sees to
/// that.
///
/// With scaling buffers grow as the kernel sees fit, to as much as the window is to be at most. Without it they have room for
/// more than is offered: the kernel measures them with what packets take of them, which no setting makes a number of bytes,
/// and the router bounds what is offered.
fn receive_buffers(profile: &Profile) -> (String, Option<u16>) {
    let window = profile.receive_window;
    if profile.window_scaling {
        return (format!("4096 131072 {}", window.max(131_072)), None);
    }
    let room = 8 * u32::from(UNSCALED);
    (format!("4096 {room} {room}"), Some(u16::try_from(window).unwrap_or(UNSCALED)))
}

/// Why Linux cannot do ECN so, if it cannot.
fn lacks_ecn(policy: EcnPolicy) -> Option<&'static str> {
    match policy {
        EcnPolicy::Off | EcnPolicy::Rfc3168 => None,
        EcnPolicy::Plus | EcnPolicy::PlusWait | EcnPolicy::TryOnce => {
            Some("Linux answers no mark on a SYN/ACK, neither the client nor the server")
        }
        EcnPolicy::PlusPlus | EcnPolicy::AccuratePlusPlus => {
            Some("Linux makes new data ECN-capable and nothing else")
        }
        EcnPolicy::Dctcp => {
            Some("no kernel that it was tried on has the congestion control that comes with it")
        }
        EcnPolicy::Accurate => Some("no kernel that it was tried on takes a mode of tcp_ecn for it"),
    }
}

/// The first value, with what it is in each, that two profiles differ in and the kernel has once for all hosts of a side.
pub(crate) fn differ_per_side(one: &Profile, other: &Profile) -> Option<(String, [Value; 2])> {
    let [ours, theirs] =
        [one, other].map(|profile| serde_json::to_value(profile).expect("a profile has a JSON form"));
    let scaled = one.window_scaling || other.window_scaling;
    let has_once = |name: &str| match name {
        "congestion" => false,
        "receive_window" => scaled,
        _ => !KERNELS_OWN.contains(&name),
    };
    let values = ours.as_object().expect("a profile is a table");
    let (name, ours) = values.iter().find(|&(name, value)| has_once(name) && theirs[name] != *value)?;
    Some((name.clone(), [ours.clone(), theirs[name].clone()]))
}

/// Returns the number of further SYNs that follow waits of the first wait's length.
fn linear_timeouts(backoff: &[u16]) -> u8 {
    let alike = backoff.iter().take_while(|wait| Some(*wait) == backoff.first()).count();
    u8::try_from(alike.saturating_sub(1)).unwrap_or(u8::MAX)
}

/// Returns the number of SYN retransmissions with doubling waits until a connection is given up in time, or as late before
/// that as the kernel can.
fn syn_retries(profile: &Profile, linear: u8) -> u8 {
    let backoff = &profile.syn_backoff;
    let units = backoff.iter().chain(std::iter::repeat(backoff.last().expect("a profile has waits")));
    let mut waited = Duration::ZERO;
    let waits = units
        .map(|&units| (FIRST_WAIT * u64::from(units)).min(profile.max_rto))
        .take_while(|&wait| {
            waited = waited + wait;
            waited <= profile.connect_timeout
        })
        .take(usize::from(u8::MAX / 2));
    // The last wait is for nothing.
    let retries = waits.count().saturating_sub(1 + usize::from(linear)).max(1);
    u8::try_from(retries).expect("no more than were taken")
}

/// Set a value in the network namespace of the calling thread; what the kernel then says it is.
fn set(name: &str, value: &str) -> Result<String, Error> {
    fs::write(path(name), value).context(|| format!("{name} = {value}"))?;
    let now = fs::read_to_string(path(name)).context(|| name.to_owned())?;
    Ok(now.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The congestion controls, and the modes of ECN, that the kernel takes: each is set, the latter in the calling thread's
/// namespace.
pub(crate) fn accepted() -> [Vec<String>; 2] {
    let controls = fs::read_to_string(path("ipv4/tcp_available_congestion_control")).unwrap_or_default();
    let controls = controls.split_whitespace().map(str::to_owned);
    // Those that any kernel has so far (ip-sysctl: tcp_ecn).
    let modes = (0..=5).map(|mode: u8| mode.to_string());
    [
        controls.filter(|control| sockets::new(control).is_ok()).collect(),
        modes.filter(|mode| set(ECN, mode).is_ok_and(|now| now == *mode)).collect(),
    ]
}

/// The settings that the kernel has accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Settings {
    /// As it says itself now.
    read_back: BTreeMap<&'static str, String>,
    /// Of the route to the other side.
    route: RouteMetrics,
    /// The largest window that the router lets a receiver offer, in bytes.
    offers_at_most: Option<u16>,
    /// The names of the kernel's own values: of the profile, and of settings that it lacks.
    kernels_own: Vec<&'static str>,
}

impl Settings {
    pub(crate) fn add(&mut self, name: &'static str, value: String) {
        self.read_back.insert(name, value);
    }
}

fn path(name: &str) -> String {
    format!("/proc/sys/net/{name}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Values of a profile that are set in the kernel.
    const TOLD: [&str; 20] = [
        "mss",
        "receive_window",
        "window_scaling",
        "timestamps",
        "sack",
        "rack",
        "frto",
        "initial_window",
        "handshake_ack_opens_window",
        "min_rto",
        "max_rto",
        "syn_backoff",
        "connect_timeout",
        "syn_ack_retransmits",
        "data_retransmits",
        "ack_every",
        "restart_after_idle",
        "ecn",
        "ecn_fallback",
        "congestion",
    ];
    const REFUSED: [&str; 2] = ["abe", "nagle"];

    #[test]
    fn each_value_of_a_profile_is_set_refused_or_the_kernels_own() {
        let profile = serde_json::to_value(Profile::freebsd_4_5()).expect("a profile has a JSON form");
        let Value::Object(values) = profile else { panic!("a profile is a table") };
        let known: BTreeSet<_> = TOLD.into_iter().chain(REFUSED).chain(KERNELS_OWN).collect();
        assert_eq!(values.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
    }

    /// Returns the setting of a stack under a name.
    fn told(profile: &Profile, name: &str) -> String {
        let stack = Stack::of("tcp", profile).expect("the kernel can do it");
        stack.settings.into_iter().find(|(each, _)| *each == name).expect("it is set").1
    }

    #[test]
    fn a_linux_host_is_told_what_linux_does_anyway() {
        let linux = Profile::from_name("linux-6").expect("it is shipped");
        // The kernel's defaults (ip-sysctl).
        for (name, default) in [
            ("ipv4/tcp_syn_linear_timeouts", "4"),
            ("ipv4/tcp_syn_retries", "6"),
            ("ipv4/tcp_synack_retries", "5"),
            ("ipv4/tcp_retries2", "15"),
            ("ipv4/tcp_rto_min_us", "200000"),
            ("ipv4/tcp_rto_max_ms", "120000"),
            ("ipv4/tcp_frto", "2"),
            ("ipv4/tcp_recovery", "1"),
        ] {
            assert_eq!(told(&linux, name), default, "{name}");
        }
        let Stack { metrics, .. } = Stack::of("tcp", &linux).expect("the kernel can do it");
        assert_eq!((metrics.initial_window, metrics.quick_ack), (10, false));
    }

    #[test]
    fn a_host_of_2001_offers_its_window_and_acknowledges_everything() {
        let stack = Stack::of("tcp", &Profile::unc_testbed()).expect("the kernel can do it");
        assert_eq!(
            stack.metrics,
            RouteMetrics { mss: 1460, initial_window: 2, quick_ack: true, congestion: "reno".to_owned() }
        );
        assert_eq!(stack.offers_at_most, Some(16_384));
    }
}
