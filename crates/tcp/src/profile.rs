//! Stack profiles: the values in which TCP implementations differ, each with its source.

mod check;

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
    /// Receive window in bytes. The application reads at once, so it stays open; above 65,535 it needs
    /// `window_scaling`.
    pub receive_window: u32,
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
    /// End the first slow start when the round-trip time rises (HyStart++, RFC 9406)? Of Reno and CUBIC; the other
    /// controls have ways of their own.
    pub hystart: bool,
}

impl Profile {
    /// FreeBSD 4.5 (January 2002), the hosts of Le, Aikat, Jeffay and Smith, with the 16 kB window they set.
    ///
    /// Timers, back-off tables and windows are those of FreeBSD 4.6 as recorded in the formal TCP model of Bishop
    /// et al. (`TCP1_paramsScript`); initial window and SYN cache from the 4.x sources `tcp_output.c` and
    /// `tcp_syncache.c`. The clock tick is that of HZ = 100. Nagle is off: the papers do not say how their servers
    /// wrote, and a server that writes a response at once with the option `TCP_NODELAY` is our reading.
    pub fn freebsd_4_5() -> Profile {
        Profile {
            mss: 1460,
            receive_window: 16_384,
            window_scaling: false,
            timestamps: false,
            sack: false,
            rack: false,
            frto: false,
            newreno: true,
            initial_window: 1,
            handshake_ack_opens_window: true,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_secs(1),
            rto_margin: Duration::ZERO,
            max_rto: Duration::from_secs(64),
            tick: Duration::from_millis(10),
            syn_backoff: vec![1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64],
            connect_timeout: Duration::from_secs(75),
            syn_ack_retransmits: 3,
            data_backoff: vec![1, 2, 4, 8, 16, 32, 64],
            data_retransmits: 12,
            delayed_ack: Duration::from_millis(100),
            ack_every: 2,
            quick_acks: 0,
            quick_acks_after_mark: 0,
            pacing_burst: 1,
            min_window: 1,
            restart_after_idle: true,
            nagle: false,
            ecn: EcnPolicy::Off,
            ecn_fallback: false,
            accecn_option: false,
            congestion: Algorithm::Reno,
            abe: false,
            hystart: false,
        }
    }

    /// [`Profile::freebsd_4_5`] whose receivers acknowledge every segment.
    ///
    /// The papers report a mean frame of "a little over 500 bytes". With an acknowledgement for every second
    /// segment this workload gives about 620 bytes, with one for every segment about 520.
    pub fn unc_testbed() -> Profile {
        Profile { ack_every: 1, ..Profile::freebsd_4_5() }
    }

