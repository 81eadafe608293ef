//! Accurate ECN's option: byte counters at both ends (RFC 9768 §3.2.1 and §3.2.3).
//!
//! The receiver counts the data bytes of each of the three ECN codepoints and reports the counts in an option.
//! The sender learns from it how many bytes were marked, even if acknowledgements are lost.

use aqmlab_units::{Duration, Time};

use crate::Flags;
use crate::options::{AccEcn, AccEcnOrder};

/// The option's fields hold the counters modulo 2^24 (RFC 9768 §3.2.3).
const MODULUS: u32 = 1 << 24;

/// First value of both ECT counters (§3.2.1): not 0, so that a field cleared by the path is recognised.
const FIRST_ECT: u32 = 1;

/// Options per round trip at least (§3.2.3.3).
const BEACONS_PER_RTT: u64 = 3;

/// Bytes of the option with its padding, and without its last field.
pub(crate) const FULL_LEN: u16 = 12;
const SHORT_LEN: u16 = 8;

/// Counts that one end keeps of the other's data.
#[derive(Debug)]
pub(crate) struct ByteCounters {
    /// The peer has sent the option, so this end sends it too.
    pub(crate) is_negotiated: bool,
    ect0: u32,
    ce: u32,
    ect1: u32,
    /// The codepoint of the last ECN-capable data.
    latest: Option<Flags>,
    /// The counters in the last option, and the time of that option.
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

