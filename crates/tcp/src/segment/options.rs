//! TCP options: timestamps, selective acknowledgements, Accurate ECN's counters, and what a SYN offers.

mod accecn;
mod timestamps;
mod window_scale;

use std::fmt::{self, Debug, Formatter};
use std::iter::FusedIterator;
use std::num::NonZeroU8;

use crate::Seq;

pub use accecn::{AccEcn, AccEcnOrder};
pub use timestamps::Timestamps;
pub(crate) use timestamps::{is_earlier, timestamp};
pub use window_scale::WindowScale;

/// What a stack's segments may carry beyond the fixed header.
pub trait HeaderOptions: Copy + Default + PartialEq + Debug + Send {
    /// Bytes that the options add to the header, padded to a multiple of four.
    fn len(&self) -> u16;

    /// Does the header carry none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The options of a modern segment.
///
/// A segment is copied half a dozen times on its way. So its options are plain words, of which flags say which count:
/// 48 bytes that are copied whole, where an [`Option`] for each would take 72 and a move for every field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// [`OPTIONS`] and the bits of what is held.
    held: NonZeroU8,
    /// How many SACK blocks there are.
    blocks: u8,
    /// Bytes of header that they take.
    len: u16,
    timestamps: Timestamps,
    /// What a SYN offers, or else SACK blocks, from the front; Accurate ECN's counters at the end. A header that holds
    /// both has room for three blocks.
    words: [u32; 9],
}

/// Where in the words Accurate ECN's counters begin.
const COUNTERS: usize = 6;

/// Always set in [`Options::held`], for the reason why a [`WindowScale`] is never 0.
const OPTIONS: NonZeroU8 = NonZeroU8::new(1 << 7).unwrap();

/// The other bits of [`Options::held`].
const TIMESTAMPS: u8 = 1;
const SYN: u8 = 1 << 1;
const SACK_PERMITTED: u8 = 1 << 2;
const WINDOW_SCALE: u8 = 1 << 3;
const ACCECN: u8 = 1 << 4;
const ECT1_FIRST: u8 = 1 << 5;
const SHORTENED: u8 = 1 << 6;

impl Default for Options {
    #[inline]
    fn default() -> Options {
        Options { held: OPTIONS, blocks: 0, len: 0, timestamps: Timestamps::default(), words: [0; 9] }
    }
}

impl Options {
    #[inline]
    fn holds(&self, what: u8) -> bool {
        self.held.get() & what != 0
    }

    /// With what a SYN or SYN/ACK offers.
    #[must_use]
    pub fn with_syn(mut self, syn: SynOptions) -> Options {
        debug_assert!(!self.has_sack(), "a SYN finds nothing to acknowledge selectively");
        self.held |= SYN;
        self.held |= if syn.sack_permitted { SACK_PERMITTED } else { 0 };
        self.held |= if syn.window_scale.is_some() { WINDOW_SCALE } else { 0 };
        self.words[..2].copy_from_slice(&[syn.mss.into(), syn.window_scale.unwrap_or_default().into()]);
        self.measured()
    }

    /// What a classic stack's SYN or SYN/ACK carries, not counted as with [`WindowScale`].
    pub(crate) fn classic(mss: u16, window_scale: Option<u8>) -> Options {
        let syn = SynOptions { mss, sack_permitted: false, window_scale };
        Options { len: 0, ..Options::default().with_syn(syn) }
    }

    /// With timestamps (RFC 7323 §3.2).
    #[must_use]
    #[inline]
    pub fn with_timestamps(mut self, timestamps: Timestamps) -> Options {
        self.held |= TIMESTAMPS;
        self.timestamps = timestamps;
        self.measured()
    }

    /// With one more selective acknowledgement, of `from..to` (RFC 2018 §3); a duplicate comes first (RFC 2883). A fifth
    /// finds no room, nor does a fourth beside Accurate ECN's counters, nor one on a SYN.
    #[must_use]
    pub fn with_sack_block(mut self, from: Seq, to: Seq) -> Options {
        let place = 2 * usize::from(self.blocks);
        let end = if self.holds(ACCECN) { COUNTERS } else { 2 * MAX_SACK_BLOCKS };
        if place == end || self.holds(SYN) {
            return self;
        }
        self.words[place..place + 2].copy_from_slice(&[from.get(), to.get()]);
        // The first has the option's own bytes before it, and two of padding.
        self.len += if self.blocks == 0 { 12 } else { 8 };
        self.blocks += 1;
        self
    }

