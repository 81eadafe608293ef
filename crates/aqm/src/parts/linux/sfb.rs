//! SFB in the arithmetic of Linux: probabilities of 16 bits, whole ticks, and two sets of bins that take turns.
//!
//! Differs from [`crate::Sfb`] in these points. The hash functions change when a packet arrives, not by a timer, but not yet for
//! that packet; the limit decides before that. Bins keep their probabilities after their turn. Bins that warm up learn of unresponsive flows alone, and
//! count only their packets. The penalty box is filled when it is found empty, with what the time since the last filling is worth.

use std::collections::VecDeque;

use aqmlab_units::{Duration, Prob, Time};

use crate::parts::linux::coin::Coin;
use crate::parts::linux::flow_hash::FlowKey;
use crate::{Admission, Counters, Departure, Ecn, Hashing, Limit, Packet, Qdisc, QueueState, SfbConfig};

pub(crate) const LEVELS: u32 = 8;
pub(crate) const BINS: u32 = 16;

/// The largest probability; a flow whose bins all have it is unresponsive.
const MOST: u16 = u16::MAX;

/// The tick, of which times are multiples.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// The penalty box counts the ticks of ten seconds at most.
const TICKS_PER_SECOND: u64 = 1000;

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    qlen: u16,
    p_mark: u16,
}

/// The bins of one turn.
#[derive(Clone, Debug)]
struct Bins {
    key: FlowKey,
    cells: [[Bin; BINS as usize]; LEVELS as usize],
}

/// A hash whose parts of four bits are the indices of a flow's bins.
type Hash = u32;

impl Bins {
    fn of_flow(&mut self, hash: Hash) -> impl Iterator<Item = &mut Bin> {
        (0_u32..)
            .zip(&mut self.cells)
            .map(move |(level, bins)| &mut bins[((hash >> (4 * level)) % BINS) as usize])
    }
}

#[derive(Clone, Debug)]
struct Waiting<P> {
    packet: Departure<P>,
    /// Its hash in either set of bins that counts it.
    hashes: [Option<Hash>; 2],
}

/// Stochastic fair BLUE.
#[derive(Clone, Debug)]
pub(crate) struct LinuxSfb<C, P> {
    limit: Limit,
    bin_size: u32,
    max: u32,
    increment: u16,
    decrement: u16,
    /// Ticks between two changes of the hash functions, unless they are fixed.
    rehash_interval: Option<u64>,
    /// Ticks before a change in which the next bins warm up, if they do.
    warmup_time: Option<u64>,
    rehashed_at: u64,
    penalty_box: PenaltyBox,
    bins: [Bins; 2],
    /// The bins whose turn it is.
    active: usize,
    /// True if the other bins warm up.
    is_warming: bool,
    waiting: VecDeque<Waiting<P>>,
    state: QueueState,
    counters: Counters,
    coin: C,
}

/// Packets of unresponsive flows that may pass.
#[derive(Clone, Debug)]
struct PenaltyBox {
    rate: u64,
    burst: u64,
    tokens: u64,
    filled_at: u64,
}

impl PenaltyBox {
    fn take(&mut self, now: u64) -> bool {
        if self.rate == 0 || self.burst == 0 {
            return false;
        }
        if self.tokens == 0 {
            let age = (now - self.filled_at).min(10 * TICKS_PER_SECOND);
            self.tokens = (age * self.rate / TICKS_PER_SECOND).min(self.burst);
            self.filled_at = now;
        }
        let has_token = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        has_token
    }
}

/// Return a probability as 16 bits.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 65535")]
fn sixteen_bits(probability: Prob) -> u16 {
    (probability.get() * f64::from(MOST) + 0.5) as u16
}

fn ticks(duration: Duration) -> u64 {
    duration.as_nanos() / TICK.as_nanos()
}

