//! What an acknowledgement says: what has arrived, how long it took, and how fast data are delivered.

use aqmlab_units::{Duration, Time};

use super::{Frto, ModernStack, Phase};
use crate::congestion::{Ack, CongestionControl};
use crate::endpoint::Endpoint;
use crate::options::{Options, timestamp};
use crate::rate::Newest;
use crate::scoreboard::Record;
use crate::timer::Timer;
use crate::{Profile, Segment, Seq};

/// What one acknowledgement has told.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the acknowledgement")]
pub(super) struct News {
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
    /// From the sender's timestamp to the receiver's; both have the same clock.
    one_way_delay: Option<Duration>,
    /// What is delivered was sent only once: when the earliest and the latest of it left.
    sent_once: Option<(Time, Time)>,
    /// Some of what is delivered was sent more than once.
    ambiguous: bool,
    /// For the rate of delivery.
    newest: Newest,
}

impl News {
    /// Some of what is delivered was sent only once.
    pub(super) fn tells_of_data_sent_once(&self) -> bool {
        self.sent_once.is_some()
    }

    #[inline]
    fn add(&mut self, record: &Record) {
        self.newest.add(record);
        if record.retransmitted {
            self.ambiguous = true;
        } else {
            let (first, last) = self.sent_once.unwrap_or((record.sent_at, record.sent_at));
            self.sent_once = Some((first.min(record.sent_at), last.max(record.sent_at)));
        }
    }
}

impl<S: ModernStack> Endpoint<S> {
    pub(super) fn handle_selective_ack(&mut self, segment: &Segment<Options>, now: Time, profile: &Profile) {
        if segment.ack < self.snd_una {
            return self.answer_marks(segment, profile);
        }
        if self.snd_max < segment.ack {
            debug_assert!(false, "the peer acknowledged what was never sent");
            return;
        }
        if self.has_nothing_to_learn(segment) {
            return self.pass_over(segment, profile);
        }
        let news = self.read(segment, now);
        let rtt = self.take_round_trip(&news, now, profile);
        if news.advances {
            self.snd_una = segment.ack;
            self.dup_acks = 0;
        } else if news.repeats {
            self.dup_acks = self.dup_acks.saturating_add(1);
        }
        self.extension.rack.on_acknowledged(self.snd_una, self.snd_max, news.duplicate);
        self.undo_if_spurious(&news, profile);
        self.judge_timeout(segment, &news, profile);
        let lost = self.find_losses(&news, now, profile);
        let marks = Self::concerns_ecn(segment.flags, profile) && self.tells_of_marks(segment.flags);
        let mut ack = self.summary(&news, rtt, now, profile);
        if news.delivered > 0 {
            if marks {
                ack.marked = self.take_marked(ack.bytes, profile);
            }
            self.extension.lost_told = self.extension.board.lost_total();
            self.congestion.on_delivery(&ack);
        }
        if marks {
            self.answer_echo(segment.ack, profile);
        }
        let grows =
            self.extension.phase != Phase::Recovery && !lost && (!marks || self.grows_despite_marks(&ack));
        if news.advances && grows {
            self.congestion.on_ack(&ack);
        }
        self.settle_probe(segment, &news, profile);
        self.recover(&news, lost, now, profile);
        self.restart_timers(&news, now, profile);
    }

    /// Nothing is in flight, as at the receiver of a transfer: the acknowledgement repeats what is known.
    #[inline]
    fn has_nothing_to_learn(&self, segment: &Segment<Options>) -> bool {
        self.snd_una == self.snd_max
            && !segment.options.has_sack()
            && self.extension.phase == Phase::Open
            && self.extension.probe.end.is_none()
    }

    fn pass_over(&mut self, segment: &Segment<Options>, profile: &Profile) {
        self.extension.window_limited = false;
        self.extension.pacing_limited = false;
        self.answer_marks(segment, profile);
    }

