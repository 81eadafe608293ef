//! A modern stack: it records each segment sent and reads selective acknowledgements and timestamps.
//!
//! Where hosts of both kinds meet, all have the stack of the modern ones. One whose profile asks for nothing modern does as
//! [`Classic`] does, segment by segment: who its neighbours are changes nothing.
//!
//! `agree`: options, at the handshake and later. `acknowledge`: what an acknowledgement says. `recovery`: which losses
//! begin and end what. `marks`: of congestion. `frto`: whether a timeout was right. `probe`: tail loss probes. `transmit`: what leaves next, and
//! how fast. `receiver`: what it tells beside its acknowledgements. Losses are told from delays as well: a reduction that
//! turns out to have been for nothing is undone.

mod acknowledge;
mod agree;
mod frto;
mod marks;
mod probe;
mod receiver;
mod recovery;
mod transmit;

use aqmlab_units::{Duration, Time};

use self::agree::Agreed;
use self::frto::Frto;
use self::probe::Probe;
use self::receiver::Receiver;
use super::{Classic, Departure, Scale, Scaling, Stack};
use crate::congestion::CongestionControl;
use crate::core::{Core, Limits, Status};
use crate::ecn::{MarksHeard, byte_counts};
use crate::options::{Options, TIMESTAMPS_LEN};
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rate::RateEstimator;
use crate::scoreboard::Scoreboard;
use crate::timer::Timer;
use crate::{Profile, Segment, Seq};

/// What a modern stack keeps of a connection.
#[derive(Debug)]
pub struct Modern<C> {
    /// Its windows, and all there is to it where the profile asks for nothing modern.
    classic: Classic<C, Scale>,
    is_classic: bool,
    agreed: Agreed,
    receiver: Receiver,
    board: Scoreboard,
    phase: Phase,
    first_repeat: FirstRepeat,
    rack: Rack,
    /// When to look again for segments that are lost but for the reordering window (RFC 8985 §6.2 step 5).
    reorder_timer: Timer,
    probe: Probe,
    rate: RateEstimator,
    /// When the next segment may leave, if the congestion control paces.
    release: Time,
    /// How many segments may leave before that, of those let go together.
    burst: u8,
    /// Runs while a segment waits for `release`.
    pacing_timer: Timer,
    /// Bytes that the congestion control knows to have been lost.
    lost_told: u64,
    /// The window has kept data back since the last acknowledgement.
    window_limited: bool,
    /// Pacing alone has kept back what would have filled the window since the last acknowledgement.
    pacing_limited: bool,
    /// What the peer says of the bytes that came marked.
    marked_bytes: byte_counts::Sender,
}

/// What is done about losses.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing: none is known.
    Open,
    /// Fast recovery.
    Recovery {
        prr: Prr,
        /// A segment has been sent again out of turn (RFC 6675's rescue retransmission).
        rescued: bool,
    },
    /// A timeout has expired and not all that was in flight then is acknowledged.
    Loss {
        /// Where it found `snd_una`.
        at: Seq,
        /// Send the first segment again whatever the window.
        repeat_first: bool,
        frto: Frto,
    },
}

impl Phase {
    fn is_open(&self) -> bool {
        matches!(self, Phase::Open)
    }

    fn is_recovery(&self) -> bool {
        matches!(self, Phase::Recovery { .. })
    }

    fn is_loss(&self) -> bool {
        matches!(self, Phase::Loss { .. })
    }

    fn frto(&self) -> Frto {
        if let Phase::Loss { frto, .. } = self { *frto } else { Frto::Idle }
    }

    fn set_frto(&mut self, to: Frto) {
        if let Phase::Loss { frto, .. } = self {
            *frto = to;
        }
    }
}

/// What was sent again first since [`Phase::Open`]: what the Eifel algorithm goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstRepeat {
    /// Nothing yet.
    Awaited,
    /// The oldest segment, for the first time, with this timestamp.
    SentAt(u32),
    /// It has been judged, or there is nothing to judge by.
    Settled,
}

impl<C: CongestionControl> Stack for Modern<C> {
    type Congestion = C;
    type Options = Options;
    const HOT: usize = size_of::<Self>() + size_of::<Core>();
    const SHORT_TIMERS: bool = true;

    fn new(profile: &Profile, now: Time) -> Modern<C> {
        Modern {
            classic: Classic { congestion: C::new(profile), scaling: Scale::default() },
            is_classic: profile.is_classic(),
            agreed: Agreed::nothing(profile),
            receiver: Receiver::new(profile),
            board: Scoreboard::default(),
            phase: Phase::Open,
            first_repeat: FirstRepeat::Awaited,
            rack: Rack::new(),
            reorder_timer: Timer::OFF,
            probe: Probe::default(),
            rate: RateEstimator::new(now),
            release: now,
            burst: 0,
            pacing_timer: Timer::OFF,
            lost_told: 0,
            window_limited: false,
            pacing_limited: false,
            marked_bytes: byte_counts::Sender::default(),
        }
    }

    fn congestion(&self) -> &C {
        &self.classic.congestion
    }

    fn congestion_mut(&mut self) -> &mut C {
        &mut self.classic.congestion
    }

    fn limits(&self, core: &Core, _profile: &Profile) -> Limits {
        self.limits_of(core)
    }

    fn in_recovery(&self, core: &Core) -> bool {
        self.phase.is_recovery() || core.status.any(Status::IN_RECOVERY)
    }

