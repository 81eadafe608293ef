//! What expires: the retransmission timer and the delayed acknowledgement.

use aqmlab_units::Time;

use super::Endpoint;
use crate::core::{Status, count};
use crate::timer::TimerKind;
use crate::{Profile, Sender, State};

impl<S: Sender> Endpoint<S> {
    /// A timer may have expired. Calls that come early are harmless.
    pub fn handle_timeout(&mut self, now: Time, profile: &Profile) {
        if self.core.state == State::Closed {
            return;
        }
        if self.core.delayed_ack_deadline() <= now {
            self.core.status.set(Status::ACK_DUE);
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

    /// `connect()` tries until `connect_timeout` has passed.
    fn retry_syn(&mut self, now: Time, profile: &Profile) {
        if now >= self.core.since + profile.connect_timeout {
            return self.abort();
        }
        self.core.timeouts = self.core.timeouts.saturating_add(1);
        self.core.status.set(Status::SYN_DUE);
        self.core.arm_retransmit_timer(now, profile);
    }

    /// After the last SYN/ACK a server forgets the connection and listens again.
    fn retry_syn_ack(&mut self, now: Time, profile: &Profile) {
        if self.core.timeouts == profile.syn_ack_retransmits {
            let (low_water, awaits) = (self.core.rcv_low_water, self.core.status.any(Status::AWAITING));
            self.relisten(profile, now);
            self.core.rcv_low_water = low_water;
            self.core.status.set(if awaits { Status::AWAITING } else { 0 });
            return;
        }
        self.core.timeouts += 1;
        self.core.status.set(Status::SYN_DUE);
        self.core.arm_retransmit_timer(now, profile);
    }

    /// RFC 6298 §5.4-5.6: back off and send again, until the connection is given up.
    fn retry_data(&mut self, now: Time, profile: &Profile) {
        if self.core.timeouts == profile.data_retransmits {
            self.abort();
            return self.core.status.set(Status::RST_DUE);
        }
        self.core.timeouts += 1;
        self.sender.on_timeout(TimerKind::Retransmission, &mut self.core, now, profile);
        count(&mut self.core.recovery.timeouts);
        self.core.arm_retransmit_timer(now, profile);
    }
}