    /// With Accurate ECN's counters (RFC 9768 §3.2.3), which find no room beside four SACK blocks.
    #[must_use]
    pub fn with_accecn(mut self, accecn: AccEcn) -> Options {
        if usize::from(self.blocks) == MAX_SACK_BLOCKS {
            return self;
        }
        self.held |= ACCECN;
        self.held |= if accecn.order == AccEcnOrder::Ect1First { ECT1_FIRST } else { 0 };
        self.held |= if accecn.shortened { SHORTENED } else { 0 };
        self.words[COUNTERS..].copy_from_slice(&[accecn.ect0, accecn.ce, accecn.ect1]);
        self.measured()
    }

    /// What a SYN or SYN/ACK offers.
    pub fn syn(&self) -> Option<SynOptions> {
        let [mss, shift, ..] = self.words;
        self.holds(SYN).then(|| SynOptions {
            mss: u16::try_from(mss).expect("it was put in as one"),
            sack_permitted: self.holds(SACK_PERMITTED),
            window_scale: self
                .holds(WINDOW_SCALE)
                .then(|| u8::try_from(shift).expect("it was put in as one")),
        })
    }

    /// The timestamps.
    #[inline]
    pub fn timestamps(&self) -> Option<Timestamps> {
        self.holds(TIMESTAMPS).then_some(self.timestamps)
    }

    /// Are there SACK blocks?
    #[inline]
    pub fn has_sack(&self) -> bool {
        self.blocks > 0
    }

    /// The ranges that the receiver says it holds, the most recent first.
    #[inline]
    pub fn sack(&self) -> impl FusedIterator<Item = (Seq, Seq)> + '_ {
        let words = self.words[..2 * usize::from(self.blocks)].chunks_exact(2);
        words.map(|range| (Seq::new(range[0]), Seq::new(range[1])))
    }

    /// The duplicate that the first block reports, if it does (RFC 2883 §4): it lies below the acknowledgement, or within
    /// the second block.
    pub fn duplicate(&self, ack: Seq) -> Option<(Seq, Seq)> {
        let mut blocks = self.sack();
        let (from, to) = blocks.next()?;
        let inside = blocks.next().is_some_and(|(start, end)| start <= from && to <= end);
        (to <= ack || inside).then_some((from, to))
    }

    /// Accurate ECN's counters.
    #[inline]
    pub fn accecn(&self) -> Option<AccEcn> {
        let [.., ect0, ce, ect1] = self.words;
        let order = if self.holds(ECT1_FIRST) { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
        self.holds(ACCECN).then_some(AccEcn { order, ect0, ce, ect1, shortened: self.holds(SHORTENED) })
    }

    /// With its length. On a SYN the options are packed one after another; elsewhere each is aligned by two bytes before
    /// it.
    #[inline]
    fn measured(mut self) -> Options {
        let is_syn = self.holds(SYN);
        let timestamps = match (self.holds(TIMESTAMPS), is_syn) {
            (true, false) => TIMESTAMPS_LEN,
            (true, true) => 10,
            (false, _) => 0,
        };
        let sack = if self.has_sack() { 4 + 8 * u16::from(self.blocks) } else { 0 };
        let offers = 2 * u16::from(self.holds(SACK_PERMITTED)) + 3 * u16::from(self.holds(WINDOW_SCALE));
        let syn = if is_syn { 4 + offers } else { 0 };
        let accecn = self.accecn().map_or(0, |accecn| accecn.length());
        self.len = (timestamps + sack + syn + accecn).next_multiple_of(4);
        self
    }
}

