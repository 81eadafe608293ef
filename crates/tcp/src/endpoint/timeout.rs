//! What expires: the retransmission timer and the delayed acknowledgement.

use aqmlab_units::Time;

use super::{Endpoint, Extension, Pending, State, count};
use crate::congestion::CongestionControl;
use crate::timer::Timer;
use crate::{Profile, Stack};

impl<S: Stack> Endpoint<S> {
    /// A timer may have expired. Calls that come early are harmless.
    pub fn handle_timeout(&mut self, now: Time, profile: &Profile) {
        if self.delayed_ack_deadline() <= now {
            self.pending.set(Pending::ACK);
        }
        S::Extension::handle_timeout(self, now, profile);
        if self.retransmit_timer.is_due(now) {
            match self.state {
                State::SynSent => self.retry_syn(now, profile),
                State::SynReceived => self.retry_syn_ack(now, profile),
                _ if self.holds_back(profile) => self.end_wait(),
                _ => self.retry_data(now, profile),
            }
        }
    }

    /// `connect()` tries until `connect_timeout` has passed.
    fn retry_syn(&mut self, now: Time, profile: &Profile) {
        if now >= self.since + profile.connect_timeout {
            return self.abort();
        }
        self.timeouts = self.timeouts.saturating_add(1);
        self.pending.set(Pending::SYN);
        self.arm_retransmit_timer(now, profile);
    }

    /// After the last SYN/ACK a server forgets the connection and listens again.
    fn retry_syn_ack(&mut self, now: Time, profile: &Profile) {
        if self.timeouts == profile.syn_ack_retransmits {
            let awaited = (self.rcv_low_water, self.pending);
            *self = Endpoint::listen(profile, now);
            self.rcv_low_water = awaited.0;
            self.pending.set(awaited.1.0 & Pending::AWAITING);
            return;
        }
        self.timeouts += 1;
        self.pending.set(Pending::SYN);
        self.arm_retransmit_timer(now, profile);
    }

    /// RFC 6298 §5.4-5.6: back off and send again, until the connection is given up.
    fn retry_data(&mut self, now: Time, profile: &Profile) {
        if self.timeouts == profile.data_retransmits {
            self.abort();
            return self.pending.set(Pending::RST);
        }
        self.timeouts += 1;
        S::Extension::handle_loss_of_all(self, now, profile);
        count(&mut self.recovery.timeouts);
        self.arm_retransmit_timer(now, profile);
    }

    /// 4.4BSD: shrink to one segment, and go back to the oldest unacknowledged byte.
    pub(super) fn go_back(&mut self, profile: &Profile) {
        self.congestion.on_timeout(self.send_window(), u32::from(profile.mss));
        self.note_reduction();
        self.snd_nxt = self.snd_una;
        // RFC 6582 §3.2 (4): duplicates caused by what is now sent again must not start fast retransmit.
        self.recover = self.snd_max;
        self.pending.clear(Pending::IN_RECOVERY | Pending::RETRANSMIT);
        self.dup_acks = 0;
        self.pending.clear(Pending::TIMING);
    }

    /// Start the retransmission timer anew.
    #[inline]
    pub(super) fn arm_retransmit_timer(&mut self, now: Time, profile: &Profile) {
        let deadline = match self.state {
            State::SynSent => {
                let give_up = self.since + profile.connect_timeout;
                (now + profile.syn_wait(self.timeouts)).min(give_up)
            }
            State::SynReceived => now + profile.initial_rto * (1 << self.timeouts),
            _ => now + profile.backed_off(self.rtt.rto(), self.timeouts),
        };
        self.retransmit_timer = Timer::at(deadline);
    }
}
