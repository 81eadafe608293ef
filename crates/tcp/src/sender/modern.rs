//! A modern sender: it records each segment sent and uses selective acknowledgements and timestamps.
//!
//! If hosts of both kinds meet, all have the sender of the modern ones. One with a classic profile does as
//! [`Classic`] does, segment by segment: its neighbours have no effect.
//!
//! * `negotiate`: options, in the handshake and later.
//! * `acknowledge`: the content of an acknowledgement.
//! * `recovery`: detection of losses, start and end of recoveries, and undo of spurious ones.
//! * `phase`: the state of loss recovery.
//! * `ecn`: marks.
//! * `info`: its state at one moment.
//! * `frto`: detection of spurious timeouts.
//! * `probe`: tail loss probes.
//! * `transmit`: choice and pacing of the next segment.
//! * `burst`: packets of segments that leave together.
//! * `send_buffer`: the bytes that the application could write.
//! * `receiver`: feedback other than acknowledgements.
//! * `quick_acks`: the segments that are acknowledged at once.
//! * `window`: the size of the receive window.
//! * `window_use`: whether the congestion window limits.

mod acknowledge;
mod burst;
mod ecn;
mod frto;
mod info;
mod negotiate;
mod phase;
mod probe;
mod quick_acks;
mod receiver;
mod recovery;
mod send_buffer;
mod transmit;
mod window;
mod window_use;

use aqmlab_units::{Duration, Time};

use self::burst::Burst;
use self::frto::Frto;
use self::negotiate::Negotiated;
use self::phase::{FirstRetransmission, Phase};
use self::probe::Probe;
use self::receiver::Receiver;
use self::send_buffer::SendBuffer;
use self::window_use::WindowUse;
use super::{Classic, Scale, Scaling, Sender};
use crate::congestion::CongestionControl;
use crate::core::{Core, Departure, Limits, Status};
use crate::ecn::{byte_counts, carries_ecn};
use crate::options::{Options, TIMESTAMPS_LEN};
use crate::recovery::{Rack, RateEstimator, Scoreboard};
use crate::timer::{Timer, TimerKind};
use crate::{LimitedBy, Profile, Segment, SenderInfo, Seq};

/// Linux adds this to the timers of RACK and of probes (`TCP_TIMEOUT_MIN_US`); RFC 8985 does not.
const TIMEOUT_MARGIN: Duration = Duration::from_millis(2);

/// State of a modern sender.
#[derive(Debug)]
pub struct Modern<C> {
    /// Its windows; with a classic profile, all its state.
    classic: Classic<C, Scale>,
    is_classic: bool,
    negotiated: Negotiated,
    receiver: Receiver,
    board: Scoreboard,
    phase: Phase,
    first_retransmission: FirstRetransmission,
    rack: Rack,
    /// Expires when segments are lost that the reordering window still protects (RFC 8985 §6.2 step 5).
    reorder_timer: Timer,
    probe: Probe,
    rate: RateEstimator,
    /// Time at which the next segment may leave, if the congestion control paces.
    release: Time,
    /// Segments of the current burst that may leave before that time.
    burst: u8,
    /// Runs while a segment waits for `release`.
    pacing_timer: Timer,
    send_burst: Burst,
    send_buffer: SendBuffer,
    /// Lost bytes that the congestion control knows of.
    lost_reported: u64,
    /// A window has held back data since the last acknowledgement.
    window_limited: bool,
    window_use: WindowUse,
    /// Only pacing has held back data that would have filled the window, since the last acknowledgement.
    pacing_limited: bool,
    /// Marked bytes that the peer reports.
    marked_bytes: byte_counts::MarkedBytes,
    /// Marked bytes that the congestion control knows of.
    marked_total: u64,
}

impl<C: CongestionControl> Sender for Modern<C> {
    type Congestion = C;
    type Options = Options;
    const HOT: usize = size_of::<Self>() + size_of::<Core>();
    const TIMERS: &[TimerKind] = &[TimerKind::Pacing, TimerKind::Reordering, TimerKind::Probe];

    fn new(profile: &Profile, now: Time) -> Modern<C> {
        let congestion = C::new(profile);
        Modern {
            rate: RateEstimator::new(now, congestion.needs_rate_samples()),
            classic: Classic { congestion, scaling: Scale::default() },
            is_classic: profile.is_classic(),
            negotiated: Negotiated::none(profile),
            receiver: Receiver::new(profile),
            board: Scoreboard::default(),
            phase: Phase::Open,
            first_retransmission: FirstRetransmission::Awaited,
            rack: Rack::new(),
            reorder_timer: Timer::OFF,
            probe: Probe::default(),
            release: now,
            burst: 0,
            pacing_timer: Timer::OFF,
            send_burst: Burst::default(),
            send_buffer: SendBuffer::new(profile),
            lost_reported: 0,
            window_limited: false,
            window_use: WindowUse::default(),
            pacing_limited: false,
            marked_bytes: byte_counts::MarkedBytes::default(),
            marked_total: 0,
        }
    }

    fn reset(&mut self, profile: &Profile, now: Time) {
        let mut board = std::mem::take(&mut self.board);
        board.clear();
        *self = Modern { board, ..Modern::new(profile, now) };
    }

    fn congestion(&self) -> &C {
        &self.classic.congestion
    }

