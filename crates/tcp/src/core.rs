//! The part of an endpoint that all senders share: its state, the sequence space, timers, the data received.
//!
//! It is one half of an [`Endpoint`](crate::Endpoint); the other, its [`Sender`](crate::Sender), gets it as an
//! argument. Fields are ordered so that a segment of an undisturbed transfer touches only the first of them.

mod state;
mod status;

use std::mem::offset_of;

use aqmlab_units::Time;

use crate::congestion::CongestionControl;
use crate::ecn::policy::PacketKind;
use crate::ecn::state::EcnState;
use crate::intervals::Intervals;
use crate::rtt::RttEstimator;
use crate::timer::Timer;
use crate::{Flags, Profile, Segment, Seq};

pub use state::{RecoveryCounts, State};
pub(crate) use status::Status;

/// Limits of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that may be unacknowledged: min(cwnd, the peer's window).
    pub(crate) window: u32,
    /// Data bytes in a segment at most.
    pub(crate) mss: u32,
}

/// A segment to send, without the acknowledgement that every segment carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) seq: Seq,
    pub(crate) len: u16,
    /// FIN and the ECN codepoint, if they are set.
    pub(crate) flags: Flags,
}

/// The half of an endpoint that is the same for every sender.
#[derive(Debug)]
#[repr(C)]
pub struct Core {
    /// Oldest byte not acknowledged.
    pub(crate) snd_una: Seq,
    /// Next byte to send; set back by a timeout.
    pub(crate) snd_nxt: Seq,
    /// One past the highest byte ever sent.
    pub(crate) snd_max: Seq,
    /// One past the last byte the application has written.
    pub(crate) snd_end: Seq,
    /// Next byte expected.
    pub(crate) rcv_nxt: Seq,
    /// The application wants an event when `rcv_nxt` gets here.
    pub(crate) rcv_low_water: Seq,
    /// The window field of the peer's segments, before scaling.
    pub(crate) snd_wnd: u16,
    pub(crate) status: Status,
    pub(crate) state: State,
    pub(crate) dup_acks: u8,
    /// Expirations of the timer since the last round-trip sample, or of the handshake so far.
    pub(crate) timeouts: u8,
    /// In-order segments not yet acknowledged.
    pub(crate) unacked_segments: u8,
    pub(crate) retransmit_timer: Timer,
    /// The segment being timed, while [`Status::TIMING`].
    pub(crate) timed: Seq,
    pub(crate) rtt: RttEstimator,
    // Above: fields that a transfer without loss uses. Below: samples, pauses, losses.
    /// Start of the interval that is timed: the departure of the timed segment, the begin of an idle period
    /// (nothing in flight), or in a handshake the call of `connect()` or the first SYN/ACK.
    pub(crate) interval_start: Time,
    /// Runs while `unacked_segments` is above zero.
    pub(crate) delayed_ack_timer: Timer,
    /// Highest byte sent when the last loss recovery began (RFC 6582's `recover`).
    pub(crate) recover: Seq,
    pub(crate) ecn: EcnState,
    /// Empty unless [`Status::OUT_OF_ORDER`].
    pub(crate) reassembly: Intervals,
    pub(crate) recovery: RecoveryCounts,
}

impl Core {
    /// Offset of the fields that only samples, pauses and losses use.
    pub(crate) const COLD_FROM: usize = offset_of!(Core, interval_start);

    pub(crate) fn new(state: State, profile: &Profile, now: Time) -> Core {
        // The SYN has number 0, data begin at 1.
        Core {
            snd_una: Seq::ZERO,
            snd_nxt: Seq::ZERO,
            snd_max: Seq::ZERO,
            snd_end: Seq::new(1),
            rcv_nxt: Seq::ZERO,
            rcv_low_water: Seq::ZERO,
            snd_wnd: 0,
            status: Status::default(),
            state,
            dup_acks: 0,
            timeouts: 0,
            unacked_segments: 0,
            retransmit_timer: Timer::OFF,
            timed: Seq::ZERO,
            rtt: RttEstimator::new(profile),
            interval_start: now,
            delayed_ack_timer: Timer::OFF,
            recover: Seq::ZERO,
            ecn: EcnState::default(),
            reassembly: Intervals::default(),
            recovery: RecoveryCounts::default(),
        }
    }