    /// Enter what the acknowledgement says into the scoreboard, the estimate of the rate, and RACK.
    fn read(&mut self, segment: &Segment<Options>, now: Time) -> News {
        let ack = segment.ack;
        let this = &mut self.extension;
        let flight = self.snd_max - self.snd_una;
        let options = &segment.options;
        let timestamps = options.timestamps().filter(|_| this.agreed.timestamps);
        let advances = self.snd_una < ack;
        let mut news = News {
            advances,
            undelivered: flight - this.board.known_delivered().min(flight),
            echo: timestamps.map(|both| both.echo),
            // An acknowledgement that repeats another echoes what that did (RFC 7323 §4.3).
            one_way_delay: timestamps
                .filter(|_| advances)
                .map(|both| Duration::from_millis(u64::from(both.value.wrapping_sub(both.echo)))),
            ..News::default()
        };
        let rack = &mut this.rack;
        let mut arrived = |record: &Record| {
            news.add(record);
            rack.on_delivered(record, now, news.echo);
        };
        let mut delivered = this.board.acknowledge(ack, &mut arrived);
        if advances && this.phase == Phase::Open {
            // Too few duplicates for a loss: they told of segments out of order, or of nothing at all.
            this.board.forget_presumed();
        }
        let mut selected = 0;
        let duplicate = if this.agreed.sack { options.duplicate(ack) } else { None };
        if this.agreed.sack {
            for (from, to) in options.sack().filter(|&(from, _)| ack < from) {
                selected += this.board.select(from, to, &mut arrived);
            }
        }
        news.selects = selected > 0;
        news.duplicate = duplicate.is_some();
        let repeats = !news.advances && segment.span() == 0 && flight > 0;
        news.repeats = repeats && !options.has_sack();
        // After a timeout duplicates may stem from what was sent twice for nothing, but not while new segments alone are
        // in flight.
        let probing = matches!(this.frto, Frto::Probing { .. });
        if news.repeats && !this.agreed.sack && (this.phase != Phase::Loss || probing) {
            delivered += this.board.presume();
        }
        news.delivered = delivered + selected;
        news
    }

    /// RFC 6298 §2-3 and RFC 7323 §4: the round trip of what is delivered. What was sent twice gives none (Karn), unless
    /// a timestamp tells which copy arrived. The sample for the timeout is from the earliest segment, so that it includes
    /// what the receiver waits; the one for others from the latest.
    fn take_round_trip(&mut self, news: &News, now: Time, profile: &Profile) -> Option<Duration> {
        let (for_timer, latest) = match (news.sent_once, news.echo) {
            (Some((first, last)), _) if !news.ambiguous => (now - first, now - last),
            (_, Some(echo)) if news.advances => {
                let ticks = timestamp(now).wrapping_sub(echo).max(1);
                let rtt = Duration::from_millis(u64::from(ticks));
                (rtt, rtt)
            }
            _ => return None,
        };
        let this = &mut self.extension;
        self.rtt.sample(for_timer, profile);
        this.rack.on_round_trip(latest);
        this.probe.has_sample = true;
        self.timeouts = 0;
        // What lies behind follows, or 2^31 bytes later it would seem to lie ahead.
        self.recover = self.recover.max(self.snd_una);
        // A selective acknowledgement that does not move `snd_una` tells of marks on what was sent since.
        self.ecn.recover = self.ecn.recover.max(Seq::new(self.snd_una.get().wrapping_sub(1)));
        Some(latest)
    }

    /// What the congestion control is told.
    fn summary(&mut self, news: &News, rtt: Option<Duration>, now: Time, profile: &Profile) -> Ack {
        let mss = self.mss(profile);
        let this = &mut self.extension;
        let lost = this.board.lost_total();
        let (rate, new_round) =
            this.rate.sample(now, (news.delivered, news.newest), lost, this.rack.min_rtt());
        Ack {
            now,
            bytes: news.delivered,
            mss,
            in_flight: this.board.pipe(),
            marked: 0,
            lost: u32::try_from(lost - this.lost_told).unwrap_or(u32::MAX),
            rtt,
            one_way_delay: news.one_way_delay,
            new_round,
            window_limited: std::mem::take(&mut this.window_limited),
            pacing_limited: std::mem::take(&mut this.pacing_limited),
            rate,
        }
    }

    /// RFC 6298 §5.2-5.3; the probe's timer goes with it.
    fn restart_timers(&mut self, news: &News, now: Time, profile: &Profile) {
        if self.snd_una < self.snd_max {
            if news.advances {
                self.arm_retransmit_timer(now, profile);
            }
            self.schedule_probe(now, profile, news.advances);
        } else if news.advances {
            self.retransmit_timer = Timer::OFF;
            self.extension.probe.timer = Timer::OFF;
            self.extension.reorder_timer = Timer::OFF;
            self.since = now;
            if self.fin_is_sent() {
                self.handle_fin_acked();
            }
        }
    }
}
