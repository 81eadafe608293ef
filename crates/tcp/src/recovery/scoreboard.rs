//! What was sent and is not acknowledged, segment by segment (RFC 6675 §3's scoreboard).
//!
//! It knows what was said about each segment and counts what is in flight. Who is lost is decided by
//! [`Scoreboard::lose_by_threshold`] (RFC 6675) or by [`Rack`](super::Rack) (RFC 8985).

mod record;

use std::collections::VecDeque;

use aqmlab_units::{Duration, Time};

pub(crate) use self::record::Record;
use self::record::Totals;
use crate::Seq;

/// Three segments above a hole mean that it is lost (RFC 5681 §3.2, RFC 6675 §2).
pub(crate) const DUP_THRESH: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    records: VecDeque<Record>,
    totals: Totals,
    /// How many segments duplicates without SACK say have left the network. Nobody knows which: taken to be those right
    /// behind the first, which is missing.
    presumed: usize,
    /// What they hold.
    presumed_bytes: u32,
    /// Bytes ever presumed lost.
    lost_total: u64,
}

impl Scoreboard {
    /// Nothing was sent: for another connection, in the room that this one's records had.
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
            repeated: false,
            run: 0,
        };
        self.totals.in_flight += record.span();
        self.records.push_back(record);
    }

    /// Bytes estimated to be in the network (RFC 6675 §4, `SetPipe`).
    pub(crate) fn pipe(&self) -> u32 {
        self.totals.in_flight.saturating_sub(self.presumed_bytes)
    }

    pub(crate) fn sacked(&self) -> u32 {
        self.totals.sacked
    }

    pub(crate) fn lost_total(&self) -> u64 {
        self.lost_total
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.totals.to_repair > 0
    }

    /// How many segments are unacknowledged, SACK or not.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// How many segments are selectively acknowledged.
    pub(crate) fn sacked_segments(&self) -> usize {
        self.totals.sacked_segments as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Segment `index`, counted from the first that is unacknowledged.
    pub(crate) fn record(&self, index: usize) -> &Record {
        &self.records[index]
    }

    /// Bytes that have arrived beyond the acknowledgement, as far as is known.
    pub(crate) fn known_delivered(&self) -> u32 {
        self.totals.sacked + self.presumed_bytes
    }

    /// All below `una` has arrived. `delivered` is told of each segment not known to have before, in order. The bytes
    /// newly delivered.
    pub(crate) fn acknowledge(&mut self, una: Seq, mut delivered: impl FnMut(&Record)) -> u32 {
        let presumed = if self.presumed > 0 { self.take_back_presumed(una) } else { 0 };
        let mut bytes = 0;
        while let Some(record) = self.records.front()
            && record.seq < una
        {
            if !record.sacked() {
                bytes += una.min(record.end) - record.seq;
                delivered(record);
            }
            if una < record.end {
                // It keeps what was not acknowledged.
                self.change(0, |record| record.seq = una);
                break;
            }
            self.totals.take_out(record);
            self.records.pop_front();
        }
        bytes - presumed.min(bytes)
    }

    /// Of what is acknowledged up to `una` the first was missing, so duplicates have told of the rest (RFC 9937 §6): how many
    /// bytes. What is left of them lies behind the next that is missing (Linux's `tcp_remove_reno_sacks`).
    #[inline(never)]
    fn take_back_presumed(&mut self, una: Seq) -> u32 {
        let count = self.records.partition_point(|record| record.end <= una);
        let first = self.records[0].end;
        let told = if first < una { (una - first).min(self.presumed_bytes) } else { 0 };
        let left = self.presumed.saturating_sub(count.saturating_sub(1));
        self.presumed = left.min((self.len() - count).saturating_sub(1));
        self.presumed_bytes = match self.presumed {
            0 => 0,
            left => self.records[count + left].end - self.records[count].end,
        };
        told
    }

    /// The peer has `from..to`. `delivered` is told of each segment of it not known before. The bytes newly delivered.
    pub(crate) fn select(&mut self, from: Seq, to: Seq, mut delivered: impl FnMut(&Record)) -> u32 {
        let mut bytes = 0;
        let mut next = self.records.partition_point(|record| record.seq < from);
        while let Some((index, record)) = self.missing_from(next)
            && record.end <= to
        {
            bytes += record.span();
            delivered(record);
            self.change(index, |record| record.run = 1);
            next = index + 1;
        }
        bytes
    }

    /// The first segment from `index` on that the peer is not known to have. Those before it, of which there may be hundreds,
    /// are passed over at once the next time.
    #[inline]
    fn missing_from(&mut self, index: usize) -> Option<(usize, &Record)> {
        let known = self.records.get(index)?.run;
        if known == 0 {
            return Some((index, &self.records[index]));
        }
        let mut run = known;
        while let Some(record) = self.records.get(index + run as usize)
            && record.sacked()
        {
            run += record.run;
        }
        if run > known {
            self.records[index].run = run;
        }
        let missing = index + run as usize;
        self.records.get(missing).map(|record| (missing, record))
    }

    /// A duplicate acknowledgement without SACK: one of the segments behind the first has arrived (Linux's
    /// `tcp_add_reno_sack`). The bytes delivered.
    pub(crate) fn presume(&mut self) -> u32 {
        let Some(record) = self.records.get(self.presumed + 1) else { return 0 };
        self.presumed += 1;
        self.presumed_bytes += record.span();
        record.span()
    }

    /// RFC 6675 §4, `IsLost`: three segments above it have arrived. The RFC counts ranges, or bytes of full segments;
    /// counting segments covers both and short segments too. Whether any was found.
    pub(crate) fn lose_by_threshold(&mut self) -> bool {
        let mut above = 0;
        let third = self.records.iter().rposition(|record| {
            above += usize::from(record.sacked());
            above == DUP_THRESH
        });
        third.is_some_and(|below| self.lose_where(below, |record| !record.lost))
    }

    /// The first segment is lost. Whether that was news.
    pub(crate) fn lose_first(&mut self) -> bool {
        self.lose_where(1, |record| !record.lost)
    }

    /// Of the first `below` segments, each that has not arrived and that `is_lost` says so of has been lost with all its
    /// copies. Whether there was any.
    pub(crate) fn lose_where(&mut self, below: usize, mut is_lost: impl FnMut(&Record) -> bool) -> bool {
        let mut found = false;
        for index in 0..below.min(self.len()) {
            let record = &self.records[index];
            if !record.sacked() && !record.is_lost_unrepaired() && is_lost(record) {
                self.lose(index);
                found = true;
            }
        }
        found
    }

    fn lose(&mut self, index: usize) {
        self.totals.lose(&mut self.records[index], &mut self.lost_total);
    }

    /// As nearly always: all in flight was sent once, and after what has arrived, so that none of it is `overtaken`.
    #[inline]
    pub(crate) fn is_in_order(&self, overtaken: impl Fn(&Record) -> bool) -> bool {
        self.records.front().is_none_or(|first| !first.sacked() && !first.retransmitted && !overtaken(first))
    }

    /// RFC 8985 §6.2 step 5: of the segments that have not arrived and of which `overtaken` is true, each has been lost with
    /// all its copies that was sent `wait` ago. Whether there was any, and when that is so of the last of the others.
    #[inline(never)]
    pub(crate) fn lose_overtaken(
        &mut self,
        overtaken: impl Fn(&Record) -> bool,
        wait: Duration,
        now: Time,
    ) -> (bool, Option<Time>) {
        let (mut found, mut again) = (false, None);
        let mut next = 0;
        while let Some((index, record)) = self.missing_from(next) {
            next = index + 1;
            if !overtaken(record) {
                // Segments sent once stand in the order of their times; those behind that were sent again are later still.
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
                again = again.max(Some(due));
            } else {
                self.lose(index);
                found = true;
            }
        }
        (found, again)
    }

    /// What duplicates without SACK said is void: of later losses they tell nothing.
    pub(crate) fn forget_presumed(&mut self) {
        (self.presumed, self.presumed_bytes) = (0, 0);
    }

    /// Nothing was lost after all: what was sent first is in flight again, and no repair is due.
    pub(crate) fn restore_all(&mut self) {
        for index in 0..self.records.len() {
            self.change(index, |record| (record.lost, record.repeated) = (false, false));
        }
    }

    /// RFC 6675 §4, `NextSeg` (1): the first segment that is lost and was not sent again.
    pub(crate) fn next_lost(&self) -> Option<usize> {
        if self.totals.to_repair == 0 {
            return None;
        }
        self.records.iter().position(Record::is_lost_unrepaired)
    }

    /// `NextSeg` (3): the first hole below what the peer has that is neither known to be lost nor sent again.
    pub(crate) fn next_hole(&self) -> Option<usize> {
        let highest = self.records.iter().rposition(Record::sacked)?;
        self.records.range(..highest).position(|record| !record.sacked() && !record.lost && !record.repeated)
    }

    /// The last segment the peer is not known to have: `NextSeg` (4) and the loss probe.
    pub(crate) fn last_outstanding(&self) -> Option<usize> {
        self.records.iter().rposition(|record| !record.sacked())
    }

    /// Segment `index` is sent again.
    pub(crate) fn resend(&mut self, index: usize, now: Time, delivered: u64) -> Record {
        self.change(index, |record| {
            (record.sent_at, record.delivered) = (now, delivered);
            record.retransmitted = true;
            record.repeated = true;
        });
        self.records[index]
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut Record)) {
        self.totals.change(&mut self.records[index], change);
    }
}

#[cfg(test)]
mod tests;
