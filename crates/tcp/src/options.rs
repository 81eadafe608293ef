//! TCP options: timestamps, selective acknowledgements, Accurate ECN's counters, and what a SYN offers.

use std::fmt::Debug;
use std::iter::FusedIterator;

use aqmlab_units::Time;

use crate::Seq;

/// What a stack's segments may carry beyond the fixed header.
pub trait HeaderOptions: Copy + Default + PartialEq + Debug + Send {
    /// Bytes that the options add to the header, padded to a multiple of four.
    fn len(&self) -> u16;

    /// Does the header carry none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// No options at all. Those of the SYN, which a stack of 2001 has too, are not counted.
impl HeaderOptions for () {
    #[inline]
    fn len(&self) -> u16 {
        0
    }
}

/// The options of a modern segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Timestamps (RFC 7323 §3.2).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements (RFC 2018 §3), a duplicate first (RFC 2883).
    pub sack: SackBlocks,
    /// Accurate ECN's counters (RFC 9768 §3.2.3).
    pub accecn: Option<AccEcn>,
    /// What a SYN or SYN/ACK offers.
    pub syn: Option<SynOptions>,
}

/// The two values of a timestamps option, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// `TSval`: the sender's clock.
    pub value: u32,
    /// `TSecr`: the peer's clock as it was last heard; 0 in a SYN.
    pub echo: u32,
}

/// How many bytes of the peer's data came in each ECN codepoint, modulo 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcn {
    /// Which counter comes first.
    pub order: AccEcnOrder,
    /// `EE0B`: data in ECT(0), and 1.
    pub ect0: u32,
    /// `ECEB`: data marked.
    pub ce: u32,
    /// `EE1B`: data in ECT(1), and 1.
    pub ect1: u32,
    /// The last of the three counters is left out.
    pub shortened: bool,
}

/// The two forms of [`AccEcn`], which have kinds of their own. Marks come second in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccEcnOrder {
    /// `AccECN0`, kind 172.
    Ect0First,
    /// `AccECN1`, kind 174.
    Ect1First,
}

impl AccEcn {
    /// The counters that the option holds, in its order.
    pub fn fields(&self) -> impl Iterator<Item = u32> {
        let [first, last] = match self.order {
            AccEcnOrder::Ect0First => [self.ect0, self.ect1],
            AccEcnOrder::Ect1First => [self.ect1, self.ect0],
        };
        [first, self.ce, last].into_iter().take(if self.shortened { 2 } else { 3 })
    }

    /// Bytes of the option without padding.
    pub fn length(&self) -> u16 {
        if self.shortened { 8 } else { 11 }
    }
}

/// Options that only a SYN or SYN/ACK carries, beside a maximum segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// The largest segment this end wants to receive, in bytes of data without options (RFC 6691).
    pub mss: u16,
    /// SACK may be sent (RFC 2018 §2).
    pub sack_permitted: bool,
    /// How far to shift this end's window field (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
}

/// The most blocks that fit into 40 bytes of options; three beside timestamps.
pub const MAX_SACK_BLOCKS: usize = 4;

/// Ranges that a receiver holds, the most recent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    ranges: [(Seq, Seq); MAX_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// Add the range `from..to` after the others. What finds no room is left out.
    pub fn push(&mut self, from: Seq, to: Seq) {
        if let Some(place) = self.ranges.get_mut(usize::from(self.count)) {
            *place = (from, to);
            self.count += 1;
        }
    }

    /// The ranges in their order.
    pub fn iter(&self) -> impl FusedIterator<Item = (Seq, Seq)> + '_ {
        self.ranges.iter().take(usize::from(self.count)).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Keep the first `most` only.
    pub fn truncate(&mut self, most: usize) {
        for place in self.ranges.iter_mut().skip(most) {
            *place = (Seq::ZERO, Seq::ZERO);
        }
        self.count = self.count.min(u8::try_from(most).unwrap_or(u8::MAX));
    }

    /// The duplicate that the first block reports, if it does (RFC 2883 §4): it lies below the acknowledgement, or within
    /// the second block.
    pub fn duplicate(&self, ack: Seq) -> Option<(Seq, Seq)> {
        let mut blocks = self.iter();
        let (from, to) = blocks.next()?;
        let inside = blocks.next().is_some_and(|(start, end)| start <= from && to <= end);
        (to <= ack || inside).then_some((from, to))
    }
}

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_LEN: u16 = 12;

