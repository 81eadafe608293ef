//! What an acknowledgement says: what has arrived, how long it took, and how fast data are delivered.

use aqmlab_units::{Duration, Time};

use super::{Frto, Modern};
use crate::congestion::{Ack, CongestionControl};
use crate::core::Core;
use crate::ecn::carries_ecn;
use crate::options::{Options, timestamp};
use crate::recovery::{Newest, Rack, Record};
use crate::timer::Timer;
use crate::{Profile, Segment, Seq};

/// What one acknowledgement has told.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the acknowledgement")]
pub(super) struct AckInfo {
    /// Bytes newly delivered, in order, by SACK, or as duplicates without SACK say.
    pub(super) delivered: u32,
    /// Bytes that had not been delivered before it.
    pub(super) undelivered: u32,
    /// It acknowledges new data in order.
    pub(super) advances: bool,
    /// It repeats the last acknowledgement and says nothing else.
    pub(super) repeats: bool,
    /// A SACK block names new data.
    pub(super) selects: bool,
    /// The peer reports that this end's data came twice.
    pub(super) duplicate: bool,
    /// The timestamp that came back.
    pub(super) echo: Option<u32>,
    /// The round trip of what is delivered: of several segments, the shortest.
    rtt: Option<Duration>,
    /// From the sender's timestamp to the receiver's; both have the same clock.
    one_way_delay: Option<Duration>,
    /// What is delivered was sent only once: when the earliest and the latest of it left.
    sent_once: Option<(Time, Time)>,
    /// Some of what is delivered was sent more than once.
    ambiguous: bool,
    /// For round trips and the rate of delivery.
    newest: Newest,
}

impl AckInfo {
    /// Some of what is delivered was sent only once.
    pub(super) fn acks_unretransmitted(&self) -> bool {
        self.sent_once.is_some()
    }

