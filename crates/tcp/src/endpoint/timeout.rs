//! Timeouts: the retransmission timer and the delayed acknowledgement.

use aqmlab_units::Time;

use super::Endpoint;
use crate::core::{Status, increment};
use crate::timer::TimerKind;
use crate::{Profile, Sender, State};

impl<S: Sender> Endpoint<S> {
    /// Handle the timers that have expired. Early calls are harmless.
    pub fn handle_timeout(&mut self, now: Time, profile: &Profile) {
        if let Some(quic) = self.sender.quic_mut() {
            return quic.handle_timeout(now);
        }
        if self.core.state == State::Closed {
            return;
        }
        if self.core.delayed_ack_deadline() <= now {
            self.core.status.set(Status::ACK_DUE);
            self.sender.on_timeout(TimerKind::DelayedAck, &mut self.core, now, profile);
        }
        for &timer in S::TIMERS {
            if self.sender.deadline(timer) <= now {
                self.sender.on_timeout(timer, &mut self.core, now, profile);
            }
        }
        if self.core.retransmit_timer.is_due(now) {
            match self.core.state {
                State::SynSent => self.retry_syn(now, profile),
                State::SynReceived => self.retry_syn_ack(now, profile),
                _ if self.core.is_waiting_after_mark(profile) => self.core.end_wait(),
                _ => self.retry_data(now, profile),
            }
        }
    }

    /// Retransmit the SYN, until `connect_timeout` has passed.
    fn retry_syn(&mut self, now: Time, profile: &Profile) {
        if now >= self.core.interval_start + profile.connect_timeout {
            return self.abort();
        }
        self.core.timeouts = self.core.timeouts.saturating_add(1);
        self.core.status.set(Status::SYN_DUE);
        self.core.arm_retransmit_timer(now, profile);
    }

    /// Retransmit the SYN/ACK. After the last one the server gives the connection up and listens again.
    fn retry_syn_ack(&mut self, now: Time, profile: &Profile) {
        if self.core.timeouts == profile.syn_ack_retransmits {
            // The application's `await_data` is for the connection that it will get, not for the one given up.
            let (low_water, is_pending) =
                (self.core.rcv_low_water, self.core.status.any(Status::READ_PENDING));
            self.relisten(profile, now);
            self.core.rcv_low_water = low_water;
            self.core.status.set(if is_pending { Status::READ_PENDING } else { 0 });
            return;
        }
        self.core.timeouts += 1;
        self.core.status.set(Status::SYN_DUE);
        self.core.arm_retransmit_timer(now, profile);
    }

    /// Back off and retransmit (RFC 6298 §5.4-5.6), until the connection is given up.
    fn retry_data(&mut self, now: Time, profile: &Profile) {
        if self.core.timeouts == profile.data_retransmits {
            self.abort();
            return self.core.status.set(Status::RST_DUE);
        }
        self.core.timeouts += 1;
        self.sender.on_timeout(TimerKind::Retransmission, &mut self.core, now, profile);
        increment(&mut self.core.recovery.timeouts);
        self.core.arm_retransmit_timer(now, profile);
    }
}