    fn offer(&self, core: &Core, now: Time, profile: &Profile) -> Options {
        if self.is_classic {
            return Options::classic(profile.mss, self.classic.scaling.offer(core.answers(), profile));
        }
        self.offered(core, now, profile)
    }

    fn agree(&mut self, core: &mut Core, segment: &Segment<Options>, profile: &Profile) {
        self.agree_on_options(core, segment, profile);
    }

    fn on_marks(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        heard: MarksHeard,
        profile: &Profile,
    ) {
        if heard.begins {
            self.receiver.grant_quick_acks(profile.quick_acks_after_mark);
        }
        if let Some(more) = heard.more {
            self.note_marks(core, segment, more, profile);
        }
        if self.is_classic {
            self.classic.answer_undelivered_marks(core, segment, profile);
        }
    }

    fn on_segment(&mut self, core: &mut Core, segment: &Segment<Options>, now: Time, profile: &Profile) {
        self.receiver.note_timestamp(segment);
        core.snd_wnd = segment.window;
        if self.receiver.ecn_counts.count(segment.len, segment.flags) && self.receiver.ecn_counts.speaks {
            core.status.set(Status::ACK_DUE);
        }
        if self.is_classic {
            return self.handle_classically(core, segment, now, profile);
        }
        self.handle_acknowledgement(core, segment, now, profile);
    }

    fn on_disorder(&mut self, core: &mut Core, from: Seq, to: Seq) {
        // A FIN without data that came too early is dropped, and leaves nothing to report.
        if from == to && !self.is_classic {
            return;
        }
        if !self.agreed.sack {
            return core.reassemble(from, to);
        }
        self.receiver.reports.note_duplicate(from, to, core.rcv_nxt, &core.reassembly);
        core.reassemble(from, to);
        self.receiver.reports.note_kept(from, &core.reassembly);
    }

    fn takes_quick_ack(&mut self) -> bool {
        self.receiver.takes_quick_ack()
    }

    fn on_write(&mut self, core: &Core) {
        self.note_app_limited(core);
    }

    fn has_repairs(&self) -> bool {
        !self.phase.is_open() || self.probe.is_due
    }

    fn repeat_oldest(&mut self, core: &mut Core, profile: &Profile) -> Departure {
        self.classic.repeat_oldest(core, profile)
    }

    #[inline(always)]
    fn next_segment(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Departure> {
        if self.is_classic {
            return self.next_classically(core, now, profile);
        }
        self.next_by_scoreboard(core, now, profile)
    }

    #[inline(always)]
    fn header(&mut self, core: &Core, len: u16, now: Time, profile: &Profile) -> (u16, Options) {
        (self.classic.scaling.own_window(profile), self.options(core, len, now))
    }

    fn on_retransmission_timeout(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        if self.is_classic {
            return self.classic.go_back(core, profile);
        }
        self.enter_loss(core, now, profile);
    }

    fn deadlines(&self) -> [Time; 3] {
        [&self.reorder_timer, &self.probe.timer, &self.pacing_timer].map(|timer| timer.deadline())
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        if self.pacing_timer.is_due(now) {
            self.pacing_timer = Timer::OFF;
        }
        if self.reorder_timer.is_due(now) {
            self.look_for_reordered_losses(core, now, profile);
        }
        if self.probe.timer.is_due(now) {
            self.send_probe(core, now, profile);
        }
    }

    fn stop(&mut self) {
        self.reorder_timer = Timer::OFF;
        self.pacing_timer = Timer::OFF;
        self.probe.timer = Timer::OFF;
    }
}

impl<C: CongestionControl> Modern<C> {
    // Apart, so that they are in no modern endpoint's way.
    #[inline(never)]
    fn handle_classically(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        now: Time,
        profile: &Profile,
    ) {
        self.classic.handle_segment(core, segment, now, profile);
    }

    #[inline(never)]
    fn next_classically(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Departure> {
        self.classic.next(core, now, profile)
    }

    /// The largest number of data bytes in a segment.
    #[inline]
    fn segment_size(&self) -> u32 {
        u32::from(self.agreed.mss - if self.agreed.timestamps { TIMESTAMPS_LEN } else { 0 })
    }

    /// The peer's window.
    fn peer_window(&self, core: &Core) -> u32 {
        self.classic.scaling.peer_window(core.snd_wnd)
    }

    /// How much may be unacknowledged.
    fn send_window(&self, core: &Core) -> u32 {
        self.classic.congestion.cwnd().min(self.peer_window(core))
    }

    fn limits_of(&self, core: &Core) -> Limits {
        Limits { window: self.send_window(core), mss: self.segment_size() }
    }

    /// How much may be in flight: during fast recovery what rate reduction says, else the congestion window.
    fn congestion_window(&self) -> u32 {
        match &self.phase {
            Phase::Recovery { prr, .. } => prr.window(),
            Phase::Open | Phase::Loss { .. } => self.classic.congestion.cwnd(),
        }
    }

    /// Bytes estimated to be in the network (RFC 6675 §4).
    pub(crate) fn pipe(&self) -> u32 {
        self.board.pipe()
    }

    /// A segment has left that takes `time` at the rate of pacing. A burst takes the time of all its segments.
    fn note_paced(&mut self, time: Duration, now: Time, profile: &Profile) {
        let begins = self.burst == 0;
        let since = if begins { now } else { self.release.max(now) };
        self.release = since + time;
        self.burst = if begins { profile.pacing_burst - 1 } else { self.burst - 1 };
    }
}
