//! Stack profiles: the values in which TCP implementations differ, with their sources; one file a system.

mod check;
mod freebsd;
mod linux;
mod ns2;
mod quic;

use aqmlab_units::Duration;

use crate::EcnPolicy;
use crate::congestion::Algorithm;
use crate::quic::QuicValues;

/// The constants of one TCP stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the stacks described")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<Profile>))]
pub struct Profile {
    /// Maximum segment size in bytes of data.
    pub mss: u16,
    /// Receive window in bytes; with tuning, its maximum. The application reads at once, so it stays open. Above
    /// 65,535 bytes it needs `window_scaling`.
    pub receive_window: u32,
    /// Start with a receive window of 65,535 bytes, in whole segments, and let it grow to `receive_window` with the data that
    /// arrive in a round trip (Linux's `tcp_moderate_rcvbuf`). A spec that writes `receive_window` but not this key has
    /// a fixed window, as with `SO_RCVBUF`.
    pub receive_window_tuning: bool,
    /// Negotiate window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Negotiate timestamps (RFC 7323 §3). They take 12 bytes of each segment, give a round-trip sample for each
    /// acknowledgement, and undo reductions for spurious retransmissions (RFC 3522).
    pub timestamps: bool,
    /// Negotiate selective acknowledgements (RFC 2018) with reports of duplicates (RFC 2883).
    pub sack: bool,
    /// Detect losses by time, and probe for lost tails (RACK-TLP, RFC 8985). Otherwise three segments above a
    /// hole indicate a loss (RFC 6675).
    pub rack: bool,
    /// Detect spurious timeouts by sending new data in place of retransmissions (F-RTO, RFC 5682), and undo them.
    /// With timestamps, those detect it earlier.
    pub frto: bool,
    /// Stay in fast recovery until all data in flight at its start are acknowledged (`NewReno`, RFC 6582).
    /// Otherwise the first new acknowledgement ends it (Reno, RFC 2581). With SACK it always stays.
    pub newreno: bool,
    /// Congestion window at the start of a connection and after idling, in segments.
    pub initial_window: u8,
    /// The acknowledgement that completes the handshake opens the server's window by a segment. This makes a
    /// server's effective initial window one segment larger, unless its SYN/ACK was retransmitted.
    pub handshake_ack_opens_window: bool,
    /// Retransmission timeout before the first round-trip sample.
    pub initial_rto: Duration,
    /// Minimum retransmission timeout.
    pub min_rto: Duration,
    /// Minimum difference between the retransmission timeout and the smoothed round-trip time.
    pub rto_margin: Duration,
    /// Maximum retransmission timeout, and maximum time between SYNs.
    pub max_rto: Duration,
    /// Granularity of the clock that measures round-trip times.
    pub tick: Duration,
    /// Times between SYNs, in units of the initial timeout and up to the maximum; the last one repeats.
    pub syn_backoff: Vec<u16>,
    /// Time after which `connect()` fails.
    pub connect_timeout: Duration,
    /// Retransmissions of a SYN/ACK, each after twice the time, before a server gives the connection up.
    pub syn_ack_retransmits: u8,
    /// Successive timeouts of data, in units of the retransmission timeout; the last one repeats.
    pub data_backoff: Vec<u16>,
    /// Timeouts in a row, without a round-trip sample in between, that are retransmitted before the connection is
    /// given up.
    pub data_retransmits: u8,
    /// Maximum delay of an acknowledgement, which waits for data to carry it or for a second segment.
    pub delayed_ack: Duration,
    /// Number of segments after which an acknowledgement is sent at once; 1 turns delayed acknowledgements off.
    pub ack_every: u8,
    /// Segments that a receiver acknowledges at once, at the start and after a pause, before it delays acknowledgements. 0
    /// also turns off the other quick acknowledgements of Linux (docs/guide/tcp.md).
    pub quick_acks: u8,
    /// Segments that a receiver with classic feedback (RFC 3168) acknowledges at once, starting with a marked
    /// one; it also acknowledges CWR at once then. 0: marks change no acknowledgement's timing. Other forms of
    /// feedback have their own rules.
    pub quick_acks_after_mark: u8,
    /// Segments that a sender releases together if its congestion control paces.
    pub pacing_burst: u8,
    /// Send new data in packets of several segments that grow with the rate, and wait for room for a whole one, as Linux does
    /// with TCP segmentation offload (`tcp_tso_autosize`, `tcp_tso_should_defer`). For controls that do not pace. Otherwise
    /// each segment leaves as soon as the windows have room.
    pub segmentation_offload: bool,
    /// Memory in bytes for data that are written and not acknowledged, including the overhead of packets: the maximum of
    /// Linux's `tcp_wmem`. 0: as much as the windows allow.
    pub send_buffer: u32,
    /// Minimum congestion window after a mark, in segments. RFC 3168 §6.1.2 permits one; after a loss it is two.
    /// BBR and LEDBAT have minimum windows of their own.
    pub min_window: u8,
    /// Return to the initial window after an idle period longer than the retransmission timeout.
    pub restart_after_idle: bool,
    /// Hold back a last partial segment while data are unacknowledged (Nagle, RFC 896).
    pub nagle: bool,
    /// The form of ECN to negotiate. `true` is RFC 3168. With `ecn+`, `ecn+/wait` and `ecn+/try-once`, SYN/ACKs
    /// are ECN-capable; with `ecn++` more packets are. `dctcp` and `accurate` (Accurate ECN) count marks. With
    /// `accurate++` every packet is ECN-capable. See docs/guide/ecn.md.
    pub ecn: EcnPolicy,
    /// With DCTCP's feedback, acknowledge the pending segments before a change of marks separately, so that each
    /// acknowledgement covers segments of one kind. RFC 8257 §3.2 leaves it open. Otherwise one acknowledgement
    /// covers both.
    pub dctcp_two_acks: bool,
    /// Send retransmitted SYNs without a request for ECN (RFC 3168 §6.1.1.1; accurate: from the second on, RFC
    /// 9768 §3.1.4.1).
    pub ecn_fallback: bool,
    /// With an accurate form of ECN, count bytes and report them in an option (RFC 9768 §3.2.3). It takes up to
    /// 12 bytes of the segments that acknowledge data.
    pub accecn_option: bool,
    // Congestion control, for a stack in which it can be chosen.
    /// The congestion control.
    pub congestion: Algorithm,
    /// Reduce less for a mark than for a loss (ABE, RFC 8511): Reno to 0.8 instead of 0.5 of the window, CUBIC to
    /// 0.85 instead of 0.7. Off in all profiles, as in Linux; FreeBSD has it as an option.
    pub abe: bool,
    /// The queueing delay that LEDBAT aims at, TARGET: at most 100 ms (RFC 6817 §2.5), the value of all profiles.
    /// LEDBAT++ uses 60 ms (draft-irtf-iccrg-ledbat-plus-plus). For LEDBAT only.
    pub ledbat_target: Duration,
    /// The round-trip time as of which Prague behaves on a shorter path, after its first 500 round trips: 25 ms in all
    /// profiles (draft-briscoe-iccrg-prague-congestion-control). `0 s`: always its own round-trip time. For Prague only.
    pub prague_reference_rtt: Duration,
    /// The sign that ends slow start before a loss: `off`, `hystart` of Linux for CUBIC, or `hystart++` (RFC 9406)
    /// for Reno and `cubic-rfc9438`.
    pub hystart: HyStartForm,
    /// QUIC in place of TCP, and the values that only QUIC has; see docs/guide/quic.md.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub quic: Option<QuicValues>,
}