    pub(crate) fn is_unsynchronised(&self) -> bool {
        matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// True if the SYN of this end is a SYN/ACK.
    pub(crate) fn is_responder(&self) -> bool {
        self.state != State::SynSent
    }

    /// Bytes sent and not acknowledged.
    pub(crate) fn in_flight(&self) -> u32 {
        self.snd_max - self.snd_una
    }

    /// Data bytes acknowledged in order, modulo 2^32.
    pub(crate) fn data_acknowledged(&self) -> u32 {
        self.snd_una.min(self.snd_end) - Seq::new(1)
    }

    /// Complete the handshake at this end, with a segment that acknowledges `ack`.
    #[inline(always)]
    pub(crate) fn establish(&mut self, ack: Seq, now: Time, profile: &Profile) {
        self.state = State::Established;
        self.take_sample(ack, now, profile);
        self.snd_una = ack;
        self.snd_nxt = ack;
        self.interval_start = now;
        self.recover = ack;
        self.ecn.recover = ack;
        self.timeouts = 0;
        self.retransmit_timer = Timer::OFF;
        self.status.set(Status::EVENT_OPENED);
    }

    /// Time when a delayed acknowledgement is due; [`Time::MAX`] if none is.
    #[inline]
    pub(crate) fn delayed_ack_deadline(&self) -> Time {
        // The count is in the hot half of the fields, the timer in the cold one.
        if self.unacked_segments == 0 { Time::MAX } else { self.delayed_ack_timer.deadline() }
    }

    /// Record that a segment leaves. A retransmission may reach further than the original, if more was written
    /// meanwhile.
    #[inline]
    pub(crate) fn note_sent(&mut self, seq: Seq, len: u16, fin: Flags) {
        let mut end = seq + u32::from(len);
        if fin.contains(Flags::FIN) {
            end += 1;
            self.enter_fin_sent();
        }
        self.snd_nxt = self.snd_nxt.max(end);
        self.snd_max = self.snd_max.max(end);
    }

    /// Return the pure acknowledgement that is due, if any.
    #[inline(always)]
    pub(crate) fn due_ack(&self, control: &impl CongestionControl, profile: &Profile) -> Option<Departure> {
        self.status.any(Status::ACK_DUE).then(|| {
            let flags = self.ect_on(PacketKind::PureAck, control, profile);
            Departure { seq: self.snd_nxt, len: 0, flags }
        })
    }

    /// Build the segment of `departure` with the current acknowledgement, which is no longer due then. `window`
    /// is the field for the receive window.
    #[inline(always)]
    pub(crate) fn segment<O>(&mut self, departure: Departure, window: u16, options: O) -> Segment<O> {
        let Departure { seq, len, flags } = departure;
        self.status.clear(Status::ACK_DUE);
        self.unacked_segments = 0;
        let mut flags = Flags::ACK | flags;
        if self.status.any(Status::ECHO) {
            flags |= self.echo(len, flags);
        }
        Segment { seq, ack: self.rcv_nxt, len, window, flags, options }
    }

    fn enter_fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    /// Record that all data sent are acknowledged. If that includes our FIN, the close proceeds.
    #[inline]
    pub(crate) fn note_all_acknowledged(&mut self, now: Time) {
        self.retransmit_timer = Timer::OFF;
        self.interval_start = now;
        if self.snd_end < self.snd_max {
            self.handle_fin_acked();
        }
    }

    fn handle_fin_acked(&mut self) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.state = State::TimeWait,
            State::LastAck => self.enter_closed(),
            _ => {}
        }
    }

    /// Close the connection and stop its timers.
    pub(crate) fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.retransmit_timer = Timer::OFF;
        self.unacked_segments = 0;
        self.status.clear(Status::ACK_DUE | Status::RETRANSMIT_DUE | Status::SYN_DUE);
    }

    /// Time one segment per round trip. By Karn's rule, callers pass no retransmission.
    #[inline]
    pub(crate) fn time_segment(&mut self, seq: Seq, now: Time) {
        if !self.status.any(Status::TIMING) {
            self.status.set(Status::TIMING);
            self.timed = seq;
            self.interval_start = now;
        }
    }

    /// Take a sample if `ack` covers the timed segment. Only a sample ends the back-off (Karn; RFC 6298 §5).
    #[inline(always)]
    pub(crate) fn take_sample(&mut self, ack: Seq, now: Time, profile: &Profile) {
        if self.status.any(Status::TIMING) && self.timed < ack {
            self.status.clear(Status::TIMING);
            self.rtt.sample(now - self.interval_start, profile);
            self.timeouts = 0;
            // Both are compared modulo 2^32: left behind by 2^31 bytes, they would seem to be ahead.
            self.recover = self.recover.max(self.snd_una);
            self.ecn.recover = self.ecn.recover.max(self.snd_una);
        }
    }

    /// RFC 5681 §4.1: true if nothing was in flight for a retransmission timeout, so that the window restarts.
    #[inline]
    pub(crate) fn restarts_after_idle(&self, now: Time, profile: &Profile) -> bool {
        profile.restart_after_idle && now - self.interval_start >= self.rtt.rto()
    }

    /// Start or restart the retransmission timer.
    #[inline]
    pub(crate) fn arm_retransmit_timer(&mut self, now: Time, profile: &Profile) {
        let deadline = match self.state {
            State::SynSent => {
                // The connect timeout ends the handshake, even in the middle of a back-off.
                let give_up = self.interval_start + profile.connect_timeout;
                (now + profile.syn_wait(self.timeouts)).min(give_up)
            }
            State::SynReceived => now + profile.initial_rto * (1 << self.timeouts),
            _ => now + profile.backed_off_rto(self.rtt.rto(), self.timeouts),
        };
        self.retransmit_timer = Timer::at(deadline);
    }

    /// Take data `from..to` if they are the next and no gap precedes them. Returns true if so.
    #[inline(always)]
    pub(crate) fn take_in_order(&mut self, from: Seq, to: Seq) -> bool {
        let in_order = from == self.rcv_nxt && !self.status.any(Status::OUT_OF_ORDER);
        if in_order {
            self.rcv_nxt = to;
        }
        in_order
    }

    /// Take data that repeat, overlap or lie beyond a gap.
    pub(crate) fn reassemble(&mut self, start: Seq, end: Seq) {
        if self.rcv_nxt < end {
            self.rcv_nxt = self.reassembly.receive(self.rcv_nxt, start, end);
        }
        self.status.clear(Status::OUT_OF_ORDER);
        if !self.reassembly.is_empty() {
            self.status.set(Status::OUT_OF_ORDER);
        }
    }
}

pub(crate) fn increment(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}