impl Debug for Options {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("Options");
        if let Some(syn) = self.syn() {
            options.field("syn", &syn);
        }
        if let Some(timestamps) = self.timestamps() {
            options.field("timestamps", &timestamps);
        }
        if self.has_sack() {
            options.field("sack", &self.sack().collect::<Vec<_>>());
        }
        if let Some(accecn) = self.accecn() {
            options.field("accecn", &accecn);
        }
        options.finish()
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

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_LEN: u16 = 12;

impl HeaderOptions for Options {
    #[inline]
    fn len(&self) -> u16 {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMPS: Timestamps = Timestamps { value: 1, echo: 2 };
    const COUNTS: AccEcn =
        AccEcn { order: AccEcnOrder::Ect1First, ect0: 1, ce: 4, ect1: 0xFF_FFFF, shortened: false };
    const OFFER: SynOptions = SynOptions { mss: 1460, sack_permitted: true, window_scale: Some(7) };

    fn with_blocks(options: Options, count: u32) -> Options {
        (0..count)
            .fold(options, |options, k| options.with_sack_block(Seq::new(100 * k), Seq::new(100 * k + 50)))
    }

    fn blocks(count: u32) -> Options {
        with_blocks(Options::default(), count)
    }

    #[test]
    fn headers_have_the_lengths_of_the_rfcs() {
        let bare = Options::default();
        let stamped = bare.with_timestamps(STAMPS);
        assert_eq!((bare.len(), stamped.len()), (0, 12));
        // RFC 2018 §3: 8 n + 2 bytes, and two of padding; three blocks beside timestamps fill the header.
        assert_eq!((blocks(1).len(), blocks(4).len(), with_blocks(stamped, 3).len()), (12, 36, 40));
        assert_eq!(stamped.with_syn(OFFER).len(), 20);
        // RFC 9768 §3.2.3: 11 bytes, or 8 with two counters; a SYN/ACK has room beside all others.
        assert_eq!(stamped.with_accecn(COUNTS).len(), 24);
        assert_eq!(with_blocks(stamped, 2).with_accecn(AccEcn { shortened: true, ..COUNTS }).len(), 40);
        assert_eq!(stamped.with_accecn(COUNTS).with_syn(OFFER).len(), 32);
        let plain = SynOptions { mss: 1460, sack_permitted: false, window_scale: None };
        assert_eq!(bare.with_syn(plain).len(), 4);
    }

    #[test]
    fn what_was_put_in_comes_out_and_nothing_else() {
        let bare = Options::default();
        assert_eq!(
            (bare.timestamps(), bare.sack().count(), bare.accecn(), bare.syn()),
            (None, 0, None, None)
        );
        let all = with_blocks(bare, 3).with_timestamps(STAMPS).with_accecn(COUNTS);
        assert_eq!((all.timestamps(), all.accecn(), all.syn()), (Some(STAMPS), Some(COUNTS), None));
        assert!(all.sack().eq([(0, 50), (100, 150), (200, 250)].map(|(a, b)| (Seq::new(a), Seq::new(b)))));
        let short = AccEcn { order: AccEcnOrder::Ect0First, shortened: true, ..COUNTS };
        for syn in
            [OFFER, SynOptions { sack_permitted: false, ..OFFER }, SynOptions { window_scale: None, ..OFFER }]
        {
            let offer = bare.with_syn(syn).with_accecn(short);
            assert_eq!((offer.syn(), offer.accecn(), offer.timestamps()), (Some(syn), Some(short), None));
            assert!(!offer.has_sack());
        }
    }

    #[test]
    fn what_finds_no_room_is_left_out() {
        assert_eq!(blocks(5), blocks(4));
        assert_eq!(blocks(4).with_accecn(COUNTS), blocks(4));
        let counting = Options::default().with_accecn(COUNTS);
        assert_eq!(with_blocks(counting, 4), with_blocks(counting, 3));
        assert_eq!(with_blocks(counting, 3), blocks(3).with_accecn(COUNTS));
        let syn = Options::default().with_syn(OFFER);
        assert_eq!(with_blocks(syn, 1), syn);
    }

    #[test]
    fn a_first_block_below_the_acknowledgement_or_within_the_second_is_a_duplicate() {
        let first = Options::default().with_sack_block(Seq::new(10), Seq::new(20));
        assert_eq!(first.duplicate(Seq::new(20)), Some((Seq::new(10), Seq::new(20))));
        assert_eq!(first.duplicate(Seq::new(5)), None);
        let within = first.with_sack_block(Seq::new(10), Seq::new(40));
        assert_eq!(within.duplicate(Seq::new(5)), Some((Seq::new(10), Seq::new(20))));
    }
}
