//! Congestion window, recovery periods (RFC 9002 §7) and pacing (§7.7), around a congestion control of TCP.
//!
//! Bytes are those of packets without the headers of IP and UDP, as in RFC 9002. Slow start counts at most two datagrams for an
//! acknowledgement, as in TCP.

use aqmlab_units::{Bytes, Duration, Time};

use super::sent::SentPacket;
use crate::congestion::{Ack, CongestionControl, Marks};
use crate::recovery::{NewestSegment, RateEstimator};
use crate::{Profile, Seq};

/// A recovery period (§7.3.2).
#[derive(Clone, Copy, Debug)]
struct Recovery {
    start: Time,
    /// It began with a loss, not with a mark.
    is_for_loss: bool,
}

/// The congestion window of a connection.
#[derive(Debug)]
pub(super) struct Window<C> {
    pub(super) control: C,
    /// Bytes of the packets in flight.
    pub(super) in_flight: u32,
    recovery: Option<Recovery>,
    /// The last period: packets sent before its start are not the cause of another reduction.
    last_start: Option<Time>,
    rate: RateEstimator,
    pub(super) lost: u64,
    lost_reported: u64,
    /// The window has held back data since the last acknowledgement.
    pub(super) is_limiting: bool,
    /// Only pacing has held back data that would have filled the window, since the last acknowledgement.
    pub(super) is_paced: bool,
    /// Time at which the pacer has paid for all that was sent.
    paid_at: Time,
    mss: u32,
    burst: u32,
}

/// Packets that one acknowledgement covers.
#[derive(Debug, Default)]
pub(super) struct AckedPackets {
    /// Their bytes, and those of them sent after the current recovery period began.
    pub(super) bytes: u32,
    grown: u32,
    newest: NewestSegment,
    pub(super) marked: u32,
    pub(super) rtt: Option<Duration>,
    /// A packet of the recovery's data was sent after its start.
    ends_recovery: bool,
}

impl<C: CongestionControl> Window<C> {
    pub(super) fn new(profile: &Profile, now: Time) -> Window<C> {
        let control = C::new(profile);
        let mss = u32::from(profile.mss);
        Window {
            rate: RateEstimator::new(now, control.needs_rate_samples()),
            control,
            in_flight: 0,
            recovery: None,
            last_start: None,
            lost: 0,
            lost_reported: 0,
            is_limiting: false,
            is_paced: false,
            paid_at: now,
            mss,
            burst: u32::from(profile.pacing_burst) * mss,
        }
    }

    /// The congestion window, at least two datagrams (§7.2).
    pub(super) fn size(&self) -> u32 {
        self.control.cwnd().max(2 * self.mss)
    }

    /// True if a full datagram may leave.
    pub(super) fn has_room(&self) -> bool {
        self.in_flight + self.mss <= self.size()
    }

    pub(super) fn in_recovery(&self) -> bool {
        self.recovery.is_some()
    }

    /// The rate of the pacer: the control's, or 1.25 windows in a round trip (§7.7), as the time for `bytes`.
    fn time_to_send(&self, bytes: u32, srtt: Option<Duration>) -> Duration {
        if let Some(rate) = self.control.pacing_rate() {
            return rate.time_to_send(Bytes::new(bytes.into()));
        }
        let srtt = srtt.map_or(0, Duration::as_nanos);
        Duration::from_nanos(srtt / 5 * 4 * u64::from(bytes) / u64::from(self.size()))
    }

    /// The time from which the pacer lets a packet leave. It permits bursts of the profile's size.
    pub(super) fn release(&self, srtt: Option<Duration>) -> Time {
        let credit = self.time_to_send(self.burst.saturating_sub(self.mss), srtt);
        Time::from_nanos(self.paid_at.as_nanos().saturating_sub(credit.as_nanos()))
    }

    /// Count a packet that leaves. Returns the bytes delivered so far.
    pub(super) fn on_sent(&mut self, tracked: u32, size: u16, srtt: Option<Duration>, now: Time) -> u64 {
        let size = u32::from(size);
        let end = Seq::new(tracked) + 1;
        let delivered = self.rate.on_sent(now, (end, size), self.in_flight, self.lost);
        self.in_flight += size;
        self.paid_at = self.paid_at.max(now) + self.time_to_send(size, srtt);
        delivered
    }

