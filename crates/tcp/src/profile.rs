//! Stack profiles: the values in which TCP implementations differ, each with its source; those of one system a file.

mod check;
mod freebsd;
mod linux;
mod ns2;

use aqmlab_units::Duration;

use crate::EcnPolicy;
use crate::congestion::Algorithm;

/// The constants of one TCP stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the stacks described")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<Profile>))]
pub struct Profile {
    /// Maximum segment size in bytes of data.
    pub mss: u16,
    /// Receive window in bytes, the greatest where it is tuned. The application reads at once, so it stays open; above
    /// 65,535 it needs `window_scaling`.
    pub receive_window: u32,
    /// Begin with a receive window of 65,535 bytes, and let it grow to `receive_window` with what arrives in a round trip
    /// (Linux's `tcp_moderate_rcvbuf`)? A spec that writes `receive_window` and not this has a fixed window, as with
    /// `SO_RCVBUF`.
    pub receive_window_tuning: bool,
    /// Offer and accept window scaling (RFC 7323 §2)?
    pub window_scaling: bool,
    /// Offer and accept timestamps (RFC 7323 §3)? They take 12 bytes of each segment, give a round trip for each
    /// acknowledgement, and undo reductions for losses that were none (RFC 3522).
    pub timestamps: bool,
    /// Offer and accept selective acknowledgements (RFC 2018) with reports of duplicates (RFC 2883)?
    pub sack: bool,
    /// Find losses by time, and probe for lost tails (RACK-TLP, RFC 8985)? Else by three segments above a hole (RFC 6675).
    pub rack: bool,
    /// Find out after a timeout whether it was right, by new data sent in place of repairs (F-RTO, RFC 5682), and undo
    /// it if not? With timestamps they say it sooner.
    pub frto: bool,
    /// Stay in fast recovery until all that was in flight at its start is acknowledged (`NewReno`, RFC 6582)? Else the
    /// first new acknowledgement ends it (Reno, RFC 2581). With SACK it always stays.
    pub newreno: bool,
    /// Congestion window at the start of a connection and after idling, in segments.
    pub initial_window: u8,
    /// Does the acknowledgement that completes the handshake open the server's window by a segment? It makes the
    /// effective initial window of a server one larger, unless its SYN/ACK had to be sent again.
    pub handshake_ack_opens_window: bool,
    /// Retransmission timeout before the first round-trip sample.
    pub initial_rto: Duration,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// Least that the retransmission timeout is above the smoothed round-trip time.
    pub rto_margin: Duration,
    /// Greatest retransmission timeout, and wait between SYNs.
    pub max_rto: Duration,
    /// Granularity of the clock that round trips are measured with.
    pub tick: Duration,
    /// Waits between SYNs, in units of the initial timeout and up to the greatest; the last one repeats.
    pub syn_backoff: Vec<u16>,
    /// How long `connect()` tries before it fails.
    pub connect_timeout: Duration,
    /// How often a server repeats a SYN/ACK, doubling the wait, before it forgets the connection.
    pub syn_ack_retransmits: u8,
    /// Successive timeouts of data, in units of the retransmission timeout; the last one repeats.
    pub data_backoff: Vec<u16>,
    /// How many timeouts without a round-trip sample in between are answered before the connection is given up.
    pub data_retransmits: u8,
    /// How long an acknowledgement may wait for data to ride on or a second segment.
    pub delayed_ack: Duration,
    /// Acknowledge at once every so many segments; 1 turns delayed acknowledgements off.
    pub ack_every: u8,
    /// How many segments a receiver acknowledges at once from the start, before it holds acknowledgements back.
    pub quick_acks: u8,
    /// How many segments a receiver acknowledges at once from one on that came marked, where its acknowledgements say so
    /// until they are answered (RFC 3168), and with that the answer, a segment that says CWR; 0: none, as if they had not
    /// come marked. The other forms of feedback have rules of their own for it.
    pub quick_acks_after_mark: u8,
    /// How many segments a sender lets go together where its congestion control paces.
    pub pacing_burst: u8,
    /// Least congestion window that marks leave, in segments. RFC 3168 §6.1.2 goes down to one; a loss leaves two. BBR and
    /// LEDBAT have a least window of their own.
    pub min_window: u8,
    /// Go back to the initial window after idling for longer than the retransmission timeout?
    pub restart_after_idle: bool,
    /// Hold back a last partial segment while data are unacknowledged (Nagle, RFC 896)?
    pub nagle: bool,
    /// The form of ECN to offer and accept: `true` is RFC 3168; with `ecn+`, `ecn+/wait` and `ecn+/try-once` SYN/ACKs are
    /// ECN-capable; with `ecn++` more packets are; `dctcp` and `accurate` (Accurate ECN) count marks; with `accurate++`
    /// every packet is ECN-capable. See docs/guide/ecn.md.
    pub ecn: EcnPolicy,
    /// With DCTCP's feedback, acknowledge what was held back as it came before acknowledging a change of marks, so that each
    /// acknowledgement is of packets alike? RFC 8257 §3.2 leaves it open; else one acknowledgement covers both.
    pub dctcp_two_acks: bool,
    /// Do SYNs that are sent again no longer ask for ECN (RFC 3168 §6.1.1.1; accurate: from the second on, RFC 9768
    /// §3.1.4.1)?
    pub ecn_fallback: bool,
    /// With an accurate form of ECN, count bytes and tell of them in an option (RFC 9768 §3.2.3)? It takes up to 12 bytes
    /// of the segments that acknowledge data.
    pub accecn_option: bool,
    // Congestion control, for a stack in which it can be chosen.
    /// The congestion control.
    pub congestion: Algorithm,
    /// Reduce less for a mark than for a loss (ABE, RFC 8511)? Reno to 0.8 instead of 0.5, CUBIC to 0.85 instead of
    /// 0.7 of the window. Off in all profiles, as in Linux; FreeBSD has it as an option.
    pub abe: bool,
    /// Let CUBIC's Reno-friendly window grow by a whole segment each round trip once it is back at the window before the last
    /// reduction (`alpha_cubic` = 1, RFC 9438 §4.3)? Else it grows by 0.53 throughout, as in Linux. Of CUBIC alone.
    pub cubic_alpha_one: bool,
    /// The queueing delay that LEDBAT steers to, TARGET: at most 100 ms (RFC 6817 §2.5), which all profiles have. LEDBAT++ has
    /// 60 ms (draft-irtf-iccrg-ledbat-plus-plus). Of LEDBAT alone.
    pub ledbat_target: Duration,
    /// End the first slow start when the round-trip time rises (HyStart++, RFC 9406)? Of Reno and CUBIC; the other
    /// controls have ways of their own.
    pub hystart: bool,
}