impl HeaderOptions for Options {
    fn len(&self) -> u16 {
        // On a SYN the options are packed one after another; elsewhere each is aligned by two bytes before it.
        let aligned = self.syn.is_none();
        let timestamps = match self.timestamps {
            Some(_) if aligned => TIMESTAMPS_LEN,
            Some(_) => 10,
            None => 0,
        };
        let sack = match self.sack.count {
            0 => 0,
            count => 4 + 8 * u16::from(count),
        };
        let syn = self.syn.map_or(0, |syn| {
            4 + 2 * u16::from(syn.sack_permitted) + 3 * u16::from(syn.window_scale.is_some())
        });
        let accecn = self.accecn.map_or(0, |accecn| accecn.length());
        (timestamps + sack + syn + accecn).next_multiple_of(4)
    }
}

/// The clock of the timestamps option: a tick each millisecond, as in Linux (`TCP_TS_HZ`); RFC 7323 §5.4 asks for 1 ms
/// to 1 s.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the clock wraps after 49 days, and is compared as one that does"
)]
pub(crate) fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// Is timestamp `a` from before `b`?
pub(crate) fn is_earlier(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(count: u32) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for k in 0..count {
            blocks.push(Seq::new(100 * k), Seq::new(100 * k + 50));
        }
        blocks
    }

    #[test]
    fn headers_have_the_lengths_of_the_rfcs() {
        let timestamps = Some(Timestamps { value: 1, echo: 2 });
        assert_eq!(Options::default().len(), 0);
        assert_eq!(Options { timestamps, ..Options::default() }.len(), 12);
        // RFC 2018 §3: 8 n + 2 bytes, and two of padding; three blocks beside timestamps fill the header.
        assert_eq!(Options { sack: blocks(1), ..Options::default() }.len(), 12);
        assert_eq!(Options { sack: blocks(4), ..Options::default() }.len(), 36);
        assert_eq!(Options { timestamps, sack: blocks(3), ..Options::default() }.len(), 40);
        let syn = Some(SynOptions { mss: 1460, sack_permitted: true, window_scale: Some(7) });
        assert_eq!(Options { timestamps, syn, ..Options::default() }.len(), 20);
        // RFC 9768 §3.2.3: 11 bytes, or 8 with two counters; a SYN/ACK has room beside all others.
        let accecn = AccEcn { order: AccEcnOrder::Ect0First, ect0: 1, ce: 0, ect1: 1, shortened: false };
        assert_eq!(Options { timestamps, accecn: Some(accecn), ..Options::default() }.len(), 24);
        let short = Some(AccEcn { shortened: true, ..accecn });
        assert_eq!(Options { timestamps, accecn: short, sack: blocks(2), syn: None }.len(), 40);
        assert_eq!(Options { timestamps, accecn: Some(accecn), syn, ..Options::default() }.len(), 32);
        let bare = Some(SynOptions { mss: 1460, sack_permitted: false, window_scale: None });
        assert_eq!(Options { syn: bare, ..Options::default() }.len(), 4);
    }

    #[test]
    fn a_fifth_block_finds_no_room() {
        assert_eq!(blocks(5), blocks(4));
    }

    #[test]
    fn a_first_block_below_the_acknowledgement_or_within_the_second_is_a_duplicate() {
        let mut sack = SackBlocks::default();
        sack.push(Seq::new(10), Seq::new(20));
        assert_eq!(sack.duplicate(Seq::new(20)), Some((Seq::new(10), Seq::new(20))));
        assert_eq!(sack.duplicate(Seq::new(5)), None);
        sack.push(Seq::new(10), Seq::new(40));
        assert_eq!(sack.duplicate(Seq::new(5)), Some((Seq::new(10), Seq::new(20))));
    }

    #[test]
    fn timestamps_compare_across_the_wrap() {
        assert!(is_earlier(u32::MAX, 3) && !is_earlier(3, u32::MAX) && !is_earlier(7, 7));
    }
}
