//! One segment that was sent, and sums over all of them.

use aqmlab_units::Time;

use crate::Seq;

/// One segment that was sent. It is sent again as it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) seq: Seq,
    /// One past its last byte, or past its FIN.
    pub(crate) end: Seq,
    /// When it was last sent, and how many bytes had been delivered then.
    pub(crate) sent_at: Time,
    pub(crate) delivered: u64,
    /// Was it ever sent again?
    pub(crate) retransmitted: bool,
    /// What was sent first is presumed lost.
    pub(crate) lost: bool,
    /// What was sent again is in flight.
    pub(crate) repeated: bool,
    /// How many segments the peer is known to have (SACK) from this one on, at least; 0 if not this one.
    pub(super) run: u32,
}

impl Record {
    /// The peer has it (SACK).
    #[inline]
    pub(crate) fn sacked(&self) -> bool {
        self.run > 0
    }

    /// Sequence numbers it takes up.
    pub(crate) fn span(&self) -> u32 {
        self.end - self.seq
    }

    /// What it adds to the pipe (RFC 6675 §4): its first copy unless lost, and a second one if sent.
    pub(super) fn in_flight(&self) -> u32 {
        if self.sacked() { 0 } else { self.span() * (u32::from(!self.lost) + u32::from(self.repeated)) }
    }

    pub(super) fn is_lost_unrepaired(&self) -> bool {
        self.lost && !self.repeated && !self.sacked()
    }
}

/// Sums over the records.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Bytes in flight.
    pub(super) in_flight: u32,
    /// Bytes that are selectively acknowledged, and in how many records.
    pub(super) sacked: u32,
    pub(super) sacked_segments: u32,
    /// How many records wait to be sent again.
    pub(super) to_repair: u32,
}

impl Totals {
    #[inline]
    pub(super) fn change(&mut self, record: &mut Record, change: impl FnOnce(&mut Record)) {
        self.take_out(record);
        change(record);
        self.put_in(record);
    }

    /// A record has been lost with all its copies.
    #[inline]
    pub(super) fn lose(&mut self, record: &mut Record, lost_total: &mut u64) {
        *lost_total += u64::from(record.span());
        self.change(record, |record| (record.lost, record.repeated) = (true, false));
    }

    #[inline]
    fn put_in(&mut self, record: &Record) {
        self.in_flight += record.in_flight();
        if record.sacked() {
            self.sacked += record.span();
            self.sacked_segments += 1;
        } else {
            self.to_repair += u32::from(record.is_lost_unrepaired());
        }
    }

    #[inline]
    pub(super) fn take_out(&mut self, record: &Record) {
        self.in_flight -= record.in_flight();
        if record.sacked() {
            self.sacked -= record.span();
            self.sacked_segments -= 1;
        } else {
            self.to_repair -= u32::from(record.is_lost_unrepaired());
        }
    }
}