/// The sign that ends slow start before a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HyStartForm {
    /// None.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "off"))]
    Off,
    /// A train of acknowledgements of half a round trip, or a rise of the round-trip time, as in Linux. For CUBIC.
    #[cfg_attr(feature = "serde", serde(rename = "hystart"))]
    Linux,
    /// A rise of the round-trip time (RFC 9406). For Reno and `cubic-rfc9438`.
    #[cfg_attr(feature = "serde", serde(rename = "hystart++"))]
    PlusPlus,
}

impl std::fmt::Display for HyStartForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            HyStartForm::Off => "off",
            HyStartForm::Linux => "hystart",
            HyStartForm::PlusPlus => "hystart++",
        })
    }
}

type Constructor = fn() -> Profile;

/// The profiles: name in specs, and constructor. A new profile needs a line here and nowhere else.
const ALL: &[(&str, Constructor)] = &[
    ("freebsd-4.5", Profile::freebsd_4_5),
    ("unc-testbed", Profile::unc_testbed),
    ("linux-6", Profile::linux_6),
    ("ns2-reno", Profile::ns2_reno),
    ("ns2-newreno", Profile::ns2_newreno),
    ("quic", Profile::quic),
];

impl Profile {
    /// Return the profile called `name`, or `None`.
    pub fn from_name(name: &str) -> Option<Profile> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, make)| make())
    }

    /// Names of all profiles.
    pub fn names() -> Vec<&'static str> {
        ALL.iter().map(|&(name, _)| name).collect()
    }

    /// The smallest stack with all that the profile uses.
    pub fn required_stack(&self) -> RequiredStack {
        if self.quic.is_some() {
            return RequiredStack::AnyTransport;
        }
        let full = self.sack
            || self.timestamps
            || self.frto
            || self.quick_acks > 0
            || self.quick_acks_after_mark > 0
            || self.segmentation_offload
            || self.send_buffer > 0
            || self.min_window > 1
            || self.receive_window_tuning
            || self.counts_bytes()
            || self.congestion != Algorithm::Reno
            || self.abe
            || self.hystart != HyStartForm::Off;
        match (full, self.window_scaling) {
            (true, _) => RequiredStack::Full,
            (false, true) => RequiredStack::Scaled,
            (false, false) => RequiredStack::Basic,
        }
    }

    /// True if it recovers from losses as 4.4BSD did, on any stack.
    pub(crate) fn is_classic(&self) -> bool {
        self.required_stack() < RequiredStack::Full
    }

    /// True if it uses Accurate ECN's option when the peer does.
    fn counts_bytes(&self) -> bool {
        self.accecn_option && self.ecn.is_accurate()
    }

    /// The initial window in bytes.
    pub fn initial_window_bytes(&self) -> u32 {
        u32::from(self.initial_window) * u32::from(self.mss)
    }

    /// The receive window in the field of a SYN, and of all segments without window scaling. One that grows starts with whole
    /// segments (`tcp_select_initial_window` of Linux).
    #[inline]
    pub(crate) fn unscaled_window(&self) -> u16 {
        let window = u16::try_from(self.receive_window).unwrap_or(u16::MAX);
        if self.receive_window_tuning && window > self.mss { window / self.mss * self.mss } else { window }
    }

    /// The receive window at the start of a connection.
    pub(crate) fn initial_receive_window(&self) -> u32 {
        if self.receive_window_tuning { self.unscaled_window().into() } else { self.receive_window }
    }

    /// The smallest shift with which the maximum receive window fits into 16 bits (RFC 7323 §2.2).
    pub(crate) fn window_shift(&self) -> u8 {
        let above = u32::BITS - (self.receive_window >> 16).leading_zeros();
        u8::try_from(above).unwrap_or(14)
    }

    /// The time until a SYN is retransmitted, after `timeouts` of them expired.
    pub(crate) fn syn_wait(&self, timeouts: u8) -> Duration {
        (self.initial_rto * u64::from(factor(&self.syn_backoff, timeouts))).min(self.max_rto)
    }

    /// The retransmission timeout after `timeouts` expirations in a row.
    #[inline]
    pub(crate) fn backed_off_rto(&self, rto: Duration, timeouts: u8) -> Duration {
        if timeouts == 0 {
            return rto;
        }
        (rto * u64::from(factor(&self.data_backoff, timeouts))).min(self.max_rto)
    }
}

/// Stacks. Each has all features of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the stacks")]
pub enum RequiredStack {
    Basic,
    Scaled,
    Full,
    AnyTransport,
}

/// Return entry `index` of a back-off table, whose last entry repeats.
fn factor(table: &[u16], index: u8) -> u16 {
    table.get(usize::from(index)).or(table.last()).copied().unwrap_or(1)
}