type Constructor = fn() -> Profile;

/// Each profile's name in specs, and what makes it. A profile is entered here and nowhere else.
const ALL: &[(&str, Constructor)] = &[
    ("freebsd-4.5", Profile::freebsd_4_5),
    ("unc-testbed", Profile::unc_testbed),
    ("linux-6", Profile::linux_6),
    ("ns2-reno", Profile::ns2_reno),
    ("ns2-newreno", Profile::ns2_newreno),
];

impl Profile {
    /// The profile called `name`, or `None`.
    pub fn named(name: &str) -> Option<Profile> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, make)| make())
    }

    /// The names that [`Profile::named`] knows.
    pub fn names() -> Vec<&'static str> {
        ALL.iter().map(|&(name, _)| name).collect()
    }

    /// The least stack that has what it asks for.
    pub fn needs(&self) -> Needs {
        let full = self.sack
            || self.timestamps
            || self.frto
            || self.quick_acks > 0
            || self.quick_acks_after_mark > 0
            || self.min_window > 1
            || self.receive_window_tuning
            || self.counts_bytes()
            || self.congestion != Algorithm::Reno
            || self.abe
            || self.hystart;
        match (full, self.window_scaling) {
            (true, _) => Needs::Full,
            (false, true) => Needs::Scaled,
            (false, false) => Needs::Basic,
        }
    }

    /// Does it recover from losses as 4.4BSD did, whatever stack it runs on?
    pub(crate) fn is_classic(&self) -> bool {
        self.needs() < Needs::Full
    }

    /// Does it use Accurate ECN's option, where the peer does too?
    fn counts_bytes(&self) -> bool {
        self.accecn_option && self.ecn.is_accurate()
    }

    /// The initial window in bytes.
    pub(crate) fn initial_window_bytes(&self) -> u32 {
        u32::from(self.initial_window) * u32::from(self.mss)
    }

    /// The receive window as it stands in a SYN, and in all segments without window scaling.
    #[inline]
    pub(crate) fn unscaled_window(&self) -> u16 {
        u16::try_from(self.receive_window).unwrap_or(u16::MAX)
    }

    /// The receive window at the start of a connection.
    pub(crate) fn first_receive_window(&self) -> u32 {
        if self.receive_window_tuning { self.unscaled_window().into() } else { self.receive_window }
    }

    /// The least shift with which the greatest receive window fits into 16 bits (RFC 7323 §2.2).
    pub(crate) fn window_shift(&self) -> u8 {
        let above = u32::BITS - (self.receive_window >> 16).leading_zeros();
        u8::try_from(above).unwrap_or(14)
    }

    /// The wait for an answer to a SYN after `timeouts` of them went unanswered.
    pub(crate) fn syn_wait(&self, timeouts: u8) -> Duration {
        (self.initial_rto * u64::from(factor(&self.syn_backoff, timeouts))).min(self.max_rto)
    }

    /// The retransmission timeout after `timeouts` expirations in a row.
    #[inline]
    pub(crate) fn backed_off(&self, rto: Duration, timeouts: u8) -> Duration {
        if timeouts == 0 {
            return rto;
        }
        (rto * u64::from(factor(&self.data_backoff, timeouts))).min(self.max_rto)
    }
}

/// A stack, each with all that the one before it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the stacks")]
pub enum Needs {
    Basic,
    Scaled,
    Full,
}

/// Entry `index` of a back-off table, the last one repeating.
fn factor(table: &[u16], index: u8) -> u16 {
    table.get(usize::from(index)).or(table.last()).copied().unwrap_or(1)
}
