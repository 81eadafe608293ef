//! Records of the segments sent, and sums over them.

use aqmlab_units::Time;

use crate::Seq;

/// One segment that was sent. Retransmissions have the same bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) seq: Seq,
    /// One past its last byte, or past its FIN.
    pub(crate) end: Seq,
    /// Time of its last transmission, and the bytes delivered then.
    pub(crate) sent_at: Time,
    pub(crate) delivered: u64,
    /// It was retransmitted at least once.
    pub(crate) retransmitted: bool,
    /// Its original is presumed lost.
    pub(crate) lost: bool,
    /// Its retransmission is in flight.
    pub(crate) repair_in_flight: bool,
    /// Length, at least, of the run of selectively acknowledged segments that starts here; 0 if there is none.
    pub(super) run: u32,
}

impl Record {
    /// The peer has it (SACK).
    #[inline]
    pub(crate) fn is_sacked(&self) -> bool {
        self.run > 0
    }

    /// Its length in sequence numbers.
    pub(crate) fn span(&self) -> u32 {
        self.end - self.seq
    }

    /// Its bytes in the pipe (RFC 6675 §4): of the original unless lost, and of a retransmission in flight.
    pub(super) fn in_flight(&self) -> u32 {
        if self.is_sacked() {
            0
        } else {
            self.span() * (u32::from(!self.lost) + u32::from(self.repair_in_flight))
        }
    }

    pub(super) fn is_lost_unrepaired(&self) -> bool {
        self.lost && !self.repair_in_flight && !self.is_sacked()
    }
}

/// Sums over the records.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Bytes in flight.
    pub(super) in_flight: u32,
    /// Bytes and number of records that are selectively acknowledged.
    pub(super) sacked_bytes: u32,
    pub(super) sacked_segments: u32,
    /// Number of records to retransmit.
    pub(super) to_repair: u32,
}

impl Totals {
    #[inline]
    pub(super) fn change(&mut self, record: &mut Record, change: impl FnOnce(&mut Record)) {
        self.subtract(record);
        change(record);
        self.add(record);
    }

    /// Mark a record as lost with all its copies.
    #[inline]
    pub(super) fn lose(&mut self, record: &mut Record, lost_total: &mut u64) {
        *lost_total += u64::from(record.span());
        self.change(record, |record| (record.lost, record.repair_in_flight) = (true, false));
    }

    #[inline]
    fn add(&mut self, record: &Record) {
        self.in_flight += record.in_flight();
        if record.is_sacked() {
            self.sacked_bytes += record.span();
            self.sacked_segments += 1;
        } else {
            self.to_repair += u32::from(record.is_lost_unrepaired());
        }
    }

    #[inline]
    pub(super) fn subtract(&mut self, record: &Record) {
        self.in_flight -= record.in_flight();
        if record.is_sacked() {
            self.sacked_bytes -= record.span();
            self.sacked_segments -= 1;
        } else {
            self.to_repair -= u32::from(record.is_lost_unrepaired());
        }
    }
}
