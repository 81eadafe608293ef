//! Accurate ECN's option: byte counters at both ends (RFC 9768 §3.2.1 and §3.2.3).
//!
//! The receiver adds up the data that came in each of the three ECN codepoints and tells of them in an option; the sender
//! learns from it how many bytes came marked, however many acknowledgements were lost in between.

use aqmlab_units::{Duration, Time};

use crate::Flags;
use crate::options::{AccEcn, AccEcnOrder};

/// RFC 9768 §3.2.3: the option's fields hold the counters modulo 2^24.
const MODULUS: u32 = 1 << 24;

/// §3.2.1: both ECT counters begin with 1, so that a field that a path has cleared shows; the other with 0.
const FIRST_ECT: u32 = 1;

/// §3.2.3.3: at least so many options a round trip.
const BEACONS_PER_RTT: u64 = 3;

/// Bytes of the option with its padding, and without its last field.
pub(crate) const FULL_LEN: u16 = 12;
const SHORT_LEN: u16 = 8;

/// What one end counts of the other's data.
#[derive(Debug)]
pub(crate) struct ByteCounters {
    /// It sends the option: the peer has sent one.
    pub(crate) is_negotiated: bool,
    ect0: u32,
    ce: u32,
    ect1: u32,
    /// The codepoint of the last data that came in one.
    latest: Option<Flags>,
    /// The counters that the last option told of, and when.
    reported: Option<([u32; 3], Time)>,
}

impl ByteCounters {
    pub(crate) fn new() -> ByteCounters {
        ByteCounters {
            is_negotiated: false,
            ect0: FIRST_ECT,
            ce: 0,
            ect1: FIRST_ECT,
            latest: None,
            reported: None,
        }
    }

    /// `len` bytes of data have arrived in a packet with `flags`. Whether another counter moved than before, which is told
    /// of at once (§3.2.3.3, change-triggered acknowledgements). Headers do not count.
    pub(crate) fn count(&mut self, len: u16, flags: Flags) -> bool {
        // Whoever marks an ECN-capable packet leaves its codepoint in the simulator's flags.
        let (codepoint, counter) = if len == 0 || !flags.intersects(Flags::CE | Flags::ECT | Flags::ECT1) {
            return false;
        } else if flags.contains(Flags::CE) {
            (Flags::CE, &mut self.ce)
        } else if flags.contains(Flags::ECT) {
            (Flags::ECT, &mut self.ect0)
        } else {
            (Flags::ECT1, &mut self.ect1)
        };
        *counter = (*counter + u32::from(len)) % MODULUS;
        self.latest.replace(codepoint).is_some_and(|before| before != codepoint)
    }

    fn counters(&self) -> [u32; 3] {
        [self.ect0, self.ce, self.ect1]
    }

    /// Is there something that no option has told of?
    pub(crate) fn has_news(&self) -> bool {
        self.is_negotiated && self.reported.is_none_or(|(reported, _)| reported != self.counters())
    }

    /// Is an acknowledgement at `now` to tell of nothing new, so that the counters arrive in spite of losses (§3.2.3.3)?
    fn beacon_is_due(&self, now: Time, srtt: Option<Duration>) -> bool {
        let since = self.reported.map(|(_, at)| now.saturating_since(at));
        self.is_negotiated && since.zip(srtt).is_none_or(|(since, srtt)| since * BEACONS_PER_RTT >= srtt)
    }

    /// What a segment has to say that leaves now and has `room` bytes for it. Data carry the option only if there is news:
    /// an end that receives nothing has nothing to tell.
    pub(crate) fn next_option(
        &mut self,
        has_data: bool,
        room: u16,
        now: Time,
        srtt: Option<Duration>,
    ) -> Option<AccEcn> {
        if !self.has_news() && (has_data || !self.beacon_is_due(now, srtt)) {
            return None;
        }
        let option = AccEcn { shortened: room < FULL_LEN, ..self.full() };
        let reported = self.reported.map_or([FIRST_ECT, 0, FIRST_ECT], |(reported, _)| reported);
        // §3.2.3.3: what has moved must be there, and fields are left out from the end.
        let last_has_moved = match option.order {
            AccEcnOrder::Ect0First => reported[2] != self.ect1,
            AccEcnOrder::Ect1First => reported[0] != self.ect0,
        };
        if room < SHORT_LEN || (option.shortened && last_has_moved) {
            return None;
        }
        self.reported = Some((self.counters(), now));
        Some(option)
    }

    /// All counters, that of the data's codepoint first: the other may have to be left out.
    pub(crate) fn full(&self) -> AccEcn {
        let ect1_moves = self.ect1 != FIRST_ECT;
        let order = if ect1_moves { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
        AccEcn { order, ect0: self.ect0, ce: self.ce, ect1: self.ect1, shortened: false }
    }
}

/// What one end has heard of the marks on its own data.
#[derive(Debug, Default)]
pub(crate) struct MarkedBytes {
    /// `s.ceb`, modulo 2^24: marked bytes told of so far.
    ceb: u32,
    /// Of those, the ones that the congestion control does not know of.
    unreported: u32,
}

impl MarkedBytes {
    /// An option says that `ce` bytes came marked in all. Whether that is more than was known. It is less where a packet told
    /// of without an option was taken for a full one; then the count waits until it is caught up with.
    pub(crate) fn on_option(&mut self, ce: u32) -> bool {
        let more = ce.wrapping_sub(self.ceb) % MODULUS;
        let is_news = 0 < more && more < MODULUS / 2;
        if is_news {
            self.ceb = ce;
            self.unreported = self.unreported.saturating_add(more);
        }
        is_news
    }

