//! Acknowledgements: the data delivered, their round-trip times, and the delivery rate.

use aqmlab_units::{Duration, Time};

use super::{Frto, Modern};
use crate::congestion::{Ack, CongestionControl};
use crate::core::Core;
use crate::ecn::carries_ecn;
use crate::options::{Options, timestamp};
use crate::recovery::{NewestSegment, Rack, Record};
use crate::timer::Timer;
use crate::{Profile, Segment, Seq};

/// Content of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the acknowledgement")]
pub(super) struct AckInfo {
    /// Bytes newly delivered: in order, by SACK, or according to duplicates without SACK.
    pub(super) delivered: u32,
    /// Bytes in flight that had not been delivered before it.
    pub(super) undelivered: u32,
    /// It acknowledges new data in order.
    pub(super) is_new_ack: bool,
    /// It repeats the last acknowledgement and has no other content (RFC 5681 §2).
    pub(super) is_duplicate_ack: bool,
    /// A SACK block covers new data.
    pub(super) has_new_sack: bool,
    /// The peer reports a duplicate (RFC 2883).
    pub(super) has_dsack: bool,
    /// The echoed timestamp.
    pub(super) echo: Option<u32>,
    /// Round-trip time of the data delivered; of several segments, the shortest.
    rtt: Option<Duration>,
    /// Time from the sender's timestamp to the receiver's; both have the same clock.
    one_way_delay: Option<Duration>,
    /// Earliest and latest departure of delivered segments that were sent once.
    sent_once: Option<(Time, Time)>,
    /// Some of the delivered segments were retransmitted.
    is_ambiguous: bool,
    /// The segment that round trips and delivery rates are measured with.
    newest: NewestSegment,
}

impl AckInfo {
    /// True if some of the delivered segments were sent once.
    pub(super) fn acks_unretransmitted(&self) -> bool {
        self.sent_once.is_some()
    }

