//! Packet numbers received in one space, and when to acknowledge them (RFC 9000 §13.2).

use aqmlab_units::Time;

use super::wire::{AckFrame, Frame, MOST_RANGES};
use crate::intervals::Intervals;
use crate::timer::Timer;
use crate::{Flags, Profile, Seq};

/// Packet numbers received in one space.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// Those that acknowledgements report.
    numbers: Intervals,
    /// All below are forgotten, and count as received.
    floor: u32,
    /// Arrival of the largest.
    largest_at: Time,
    /// Ack-eliciting packets not acknowledged yet.
    pub(super) unacknowledged: u8,
    /// An acknowledgement is due now.
    pub(super) ack_due: bool,
    /// Packets with ECT(0), ECT(1) and CE.
    ecn: [u32; 3],
}

impl Received {
    /// True if the packet was received before, or is too old to tell.
    pub(super) fn is_duplicate(&self, number: u32) -> bool {
        number < self.floor || self.numbers.range_around(Seq::new(number)).is_some()
    }

    fn largest(&self) -> Option<u32> {
        self.numbers.ranges().last().map(|&(_, end)| end.get() - 1)
    }

    /// Record a packet. Return the time of its acknowledgement if it starts the delay.
    pub(super) fn record(
        &mut self,
        number: u32,
        is_ack_eliciting: bool,
        flags: Flags,
        now: Time,
        profile: &Profile,
    ) -> Option<Timer> {
        let largest = self.largest();
        let is_next = largest.map_or(number == 0, |largest| number == largest + 1);
        if largest.is_none_or(|largest| largest < number) {
            self.largest_at = now;
        }
        self.numbers.insert(Seq::new(number), Seq::new(number) + 1);
        if self.numbers.ranges().len() > MOST_RANGES + 1 {
            self.numbers.remove_lowest();
            self.floor = self.numbers.ranges()[0].0.get();
        }
        let codepoints = [Flags::ECT, Flags::ECT1, Flags::CE];
        // A marked packet keeps the codepoint that it was sent with.
        if let Some(index) = codepoints.into_iter().rposition(|codepoint| flags.contains(codepoint)) {
            self.ecn[index] += 1;
        }
        if !is_ack_eliciting {
            return None;
        }
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        // §13.2.1: at once for reordering, gaps and marks; §13.2.2: for every second packet.
        if !is_next || flags.contains(Flags::CE) || self.unacknowledged >= profile.ack_every {
            self.ack_due = true;
        }
        (self.unacknowledged == 1).then(|| Timer::at(now + profile.delayed_ack))
    }

    /// Return the acknowledgement to send in the Data space.
    pub(super) fn take_ack(&mut self, now: Time) -> Option<AckFrame> {
        let delay = u32::try_from(now.saturating_since(self.largest_at).as_micros()).unwrap_or(u32::MAX);
        let ecn = Some(self.ecn).filter(|counts| *counts != [0; 3]);
        let frame = AckFrame::new(self.numbers.ranges(), delay, ecn)?;
        self.note_sent();
        Some(frame)
    }

    /// Return the acknowledgement to send in a handshake space.
    pub(super) fn take_handshake_ack(&mut self) -> Option<Frame> {
        let largest = self.largest()?;
        let is_received = |&back: &u32| back <= largest && self.is_duplicate(largest - back);
        let bits = (0..32).filter(is_received).map(|back| 1 << back).sum();
        self.note_sent();
        Some(Frame::HandshakeAck { largest, bits })
    }

    fn note_sent(&mut self) {
        self.unacknowledged = 0;
        self.ack_due = false;
    }

    /// The peer has an acknowledgement up to `largest`: those packets need no further report (§13.2.4).
    pub(super) fn forget(&mut self, largest: u32) {
        if self.floor <= largest {
            self.floor = largest + 1;
            let kept_from = self.numbers.ranges().last().map_or(Seq::ZERO, |&(_, end)| end);
            // The largest stays: the next acknowledgement begins with it.
            let to = Seq::new(self.floor).min(Seq::new(kept_from.get().saturating_sub(1)));
            self.numbers.remove(Seq::ZERO, to);
        }
    }
}
