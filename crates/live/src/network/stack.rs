//! The kernel's TCP settings: those of the spec's `tcp` that the kernel supports are set and read back.

use std::collections::BTreeMap;
use std::fs;

use aqmlab_tcp::{Algorithm, EcnPolicy, Profile};
use aqmlab_units::Duration;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Context, Error};
use crate::network::netlink::RouteMetrics;
use crate::network::sockets;

/// The TCP settings of a host.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    settings: Vec<(&'static str, String)>,
    /// The congestion control. aqmlab sets it on each of its sockets; programs have it from the route.
    pub(crate) congestion: String,
    /// True if the congestion control negotiates ECN by itself, beside any setting of the namespace, as DCTCP does.
    pub(crate) has_own_ecn: bool,
    /// The largest window that a receiver may advertise, in bytes. The router enforces it.
    pub(crate) offers_at_most: Option<u16>,
    pub(crate) metrics: RouteMetrics,
}

/// The profile values that the kernel does not take: it has its own.
const KERNELS_OWN: [&str; 17] = [
    "newreno",
    "initial_rto",
    "rto_margin",
    "tick",
    "data_backoff",
    "delayed_ack",
    "quick_acks",
    "quick_acks_after_mark",
    "pacing_burst",
    "segmentation_offload",
    "min_window",
    // Belong to LEDBAT and Prague, which the kernel lacks.
    "ledbat_target",
    "prague_reference_rtt",
    "dctcp_two_acks",
    "receive_window_tuning",
    "hystart",
    // Belongs to AccECN, which live runs refuse.
    "accecn_option",
];

/// The kernel's initial RTO (RFC 6298), which no setting changes.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The ECN setting.
const ECN: &str = "ipv4/tcp_ecn";

/// A send buffer as large as the largest window of TCP (RFC 7323).
const UNBOUNDED: u32 = 1 << 30;

/// The largest window without scaling.
const UNSCALED: u16 = u16::MAX;

impl Stack {
    /// Returns the settings for `profile`, which is at `path` in the spec.
    ///
    /// # Errors
    ///
    /// If the kernel cannot do what the profile says.
    pub(crate) fn from_profile(path: &str, profile: &Profile) -> Result<Stack, Error> {
        check_supported(path, profile)?;
        let (buffers, offers_at_most) = receive_buffers(profile);
        let linear = linear_timeouts(&profile.syn_backoff);
        let number = |number: u64| number.to_string();
        let flag = |flag: bool| u8::from(flag).to_string();
        Ok(Stack {
            settings: vec![
                (ECN, flag(profile.ecn == EcnPolicy::Rfc3168)),
                ("ipv4/tcp_ecn_fallback", flag(profile.ecn_fallback)),
                ("ipv4/tcp_sack", flag(profile.sack)),
                ("ipv4/tcp_timestamps", flag(profile.timestamps)),
                ("ipv4/tcp_window_scaling", flag(profile.window_scaling)),
                ("ipv4/tcp_recovery", flag(profile.rack)),
                ("ipv4/tcp_frto", if profile.frto { "2" } else { "0" }.to_owned()),
                ("ipv4/tcp_slow_start_after_idle", flag(profile.restart_after_idle)),
                ("ipv4/tcp_rto_min_us", number(profile.min_rto.as_micros())),
                ("ipv4/tcp_rto_max_ms", number(profile.max_rto.as_micros() / 1000)),
                ("ipv4/tcp_syn_linear_timeouts", number(linear.into())),
                ("ipv4/tcp_syn_retries", number(syn_retries(profile, linear).into())),
                ("ipv4/tcp_synack_retries", number(profile.syn_ack_retransmits.into())),
                ("ipv4/tcp_retries2", number(profile.data_retransmits.into())),
                ("ipv4/tcp_rmem", buffers),
                ("ipv4/tcp_wmem", send_buffers(profile)),
                // Connections must not inherit estimates from earlier ones.
                ("ipv4/tcp_no_metrics_save", "1".to_owned()),
                // Thousands of connections begin and end at the same time.
                ("ipv4/tcp_max_syn_backlog", "65536".to_owned()),
                ("ipv4/tcp_max_tw_buckets", "1000000".to_owned()),
                ("core/somaxconn", "65535".to_owned()),
                ("ipv6/conf/all/disable_ipv6", "1".to_owned()),
                ("ipv6/conf/default/disable_ipv6", "1".to_owned()),
            ],
            congestion: kernel_name(&profile.congestion).to_owned(),
            has_own_ecn: profile.ecn == EcnPolicy::Dctcp,
            offers_at_most,
            metrics: RouteMetrics {
                mss: profile.mss.into(),
                // In such a profile the handshake's acknowledgement opens a server's window before its first use.
                initial_window: u32::from(profile.initial_window)
                    + u32::from(profile.handshake_ack_opens_window),
                quick_ack: profile.ack_every == 1,
                congestion: Some(kernel_name(&profile.congestion).to_owned()),
            },
        })
    }

