//! Reports of a receiver: data beyond a gap (RFC 2018 §4), and duplicates (RFC 2883).

use crate::Seq;
use crate::intervals::Intervals;
use crate::options::{MAX_SACK_BLOCKS, Options};

/// State of a receiver's reports.
#[derive(Debug, Default)]
pub(crate) struct SackReporter {
    recent: RecentSegments,
    /// A duplicate that is not reported yet.
    duplicate: Option<(Seq, Seq)>,
}

/// Starts of the latest segments beyond a gap, one for each range, the latest first.
#[derive(Debug, Default)]
struct RecentSegments {
    starts: [Seq; MAX_SACK_BLOCKS],
    count: u8,
}

impl RecentSegments {
    fn iter(&self) -> impl Iterator<Item = Seq> {
        self.starts.iter().take(usize::from(self.count)).copied()
    }

    fn retain(&mut self, mut is_kept: impl FnMut(Seq) -> bool) {
        let mut retained = RecentSegments::default();
        for start in self.iter().filter(|&start| is_kept(start)) {
            retained.starts[usize::from(retained.count)] = start;
            retained.count += 1;
        }
        *self = retained;
    }

    /// Insert `start` in front. The last entry is dropped if a report has no room for it.
    fn put_first(&mut self, start: Seq) {
        self.starts.rotate_right(1);
        self.starts[0] = start;
        if usize::from(self.count) < MAX_SACK_BLOCKS {
            self.count += 1;
        }
    }
}

impl SackReporter {
    /// Record `from..to` as a duplicate if it has arrived before (RFC 2883 §4). Call it before inserting the
    /// range.
    pub(crate) fn note_duplicate(&mut self, from: Seq, to: Seq, next: Seq, reassembly: &Intervals) {
        if from < next {
            self.duplicate = Some((from, to.min(next)));
        } else if reassembly.range_around(from).is_some_and(|(_, end)| to <= end) {
            self.duplicate = Some((from, to));
        }
    }

    /// Record that a segment from `from` was inserted; the data before `next` are in order.
    pub(crate) fn note_inserted(&mut self, from: Seq, next: Seq, reassembly: &Intervals) {
        let range = reassembly.range_around(from);
        let is_inside = |other| range.is_some_and(|(start, end)| start <= other && other < end);
        self.recent.retain(|other| next <= other && !is_inside(other));
        if range.is_some() {
            self.recent.put_first(from);
        }
    }

    /// True if there is no range and no duplicate to report.
    pub(crate) fn is_empty(&self) -> bool {
        self.duplicate.is_none() && self.recent.count == 0
    }

    /// Return `options` with at most `max_blocks` blocks: the duplicate, then the range of the latest segment,
    /// then those of earlier ones.
    pub(crate) fn report(&mut self, reassembly: &Intervals, max_blocks: usize, options: Options) -> Options {
        let (mut options, mut room) = (options, max_blocks);
        let mut report = |(from, to)| {
            if room > 0 {
                options = options.with_sack_block(from, to);
                room -= 1;
            }
        };
        self.duplicate.take().into_iter().for_each(&mut report);
        self.recent.retain(|from| {
            let range = reassembly.range_around(from);
            range.into_iter().for_each(&mut report);
            range.is_some()
        });
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver that has all bytes below 100.
    #[derive(Default)]
    struct Receiver {
        reporter: SackReporter,
        reassembly: Intervals,
    }

    impl Receiver {
        fn gets(&mut self, from: u32, to: u32) -> Vec<(u32, u32)> {
            let (from, to) = (Seq::new(from), Seq::new(to));
            self.reporter.note_duplicate(from, to, Seq::new(100), &self.reassembly);
            self.reassembly.insert(from.max(Seq::new(100)), to.max(Seq::new(100)));
            self.reporter.note_inserted(from, Seq::new(100), &self.reassembly);
            let report = self.reporter.report(&self.reassembly, MAX_SACK_BLOCKS, Options::default());
            report.sack().map(|(from, to)| (from.get(), to.get())).collect()
        }
    }

    #[test]
    fn the_range_of_the_latest_segment_is_reported_first() {
        // RFC 2018 §4; the others follow in the order of their latest segments.
        let mut tcp = Receiver::default();
        assert_eq!(tcp.gets(200, 300), [(200, 300)]);
        assert_eq!(tcp.gets(400, 500), [(400, 500), (200, 300)]);
        assert_eq!(tcp.gets(600, 700), [(600, 700), (400, 500), (200, 300)]);
        assert_eq!(tcp.gets(300, 350), [(200, 350), (600, 700), (400, 500)]);
        // A segment that joins two ranges leaves one.
        assert_eq!(tcp.gets(500, 600), [(400, 700), (200, 350)]);
    }

    #[test]
    fn a_duplicate_is_reported_first_and_once() {
        // RFC 2883 §4.1 and §4.2: below the acknowledgement, then within a range.
        let mut tcp = Receiver::default();
        tcp.gets(200, 300);
        assert_eq!(tcp.gets(200, 250), [(200, 250), (200, 300)]);
        assert_eq!(tcp.gets(400, 500), [(400, 500), (200, 300)]);
        let mut early = Receiver::default();
        early.reporter.note_duplicate(Seq::new(50), Seq::new(90), Seq::new(100), &early.reassembly);
        assert_eq!(
            early.reporter.report(&early.reassembly, MAX_SACK_BLOCKS, Options::default()).sack().count(),
            1
        );
        assert!(early.reporter.is_empty());
    }
}