    /// Without an option, `bytes` seem to have come marked.
    pub(crate) fn assume(&mut self, bytes: u32) {
        self.ceb = (self.ceb + bytes) % MODULUS;
        self.unreported = self.unreported.saturating_add(bytes);
    }

    /// The marked bytes told of since last asked, at most those of the data delivered since. What exceeds them was taken
    /// for a full segment and was none, or is of data whose delivery is still to be told of: the next option says it again.
    pub(crate) fn take(&mut self, delivered: u32) -> u32 {
        let unreported = std::mem::take(&mut self.unreported);
        let marked = unreported.min(delivered);
        self.ceb = self.ceb.wrapping_sub(unreported - marked) % MODULUS;
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(90));

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn negotiated() -> ByteCounters {
        ByteCounters { is_negotiated: true, ..ByteCounters::new() }
    }

    #[test]
    fn data_add_to_the_counter_of_their_codepoint_modulo_2_to_the_24() {
        // RFC 9768 §3.2.1 and §3.2.3
        let mut receiver = negotiated();
        for (len, flags) in [
            (1000, Flags::ECT),
            (500, Flags::ECT | Flags::CE),
            (7, Flags::ECT1),
            (0, Flags::CE),
            (9, Flags::NONE),
        ] {
            receiver.count(len, flags);
        }
        assert_eq!(receiver.counters(), [1001, 500, 8]);
        let mut long = negotiated();
        for _ in 0..17_000 {
            long.count(1000, Flags::ECT);
        }
        assert_eq!(long.full().ect0, 17_000_001 - (1 << 24));
    }

    #[test]
    fn a_change_of_codepoint_is_told_of_at_once() {
        // §3.2.3.3; what is not ECN-capable moves no counter.
        let mut receiver = negotiated();
        let mut changes = |flags| receiver.count(1000, flags);
        assert!(!changes(Flags::ECT) && !changes(Flags::ECT));
        assert!(changes(Flags::ECT | Flags::CE) && !changes(Flags::CE));
        assert!(!changes(Flags::NONE) && !changes(Flags::CE) && changes(Flags::ECT));
    }

    #[test]
    fn an_option_tells_of_news_and_beacons_three_times_a_round_trip_but_not_with_data() {
        let mut receiver = negotiated();
        assert!(receiver.next_option(true, 40, at(0), RTT).is_some(), "the first segment tells");
        assert!(receiver.next_option(false, 40, at(29), RTT).is_none());
        assert!(receiver.next_option(true, 40, at(30), RTT).is_none());
        assert!(receiver.next_option(false, 40, at(30), RTT).is_some());
        assert!(receiver.next_option(false, 40, at(31), None).is_some(), "no round trip to go by");
        receiver.count(1, Flags::ECT);
        assert!(receiver.next_option(true, 40, at(31), RTT).is_some());
        let mut silent = ByteCounters::new();
        silent.count(1000, Flags::CE);
        assert_eq!(silent.next_option(false, 40, at(100), RTT), None);
    }

    #[test]
    fn where_room_is_short_the_last_counter_is_left_out_unless_it_has_moved() {
        // §3.2.3.3
        let mut receiver = negotiated();
        receiver.count(1000, Flags::ECT);
        assert_eq!(receiver.next_option(false, 7, at(0), RTT), None);
        assert!(receiver.next_option(false, 11, at(0), RTT).is_some_and(|option| option.shortened));
        receiver.count(1000, Flags::ECT1);
        // Now that of ECT(1) comes first.
        let short = receiver.next_option(false, 8, at(0), RTT).expect("room for two");
        assert_eq!((short.order, short.shortened, short.ect1), (AccEcnOrder::Ect1First, true, 1001));
        receiver.count(1000, Flags::ECT);
        assert_eq!(receiver.next_option(false, 8, at(0), RTT), None);
        assert!(receiver.next_option(false, 12, at(0), RTT).is_some_and(|option| !option.shortened));
    }

    #[test]
    fn the_senders_sum_is_the_receivers_whatever_was_assumed_in_between() {
        let mut sender = MarkedBytes::default();
        assert!(sender.on_option(3000) && !sender.on_option(3000));
        // A mark on 100 bytes, taken for a full segment.
        sender.assume(1000);
        assert!(!sender.on_option(3100));
        assert!(sender.on_option(5100));
        assert_eq!(sender.take(u32::MAX), 5100);
        // Across the modulus.
        sender.assume((1 << 24) - 5100 - 10);
        assert!(sender.on_option(20));
        assert_eq!((sender.take(u32::MAX), sender.take(u32::MAX)), ((1 << 24) - 5100 + 20, 0));
    }

    #[test]
    fn what_exceeds_the_data_delivered_is_told_of_again() {
        let mut sender = MarkedBytes::default();
        // A mark on one byte, taken for a full segment.
        sender.assume(1000);
        assert_eq!(sender.take(1), 1);
        assert!(sender.on_option(1001));
        assert_eq!(sender.take(2000), 1000);
    }
}
