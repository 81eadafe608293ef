//! Checks of a profile's values, alone and together.

use aqmlab_units::range::{Ranges, above, from, up_to};
use aqmlab_units::{Duration, Range, ranges};

use super::Profile;
use crate::EcnPolicy;
use crate::congestion::{Algorithm, Any, CongestionControl, Marks};
use crate::quic::{HANDSHAKE_DATAGRAM, QuicValues};

/// The largest window that 16 bits hold.
const MAX_UNSCALED_WINDOW: u32 = 65_535;

/// The largest window that 16 bits and a shift of 14 hold (RFC 7323 §2.2).
const MAX_SCALED_WINDOW: u32 = 65_535 << 14;

/// With a smaller segment size, 40 bytes of options would leave hardly any room for data.
const MIN_MSS_WITH_OPTIONS: u16 = 64;

/// A timer. A shorter one would expire constantly, and a longer one is a slip. Endpoints count timeouts in 32
/// bits of microseconds.
const TIMER: Range<Duration> = from(Duration::from_millis(1)).up_to(LONGEST_TIMER);

/// A thousand seconds.
const LONGEST_TIMER: Duration = Duration::from_secs(1_000);

/// Longest time for a connection attempt: after a week it will not succeed.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

ranges! {
    Profile {
        mss: from(1).up_to(9_000),
        receive_window: from(1).up_to(MAX_SCALED_WINDOW),
        initial_window: from(1),
        initial_rto: TIMER,
        min_rto: TIMER,
        rto_margin: up_to(LONGEST_TIMER),
        max_rto: TIMER,
        tick: up_to(LONGEST_TIMER),
        connect_timeout: above(Duration::ZERO).up_to(WEEK),
        syn_ack_retransmits: up_to(16),
        delayed_ack: above(Duration::ZERO).up_to(LONGEST_TIMER),
        ack_every: from(1),
        pacing_burst: from(1),
        ledbat_target: from(Duration::from_millis(1)).up_to(Profile::LEDBAT_TARGET),
        prague_reference_rtt: up_to(LONGEST_TIMER),
        min_window: from(1),
    }
}

impl Profile {
    /// LEDBAT's target in all profiles: the largest that RFC 6817 allows (§2.5).
    pub const LEDBAT_TARGET: Duration = Duration::from_millis(100);

    /// Prague's reference round-trip time in all profiles: the default of
    /// draft-briscoe-iccrg-prague-congestion-control.
    pub const PRAGUE_REFERENCE_RTT: Duration = Duration::from_millis(25);

    /// Return the first field with an impossible value, with a message.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.check_ranges().map_err(|outside| (outside.field, outside.message))?;
        if let Some(quic) = &self.quic {
            self.check_quic(quic)?;
        }
        if (self.sack || self.timestamps || self.counts_bytes()) && self.mss < MIN_MSS_WITH_OPTIONS {
            let message = format!(
                "must be at least {MIN_MSS_WITH_OPTIONS} bytes with sack, timestamps or accecn_option, got {}",
                self.mss
            );
            return Err(("mss", message));
        }
        let largest = if self.window_scaling { MAX_SCALED_WINDOW } else { MAX_UNSCALED_WINDOW };
        if self.receive_window < u32::from(self.mss) || self.receive_window > largest {
            let (mss, window, off) = (self.mss, self.receive_window, !self.window_scaling);
            let unless = if off { " without window_scaling" } else { "" };
            let message = format!("must be from mss = {mss} to {largest} bytes{unless}, got {window}");
            return Err(("receive_window", message));
        }
        if self.receive_window_tuning && !self.window_scaling {
            return Err(("receive_window_tuning", "needs window_scaling = true, got false".into()));
        }
        if self.rack && !self.sack {
            return Err(("rack", "needs sack = true, got false".into()));
        }
        for (field, table) in [("syn_backoff", &self.syn_backoff), ("data_backoff", &self.data_backoff)] {
            if table.is_empty() || table.contains(&0) {
                return Err((field, format!("must be a list of factors above 0, got {table:?}")));
            }
        }
        if self.max_rto < self.min_rto {
            let message = format!("must be at least min_rto = {}, got {}", self.min_rto, self.max_rto);
            return Err(("max_rto", message));
        }
        self.check_congestion()
    }

    /// Check the values of QUIC, and those that it shares with TCP.
    fn check_quic(&self, quic: &QuicValues) -> Result<(), (&'static str, String)> {
        quic.check_ranges().map_err(|outside| ("quic", format!("{} {}", outside.field, outside.message)))?;
        if self.mss < HANDSHAKE_DATAGRAM {
            let message =
                format!("must be at least {HANDSHAKE_DATAGRAM} with QUIC (RFC 9000 §14), got {}", self.mss);
            return Err(("mss", message));
        }
        let is_known = matches!(
            self.ecn,
            EcnPolicy::Off | EcnPolicy::Rfc3168 | EcnPolicy::Accurate | EcnPolicy::AccuratePlusPlus
        );
        if !is_known {
            let message =
                format!("must be false or true with QUIC, whose feedback has one form, got {}", self.ecn);
            return Err(("ecn", message));
        }
        Ok(())
    }

    /// Check the options of congestion control; an option without effect is an error.
    fn check_congestion(&self) -> Result<(), (&'static str, String)> {
        let name = &self.congestion;
        let (marks, has_abe) = self.response_to_marks();
        let (has_feedback, needed) = match marks {
            Marks::Echoed => (true, ""),
            Marks::Counted | Marks::L4s if self.quic.is_some() => (self.ecn != EcnPolicy::Off, "true"),
            Marks::Counted => (self.ecn.counts_marks(), "dctcp, accurate or accurate++"),
            Marks::L4s => (self.ecn.is_accurate(), "accurate or accurate++"),
        };
        if !has_feedback {
            let message = format!("{name} counts marks: it needs ecn = {needed}, got {}", self.ecn);
            return Err(("congestion", message));
        }
        if self.abe && self.ecn == EcnPolicy::Off {
            return Err(("abe", "must be false unless ecn is on, in any form, got ecn = off".into()));
        }
        if self.abe && !has_abe {
            let supporting = Algorithm::NAMES.into_iter().filter(|(_, congestion)| {
                Any::new(&Profile { congestion: congestion.clone(), ..self.clone() }).has_abe()
            });
            let supporting = supporting.map(|(name, _)| name).collect::<Vec<_>>().join(" or ");
            return Err(("abe", format!("must be false unless congestion is {supporting}, got {name}")));
        }
        Ok(())
    }

    /// The control's response to marks, and whether it reduces less for a mark than for a loss.
    fn response_to_marks(&self) -> (Marks, bool) {
        if let Algorithm::Custom(custom) = &self.congestion {
            // It may have no maker yet.
            return (custom.marks(), false);
        }
        let control = Any::new(self);
        (control.marks(), control.has_abe())
    }
}