    /// A segment has arrived. Inlined twice: as a closure that is called it took a quarter more.
    #[inline(always)]
    fn add(&mut self, record: &Record, rack: &mut Rack, now: Time) {
        rack.on_delivered(record, now, self.echo);
        self.newest.add(record);
        if record.retransmitted {
            self.ambiguous = true;
        } else {
            let (first, last) = self.sent_once.unwrap_or((record.sent_at, record.sent_at));
            self.sent_once = Some((first.min(record.sent_at), last.max(record.sent_at)));
        }
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Read what the acknowledgement says, decide what is lost, and act on both.
    pub(super) fn handle_acknowledgement(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        now: Time,
        profile: &Profile,
    ) {
        if segment.ack < core.snd_una {
            return self.answer_marks(core, segment, profile);
        }
        if core.snd_max < segment.ack {
            debug_assert!(false, "the peer acknowledged what was never sent");
            return;
        }
        if self.is_redundant_ack(core, segment) {
            (self.window_limited, self.pacing_limited) = (false, false);
            return self.answer_marks(core, segment, profile);
        }
        let info = self.read(core, segment, now, profile);
        let lost = self.decide(core, segment, &info, now, profile);
        self.apply(core, segment, &info, lost, now, profile);
    }

    /// Nothing is in flight, as at the receiver of a transfer: the acknowledgement repeats what is known.
    #[inline]
    fn is_redundant_ack(&self, core: &Core, segment: &Segment<Options>) -> bool {
        core.snd_una == core.snd_max
            && !segment.options.has_sack()
            && self.phase.is_open()
            && self.probe.end.is_none()
    }

    /// Enter what the acknowledgement says into the scoreboard, the estimates, RACK and the core.
    fn read(&mut self, core: &mut Core, segment: &Segment<Options>, now: Time, profile: &Profile) -> AckInfo {
        let mut info = self.read_deliveries(core, segment, now);
        info.rtt = self.take_round_trip(core, &info, now, profile);
        if info.advances {
            core.snd_una = segment.ack;
            core.dup_acks = 0;
        } else if info.repeats {
            core.dup_acks = core.dup_acks.saturating_add(1);
        }
        self.rack.on_acknowledged(core.snd_una, core.snd_max, info.duplicate);
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
        // Undo first: losses are detected from the restored scoreboard.
        if let Some(spurious) = self.advance_eifel(info) {
            self.undo(core, spurious);
        }
        if let Some(spurious) = self.advance_frto(core, segment, info) {
            self.undo(core, spurious);
        }
        self.find_losses(core, info, now, profile)
    }

    /// Tell the congestion control, go on to the next phase, and set the timers.
    fn apply(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        info: &AckInfo,
        lost: bool,
        now: Time,
        profile: &Profile,
    ) {
        let marks = carries_ecn(segment.flags, profile) && core.reports_marks(segment.flags);
        let mut ack = self.summary(core, info, now);
        if info.delivered > 0 {
            if marks {
                ack.marked = self.take_marked_bytes(core, ack.bytes);
            }
            self.lost_reported = self.board.lost_total();
            self.classic.congestion.on_delivery(&ack);
        }
        if marks {
            self.answer_echo(core, segment.ack);
        }
        let grows = !self.phase.is_recovery()
            && !lost
            && (!marks || core.may_grow_after_mark(&self.classic.congestion, &ack));
        if info.advances && grows {
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
        let advances = core.snd_una < ack;
        let mut info = AckInfo {
            advances,
            undelivered: flight - self.board.known_delivered().min(flight),
            echo: timestamps.map(|both| both.echo),
            // An acknowledgement that repeats another echoes what that did (RFC 7323 §4.3).
            one_way_delay: timestamps
                .filter(|_| advances)
                .map(|both| Duration::from_millis(u64::from(both.value.wrapping_sub(both.echo)))),
            ..AckInfo::default()
        };
        let rack = &mut self.rack;
        let mut delivered = self.board.acknowledge(ack, |record| info.add(record, rack, now));
        if advances && self.phase.is_open() {
            // Too few duplicates for a loss: they told of segments out of order, or of nothing at all.
            self.board.forget_presumed();
        }
        let mut selected = 0;
        let mut duplicate = None;
        if self.negotiated.sack && options.has_sack() {
            duplicate = options.duplicate(ack);
            for (from, to) in options.sack().filter(|&(from, _)| ack < from) {
                selected += self.board.select(from, to, |record| info.add(record, rack, now));
            }
        }
        info.selects = selected > 0;
        info.duplicate = duplicate.is_some();
        let repeats = !info.advances && segment.span() == 0 && flight > 0;
        info.repeats = repeats && !options.has_sack();
        // After a timeout duplicates may stem from what was sent twice for nothing, but not while new segments alone are
        // in flight.
        let probing = matches!(self.phase.frto(), Frto::Probing { .. });
        if info.repeats && !self.negotiated.sack && (!self.phase.is_loss() || probing) {
            delivered += self.board.presume();
        }
        info.delivered = delivered + selected;
        info
    }

    /// RFC 6298 §2-3 and RFC 7323 §4: the round trip of what is delivered. What was sent twice gives none (Karn), unless
    /// a timestamp tells which copy arrived. The sample for the timeout is from the earliest segment, so that it includes
    /// what the receiver waits; the one for others from the latest.
    fn take_round_trip(
        &mut self,
        core: &mut Core,
        info: &AckInfo,
        now: Time,
        profile: &Profile,
    ) -> Option<Duration> {
        let (for_timer, latest) = match (info.sent_once, info.echo) {
            (Some((first, last)), _) if !info.ambiguous => (now - first, now - last),
            (_, Some(echo)) if info.advances => {
                let ticks = timestamp(now).wrapping_sub(echo).max(1);
                let rtt = Duration::from_millis(u64::from(ticks));
                (rtt, rtt)
            }
            _ => return None,
        };
        core.rtt.sample(for_timer, profile);
        self.rack.on_round_trip(latest);
        self.probe.has_sample = true;
        core.timeouts = 0;
        // What lies behind follows, or 2^31 bytes later it would seem to lie ahead.
        core.recover = core.recover.max(core.snd_una);
        // A selective acknowledgement that does not move `snd_una` tells of marks on what was sent since.
        core.ecn.recover = core.ecn.recover.max(Seq::new(core.snd_una.get().wrapping_sub(1)));
        Some(latest)
    }

    /// What the congestion control is told.
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
            window_limited: std::mem::take(&mut self.window_limited),
            pacing_limited: std::mem::take(&mut self.pacing_limited),
            rate,
        }
    }

    /// RFC 6298 §5.2-5.3; the probe's timer goes with it.
    fn restart_timers(&mut self, core: &mut Core, info: &AckInfo, now: Time, profile: &Profile) {
        if core.snd_una < core.snd_max {
            if info.advances {
                core.arm_retransmit_timer(now, profile);
            }
            self.schedule_probe(core, now, profile, info.advances);
        } else if info.advances {
            self.probe.timer = Timer::OFF;
            self.reorder_timer = Timer::OFF;
            core.note_all_acknowledged(now);
        }
    }
}
