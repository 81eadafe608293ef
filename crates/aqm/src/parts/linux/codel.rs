//! CoDel as Linux computes it: a clock of 1024 ns in 32 bits, and 1/sqrt(count) in 16 bits.
//!
//! Differs from [`crate::Codel`] also in these points. An episode begins only after more than one interval above
//! target. The packet behind an episode's first drop leaves in any case. `count` rises by each evicted packet, so
//! that the approximation of the square root may be far off afterwards.

use aqmlab_units::{Bytes, Duration, Time};

use crate::parts::ce_threshold::CeThreshold;
use crate::{Aqm, CodelConfig, Packet, QueueState, Verdict};

/// A time in units of 1024 ns, which wraps after 73 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks(u32);

impl Ticks {
    #[expect(clippy::cast_possible_truncation, reason = "the clock wraps")]
    fn from_nanos(nanos: u64) -> Ticks {
        Ticks((nanos >> 10) as u32)
    }

    fn at(time: Time) -> Ticks {
        Ticks::from_nanos(time.as_nanos())
    }

    fn of(span: Duration) -> Ticks {
        Ticks::from_nanos(span.as_nanos())
    }

    fn plus(self, span: Ticks) -> Ticks {
        Ticks(self.0.wrapping_add(span.0))
    }

    fn since(self, earlier: Ticks) -> Ticks {
        Ticks(self.0.wrapping_sub(earlier.0))
    }

    /// True if this is earlier than `other`, by the shorter way around the clock.
    fn is_before(self, other: Ticks) -> bool {
        self.since(other).0.cast_signed() < 0
    }
}

/// The decision about the next packet of one request for a packet, after a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// No packet has been dropped: this is the first one.
    First,
    /// The first drop of an episode: the next packet leaves.
    Leaves,
    /// A later drop: the next packet schedules the next drop.
    Schedules,
}

/// The law.
#[derive(Clone, Debug)]
pub(crate) struct LinuxCodel {
    target: Ticks,
    interval: Ticks,
    mtu: Bytes,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// The upper half of 1/sqrt(count) as a fraction of 2^32.
    rec_inv_sqrt: u16,
    /// The time at which sojourn times will have exceeded `target` for an interval; `None` if the last one did not.
    first_above_time: Option<Ticks>,
    drop_next: Ticks,
    next: Next,
    ce_threshold: CeThreshold,
}

impl LinuxCodel {
    /// Return a law that has seen no packet.
    pub(crate) fn new(config: &CodelConfig) -> LinuxCodel {
        LinuxCodel {
            target: Ticks::of(config.target),
            interval: Ticks::of(config.interval),
            mtu: config.mtu,
            count: 0,
            lastcount: 0,
            dropping: false,
            rec_inv_sqrt: 0,
            first_above_time: None,
            drop_next: Ticks(0),
            next: Next::First,
            ce_threshold: CeThreshold::new(config.ce_threshold, config.ce_threshold_selector),
        }
    }

    /// True if sojourn times have exceeded the target for more than an interval.
    fn is_above(&mut self, sojourn: Ticks, queue: QueueState, now: Ticks) -> bool {
        if sojourn.is_before(self.target) || queue.bytes <= self.mtu {
            self.first_above_time = None;
            return false;
        }
        // In Linux the clock's zero says that there is no such time.
        let first = self.first_above_time.filter(|&first| first != Ticks(0));
        self.first_above_time = Some(first.unwrap_or_else(|| now.plus(self.interval)));
        first.is_some_and(|first| first.is_before(now))
    }

    /// x (3 - count x^2) / 2, with x = 1/sqrt(count) as it is.
    fn improve_root(&mut self) {
        let x = u64::from(self.rec_inv_sqrt) << 16;
        let squared = (x * x) >> 32;
        let factor = (3_u64 << 32).wrapping_sub(u64::from(self.count) * squared);
        // Two bits less, so that the product fits.
        self.rec_inv_sqrt = (((factor >> 2).wrapping_mul(x) >> 31) >> 16) as u16;
    }

    /// t + interval / sqrt(count)
    fn control_law(&self, t: Ticks) -> Ticks {
        let product = u64::from(self.interval.0) * (u64::from(self.rec_inv_sqrt) << 16);
        t.plus(Ticks((product >> 32) as u32))
    }

    /// Begin an episode, whose first signal is given now.
    fn begin(&mut self, now: Ticks) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.lastcount);
        let memory = Ticks(self.interval.0.wrapping_mul(16));
        if delta > 1 && now.since(self.drop_next).is_before(memory) {
            self.count = delta;
            self.improve_root();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.lastcount = self.count;
        self.drop_next = self.control_law(now);
    }

    /// Give a further signal of an episode.
    fn signal(&mut self, is_marked: bool) {
        self.count = self.count.wrapping_add(1);
        self.improve_root();
        if is_marked {
            self.drop_next = self.control_law(self.drop_next);
        } else {
            self.next = Next::Schedules;
        }
    }

    /// Return CoDel's own verdict on a packet that leaves.
    fn verdict(&mut self, pkt: &Packet, sojourn: Ticks, queue: QueueState, now: Ticks) -> Verdict {
        let is_above = self.is_above(sojourn, queue, now);
        let next = std::mem::replace(&mut self.next, Next::First);
        if next == Next::Leaves {
            return Verdict::Pass;
        }
        if !is_above {
            self.dropping = false;
            return Verdict::Pass;
        }
        if !self.dropping {
            self.begin(now);
            self.next = if pkt.ecn.is_capable() { Next::First } else { Next::Leaves };
            return Verdict::Mark;
        }
        if next == Next::Schedules {
            self.drop_next = self.control_law(self.drop_next);
        }
        if now.is_before(self.drop_next) {
            return Verdict::Pass;
        }
        self.signal(pkt.ecn.is_capable());
        Verdict::Mark
    }
}

impl Aqm for LinuxCodel {
    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        let now = Ticks::at(now);
        let sojourn = now.since(Ticks::at(enqueued_at));
        let signal = self.verdict(pkt, sojourn, queue, now);
        self.ce_threshold.verdict(signal, pkt.ecn, |threshold| Ticks::of(threshold).is_before(sojourn))
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {
        // An evicted packet counts as a signal.
        self.count = self.count.wrapping_add(1);
    }

    fn on_empty(&mut self, _now: Time) {
        self.first_above_time = None;
        // After the first drop of an episode, Linux does not look whether there is a packet.
        self.dropping = std::mem::replace(&mut self.next, Next::First) == Next::Leaves;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("dropping", f64::from(u8::from(self.dropping)));
    }
}
