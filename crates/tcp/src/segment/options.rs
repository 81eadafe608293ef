//! TCP options: timestamps, selective acknowledgements, Accurate ECN's counters, and the options of SYNs.

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

/// Options that a stack's segments may carry.
pub trait HeaderOptions: Copy + Default + PartialEq + Debug + Send {
    /// Bytes that the options add to the header, padded to a multiple of four.
    fn len(&self) -> u16;

    /// True if the header has no options.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The options of a modern segment, if it is one.
    fn modern(&self) -> Option<&Options> {
        None
    }

    /// True if the packet is a TCP segment.
    fn is_tcp(&self) -> bool {
        true
    }

    /// True if the packet is one of QUIC's handshake and carries no data; SYNs have a flag.
    fn is_quic_handshake(&self) -> bool {
        false
    }

    /// The number of a packet of QUIC; of one in the handshake, that in the first of its packet number spaces.
    fn quic_packet_number(&self) -> Option<u32> {
        None
    }

    /// Data bytes that were sent before, if the packet tells: a TCP segment's numbers do.
    fn retransmitted(&self) -> Option<u32> {
        None
    }
}

/// The options of a modern segment.
///
/// A segment is copied half a dozen times on its path. So its options are plain words, with flags that say which
/// are present: 48 bytes that are copied whole. With an [`Option`] for each they would take 72 bytes and a move
/// per field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// [`NON_ZERO`] and the flags of the options present.
    present: NonZeroU8,
    /// Number of SACK blocks, or [`DATAGRAM`].
    blocks: u8,
    /// Bytes of the header that they take.
    len: u16,
    timestamps: Timestamps,
    /// A SYN's options or SACK blocks, from the front; Accurate ECN's counters at the end. A header with both has
    /// room for three blocks.
    words: [u32; 9],
}

/// Index of Accurate ECN's counters in the words.
const COUNTERS: usize = 6;

/// In place of the number of SACK blocks: there are no options, but the number of a datagram in the first word.
const DATAGRAM: u8 = u8::MAX;

/// Always set in [`Options::present`], so that it is never 0, as a [`WindowScale`] never is.
const NON_ZERO: NonZeroU8 = NonZeroU8::new(1 << 7).unwrap();

/// The other bits of [`Options::present`].
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
        Options { present: NON_ZERO, blocks: 0, len: 0, timestamps: Timestamps::default(), words: [0; 9] }
    }
}

impl Options {
    #[inline]
    fn has(&self, option: u8) -> bool {
        self.present.get() & option != 0
    }

    /// Add the options of a SYN or SYN/ACK.
    #[must_use]
    pub fn with_syn(mut self, syn: SynOptions) -> Options {
        debug_assert!(!self.has_sack(), "a SYN has no SACK blocks");
        self.present |= SYN;
        self.present |= if syn.sack_permitted { SACK_PERMITTED } else { 0 };
        self.present |= if syn.window_scale.is_some() { WINDOW_SCALE } else { 0 };
        self.words[..2].copy_from_slice(&[syn.mss.into(), syn.window_scale.unwrap_or_default().into()]);
        self.with_length()
    }

    /// Options of a classic stack's SYN or SYN/ACK; like [`WindowScale`], they count no bytes.
    pub(crate) fn classic(mss: u16, window_scale: Option<u8>) -> Options {
        let syn = SynOptions { mss, sack_permitted: false, window_scale };
        Options { len: 0, ..Options::default().with_syn(syn) }
    }

    /// Add timestamps (RFC 7323 §3.2).
    #[must_use]
    #[inline]
    pub fn with_timestamps(mut self, timestamps: Timestamps) -> Options {
        self.present |= TIMESTAMPS;
        self.timestamps = timestamps;
        self.with_length()
    }

    /// Add a selective acknowledgement of `from..to` (RFC 2018 §3); a duplicate comes first (RFC 2883). There is
    /// no room for a fifth, for a fourth with Accurate ECN's counters, or for any on a SYN; those are left out.
    #[must_use]
    pub fn with_sack_block(mut self, from: Seq, to: Seq) -> Options {
        let start = 2 * usize::from(self.blocks);
        let end = if self.has(ACCECN) { COUNTERS } else { 2 * MAX_SACK_BLOCKS };
        if start == end || self.has(SYN) {
            return self;
        }
        self.words[start..start + 2].copy_from_slice(&[from.get(), to.get()]);
        // Before the first are the option's kind and length, and two bytes of padding.
        self.len += if self.blocks == 0 { 12 } else { 8 };
        self.blocks += 1;
        self
    }

    /// Add Accurate ECN's counters (RFC 9768 §3.2.3). There is no room for them with four SACK blocks.
    #[must_use]
    pub fn with_accecn(mut self, accecn: AccEcn) -> Options {
        if usize::from(self.blocks) == MAX_SACK_BLOCKS {
            return self;
        }
        self.present |= ACCECN;
        self.present |= if accecn.order == AccEcnOrder::Ect1First { ECT1_FIRST } else { 0 };
        self.present |= if accecn.shortened { SHORTENED } else { 0 };
        self.words[COUNTERS..].copy_from_slice(&[accecn.ect0, accecn.ce, accecn.ect1]);
        self.with_length()
    }

    /// No options, but what a network keeps in their place of a QUIC datagram: a number, and the bytes that the headers exceed
    /// a TCP header by. So packets of both transports have one type. An endpoint never has them.
    pub fn of_datagram(number: u32, len: u16) -> Options {
        let mut options = Options { blocks: DATAGRAM, len, ..Options::default() };
        options.words[0] = number;
        options
    }