    /// Add a delivered segment. Inlined twice: a call of a closure took a quarter more.
    #[inline(always)]
    fn add(&mut self, record: &Record, rack: &mut Rack, now: Time) {
        rack.on_delivered(record, now);
        self.newest.add(record);
        if record.retransmitted {
            self.is_ambiguous = true;
        } else {
            let (first, last) = self.sent_once.unwrap_or((record.sent_at, record.sent_at));
            self.sent_once = Some((first.min(record.sent_at), last.max(record.sent_at)));
        }
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Handle an acknowledgement: read it, detect losses, and act on both.
    pub(super) fn handle_acknowledgement(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        now: Time,
        profile: &Profile,
    ) {
        // An older acknowledgement that was overtaken: only its marks are new.
        if segment.ack < core.snd_una {
            return self.respond_to_marks(core, segment, profile);
        }
        if core.snd_max < segment.ack {
            debug_assert!(false, "the peer acknowledged what was never sent");
            return;
        }
        if self.is_redundant_ack(core, segment) {
            (self.window_limited, self.pacing_limited) = (false, false);
            return self.respond_to_marks(core, segment, profile);
        }
        self.note_window_use(core);
        let info = self.read(core, segment, now, profile);
        let lost = self.decide(core, segment, &info, now, profile);
        self.apply(core, segment, &info, lost, now, profile);
    }

    /// True if nothing is in flight, as at the receiver of a transfer, so that the acknowledgement has no news.
    #[inline]
    fn is_redundant_ack(&self, core: &Core, segment: &Segment<Options>) -> bool {
        core.snd_una == core.snd_max
            && !segment.options.has_sack()
            && self.phase.is_open()
            && self.probe.end.is_none()
    }

    /// Update the scoreboard, the estimates, RACK and the core.
    fn read(&mut self, core: &mut Core, segment: &Segment<Options>, now: Time, profile: &Profile) -> AckInfo {
        let mut info = self.read_deliveries(core, segment, now);
        info.rtt = self.take_round_trip(core, &info, now, profile);
        if info.is_new_ack {
            core.snd_una = segment.ack;
            core.dup_acks = 0;
            self.refill_send_buffer(core, profile);
        } else if info.is_duplicate_ack {
            core.dup_acks = core.dup_acks.saturating_add(1);
        }
        self.rack.on_acknowledged(core.snd_una, core.snd_max, info.has_dsack);
        info
    }

    /// Undo a reduction that the acknowledgement shows to be spurious, then detect losses. Returns true if segments are lost.
    fn decide(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        info: &AckInfo,
        now: Time,
        profile: &Profile,
    ) -> bool {
        // Undo first, because losses are detected from the restored scoreboard.
        if let Some(spurious) = self.advance_eifel(info) {
            self.undo(core, spurious);
        }
        if let Some(spurious) = self.advance_frto(core, segment, info) {
            self.undo(core, spurious);
        }
        self.detect_losses(core, info, now, profile)
    }

    /// Update the congestion control, the phase and the timers.
    fn apply(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        info: &AckInfo,
        lost: bool,
        now: Time,
        profile: &Profile,
    ) {
        let has_marks = carries_ecn(segment.flags, profile) && core.reports_marks(segment.flags);
        let mut ack = self.summary(core, info, now);
        if info.delivered > 0 {
            if has_marks {
                ack.marked = self.take_marked_bytes(core, ack.bytes);
            }
            self.lost_reported = self.board.lost_total();
            self.classic.congestion.on_delivery(&ack);
        }
        if has_marks {
            self.respond_to_echo(core, segment.ack);
        }
        let may_grow = !self.phase.is_recovery()
            && !lost
            && (!has_marks || core.may_grow_after_mark(&self.classic.congestion, &ack));
        if info.is_new_ack && may_grow {
            self.classic.congestion.on_ack(&ack);
        }
        self.settle_probe(core, segment, info);
        self.next_phase(core, info, lost, now, profile);
        self.restart_timers(core, info, now, profile);
    }

    fn read_deliveries(&mut self, core: &Core, segment: &Segment<Options>, now: Time) -> AckInfo {
        let ack = segment.ack;
        let flight = core.in_flight();
        let options = &segment.options;
        let timestamps = options.timestamps().filter(|_| self.negotiated.timestamps);
        let is_new_ack = core.snd_una < ack;
        let mut info = AckInfo {
            is_new_ack,
            undelivered: flight - self.board.known_delivered().min(flight),
            echo: timestamps.map(|stamps| stamps.echo),
            // A duplicate echoes an older timestamp (RFC 7323 §4.3), which is no measurement.
            one_way_delay: timestamps
                .filter(|_| is_new_ack)
                .map(|stamps| Duration::from_millis(u64::from(stamps.value.wrapping_sub(stamps.echo)))),
            ..AckInfo::default()
        };
        let rack = &mut self.rack;
        let mut delivered = self.board.acknowledge(ack, |record| info.add(record, rack, now));
        if is_new_ack && self.phase.is_open() {
            // Too few duplicates for a loss: segments were reordered.
            self.board.clear_presumed();
        }
        let mut selected = 0;
        let mut duplicate = None;
        if self.negotiated.sack && options.has_sack() {
            duplicate = options.duplicate(ack);
            for (from, to) in options.sack().filter(|&(from, _)| ack < from) {
                selected += self.board.take_sack_block(from, to, |record| info.add(record, rack, now));
            }
        }
        info.has_new_sack = selected > 0;
        info.has_dsack = duplicate.is_some();
        let is_bare = !info.is_new_ack && segment.span() == 0 && flight > 0;
        info.is_duplicate_ack = is_bare && !options.has_sack();
        // After a timeout, duplicates may stem from unnecessary retransmissions, unless only new segments are in
        // flight.
        let is_probing = matches!(self.phase.frto(), Frto::Probing { .. });
        if info.is_duplicate_ack && !self.negotiated.sack && (!self.phase.is_loss() || is_probing) {
            delivered += self.board.presume();
        }
        info.delivered = delivered + selected;
        info
    }

    /// Take the round-trip time of the delivered data (RFC 6298 §2-3, RFC 7323 §4). Retransmitted segments give
    /// none (Karn), unless a timestamp shows which copy arrived. The sample for the timeout is that of the
    /// earliest segment, so that it includes the receiver's delay; the sample for other estimates is that of the
    /// latest.
    fn take_round_trip(
        &mut self,
        core: &mut Core,
        info: &AckInfo,
        now: Time,
        profile: &Profile,
    ) -> Option<Duration> {
        let (for_timer, latest) = match (info.sent_once, info.echo) {
            (Some((first, last)), _) if !info.is_ambiguous => (now - first, now - last),
            (_, Some(echo)) if info.is_new_ack => {
                let ticks = timestamp(now).wrapping_sub(echo).max(1);
                let rtt = Duration::from_millis(u64::from(ticks));
                (rtt, rtt)
            }
            _ => return None,
        };
        if self.rack.measured_min_rtt().is_none()
            && let Some(handshake) = core.rtt.srtt()
        {
            self.rack.on_round_trip(handshake);
        }
        core.rtt.sample(for_timer, profile);
        self.rack.on_round_trip(latest);
        self.probe.has_sample = true;
        core.timeouts = 0;
        // Numbers compare modulo 2^32: left behind by 2^31 bytes, it would seem to be ahead.
        core.recover = core.recover.max(core.snd_una);
        // One below `snd_una`, because a SACK without a new acknowledgement may report marks on data sent since.
        core.ecn.recover = core.ecn.recover.max(Seq::new(core.snd_una.get().wrapping_sub(1)));
        Some(latest)
    }

    /// Return the summary for the congestion control.
    fn summary(&mut self, core: &Core, info: &AckInfo, now: Time) -> Ack {
        let lost = self.board.lost_total();
        let (rate, new_round) =
            self.rate.sample(now, (info.delivered, info.newest), core.snd_una, lost, self.rack.min_rtt());
        Ack {
            now,
            bytes: info.delivered,
            mss: self.segment_size(),
            in_flight: self.board.pipe(),
            marked: 0,
            lost: u32::try_from(lost - self.lost_reported).unwrap_or(u32::MAX),
            rtt: info.rtt,
            one_way_delay: info.one_way_delay,
            new_round,
            window_limited: self.is_window_limiting(),
            pacing_limited: std::mem::take(&mut self.pacing_limited),
            rate,
        }
    }

    /// Restart the retransmission timer (RFC 6298 §5.2-5.3) and the probe's.
    fn restart_timers(&mut self, core: &mut Core, info: &AckInfo, now: Time, profile: &Profile) {
        if core.snd_una < core.snd_max {
            if info.is_new_ack {
                core.arm_retransmit_timer(now, profile);
            }
            self.schedule_probe(core, now, profile, info.is_new_ack);
        } else if info.is_new_ack {
            self.probe.timer = Timer::OFF;
            self.reorder_timer = Timer::OFF;
            core.note_all_acknowledged(now);
        }
    }
}