    /// Count `len` bytes of data in a packet with `flags`; headers do not count. Returns true if the codepoint
    /// differs from the previous data's, which is reported at once (§3.2.3.3, change-triggered acknowledgements).
    pub(crate) fn count(&mut self, len: u16, flags: Flags) -> bool {
        // A queue that marks an ECN-capable packet leaves its ECT flag set in the simulator, so CE comes first.
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

    /// True if no option has reported the current counters.
    pub(crate) fn has_unreported(&self) -> bool {
        self.is_negotiated && self.reported.is_none_or(|(reported, _)| reported != self.counters())
    }

    /// True if an acknowledgement at `now` must repeat the counters, so that they arrive in spite of losses
    /// (§3.2.3.3).
    fn beacon_is_due(&self, now: Time, srtt: Option<Duration>) -> bool {
        let age = self.reported.map(|(_, at)| now.saturating_since(at));
        self.is_negotiated && age.zip(srtt).is_none_or(|(age, srtt)| age * BEACONS_PER_RTT >= srtt)
    }

    /// Return the option of a segment that leaves now and has `room` bytes for it, if it carries one. Data carry
    /// it only to report changes: an end that receives no data has none.
    pub(crate) fn next_option(
        &mut self,
        has_data: bool,
        room: u16,
        now: Time,
        srtt: Option<Duration>,
    ) -> Option<AccEcn> {
        if !self.has_unreported() && (has_data || !self.beacon_is_due(now, srtt)) {
            return None;
        }
        let option = AccEcn { shortened: room < FULL_LEN, ..self.full() };
        let reported = self.reported.map_or([FIRST_ECT, 0, FIRST_ECT], |(reported, _)| reported);
        // A counter that has moved must be included, and fields are left out from the end (§3.2.3.3).
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

    /// Return all counters, first that of the data's codepoint: the last may have to be left out.
    pub(crate) fn full(&self) -> AccEcn {
        let ect1_moves = self.ect1 != FIRST_ECT;
        let order = if ect1_moves { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
        AccEcn { order, ect0: self.ect0, ce: self.ce, ect1: self.ect1, shortened: false }
    }
}

/// Marks on the data of one end, as the peer reports them.
#[derive(Debug, Default)]
pub(crate) struct MarkedBytes {
    /// `s.ceb`, modulo 2^24: marked bytes reported so far.
    ceb: u32,
    /// Those of them that the congestion control has not been given yet.
    unreported: u32,
}

impl MarkedBytes {
    /// Take an option that reports `ce` marked bytes in all. Returns true if that is more than before. It is less
    /// if a packet reported without an option was counted as a full segment; the count then waits until `ce`
    /// catches up.
    pub(crate) fn on_option(&mut self, ce: u32) -> bool {
        let increase = ce.wrapping_sub(self.ceb) % MODULUS;
        let is_increase = 0 < increase && increase < MODULUS / 2;
        if is_increase {
            self.ceb = ce;
            self.unreported = self.unreported.saturating_add(increase);
        }
        is_increase
    }

    /// Count `bytes` as marked, for a report without an option.
    pub(crate) fn assume(&mut self, bytes: u32) {
        self.ceb = (self.ceb + bytes) % MODULUS;
        self.unreported = self.unreported.saturating_add(bytes);
    }

    /// Take the marked bytes not yet given to the congestion control, at most `delivered`, the data delivered
    /// meanwhile. The excess was counted as full segments wrongly, or belongs to data whose delivery is not yet
    /// reported. The next option reports it again.
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
    fn data_add_to_their_codepoints_counter_modulo_2_to_the_24() {
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
    fn a_change_of_codepoint_is_reported_at_once() {
        // §3.2.3.3; what is not ECN-capable moves no counter.
        let mut receiver = negotiated();
        let mut changes = |flags| receiver.count(1000, flags);
        assert!(!changes(Flags::ECT) && !changes(Flags::ECT));
        assert!(changes(Flags::ECT | Flags::CE) && !changes(Flags::CE));
        assert!(!changes(Flags::NONE) && !changes(Flags::CE) && changes(Flags::ECT));
    }

    #[test]
    fn options_report_changes_and_repeat_three_times_a_round_trip() {
        let mut receiver = negotiated();
        assert!(receiver.next_option(true, 40, at(0), RTT).is_some(), "the first segment reports");
        assert!(receiver.next_option(false, 40, at(29), RTT).is_none());
        assert!(receiver.next_option(true, 40, at(30), RTT).is_none());
        assert!(receiver.next_option(false, 40, at(30), RTT).is_some());
        assert!(receiver.next_option(false, 40, at(31), None).is_some(), "no round-trip time yet");
        receiver.count(1, Flags::ECT);
        assert!(receiver.next_option(true, 40, at(31), RTT).is_some());
        let mut silent = ByteCounters::new();
        silent.count(1000, Flags::CE);
        assert_eq!(silent.next_option(false, 40, at(100), RTT), None);
    }

    #[test]
    fn a_short_option_omits_the_last_counter_unless_it_has_moved() {
        // §3.2.3.3
        let mut receiver = negotiated();
        receiver.count(1000, Flags::ECT);
        assert_eq!(receiver.next_option(false, 7, at(0), RTT), None);
        assert!(receiver.next_option(false, 11, at(0), RTT).is_some_and(|option| option.shortened));
        receiver.count(1000, Flags::ECT1);
        // The counter of ECT(1) comes first now.
        let short = receiver.next_option(false, 8, at(0), RTT).expect("room for two");
        assert_eq!((short.order, short.shortened, short.ect1), (AccEcnOrder::Ect1First, true, 1001));
        receiver.count(1000, Flags::ECT);
        assert_eq!(receiver.next_option(false, 8, at(0), RTT), None);
        assert!(receiver.next_option(false, 12, at(0), RTT).is_some_and(|option| !option.shortened));
    }

    #[test]
    fn the_senders_sum_becomes_the_receivers_after_any_assumption() {
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
    fn marks_beyond_the_data_delivered_are_reported_again() {
        let mut sender = MarkedBytes::default();
        // A mark on one byte, taken for a full segment.
        sender.assume(1000);
        assert_eq!(sender.take(1), 1);
        assert!(sender.on_option(1001));
        assert_eq!(sender.take(2000), 1000);
    }
}
