//! A modern endpoint: it records each segment sent and reads selective acknowledgements and timestamps.
//!
//! Where hosts of both kinds meet, all have the stack of the modern ones. One whose profile asks for nothing modern does as
//! [`Scale`](super::Scale) and [`Classic`](super::Classic) do, segment by segment: who its neighbours are changes nothing.
//!
//! `agree`: options, at the handshake and later. `acknowledge`: what an acknowledgement says. `recovery`: which losses
//! begin and end what. `frto`: whether a timeout was right. `probe`: tail loss probes. `transmit`: what leaves next, and
//! how fast. Losses are told from delays as well: a reduction that turns out to have been for nothing is undone.

mod acknowledge;
mod agree;
mod frto;
mod probe;
mod recovery;
mod transmit;

use aqmlab_units::{Duration, Time};

use self::agree::Agreed;
use self::frto::Frto;
use self::probe::Probe;
use super::{Endpoint, Extension, Pending};
use crate::accecn;
use crate::congestion::CongestionControl;
use crate::options::{Options, TIMESTAMPS_LEN};
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rate::RateEstimator;
use crate::sack::Reporter;
use crate::scoreboard::Scoreboard;
use crate::timer::Timer;
use crate::{Profile, Segment, Seq, Stack};

/// A stack whose endpoints are modern.
pub trait ModernStack: Stack<Extension = Modern, Options = Options> {}

impl<S: Stack<Extension = Modern, Options = Options>> ModernStack for S {}

/// What a modern endpoint keeps beyond a classic one.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the sender")]
pub struct Modern {
    /// The profile asks for nothing of this: it keeps no scoreboard.
    is_classic: bool,
    agreed: Agreed,
    board: Scoreboard,
    phase: Phase,
    prr: Prr,
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
    /// Send the first segment again whatever the window.
    repeat_first: bool,
    /// A segment has been sent again out of turn in this recovery (RFC 6675's rescue retransmission).
    rescued: bool,
    /// Where the timeout found `snd_una` that began [`Phase::Loss`].
    timed_out_at: Seq,
    frto: Frto,
    first_repeat: FirstRepeat,
    reporter: Reporter,
    /// The timestamp to echo (RFC 7323's `TS.Recent`).
    ts_recent: u32,
    last_ack_sent: Seq,
    /// What came in which ECN codepoint.
    ecn_counts: accecn::Receiver,
    /// What the peer says of that.
    ecn_told: accecn::Sender,
    /// How many segments are still acknowledged at once.
    quick_acks: u8,
}

/// What is done about losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing: none is known.
    Open,
    /// Fast recovery; also [`Pending::IN_RECOVERY`].
    Recovery,
    /// A timeout has expired and not all that was in flight then is acknowledged.
    Loss,
}

/// What was sent again first in this recovery: what the Eifel algorithm goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstRepeat {
    /// Nothing yet.
    Awaited,
    /// The oldest segment, for the first time, with this timestamp.
    SentAt(u32),
    /// It has been judged, or there is nothing to judge by.
    Settled,
}

impl<S: ModernStack> Extension<S> for Modern {
    fn new(profile: &Profile, now: Time) -> Modern {
        Modern {
            is_classic: profile.is_classic(),
            agreed: Agreed::nothing(profile),
            board: Scoreboard::default(),
            phase: Phase::Open,
            prr: Prr::default(),
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
            repeat_first: false,
            rescued: false,
            timed_out_at: Seq::ZERO,
            frto: Frto::Idle,
            first_repeat: FirstRepeat::Awaited,
            reporter: Reporter::default(),
            ts_recent: 0,
            last_ack_sent: Seq::ZERO,
            ecn_counts: accecn::Receiver::new(),
            ecn_told: accecn::Sender::default(),
            quick_acks: profile.quick_acks,
        }
    }

    fn times_syn_ack(&self) -> bool {
        !self.is_classic
    }

    fn delivers_selectively(&self) -> bool {
        !self.is_classic
    }

    fn stop(&mut self) {
        self.reorder_timer = Timer::OFF;
        self.pacing_timer = Timer::OFF;
        self.probe.timer = Timer::OFF;
    }

    fn has_repairs(&self) -> bool {
        self.phase != Phase::Open || self.probe.is_due
    }

    fn deadlines(&self) -> [Time; 3] {
        [&self.reorder_timer, &self.probe.timer, &self.pacing_timer].map(|timer| timer.deadline())
    }

    fn handle_timeout(tcp: &mut Endpoint<S>, now: Time, profile: &Profile) {
        let this = &mut tcp.extension;
        if this.pacing_timer.is_due(now) {
            this.pacing_timer = Timer::OFF;
        }
        if this.reorder_timer.is_due(now) {
            tcp.look_for_reordered_losses(now, profile);
        }
        if tcp.extension.probe.timer.is_due(now) {
            tcp.send_probe(now, profile);
        }
    }

    fn mss(tcp: &Endpoint<S>, _profile: &Profile) -> u16 {
        let agreed = &tcp.extension.agreed;
        agreed.mss - if agreed.timestamps { TIMESTAMPS_LEN } else { 0 }
    }

    fn peer_window(tcp: &Endpoint<S>) -> u32 {
        tcp.peer_window()
    }