    fn offer(&self, core: &Core, now: Time, profile: &Profile) -> Options {
        if self.is_classic {
            return Options::classic(profile.mss, self.classic.scaling.offer(core.is_responder(), profile));
        }
        self.handshake_options(core, now, profile)
    }

    fn negotiate(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        profile: &Profile,
    ) -> (&mut C, Limits) {
        self.negotiate_options(core, segment, profile);
        let limits = self.limits(core);
        (&mut self.classic.congestion, limits)
    }

    fn on_segment(&mut self, core: &mut Core, segment: &Segment<Options>, now: Time, profile: &Profile) {
        if carries_ecn(segment.flags, profile) {
            self.on_ecn_segment(core, segment, profile);
        }
        self.receiver.note_timestamp(segment);
        if segment.len > 0 {
            self.note_data(core, segment, now, profile);
        }
        core.snd_wnd = segment.window;
        if self.receiver.ecn_counts.count(segment.len, segment.flags)
            && self.receiver.ecn_counts.is_negotiated
        {
            core.status.set(Status::ACK_DUE);
        }
        if self.is_classic {
            return self.handle_segment_classic(core, segment, now, profile);
        }
        self.handle_acknowledgement(core, segment, now, profile);
    }

    fn on_data(&mut self, core: &mut Core, from: Seq, to: Seq) -> bool {
        if core.take_in_order(from, to) {
            return from != to && self.receiver.quick_acks.is_due();
        }
        self.on_out_of_order(core, from, to);
        true
    }

    fn on_fin(&mut self) -> bool {
        self.receiver.quick_acks.on_fin()
    }

    fn on_write(&mut self, core: &Core) {
        self.note_app_limited(core);
    }

    fn taken(&self, core: &Core) -> Seq {
        self.send_buffer.taken().map_or(core.snd_max, |end| core.snd_max.max(end))
    }

    #[inline(always)]
    fn next_segment(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Segment<Options>> {
        let next = if self.is_classic {
            self.next_classic(core, now, profile)
        } else {
            self.next_by_scoreboard(core, now, profile)
        };
        let departure = match next {
            Some(departure) => departure,
            None => core.due_ack(&self.classic.congestion, profile)?,
        };
        let mut segment = core.segment(departure, self.receiver.window_field, Options::default());
        // Filled in place: options passed by value were copied four times.
        self.fill_in_options(core, &mut segment, now);
        Some(segment)
    }

    fn limited_by(&self, core: &Core, profile: &Profile) -> LimitedBy {
        if self.is_classic { self.classic.limited_by(core, profile) } else { self.limit(core, profile) }
    }

    #[inline]
    fn info(&self, core: &Core) -> SenderInfo {
        if self.is_classic { self.classic.info(core) } else { self.state(core) }
    }

    #[inline(always)]
    fn deadline(&self, timer: TimerKind) -> Time {
        let own = match timer {
            TimerKind::Pacing => self.pacing_timer,
            TimerKind::Reordering => self.reorder_timer,
            TimerKind::Probe => self.probe.timer,
            TimerKind::Retransmission | TimerKind::DelayedAck => Timer::OFF,
        };
        own.deadline()
    }

    fn on_timeout(&mut self, timer: TimerKind, core: &mut Core, now: Time, profile: &Profile) {
        match timer {
            TimerKind::Pacing => self.pacing_timer = Timer::OFF,
            TimerKind::Reordering => self.on_reordering_timer(core, now, profile),
            TimerKind::Probe => self.send_probe(core, now, profile),
            TimerKind::Retransmission if self.is_classic => self.classic.go_back(core, profile),
            TimerKind::Retransmission => self.enter_loss(core, now, profile),
            TimerKind::DelayedAck => self.receiver.quick_acks.on_due(),
        }
    }
}

impl<C: CongestionControl> Modern<C> {
    // Not inlined, to keep them off the path of modern endpoints.
    #[inline(never)]
    fn handle_segment_classic(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        now: Time,
        profile: &Profile,
    ) {
        self.classic.handle_segment(core, segment, now, profile);
    }

    #[inline(never)]
    fn next_classic(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Departure> {
        self.classic.next(core, now, profile)
    }

    /// The maximum number of data bytes in a segment.
    #[inline]
    fn segment_size(&self) -> u32 {
        u32::from(self.negotiated.mss - if self.negotiated.timestamps { TIMESTAMPS_LEN } else { 0 })
    }

    /// The peer's window.
    fn peer_window(&self, core: &Core) -> u32 {
        self.classic.scaling.peer_window(core.snd_wnd)
    }

    /// The bytes that may be unacknowledged.
    fn send_window(&self, core: &Core) -> u32 {
        self.classic.congestion.cwnd().min(self.peer_window(core))
    }

    fn limits(&self, core: &Core) -> Limits {
        Limits { window: self.send_window(core), mss: self.segment_size() }
    }

    /// The bytes that may be in flight: by rate reduction during fast recovery, else the congestion window.
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

    /// Record that a segment has left that takes `time` at the pacing rate. A burst takes the time of all its
    /// segments.
    fn note_paced(&mut self, time: Duration, now: Time, profile: &Profile) {
        let starts_burst = self.burst == 0;
        let start = if starts_burst { now } else { self.release.max(now) };
        self.release = start + time;
        self.burst = if starts_burst { profile.pacing_burst - 1 } else { self.burst - 1 };
    }
}