    /// Linux 6.5 and later with its defaults (`Documentation/networking/ip-sysctl.rst`, `include/net/tcp.h`).
    ///
    /// SACK with RACK-TLP, timestamps, window scaling, F-RTO (`tcp_frto`); initial window of ten segments (RFC 6928).
    /// Timeouts: 1 s at first, then at least 200 ms above the smoothed round trip (`TCP_RTO_MIN`), at most 120 s. SYNs:
    /// four repetitions a second apart (`tcp_syn_linear_timeouts`, since 6.5), then doubling, ten in all, given up at
    /// 131 s; before 6.5 they doubled from the first. Five SYN/ACKs more (`tcp_synack_retries`), 15 timeouts of data
    /// (`tcp_retries2`). Acknowledgements: the first 16 segments at once (`TCP_MAX_QUICKACKS`), then each second, or
    /// after 40 ms (`TCP_DELACK_MIN`).
    ///
    /// Marks: a segment that came marked while none is echoed, and the next, are acknowledged at once (`tcp_enter_quickack_mode`
    /// in `__tcp_ecn_check_ce`), and so is one that says CWR (`tcp_ecn_accept_cwr`), for the sender's window may be small.
    /// Every control leaves two segments (`tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`, `dctcp_ssthresh`, and
    /// `prague_ssthresh` of the L4S team's tree).
    ///
    /// CUBIC (`tcp_congestion_control`), whose slow start ends by HyStart++ here and by the older HyStart in Linux. SYNs
    /// sent again ask for no ECN (`tcp_ecn_fallback`, 1 in `ip-sysctl.rst` and in `tcp_sk_init` of
    /// `net/ipv4/tcp_ipv4.c`). With Accurate ECN, which Linux has since 6.18, its option goes along (`tcp_ecn_option`,
    /// 2).
    ///
    /// A control that paces lets go two segments together (`tcp_min_tso_segs`), which one acknowledgement then covers.
    ///
    /// Simpler than Linux: at high rates more leave together there (`tcp_tso_autosize`); after a mark the window falls at once, not over a round trip (`tcp_cwnd_reduction`); the receive window is what `tcp_rmem` allows at most from the start and is not tuned; it does
    /// not return to quick acknowledgements after a pause; the window after idling is the initial one, not halved for
    /// each timeout that has passed. Nagle is off, as for [`Profile::freebsd_4_5`].
    pub fn linux_6() -> Profile {
        Profile {
            mss: 1460,
            receive_window: 6_291_456,
            window_scaling: true,
            timestamps: true,
            sack: true,
            rack: true,
            frto: true,
            newreno: true,
            initial_window: 10,
            handshake_ack_opens_window: false,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            rto_margin: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            tick: Duration::from_micros(1),
            syn_backoff: vec![1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64],
            connect_timeout: Duration::from_secs(131),
            syn_ack_retransmits: 5,
            data_backoff: vec![1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
            data_retransmits: 15,
            delayed_ack: Duration::from_millis(40),
            ack_every: 2,
            quick_acks: 16,
            quick_acks_after_mark: 2,
            pacing_burst: 2,
            min_window: 2,
            restart_after_idle: true,
            nagle: false,
            ecn: EcnPolicy::Off,
            ecn_fallback: true,
            accecn_option: true,
            congestion: Algorithm::Cubic,
            abe: false,
            hystart: true,
        }
    }

    /// `Agent/TCP/Newreno` of ns-2.1b7 (2000) with its defaults, as in the simulations of its time.
    ///
    /// From `ns-default.tcl` and the dates of its changes: a window of 20 segments, initial window 1 (2 since May
    /// 2001), first timeout 6 s (3 s since January 2006), a clock of 100 ms (10 ms since March 2002), each segment
    /// acknowledged (`Agent/TCPSink`), timeouts doubling up to 64 s. Segments of 1,000 bytes included their headers
    /// (`useHeaders_` false until November 2001), so 960 bytes are data. The least timeout of two ticks is our reading.
    ///
    /// Unlike ns-2's one-way TCP a connection has a handshake here, with the timeouts of ns-2's `FullTcp`: they double like
    /// those of data (`TcpAgent::rtt_backoff`), up to `maxrto_`, and no end is put to trying, for which an hour stands here.
    /// From a first timeout of 3 s they are 3, 6, 12, 24, 48 and 60 s, as in ns-2.35, whose `maxrto_` is 60 s.
    pub fn ns2_newreno() -> Profile {
        Profile {
            mss: 960,
            receive_window: 20 * 960,
            initial_window: 1,
            handshake_ack_opens_window: false,
            initial_rto: Duration::from_secs(6),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(64),
            tick: Duration::from_millis(100),
            syn_backoff: vec![1, 2, 4, 8, 16, 20],
            connect_timeout: Duration::from_secs(3600),
            data_backoff: vec![1, 2, 4, 8, 16, 32, 64],
            ack_every: 1,
            ..Profile::freebsd_4_5()
        }
    }

    /// [`Profile::ns2_newreno`] with Reno's fast recovery (`Agent/TCP/Reno`): the first new acknowledgement ends it.
    /// As by default in ns-2 (`bugFix_`), losses of one window start one fast retransmit.
    pub fn ns2_reno() -> Profile {
        Profile { newreno: false, ..Profile::ns2_newreno() }
    }

    /// The profile called `name`, or `None`.
    pub fn named(name: &str) -> Option<Profile> {
        match name {
            "freebsd-4.5" => Some(Profile::freebsd_4_5()),
            "unc-testbed" => Some(Profile::unc_testbed()),
            "linux-6" => Some(Profile::linux_6()),
            "ns2-reno" => Some(Profile::ns2_reno()),
            "ns2-newreno" => Some(Profile::ns2_newreno()),
            _ => None,
        }
    }

    /// The names that [`Profile::named`] knows.
    pub const NAMES: [&str; 5] = ["freebsd-4.5", "unc-testbed", "linux-6", "ns2-reno", "ns2-newreno"];

    /// The least stack that has what it asks for.
    pub fn needs(&self) -> Needs {
        let full = self.sack
            || self.timestamps
            || self.frto
            || self.quick_acks > 0
            || self.quick_acks_after_mark > 0
            || self.min_window > 1
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

    /// The least shift with which the receive window fits into 16 bits (RFC 7323 §2.2).
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