    fn own_window(tcp: &Endpoint<S>, profile: &Profile) -> u16 {
        tcp.extension.agreed.scale.own_window(profile)
    }

    fn syn_options(tcp: &Endpoint<S>, now: Time, profile: &Profile) -> Options {
        tcp.offer(now, profile)
    }

    fn options(tcp: &mut Endpoint<S>, len: u16, now: Time, _profile: &Profile) -> Options {
        tcp.options(len, now)
    }

    fn agree(tcp: &mut Endpoint<S>, syn: &Segment<Options>, profile: &Profile) {
        tcp.agree(syn, profile);
    }

    fn note_arrival(tcp: &mut Endpoint<S>, segment: &Segment<Options>) {
        tcp.note_timestamp(segment);
        tcp.snd_wnd = segment.window;
        if tcp.extension.ecn_counts.count(segment.len, segment.flags) && tcp.extension.ecn_counts.speaks {
            tcp.pending.set(Pending::ACK);
        }
    }

    fn note_handshake_ack(tcp: &mut Endpoint<S>, segment: &Segment<Options>, profile: &Profile) {
        tcp.note_option(segment, profile);
    }

    fn note_marks(tcp: &mut Endpoint<S>, segment: &Segment<Options>, marks: u8, profile: &Profile) -> bool {
        let mss = tcp.mss(profile);
        let told = &mut tcp.extension.ecn_told;
        if let Some(option) = segment.options.accecn().filter(|_| profile.accecn_option) {
            return told.hear(option.ce);
        }
        told.assume(u32::from(marks) * mss);
        false
    }

    fn take_marked_bytes(tcp: &mut Endpoint<S>, _marks: u16, delivered: u32, _profile: &Profile) -> u32 {
        tcp.extension.ecn_told.take(delivered)
    }

    fn reassemble(tcp: &mut Endpoint<S>, from: Seq, to: Seq) {
        // A FIN without data that came too early is dropped, and leaves nothing to report.
        if from == to && !tcp.extension.is_classic {
            return;
        }
        if !tcp.extension.agreed.sack {
            return tcp.reassemble(from, to);
        }
        tcp.extension.reporter.note_duplicate(from, to, tcp.rcv_nxt, &tcp.reassembly);
        tcp.reassemble(from, to);
        tcp.extension.reporter.note_kept(from, &tcp.reassembly);
    }

    fn acknowledges_at_once(&mut self) -> bool {
        let quick = self.quick_acks > 0;
        self.quick_acks -= u8::from(quick);
        quick
    }

    fn acknowledge_at_once(&mut self, segments: u8) {
        self.quick_acks = self.quick_acks.max(segments);
    }

    fn before_write(tcp: &mut Endpoint<S>) {
        tcp.note_app_limited();
    }

    fn handle_ack(tcp: &mut Endpoint<S>, segment: &Segment<Options>, now: Time, profile: &Profile) {
        if tcp.extension.is_classic {
            return tcp.handle_ack_classically(segment, now, profile);
        }
        tcp.handle_selective_ack(segment, now, profile);
    }

    #[inline(always)]
    fn transmit_data(tcp: &mut Endpoint<S>, now: Time, profile: &Profile) -> Option<Segment<Options>> {
        if tcp.extension.is_classic {
            return tcp.transmit_classically(now, profile);
        }
        tcp.transmit_by_scoreboard(now, profile)
    }

    fn handle_loss_of_all(tcp: &mut Endpoint<S>, now: Time, profile: &Profile) {
        if tcp.extension.is_classic {
            return tcp.go_back(profile);
        }
        tcp.enter_loss(now, profile);
    }
}

impl Modern {
    /// A segment has left that takes `time` at the rate of pacing. A burst takes the time of all its segments.
    fn note_paced(&mut self, time: Duration, now: Time, profile: &Profile) {
        let begins = self.burst == 0;
        let since = if begins { now } else { self.release.max(now) };
        self.release = since + time;
        self.burst = if begins { profile.pacing_burst - 1 } else { self.burst - 1 };
    }
}

impl<S: ModernStack> Endpoint<S> {
    // Apart, so that they are in no modern endpoint's way.
    #[inline(never)]
    fn handle_ack_classically(&mut self, segment: &Segment<Options>, now: Time, profile: &Profile) {
        self.handle_ack(segment, now, profile);
    }

    #[inline(never)]
    fn transmit_classically(&mut self, now: Time, profile: &Profile) -> Option<Segment<Options>> {
        self.transmit_data(now, profile)
    }

    /// Bytes estimated to be in the network (RFC 6675 §4).
    pub fn pipe(&self) -> u32 {
        self.extension.board.pipe()
    }

    fn peer_window(&self) -> u32 {
        self.extension.agreed.scale.peer_window(self.snd_wnd)
    }

    /// How much may be in flight: during fast recovery what rate reduction says, else the congestion window.
    fn congestion_window(&self) -> u32 {
        match self.extension.phase {
            Phase::Recovery => self.extension.prr.window(),
            Phase::Open | Phase::Loss => self.congestion.cwnd(),
        }
    }

    fn set_phase(&mut self, phase: Phase) {
        self.extension.phase = phase;
        self.pending.clear(Pending::IN_RECOVERY);
        if phase == Phase::Recovery {
            self.pending.set(Pending::IN_RECOVERY);
        }
    }
}