    /// Applies the settings to the network namespace of the calling thread, and returns them as the kernel reports them.
    pub(crate) fn apply(&self) -> Result<Settings, Error> {
        let mut settings = Settings {
            read_back: BTreeMap::new(),
            route: self.metrics.clone(),
            offers_at_most: self.offers_at_most,
            kernels_own: KERNELS_OWN.to_vec(),
        };
        for (name, value) in &self.settings {
            // An older kernel, or one without IPv6, lacks some settings.
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

/// Returns the kernel's name of a congestion control.
fn kernel_name(congestion: &Algorithm) -> &'static str {
    match congestion {
        Algorithm::Custom(custom) => custom.kernel_name().unwrap_or(custom.name()),
        built_in => built_in.name(),
    }
}

fn check_supported(path: &str, profile: &Profile) -> Result<(), Error> {
    if let Some(reason) = ecn_refusal(profile.ecn) {
        return Err(Error::Refused(format!("{path}.ecn: live has no {}: {reason}", profile.ecn)));
    }
    let is_dctcp = profile.congestion == Algorithm::Dctcp;
    if is_dctcp != (profile.ecn == EcnPolicy::Dctcp) {
        let got = if is_dctcp { profile.ecn.to_string() } else { profile.congestion.to_string() };
        let (key, other) = if is_dctcp { ("ecn", "congestion") } else { ("congestion", "ecn") };
        return Err(Error::Refused(format!(
            "{path}.{key}: live needs dctcp with {other} = dctcp, got {got}"
        )));
    }
    let unsupported = [
        // `tcp_minshall_check` in Linux's `tcp_output.c`.
        ("nagle", profile.nagle, "Linux holds a small segment back behind another small one alone"),
        ("abe", profile.abe, "Linux answers a mark as it answers a loss"),
    ];
    if let Some((what, _, reason)) = unsupported.iter().find(|(_, is_set, _)| *is_set) {
        return Err(Error::Refused(format!("{path}.{what}: live has none: {reason}")));
    }
    Ok(())
}

/// Returns the setting of receive buffers for the profile's window, and the bound that the router must enforce, if any.
///
/// With window scaling, buffers grow to at most the window. Without scaling, no buffer size gives an exact window, because the
/// kernel counts the memory of packets. The buffers are then larger than the window, and the router bounds the advertisement.
fn receive_buffers(profile: &Profile) -> (String, Option<u16>) {
    let window = profile.receive_window;
    if profile.window_scaling {
        return (format!("4096 131072 {}", window.max(131_072)), None);
    }
    let room = 8 * u32::from(UNSCALED);
    (format!("4096 {room} {room}"), Some(u16::try_from(window).unwrap_or(UNSCALED)))
}

/// Returns the setting of send buffers, which grow to the profile's.
fn send_buffers(profile: &Profile) -> String {
    let most = if profile.send_buffer == 0 { UNBOUNDED } else { profile.send_buffer.max(16_384) };
    format!("4096 16384 {most}")
}

/// Returns the reason for which Linux cannot follow an ECN policy, if there is one.
fn ecn_refusal(policy: EcnPolicy) -> Option<&'static str> {
    match policy {
        EcnPolicy::Off | EcnPolicy::Rfc3168 | EcnPolicy::Dctcp => None,
        EcnPolicy::Plus | EcnPolicy::PlusWait | EcnPolicy::TryOnce => {
            Some("Linux answers no mark on a SYN/ACK, neither the client nor the server")
        }
        EcnPolicy::PlusPlus | EcnPolicy::AccuratePlusPlus => {
            Some("Linux makes new data ECN-capable and nothing else")
        }
        EcnPolicy::Accurate => Some("no kernel that it was tried on takes a mode of tcp_ecn for it"),
    }
}

/// Returns the first difference of two profiles in a setting that all hosts of a side share: its name and both values.
pub(crate) fn first_shared_difference(one: &Profile, other: &Profile) -> Option<(String, [Value; 2])> {
    let [first, second] =
        [one, other].map(|profile| serde_json::to_value(profile).expect("a profile has a JSON form"));
    let scaled = one.window_scaling || other.window_scaling;
    let has_once = |name: &str| match name {
        "congestion" => false,
        "receive_window" => scaled,
        // DCTCP negotiates its own beside any setting of the namespace.
        "ecn" => ![one.ecn, other.ecn].contains(&EcnPolicy::Dctcp),
        _ => !KERNELS_OWN.contains(&name),
    };
    let values = first.as_object().expect("a profile is a table");
    let (name, first) = values.iter().find(|&(name, value)| has_once(name) && second[name] != *value)?;
    Some((name.clone(), [first.clone(), second[name].clone()]))
}

/// Returns the number of SYN retransmissions that repeat the first timeout, before timeouts double.
fn linear_timeouts(backoff: &[u16]) -> u8 {
    let repeats = backoff.iter().take_while(|wait| Some(*wait) == backoff.first()).count();
    u8::try_from(repeats.saturating_sub(1)).unwrap_or(u8::MAX)
}

/// Returns the number of SYN retransmissions with doubling timeouts.
///
/// The kernel then gives up a connection at the profile's timeout, or as late before it as the kernel can.
fn syn_retries(profile: &Profile, linear: u8) -> u8 {
    let backoff = &profile.syn_backoff;
    let units = backoff.iter().chain(std::iter::repeat(backoff.last().expect("a profile has waits")));
    let mut total = Duration::ZERO;
    let waits = units
        .map(|&units| (FIRST_WAIT * u64::from(units)).min(profile.max_rto))
        .take_while(|&wait| {
            total = total + wait;
            total <= profile.connect_timeout
        })
        .take(usize::from(u8::MAX / 2));
    // No retransmission follows the last timeout.
    let retries = waits.count().saturating_sub(1 + usize::from(linear)).max(1);
    u8::try_from(retries).expect("no more than were taken")
}

/// Sets a value in the network namespace of the calling thread, and returns it as the kernel reports it.
fn set(name: &str, value: &str) -> Result<String, Error> {
    fs::write(path(name), value).context(|| format!("{name} = {value}"))?;
    let now = fs::read_to_string(path(name)).context(|| name.to_owned())?;
    Ok(now.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the congestion controls that the kernel accepts. All that it names are tried.
pub(crate) fn accepted_controls() -> Vec<String> {
    let controls = fs::read_to_string(path("ipv4/tcp_available_congestion_control")).unwrap_or_default();
    let controls = controls.split_whitespace().filter(|control| sockets::new(control).is_ok());
    controls.map(str::to_owned).collect()
}

/// Returns the congestion controls and the ECN modes that the kernel accepts. All are tried: modes in the thread's namespace.
pub(crate) fn accepted_settings() -> [Vec<String>; 2] {
    // All modes that kernels have had so far (ip-sysctl: tcp_ecn).
    let modes = (0..=5).map(|mode: u8| mode.to_string());
    [accepted_controls(), modes.filter(|mode| set(ECN, mode).is_ok_and(|now| now == *mode)).collect()]
}

/// The TCP settings of a namespace in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Settings {
    /// The settings by name, as the kernel reports them.
    read_back: BTreeMap<&'static str, String>,
    /// The settings of the route to the other side.
    route: RouteMetrics,
    /// The largest window that the router lets a receiver advertise, in bytes.
    offers_at_most: Option<u16>,
    /// The values of the profile that the kernel does not take, and the settings that this kernel lacks.
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

    use aqmlab_tcp::Marks;
    use aqmlab_tcp::congestion::Custom;

    use super::*;

    /// The profile values that are set in the kernel.
    const SET_VALUES: [&str; 21] = [
        "mss",
        "receive_window",
        "send_buffer",
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
        let expected: BTreeSet<_> = SET_VALUES.into_iter().chain(REFUSED).chain(KERNELS_OWN).collect();
        assert_eq!(values.keys().map(String::as_str).collect::<BTreeSet<_>>(), expected);
    }

    /// Returns a setting of the stack for `profile`.
    fn setting(profile: &Profile, name: &str) -> String {
        let stack = Stack::from_profile("tcp", profile).expect("the kernel can do it");
        stack.settings.into_iter().find(|(candidate, _)| *candidate == name).expect("it is set").1
    }

    #[test]
    fn a_linux_profile_sets_the_defaults_of_linux() {
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
            ("ipv4/tcp_wmem", "4096 16384 4194304"),
            ("ipv4/tcp_recovery", "1"),
        ] {
            assert_eq!(setting(&linux, name), default, "{name}");
        }
        let Stack { metrics, .. } = Stack::from_profile("tcp", &linux).expect("the kernel can do it");
        assert_eq!((metrics.initial_window, metrics.quick_ack), (10, false));
    }

    #[test]
    fn a_congestion_control_of_the_kernel_has_its_name_there() {
        let custom = Custom::new("kernel:vegas", Marks::Echoed);
        let mut profile = Profile::from_name("linux-6").expect("it is shipped");
        profile.congestion = Algorithm::Custom(custom);
        let stack = Stack::from_profile("tcp", &profile).expect("the kernel can do it");
        assert_eq!(
            (stack.congestion.as_str(), stack.metrics.congestion.as_deref()),
            ("vegas", Some("vegas"))
        );
    }

    #[test]
    fn ecn_of_dctcp_comes_with_the_control_alone() {
        let mut profile = Profile::from_name("linux-6").expect("it is shipped");
        profile.ecn = EcnPolicy::Dctcp;
        let refused =
            |profile: &Profile| Stack::from_profile("tcp", profile).expect_err("Linux has none").to_string();
        assert_eq!(refused(&profile), "tcp.congestion: live needs dctcp with ecn = dctcp, got cubic");
        profile.congestion = Algorithm::Dctcp;
        assert_eq!(setting(&profile, ECN), "0");
        profile.ecn = EcnPolicy::Rfc3168;
        assert_eq!(refused(&profile), "tcp.ecn: live needs dctcp with congestion = dctcp, got rfc3168");
    }

    #[test]
    fn a_host_of_2001_bounds_its_window_and_acknowledges_at_once() {
        let stack = Stack::from_profile("tcp", &Profile::unc_testbed()).expect("the kernel can do it");
        assert_eq!(
            stack.metrics,
            RouteMetrics {
                mss: 1460,
                initial_window: 2,
                quick_ack: true,
                congestion: Some("reno".to_owned())
            }
        );
        assert_eq!(stack.offers_at_most, Some(16_384));
    }
}
