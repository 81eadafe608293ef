//! State of a connection as TCP's endpoints report theirs.

use aqmlab_units::Time;

use super::Connection;
use super::StreamId;
use super::handshake::{Progress, Role};
use crate::congestion::{CongestionControl, MAX_WINDOW};
use crate::{CongestionState, Info, LimitedBy, RecoveryCounts, SenderInfo, Seq, State};

impl<C: CongestionControl> Connection<C> {
    /// The state, as that of a TCP connection: a stream's FIN corresponds to TCP's.
    pub fn state(&self) -> State {
        if self.is_closed {
            return State::Closed;
        }
        match self.handshake.progress {
            Progress::Listening => return State::Listen,
            Progress::HelloSent => return State::SynSent,
            Progress::HandshakeKeys if self.role == Role::Client => return State::SynSent,
            Progress::HandshakeKeys => return State::SynReceived,
            Progress::Complete | Progress::Confirmed => {}
        }
        match (self.streams.is_finished(), self.streams.all_received()) {
            (false, false) => State::Established,
            (false, true) => State::CloseWait,
            (true, false) => State::FinWait1,
            // An end in this state sends nothing more by itself.
            (true, true) if self.streams.all_sent() && self.ack_timer.deadline() == Time::MAX => {
                State::TimeWait
            }
            (true, true) => State::Closing,
        }
    }

    /// True if all data of both ends have arrived, as far as this end knows.
    pub(super) fn is_over(&self) -> bool {
        self.handshake.is_complete() && self.streams.all_sent() && self.streams.all_received()
    }

    /// The congestion control.
    pub fn congestion(&self) -> &C {
        &self.window.control
    }

    /// Counts of recoveries so far. `syn_retransmits` counts PTOs of the handshake, `timeouts` later ones, and
    /// `fast_retransmits` reductions for losses.
    pub fn recovery(&self) -> RecoveryCounts {
        self.counts
    }

    /// True during a recovery period.
    pub fn in_recovery(&self) -> bool {
        self.window.in_recovery()
    }

    /// True if data are missing before others of the same stream that have arrived.
    pub fn has_gap(&self) -> bool {
        self.streams.has_gap()
    }

    /// One past the highest byte sent on all streams, counted from 1 as by TCP.
    pub fn highest_sent(&self) -> Seq {
        Seq::new(1) + self.sent_bytes
    }

    /// The next byte expected on the first stream, counted from 1 as by TCP.
    pub fn received(&self) -> Seq {
        Seq::new(1) + self.streams.get(StreamId::FIRST).map_or(0, |stream| stream.receive.next.get())
    }

    /// Bytes of packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.window.in_flight
    }

    /// The reason why it sends no more at the moment.
    pub fn limited_by(&self) -> LimitedBy {
        if self.streams.is_blocked() {
            LimitedBy::ReceiveWindow
        } else if !self.streams.has_sendable() {
            LimitedBy::Application
        } else if !self.window.has_room() {
            if self.in_recovery() { LimitedBy::Recovery } else { LimitedBy::CongestionWindow }
        } else {
            LimitedBy::Pacing
        }
    }

    /// The state of its sender.
    pub fn info(&self) -> Info {
        let control = &self.window.control;
        let state = if self.in_recovery() { CongestionState::Recovery } else { CongestionState::Open };
        Info {
            sender: SenderInfo {
                state,
                in_flight: self.window.in_flight,
                delivered: self.delivered_bytes,
                lost: Some(self.window.lost),
                marked: self.ecn.is_capable().then_some(self.marked_bytes),
                min_rtt: self.rtt.min,
                receive_window: self.streams.credit(),
            },
            sent: self.sent_bytes,
            cwnd: self.window.size(),
            ssthresh: Some(control.ssthresh()).filter(|&ssthresh| ssthresh < MAX_WINDOW),
            pacing_rate: control.pacing_rate(),
            srtt: self.rtt.smoothed(),
            rttvar: self.rtt.variation(),
            rto: self.rtt.pto() * self.back_off(),
        }
    }
}
