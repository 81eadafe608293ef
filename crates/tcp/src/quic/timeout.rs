//! Timers of a connection.

use aqmlab_units::Time;

use super::Connection;
use super::handshake::Role;
use super::wire::Space;
use crate::Event;
use crate::congestion::CongestionControl;
use crate::timer::{Timer, TimerKind};

impl<C: CongestionControl> Connection<C> {
    /// Handle the timers that have expired. Early calls are harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.is_closed {
            return;
        }
        if self.idle_deadline() <= now {
            return self.abort();
        }
        if std::mem::take(&mut self.opens_early) {
            self.events.set(Event::Opened);
        }
        if self.ack_timer.is_due(now) {
            self.ack_timer = Timer::OFF;
            let received = &mut self.spaces[Space::Data.index()].received;
            received.ack_due |= received.unacknowledged > 0;
        }
        if self.pacing_timer.is_due(now) {
            self.pacing_timer = Timer::OFF;
        }
        if self.loss_timer.is_due(now) {
            self.on_loss_timer(now);
        }
    }

    /// The time at which [`Connection::handle_timeout`] is next due; [`Time::MAX`] if no timer runs.
    pub fn poll_timeout(&self) -> Time {
        TimerKind::ALL.into_iter().map(|timer| self.deadline(timer)).fold(self.idle_deadline(), Time::min)
    }

    /// The expiration time of a timer; [`Time::MAX`] for one that is off.
    pub fn deadline(&self, timer: TimerKind) -> Time {
        if self.is_closed {
            return Time::MAX;
        }
        match timer {
            // Events are polled after calls other than `connect`: this one comes at once.
            TimerKind::Retransmission if self.opens_early => self.started,
            TimerKind::Retransmission => self.loss_timer.deadline(),
            TimerKind::DelayedAck => self.ack_timer.deadline(),
            TimerKind::Pacing => self.pacing_timer.deadline(),
            TimerKind::Reordering | TimerKind::Probe => Time::MAX,
        }
    }

    /// The time at which the connection is given up, while something is outstanding or a stream beside the first is not
    /// done. Real stacks also close an idle connection; here it stays open, as with keep-alives (RFC 9000 §10.1.2).
    fn idle_deadline(&self) -> Time {
        let is_waiting = self.has_outstanding()
            || self.streams.has_open()
            || (self.has_begun() && !self.handshake.is_complete());
        if self.is_closed || self.is_over() || !is_waiting {
            return Time::MAX;
        }
        if self.role == Role::Client && !self.handshake.is_complete() {
            return self.started + self.connect_timeout;
        }
        // At least three PTOs (§10.1).
        self.idle_since + self.idle_timeout.max(self.rtt.pto() * 3)
    }

    /// True if this end has something to send or has sent it.
    pub(super) fn has_begun(&self) -> bool {
        self.role == Role::Client || self.handshake.has_begun()
    }
}