    /// The application does not fill the window.
    pub(super) fn on_app_limited(&mut self) {
        if self.in_flight < self.size() {
            self.rate.on_app_limited(self.in_flight);
        }
    }

    /// A packet of discarded keys is in flight no more (RFC 9002 §6.4).
    pub(super) fn discard(&mut self, packet: &SentPacket) {
        self.in_flight -= u32::from(packet.size);
    }

    /// Add a packet that an acknowledgement covers.
    pub(super) fn take_acked(&mut self, packet: &SentPacket, acked: &mut AckedPackets) {
        let size = u32::from(packet.size);
        self.in_flight -= size;
        acked.bytes += size;
        acked.newest.add_sent(packet.delivered, packet.sent_at, Seq::new(packet.tracked) + 1);
        let is_after = self.recovery.is_none_or(|recovery| recovery.start < packet.sent_at);
        if is_after {
            acked.grown += size;
            acked.ends_recovery = true;
        }
    }

    /// Handle an acknowledgement after its losses. `first_tracked` is the oldest packet in flight.
    pub(super) fn on_acked(
        &mut self,
        acked: &AckedPackets,
        first_tracked: u32,
        min_rtt: Duration,
        now: Time,
    ) {
        let una = Seq::new(first_tracked);
        let (rate, new_round) = self.rate.sample(now, (acked.bytes, acked.newest), una, self.lost, min_rtt);
        let pacing_limited = std::mem::take(&mut self.is_paced);
        let ack = Ack {
            now,
            bytes: acked.bytes,
            mss: self.mss,
            in_flight: self.in_flight,
            marked: acked.marked,
            lost: u32::try_from(self.lost - self.lost_reported).unwrap_or(u32::MAX),
            rtt: acked.rtt,
            one_way_delay: None,
            new_round,
            // §7.8: a window that only pacing leaves open is in use.
            window_limited: std::mem::take(&mut self.is_limiting) || pacing_limited,
            pacing_limited,
            rate,
        };
        self.lost_reported = self.lost;
        self.control.on_delivery(&ack);
        if acked.ends_recovery
            && let Some(recovery) = self.recovery
            && recovery.start < now
        {
            self.recovery = None;
            if recovery.is_for_loss {
                self.control.on_recovered(self.in_flight, self.mss);
            }
        }
        // No growth for data of a recovery period (§7.3.2), nor for the acknowledgement that starts one.
        if acked.grown > 0 && self.recovery.is_none() {
            self.control.on_ack(&Ack { bytes: acked.grown, ..ack });
        }
    }

    /// Packets of `bytes` are lost, the last of which was sent at `sent_at`. Returns true if that reduces the window.
    pub(super) fn on_lost(&mut self, bytes: u32, sent_at: Time, is_persistent: bool, now: Time) -> bool {
        self.in_flight -= bytes;
        self.lost += u64::from(bytes);
        let is_new = self.begin_recovery(sent_at, true, now);
        if is_persistent {
            // The threshold is that of the recovery period.
            let window = if is_new { self.size() } else { 2 * self.control.ssthresh().min(self.size()) };
            self.control.on_timeout(window, self.mss);
            self.recovery = None;
        } else if is_new {
            self.control.on_fast_retransmit(self.size(), self.mss);
        }
        is_new
    }

    /// A packet sent at `sent_at` was marked. Returns true if that reduces the window. A control that counts marks has its
    /// own response.
    pub(super) fn on_mark(&mut self, sent_at: Time, now: Time) -> bool {
        if self.control.marks() != Marks::Echoed || !self.begin_recovery(sent_at, false, now) {
            return false;
        }
        self.control.on_ecn_echo(self.size(), self.mss);
        true
    }

    /// Begin a recovery period, unless the packet was sent before the last one began (§7.3.2).
    fn begin_recovery(&mut self, sent_at: Time, is_for_loss: bool, now: Time) -> bool {
        if self.last_start.is_some_and(|start| sent_at <= start) {
            return false;
        }
        self.last_start = Some(now);
        self.recovery = Some(Recovery { start: now, is_for_loss });
        true
    }
}
