//! Quick acknowledgements: the segments that a receiver acknowledges at once (`tcp_event_data_recv`,
//! `tcp_measure_rcv_mss`, `inet_csk_inc_pingpong_cnt` and `tcp_delack_timer_handler` of Linux).
//!
//! A receiver acknowledges the first segments at once, those after a pause, those for which its window grows, and one
//! that has PSH or is shorter than others, since the sender may have no more. It does not while the connection is
//! interactive: its answer follows and carries the acknowledgement, until one comes due without an answer.

use aqmlab_units::{Duration, Time};

use crate::{Flags, Profile};

/// The segments to acknowledge at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuickAcks {
    left: u8,
    /// The profile has them.
    is_enabled: bool,
    /// This end has answered data before its acknowledgement was due, and no later one has come due.
    is_interactive: bool,
    /// The longest segment so far.
    longest: u16,
    /// The sender may have no more data than the latest segment.
    is_pushed: bool,
    last_data: Option<Time>,
}

impl QuickAcks {
    pub(super) fn new(profile: &Profile) -> QuickAcks {
        QuickAcks {
            left: profile.quick_acks,
            is_enabled: profile.quick_acks > 0,
            is_interactive: false,
            longest: 0,
            is_pushed: false,
            last_data: None,
        }
    }

    /// Handle the arrival of `len` bytes of data.
    pub(super) fn on_data(&mut self, len: u16, flags: Flags, now: Time, rto: Duration, profile: &Profile) {
        if self.last_data.is_some_and(|last| now - last > rto) {
            self.grant(profile.quick_acks);
        }
        self.last_data = Some(now);
        self.longest = self.longest.max(len);
        self.is_pushed = self.is_enabled && (len < self.longest || flags.contains(Flags::PSH));
    }

    /// Handle the departure of data: an answer, if data have arrived just before.
    pub(super) fn on_sent(&mut self, now: Time, profile: &Profile) {
        self.is_interactive |= self.last_data.is_some_and(|last| now - last < profile.delayed_ack);
    }

    /// A delayed acknowledgement has come due: no answer has carried it.
    pub(super) fn on_due(&mut self) {
        self.is_interactive = false;
    }

    /// Handle the departure of an acknowledgement of new data, alone or with an answer.
    pub(super) fn on_acknowledged(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// The window has grown: this segment does not use up a quick acknowledgement of an even number (`quick |= 1`).
    pub(super) fn on_growth(&mut self) {
        self.left |= u8::from(self.is_enabled);
    }

    /// Acknowledge at least `segments` more at once.
    pub(super) fn grant(&mut self, segments: u8) {
        self.left = self.left.max(segments);
    }

    /// Grant `segments`, even if the connection is interactive.
    pub(super) fn enforce(&mut self, segments: u8) {
        self.grant(segments);
        self.is_interactive = false;
    }

    /// The peer closes, and this end will, too. Returns true if its FIN is acknowledged at once.
    pub(super) fn on_fin(&mut self) -> bool {
        self.is_interactive = true;
        !self.is_enabled
    }

    /// Return true if the latest segment is acknowledged at once.
    pub(super) fn is_due(&self) -> bool {
        !self.is_interactive && (self.left > 0 || self.is_pushed)
    }
}