    /// The number of the datagram, if there are no options but that.
    #[inline]
    pub fn datagram(&self) -> Option<u32> {
        (self.blocks == DATAGRAM).then_some(self.words[0])
    }

    /// The options of a SYN or SYN/ACK.
    pub fn syn(&self) -> Option<SynOptions> {
        let [mss, shift, ..] = self.words;
        self.has(SYN).then(|| SynOptions {
            mss: u16::try_from(mss).expect("it was put in as one"),
            sack_permitted: self.has(SACK_PERMITTED),
            window_scale: self.has(WINDOW_SCALE).then(|| u8::try_from(shift).expect("it was put in as one")),
        })
    }

    /// The timestamps.
    #[inline]
    pub fn timestamps(&self) -> Option<Timestamps> {
        self.has(TIMESTAMPS).then_some(self.timestamps)
    }

    /// True if there are SACK blocks.
    #[inline]
    pub fn has_sack(&self) -> bool {
        self.blocks > 0
    }

    /// The ranges that the receiver reports, the most recent first.
    #[inline]
    pub fn sack(&self) -> impl FusedIterator<Item = (Seq, Seq)> + '_ {
        let words = self.words[..2 * usize::from(self.blocks)].chunks_exact(2);
        words.map(|range| (Seq::new(range[0]), Seq::new(range[1])))
    }

    /// Return the duplicate that the first block reports, if it does (RFC 2883 §4): it lies below the
    /// acknowledgement, or within the second block.
    pub fn duplicate(&self, ack: Seq) -> Option<(Seq, Seq)> {
        let mut blocks = self.sack();
        let (from, to) = blocks.next()?;
        let is_within = blocks.next().is_some_and(|(start, end)| start <= from && to <= end);
        (to <= ack || is_within).then_some((from, to))
    }

    /// Accurate ECN's counters.
    #[inline]
    pub fn accecn(&self) -> Option<AccEcn> {
        let [.., ect0, ce, ect1] = self.words;
        let order = if self.has(ECT1_FIRST) { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
        self.has(ACCECN).then_some(AccEcn { order, ect0, ce, ect1, shortened: self.has(SHORTENED) })
    }

    /// Update the length. On a SYN the options are packed one after another; on other segments two bytes of
    /// padding align each.
    #[inline]
    fn with_length(mut self) -> Options {
        let is_syn = self.has(SYN);
        let timestamps = match (self.has(TIMESTAMPS), is_syn) {
            (true, false) => TIMESTAMPS_LEN,
            (true, true) => 10,
            (false, _) => 0,
        };
        let sack = if self.has_sack() { 4 + 8 * u16::from(self.blocks) } else { 0 };
        let offers = 2 * u16::from(self.has(SACK_PERMITTED)) + 3 * u16::from(self.has(WINDOW_SCALE));
        let syn = if is_syn { 4 + offers } else { 0 };
        let accecn = self.accecn().map_or(0, |accecn| accecn.length());
        self.len = (timestamps + sack + syn + accecn).next_multiple_of(4);
        self
    }
}

impl Debug for Options {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("Options");
        if let Some(number) = self.datagram() {
            return options.field("datagram", &number).finish();
        }
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

/// Options of a SYN or SYN/ACK only, with the maximum segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// The largest segment that this end accepts, in bytes of data without options (RFC 6691).
    pub mss: u16,
    /// SACK may be sent (RFC 2018 §2).
    pub sack_permitted: bool,
    /// Shift of this end's window field (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
}

/// Maximum number of blocks in 40 bytes of options; three with timestamps.
pub const MAX_SACK_BLOCKS: usize = 4;

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_LEN: u16 = 12;

impl HeaderOptions for Options {
    #[inline]
    fn len(&self) -> u16 {
        self.len
    }

    fn modern(&self) -> Option<&Options> {
        Some(self)
    }

    fn is_tcp(&self) -> bool {
        self.datagram().is_none()
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
    fn options_read_back_as_written_and_no_others_appear() {
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
    fn a_datagram_has_its_number_and_length_and_is_no_segment() {
        let datagram = Options::of_datagram(7, 1_200);
        assert_eq!((datagram.datagram(), datagram.len(), datagram.is_tcp()), (Some(7), 1_200, false));
        for options in [Options::default(), blocks(4), Options::default().with_syn(OFFER)] {
            assert_eq!((options.datagram(), options.is_tcp()), (None, true));
        }
    }

    #[test]
    fn options_without_room_are_left_out() {
        assert_eq!(blocks(5), blocks(4));
        assert_eq!(blocks(4).with_accecn(COUNTS), blocks(4));
        let counting = Options::default().with_accecn(COUNTS);
        assert_eq!(with_blocks(counting, 4), with_blocks(counting, 3));
        assert_eq!(with_blocks(counting, 3), blocks(3).with_accecn(COUNTS));
        let syn = Options::default().with_syn(OFFER);
        assert_eq!(with_blocks(syn, 1), syn);
    }

    #[test]
    fn a_block_below_the_ack_or_within_the_second_is_a_duplicate() {
        let first = Options::default().with_sack_block(Seq::new(10), Seq::new(20));
        assert_eq!(first.duplicate(Seq::new(20)), Some((Seq::new(10), Seq::new(20))));
        assert_eq!(first.duplicate(Seq::new(5)), None);
        let within = first.with_sack_block(Seq::new(10), Seq::new(40));
        assert_eq!(within.duplicate(Seq::new(5)), Some((Seq::new(10), Seq::new(20))));
    }
}
