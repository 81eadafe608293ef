//! The scoreboard of RFC 6675 §3: the unacknowledged data, segment by segment.
//!
//! It stores what acknowledgements say about each segment, and counts the bytes in flight. Losses are decided by
//! [`Scoreboard::lose_by_threshold`] (RFC 6675) or by [`Rack`](super::Rack) (RFC 8985).

mod record;

use std::collections::VecDeque;

use aqmlab_units::{Duration, Time};

pub(crate) use self::record::Record;
use self::record::Totals;
use crate::Seq;

/// Segments delivered above a hole that indicate its loss (RFC 5681 §3.2, RFC 6675 §2).
pub(crate) const DUP_THRESH: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    records: VecDeque<Record>,
    totals: Totals,
    /// Segments that have left the network according to duplicates without SACK. Which ones is unknown: they are
    /// presumed to be those right behind the first, which is missing.
    presumed: usize,
    /// Bytes of those segments.
    presumed_bytes: u32,
    /// Bytes ever presumed lost.
    lost_total: u64,
}

impl Scoreboard {
    /// Clear it for another connection, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        *self = Scoreboard { records: std::mem::take(&mut self.records), ..Scoreboard::default() };
    }

    pub(crate) fn push(&mut self, seq: Seq, end: Seq, now: Time, delivered: u64) {
        let record = Record {
            seq,
            end,
            sent_at: now,
            delivered,
            retransmitted: false,
            lost: false,
            repair_in_flight: false,
            run: 0,
        };
        self.totals.in_flight += record.span();
        self.records.push_back(record);
    }

    /// Bytes estimated to be in the network (RFC 6675 §4, `SetPipe`).
    pub(crate) fn pipe(&self) -> u32 {
        self.totals.in_flight.saturating_sub(self.presumed_bytes)
    }

    pub(crate) fn sacked_bytes(&self) -> u32 {
        self.totals.sacked_bytes
    }

    pub(crate) fn lost_total(&self) -> u64 {
        self.lost_total
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.totals.to_repair > 0
    }

    /// Number of unacknowledged segments, including selectively acknowledged ones.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// True if duplicates or selective acknowledgements report data beyond a gap.
    pub(crate) fn has_gap(&self) -> bool {
        self.totals.sacked_segments > 0 || self.presumed > 0
    }

    /// Number of selectively acknowledged segments.
    pub(crate) fn sacked_segments(&self) -> usize {
        self.totals.sacked_segments as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Segment `index`, counted from the first unacknowledged one.
    pub(crate) fn record(&self, index: usize) -> &Record {
        &self.records[index]
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub(crate) fn known_delivered(&self) -> u32 {
        self.totals.sacked_bytes + self.presumed_bytes
    }

    /// Handle an acknowledgement of all below `una`. Calls `delivered` for each segment that was not known to
    /// have arrived, in order. Returns the bytes newly delivered.
    pub(crate) fn acknowledge(&mut self, una: Seq, mut delivered: impl FnMut(&Record)) -> u32 {
        let presumed = if self.presumed > 0 { self.withdraw_presumed(una) } else { 0 };
        let mut bytes = 0;
        while let Some(record) = self.records.front()
            && record.seq < una
        {
            if !record.is_sacked() {
                bytes += una.min(record.end) - record.seq;
                delivered(record);
            }
            if una < record.end {
                // The unacknowledged part stays.
                self.change(0, |record| record.seq = una);
                break;
            }
            self.totals.subtract(record);
            self.records.pop_front();
        }
        bytes - presumed.min(bytes)
    }

    /// Withdraw presumptions about the segments up to `una`. Returns their bytes among those acknowledged: the
    /// first segment was missing, and duplicates have reported the rest (RFC 9937 §6). Presumptions that remain
    /// lie behind the next missing segment (Linux's `tcp_remove_reno_sacks`).
    #[inline(never)]
    fn withdraw_presumed(&mut self, una: Seq) -> u32 {
        let count = self.records.partition_point(|record| record.end <= una);
        let first = self.records[0].end;
        let reported = if first < una { (una - first).min(self.presumed_bytes) } else { 0 };
        let remaining = self.presumed.saturating_sub(count.saturating_sub(1));
        self.presumed = remaining.min((self.len() - count).saturating_sub(1));
        self.presumed_bytes = match self.presumed {
            0 => 0,
            presumed => self.records[count + presumed].end - self.records[count].end,
        };
        reported
    }

    /// Handle a SACK block `from..to`. Calls `delivered` for each segment of it that was not known. Returns the
    /// bytes newly delivered.
    pub(crate) fn take_sack_block(&mut self, from: Seq, to: Seq, mut delivered: impl FnMut(&Record)) -> u32 {
        let mut bytes = 0;
        let mut next = self.records.partition_point(|record| record.seq < from);
        while let Some((index, record)) = self.next_missing(next)
            && record.end <= to
        {
            bytes += record.span();
            delivered(record);
            self.change(index, |record| record.run = 1);
            next = index + 1;
        }
        bytes
    }

    /// Return the first segment from `index` on that the peer is not known to have. The run of segments before
    /// it, of which there may be hundreds, is stored and skipped in one step the next time.
    #[inline]
    fn next_missing(&mut self, index: usize) -> Option<(usize, &Record)> {
        let known = self.records.get(index)?.run;
        if known == 0 {
            return Some((index, &self.records[index]));
        }
        let mut run = known;
        while let Some(record) = self.records.get(index + run as usize)
            && record.is_sacked()
        {
            run += record.run;
        }
        if run > known {
            self.records[index].run = run;
        }
        let missing = index + run as usize;
        self.records.get(missing).map(|record| (missing, record))
    }

    /// Handle a duplicate acknowledgement without SACK: a segment behind the first has arrived (Linux's
    /// `tcp_add_reno_sack`). Returns the bytes delivered.
    pub(crate) fn presume(&mut self) -> u32 {
        let Some(record) = self.records.get(self.presumed + 1) else { return 0 };
        self.presumed += 1;
        self.presumed_bytes += record.span();
        record.span()
    }

    /// RFC 6675 §4, `IsLost`: a segment is lost if three above it have arrived. The RFC counts ranges, or bytes
    /// of full segments; a count of segments covers both, and short segments too. Returns true if any was found
    /// lost.
    pub(crate) fn lose_by_threshold(&mut self) -> bool {
        let mut above = 0;
        let third = self.records.iter().rposition(|record| {
            above += usize::from(record.is_sacked());
            above == DUP_THRESH
        });
        third.is_some_and(|below| self.lose_where(below, |record| !record.lost))
    }

    /// Mark the first segment as lost. Returns true if it was not lost before.
    pub(crate) fn lose_first(&mut self) -> bool {
        self.lose_where(1, |record| !record.lost)
    }

    /// Mark as lost, with all its copies, each of the first `below` segments that has not arrived and for which
    /// `is_lost` is true. Returns true if there was any.
    pub(crate) fn lose_where(&mut self, below: usize, mut is_lost: impl FnMut(&Record) -> bool) -> bool {
        let mut found = false;
        for index in 0..below.min(self.len()) {
            let record = &self.records[index];
            if !record.is_sacked() && !record.is_lost_unrepaired() && is_lost(record) {
                self.lose(index);
                found = true;
            }
        }
        found
    }

    fn lose(&mut self, index: usize) {
        self.totals.lose(&mut self.records[index], &mut self.lost_total);
    }

    /// True in the common case: all data in flight were sent once, and none is overtaken by later ones that
    /// have arrived.
    #[inline]
    pub(crate) fn is_in_order(&self, is_overtaken: impl Fn(&Record) -> bool) -> bool {
        self.records
            .front()
            .is_none_or(|first| !first.is_sacked() && !first.retransmitted && !is_overtaken(first))
    }

    /// RFC 8985 §6.2 step 5: mark as lost, with all its copies, each overtaken segment that has not arrived and
    /// was sent `wait` ago. Returns true if there was any, and the time at which the last of the others is lost.
    #[inline(never)]
    pub(crate) fn lose_overtaken(
        &mut self,
        is_overtaken: impl Fn(&Record) -> bool,
        wait: Duration,
        now: Time,
    ) -> (bool, Option<Time>) {
        let (mut found, mut next_check) = (false, None);
        let mut next = 0;
        while let Some((index, record)) = self.next_missing(next) {
            next = index + 1;
            if !is_overtaken(record) {
                // Segments sent once are in the order of their times; retransmissions among them left later.
                if record.retransmitted {
                    continue;
                }
                break;
            }
            if record.is_lost_unrepaired() {
                continue;
            }
            let due = record.sent_at + wait;
            if now < due {
                next_check = next_check.max(Some(due));
            } else {
                self.lose(index);
                found = true;
            }
        }
        (found, next_check)
    }

    /// Clear presumptions from duplicates without SACK, which do not apply to later losses.
    pub(crate) fn clear_presumed(&mut self) {
        (self.presumed, self.presumed_bytes) = (0, 0);
    }

    /// Undo all losses: the originals are in flight again, and no repair is due.
    pub(crate) fn restore_all(&mut self) {
        for index in 0..self.records.len() {
            self.change(index, |record| (record.lost, record.repair_in_flight) = (false, false));
        }
    }

    /// RFC 6675 §4, `NextSeg` (1): the first segment that is lost and not retransmitted.
    pub(crate) fn next_lost(&self) -> Option<usize> {
        if self.totals.to_repair == 0 {
            return None;
        }
        self.records.iter().position(Record::is_lost_unrepaired)
    }

    /// `NextSeg` (3): the first hole below the peer's data that is neither known to be lost nor retransmitted.
    pub(crate) fn next_hole(&self) -> Option<usize> {
        let highest = self.records.iter().rposition(Record::is_sacked)?;
        self.records
            .range(..highest)
            .position(|record| !record.is_sacked() && !record.lost && !record.repair_in_flight)
    }

    /// The last segment the peer is not known to have: `NextSeg` (4) and the loss probe.
    pub(crate) fn last_outstanding(&self) -> Option<usize> {
        self.records.iter().rposition(|record| !record.is_sacked())
    }

    /// Record a retransmission of segment `index`.
    pub(crate) fn resend(&mut self, index: usize, now: Time, delivered: u64) -> Record {
        self.change(index, |record| {
            (record.sent_at, record.delivered) = (now, delivered);
            record.retransmitted = true;
            record.repair_in_flight = true;
        });
        self.records[index]
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut Record)) {
        self.totals.change(&mut self.records[index], change);
    }
}

#[cfg(test)]
mod tests;