impl<C: Coin, P> LinuxSfb<C, P> {
    /// Return an empty queue that is set up at time zero. `config` must have passed [`SfbConfig::resolve`].
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number, which is checked"
    )]
    pub(crate) fn new(config: &SfbConfig, mut coin: C) -> LinuxSfb<C, P> {
        let mut bins = || Bins { key: FlowKey::draw(&mut coin), cells: Default::default() };
        let bins = [bins(), bins()];
        let is_moving = config.hashing != Hashing::Fixed;
        let is_buffered = config.hashing == Hashing::DoubleBuffered && config.warmup_time >= TICK;
        let burst = u64::from(config.penalty_burst);
        LinuxSfb {
            limit: config.limit,
            bin_size: config.bin_size,
            max: config.max,
            increment: sixteen_bits(config.increment),
            decrement: sixteen_bits(config.decrement),
            rehash_interval: is_moving.then(|| ticks(config.rehash_interval)),
            warmup_time: is_buffered.then(|| ticks(config.warmup_time)),
            rehashed_at: 0,
            penalty_box: PenaltyBox { rate: config.penalty_rate as u64, burst, tokens: burst, filled_at: 0 },
            bins,
            active: 0,
            is_warming: false,
            waiting: VecDeque::new(),
            state: QueueState::default(),
            counters: Counters::default(),
            coin,
        }
    }

    /// Change the hash functions, or begin to warm up the next ones, if it is time.
    fn rehash(&mut self, now: u64) {
        let Some(interval) = self.rehash_interval else { return };
        let due = self.rehashed_at + interval;
        if now > due {
            self.bins[self.active].key = FlowKey::draw(&mut self.coin);
            self.active ^= 1;
            self.is_warming = false;
            self.rehashed_at = now;
        } else if self.warmup_time.is_some_and(|time| now > due - time) {
            self.is_warming = true;
        }
    }

    /// Update the probabilities of a flow's bins. Return the least of them, and the length of the shortest bin.
    fn update(&mut self, set: usize, hash: Hash) -> (u16, u32) {
        let (mut p_min, mut shortest) = (MOST, u32::MAX);
        for bin in self.bins[set].of_flow(hash) {
            if bin.qlen == 0 {
                bin.p_mark = bin.p_mark.saturating_sub(self.decrement);
            } else if u32::from(bin.qlen) >= self.bin_size {
                bin.p_mark = bin.p_mark.saturating_add(self.increment);
            }
            p_min = p_min.min(bin.p_mark);
            shortest = shortest.min(bin.qlen.into());
        }
        (p_min, shortest)
    }

    /// Decide about a packet for which there is room. Return its hashes too.
    fn judge(&mut self, packet: &Packet, now: u64) -> (Admission, [Option<Hash>; 2]) {
        // The packet that changes the hash functions belongs to the bins whose turn has ended, under their new key.
        let active = self.active;
        self.rehash(now);
        let mut hashes = [None; 2];
        let hash = self.bins[active].key.hash(packet.flow);
        hashes[active] = Some(hash);
        let (p_min, shortest) = self.update(active, hash);
        if shortest >= self.max {
            return (Admission::DroppedForced, hashes);
        }
        if p_min == MOST {
            let next = active ^ 1;
            if self.is_warming {
                let hash = self.bins[next].key.hash(packet.flow);
                hashes[next] = Some(hash);
                self.update(next, hash);
            }
            let passes = self.penalty_box.take(now);
            return (if passes { Admission::Queued } else { Admission::DroppedForced }, hashes);
        }
        (self.signal(packet, p_min), hashes)
    }

    fn signal(&mut self, packet: &Packet, p_min: u16) -> Admission {
        const HALF: u32 = MOST as u32 / 2;
        let (u, p_min) = (u32::try_from(self.coin.toss() >> 48).expect("16 bits"), u32::from(p_min));
        if u >= p_min {
            Admission::Queued
        } else if p_min > HALF && u < (p_min - HALF) * 2 {
            Admission::DroppedForced
        } else if packet.ecn.is_capable() {
            Admission::Marked
        } else {
            Admission::DroppedEarly
        }
    }

    /// Call `change` with the bins that count a packet.
    fn for_bins(&mut self, hashes: [Option<Hash>; 2], change: impl Fn(&mut Bin)) {
        for (bins, hash) in self.bins.iter_mut().zip(hashes) {
            if let Some(hash) = hash {
                bins.of_flow(hash).for_each(&change);
            }
        }
    }
}

