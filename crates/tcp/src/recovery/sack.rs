//! What a receiver reports of data beyond a gap (RFC 2018 §4), and of data that came twice (RFC 2883).

use crate::Seq;
use crate::options::{MAX_SACK_BLOCKS, Options};
use crate::reassembly::Reassembly;

/// What will be reported first.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    recent: Recent,
    /// A duplicate, to be reported once.
    duplicate: Option<(Seq, Seq)>,
}

/// Where the segments began that arrived last beyond a gap, one for each range held, the latest first.
#[derive(Debug, Default)]
struct Recent {
    starts: [Seq; MAX_SACK_BLOCKS],
    count: u8,
}

impl Recent {
    fn iter(&self) -> impl Iterator<Item = Seq> {
        self.starts.iter().take(usize::from(self.count)).copied()
    }

    fn retain(&mut self, mut keeps: impl FnMut(Seq) -> bool) {
        let mut kept = Recent::default();
        for start in self.iter().filter(|&start| keeps(start)) {
            kept.starts[usize::from(kept.count)] = start;
            kept.count += 1;
        }
        *self = kept;
    }

    /// The last of as many as a report has room for goes.
    fn put_first(&mut self, start: Seq) {
        self.starts.rotate_right(1);
        self.starts[0] = start;
        if usize::from(self.count) < MAX_SACK_BLOCKS {
            self.count += 1;
        }
    }
}

impl Reporter {
    /// `from..to` arrives out of order, before it is kept: do we have it already? (RFC 2883 §4)
    pub(crate) fn note_duplicate(&mut self, from: Seq, to: Seq, next: Seq, kept: &Reassembly) {
        if from < next {
            self.duplicate = Some((from, to.min(next)));
        } else if kept.range_around(from).is_some_and(|(_, end)| to <= end) {
            self.duplicate = Some((from, to));
        }
    }

    /// `from` began what has just been kept; all before `next` is in order and kept no more.
    pub(crate) fn note_kept(&mut self, from: Seq, next: Seq, kept: &Reassembly) {
        let range = kept.range_around(from);
        let is_in_it = |other| range.is_some_and(|(start, end)| start <= other && other < end);
        self.recent.retain(|other| next <= other && !is_in_it(other));
        if range.is_some() {
            self.recent.put_first(from);
        }
    }

    /// Is there anything to report?
    pub(crate) fn is_empty(&self) -> bool {
        self.duplicate.is_none() && self.recent.count == 0
    }

    /// `options` with at most `most` blocks: the duplicate, then the range that holds the segment that arrived last, then
    /// those before.
    pub(crate) fn report(&mut self, kept: &Reassembly, most: usize, options: Options) -> Options {
        let (mut options, mut room) = (options, most);
        let mut report = |(from, to)| {
            if room > 0 {
                options = options.with_sack_block(from, to);
                room -= 1;
            }
        };
        self.duplicate.take().into_iter().for_each(&mut report);
        self.recent.retain(|from| {
            let range = kept.range_around(from);
            range.into_iter().for_each(&mut report);
            range.is_some()
        });
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver that has everything below 100, told of ranges as they arrive.
    #[derive(Default)]
    struct Receiver {
        reporter: Reporter,
        kept: Reassembly,
    }

    impl Receiver {
        fn gets(&mut self, from: u32, to: u32) -> Vec<(u32, u32)> {
            let (from, to) = (Seq::new(from), Seq::new(to));
            self.reporter.note_duplicate(from, to, Seq::new(100), &self.kept);
            self.kept.insert(from.max(Seq::new(100)), to.max(Seq::new(100)));
            self.reporter.note_kept(from, Seq::new(100), &self.kept);
            let report = self.reporter.report(&self.kept, MAX_SACK_BLOCKS, Options::default());
            report.sack().map(|(from, to)| (from.get(), to.get())).collect()
        }
    }

    #[test]
    fn the_range_of_the_latest_segment_comes_first_and_the_others_in_the_order_of_their_latest() {
        // RFC 2018 §4.
        let mut tcp = Receiver::default();
        assert_eq!(tcp.gets(200, 300), [(200, 300)]);
        assert_eq!(tcp.gets(400, 500), [(400, 500), (200, 300)]);
        assert_eq!(tcp.gets(600, 700), [(600, 700), (400, 500), (200, 300)]);
        assert_eq!(tcp.gets(300, 350), [(200, 350), (600, 700), (400, 500)]);
        // What joins two ranges leaves one.
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
        early.reporter.note_duplicate(Seq::new(50), Seq::new(90), Seq::new(100), &early.kept);
        assert_eq!(early.reporter.report(&early.kept, MAX_SACK_BLOCKS, Options::default()).sack().count(), 1);
        assert!(early.reporter.is_empty());
    }
}
