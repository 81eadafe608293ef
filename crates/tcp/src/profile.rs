//! Stack profiles: the values in which TCP implementations differ, each with its source.

use aqmlab_units::Duration;

use crate::{EcnPolicy, Flags};

/// The constants of one TCP stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the stacks described")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Profile {
    /// Maximum segment size in bytes of data.
    pub mss: u16,
    /// Receive window in bytes. The application reads at once, so it stays open.
    pub receive_window: u16,
    /// Congestion window at the start of a connection and after idling, in segments.
    pub initial_window: u8,
    /// Does the acknowledgement that completes the handshake open the server's window by a segment? It makes the
    /// effective initial window of a server one larger, unless its SYN/ACK had to be sent again.
    pub handshake_ack_opens_window: bool,
    /// Retransmission timeout before the first round-trip sample.
    pub initial_rto: Duration,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// Greatest retransmission timeout.
    pub max_rto: Duration,
    /// Granularity of the clock that round trips are measured with.
    pub tick: Duration,
    /// Waits between SYNs, in units of the initial timeout; the last one repeats.
    pub syn_backoff: Vec<u8>,
    /// How long `connect()` tries before it fails.
    pub connect_timeout: Duration,
    /// How often a server repeats a SYN/ACK, doubling the wait, before it forgets the connection.
    pub syn_ack_retransmits: u8,
    /// Successive timeouts of data, in units of the retransmission timeout; the last one repeats.
    pub data_backoff: Vec<u8>,
    /// How many timeouts without a round-trip sample in between are answered before the connection is given up.
    pub data_retransmits: u8,
    /// How long an acknowledgement may wait for data to ride on or a second segment.
    pub delayed_ack: Duration,
    /// Acknowledge at once every so many segments; 1 turns delayed acknowledgements off.
    pub ack_every: u8,
    /// Go back to the initial window after idling for longer than the retransmission timeout?
    pub restart_after_idle: bool,
    /// Hold back a last partial segment while data are unacknowledged (Nagle, RFC 896)?
    pub nagle: bool,
    /// The form of ECN to offer and accept.
    pub ecn: EcnPolicy,
    /// Do SYNs that are sent again no longer ask for ECN (RFC 3168 §6.1.1.1; accurate: from the second on, RFC 9768
    /// §3.1.4.1)?
    pub ecn_fallback: bool,
    /// Say ECN-capable with ECT(1), which asks for the low-latency service (RFC 9331), rather than with ECT(0)? For
    /// scalable congestion controls, with feedback that counts marks.
    pub ect1: bool,
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
            initial_window: 1,
            handshake_ack_opens_window: true,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(64),
            tick: Duration::from_millis(10),
            syn_backoff: vec![1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64],
            connect_timeout: Duration::from_secs(75),
            syn_ack_retransmits: 3,
            data_backoff: vec![1, 2, 4, 8, 16, 32, 64],
            data_retransmits: 12,
            delayed_ack: Duration::from_millis(100),
            ack_every: 2,
            restart_after_idle: true,
            nagle: false,
            ecn: EcnPolicy::Off,
            ecn_fallback: false,
            ect1: false,
        }
    }

    /// [`Profile::freebsd_4_5`] whose receivers acknowledge every segment.
    ///
    /// The papers report a mean frame of "a little over 500 bytes". With an acknowledgement for every second
    /// segment this workload gives about 620 bytes, with one for every segment about 520.
    pub fn unc_testbed() -> Profile {
        Profile { ack_every: 1, ..Profile::freebsd_4_5() }
    }

    /// The profile called `name`, or `None`.
    pub fn named(name: &str) -> Option<Profile> {
        match name {
            "freebsd-4.5" => Some(Profile::freebsd_4_5()),
            "unc-testbed" => Some(Profile::unc_testbed()),
            _ => None,
        }
    }

    /// The names that [`Profile::named`] knows.
    pub const NAMES: [&str; 2] = ["freebsd-4.5", "unc-testbed"];

    /// A description of the first value that makes no sense, as its field and what it must be.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let positive = |field, span: Duration| {
            if span > Duration::ZERO {
                Ok(())
            } else {
                Err((field, format!("must be above 0 s, got {span}")))
            }
        };
        if self.mss == 0 || self.mss > 9_000 {
            return Err(("mss", format!("must be from 1 to 9000 bytes, got {}", self.mss)));
        }
        if self.receive_window < self.mss {
            let message = format!("must be at least mss = {}, got {}", self.mss, self.receive_window);
            return Err(("receive_window", message));
        }
        if self.initial_window == 0 {
            return Err(("initial_window", "must be at least 1 segment, got 0".into()));
        }
        if self.ack_every == 0 {
            return Err(("ack_every", "must be at least 1 segment, got 0".into()));
        }
        if self.syn_ack_retransmits > 16 {
            let message = format!("must be at most 16, got {}", self.syn_ack_retransmits);
            return Err(("syn_ack_retransmits", message));
        }
        if self.ect1 && self.ecn != EcnPolicy::Off && !self.ecn.counts_marks() {
            let message = format!(
                "must be false unless ecn is off, dctcp, accurate or accurate++ (RFC 9331 §4.2), got true with ecn = {}",
                self.ecn
            );
            return Err(("ect1", message));
        }
        for (field, table) in [("syn_backoff", &self.syn_backoff), ("data_backoff", &self.data_backoff)] {
            if table.is_empty() || table.contains(&0) {
                return Err((field, "must be a list of factors above 0".into()));
            }
        }
        positive("initial_rto", self.initial_rto)?;
        positive("min_rto", self.min_rto)?;
        positive("delayed_ack", self.delayed_ack)?;
        positive("connect_timeout", self.connect_timeout)?;
        if self.max_rto < self.min_rto {
            let message = format!("must be at least min_rto = {}, got {}", self.min_rto, self.max_rto);
            return Err(("max_rto", message));
        }
        Ok(())
    }

    /// The codepoint that says ECN-capable.
    #[inline]
    pub(crate) fn ect(&self) -> Flags {
        if self.ect1 { Flags::ECT1 } else { Flags::ECT }
    }

    /// The initial window in bytes.
    pub(crate) fn initial_window_bytes(&self) -> u32 {
        u32::from(self.initial_window) * u32::from(self.mss)
    }

    /// The wait for an answer to a SYN after `timeouts` of them went unanswered.
    pub(crate) fn syn_wait(&self, timeouts: u8) -> Duration {
        self.initial_rto * u64::from(factor(&self.syn_backoff, timeouts))
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

/// Entry `index` of a back-off table, the last one repeating.
fn factor(table: &[u8], index: u8) -> u8 {
    table.get(usize::from(index)).or(table.last()).copied().unwrap_or(1)
}