impl<C: Coin, P> Qdisc<P> for LinuxSfb<C, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let (admission, hashes) = if self.limit.admits(packet.size, self.state) {
            self.judge(&packet, now.as_nanos() / TICK.as_nanos())
        } else {
            (Admission::DroppedByLimit, [None; 2])
        };
        self.counters.count(admission, packet.size);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        if admission == Admission::Marked {
            packet.ecn = Ecn::Ce;
        }
        self.for_bins(hashes, |bin| bin.qlen = bin.qlen.saturating_add(1));
        self.state.packets += 1;
        self.state.bytes += packet.size;
        self.waiting.push_back(Waiting { packet: Departure { packet, payload, enqueued_at: now }, hashes });
        admission
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        let Waiting { packet: departure, hashes } = self.waiting.pop_front()?;
        self.for_bins(hashes, |bin| bin.qlen = bin.qlen.saturating_sub(1));
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - departure.packet.size;
        Some(departure)
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bins = || self.bins[self.active].cells.as_flattened().iter();
        let p_max = bins().map(|bin| bin.p_mark).max().unwrap_or(0);
        out("p_max", f64::from(p_max) / f64::from(MOST));
        out("longest_bin", f64::from(bins().map(|bin| bin.qlen).max().unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::{Bytes, Stream};

    use super::*;

    fn queue(config: &SfbConfig) -> LinuxSfb<Stream, u32> {
        LinuxSfb::new(config, Stream::named(1, "queue"))
    }

    fn arrive(queue: &mut LinuxSfb<Stream, u32>, flow: u32, millis: u64) -> Admission {
        let packet = Packet { size: Bytes::new(100), ecn: Ecn::Ect0, flow };
        queue.enqueue(packet, flow, Time::from_nanos(millis * 1_000_000), &mut drop)
    }

    /// A configuration whose bins rise to 1 with the first packet that finds another.
    fn steep() -> SfbConfig {
        SfbConfig {
            bin_size: 1,
            increment: Prob::ONE,
            penalty_rate: 100.0,
            penalty_burst: 2,
            rehash_interval: Duration::from_millis(50),
            warmup_time: Duration::from_millis(20),
            ..SfbConfig::default()
        }
    }

    #[test]
    fn the_penalty_box_fills_only_when_it_is_found_empty() {
        let mut queue = queue(&SfbConfig { hashing: Hashing::Fixed, ..steep() });
        let times = [0, 1, 2, 3, 12, 13, 22];
        let passed = times.map(|millis| arrive(&mut queue, 1, millis).is_queued());
        // The packet at 3 ms finds it empty and starts the 10 ms that the next token takes; that at 12 ms starts them again.
        assert_eq!(passed, [true, true, true, false, false, false, false]);
        assert!(arrive(&mut queue, 1, 32).is_queued());
    }

    #[test]
    fn bins_that_warmed_up_know_an_unresponsive_flow() {
        let p_of_next = |millis| {
            let mut queue = queue(&SfbConfig { penalty_burst: 100, ..steep() });
            (0..4).for_each(|_| _ = arrive(&mut queue, 1, millis));
            arrive(&mut queue, 2, 51);
            assert_eq!(queue.active, 1, "51 ms are more than the interval");
            let hash = queue.bins[queue.active].key.hash(1);
            queue.update(queue.active, hash).0
        };
        assert_eq!((p_of_next(30), p_of_next(31)), (0, MOST));
    }

    #[test]
    fn the_packet_that_changes_the_hash_is_counted_in_the_old_bins() {
        let mut queue = queue(&SfbConfig { hashing: Hashing::Moving, ..steep() });
        arrive(&mut queue, 1, 51);
        assert_eq!(queue.active, 1);
        let longest = |bins: &Bins| bins.cells.as_flattened().iter().map(|bin| bin.qlen).max();
        assert_eq!((longest(&queue.bins[0]), longest(&queue.bins[1])), (Some(1), Some(0)));
    }

    #[test]
    fn departures_empty_the_bins_that_counted_them() {
        let mut queue = queue(&SfbConfig { penalty_burst: 100, ..steep() });
        for millis in 0..120 {
            arrive(&mut queue, u32::try_from(millis % 3).unwrap(), millis);
        }
        assert!(queue.state().packets > 10);
        while queue.dequeue(Time::ZERO, &mut drop).is_some() {}
        let lengths = queue.bins.iter().flat_map(|bins| bins.cells.as_flattened()).map(|bin| bin.qlen);
        assert_eq!(lengths.max(), Some(0));
    }
}
