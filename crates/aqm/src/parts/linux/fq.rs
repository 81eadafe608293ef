//! FQ in the order of decisions that Linux has.
//!
//! A packet that finds all flows empty joins the fast path, up to eight packets, which leave before all others. A flow keeps its
//! credit while it is idle, and gets a new quantum only after some time. An emptied flow passes through the old ones.

use std::collections::VecDeque;

use aqmlab_units::{Duration, Time};

use crate::parts::flows::store::plus_packet;
use crate::parts::linux::flow_hash::FlowKey;
use crate::{Admission, Counters, Departure, Ecn, FqConfig, Packet, Qdisc, QueueState};

/// The tick of a kernel for desktops and servers (`CONFIG_HZ=1000`).
const TICK: Duration = Duration::from_millis(1);

/// The most packets of the fast path.
const MOST_ON_FAST_PATH: usize = 8;

/// The weights of the bands, in bytes of a round.
const WEIGHTS: [i64; 3] = [9 << 16, 3 << 16, 1 << 16];

/// The band of packets without a priority.
const BAND: usize = 1;

#[derive(Clone, Debug)]
struct Flow<P> {
    packets: VecDeque<Departure<P>>,
    credit: i64,
    is_listed: bool,
    /// The band in whose lists it is put: the first one until its first packet has given it its own.
    band: usize,
    /// The tick at which it last left the round.
    idle_since: Option<u64>,
}

/// The flows of one priority in their rounds, and the bytes that they may send before another band has its turn.
#[derive(Clone, Debug, Default)]
struct Band {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    credit: i64,
}

/// Fair queueing of flows.
#[derive(Clone, Debug)]
pub(crate) struct LinuxFq<P> {
    config: FqConfig,
    key: FlowKey,
    flows: Vec<Flow<P>>,
    bands: [Band; WEIGHTS.len()],
    /// The band that has the turn.
    turn: usize,
    fast_path: VecDeque<Departure<P>>,
    waiting: QueueState,
    counters: Counters,
}

impl<P> LinuxFq<P> {
    /// Return empty queues. `config` must have passed [`FqConfig::resolve`].
    pub(crate) fn new(config: &FqConfig, key: FlowKey) -> LinuxFq<P> {
        let credit = signed(config.initial_quantum.get());
        let flow = || Flow { packets: VecDeque::new(), credit, is_listed: false, band: 0, idle_since: None };
        LinuxFq {
            config: config.clone(),
            key,
            flows: (0..=config.orphan_mask).map(|_| flow()).collect(),
            bands: Default::default(),
            turn: 0,
            fast_path: VecDeque::new(),
            waiting: QueueState::default(),
            counters: Counters::default(),
        }
    }

    /// Packets in the queues of flows, which the limit is of.
    fn in_flows(&self) -> QueueState {
        let fast = u32::try_from(self.fast_path.len()).expect("eight at most");
        QueueState { packets: self.waiting.packets - fast, ..self.waiting }
    }

    fn admit(&mut self, arrived: Departure<P>) -> Result<(), P> {
        let (packet, now) = (arrived.packet, arrived.enqueued_at);
        if !self.config.limit.admits(packet.size, self.in_flows()) {
            return Err(arrived.payload);
        }
        if self.in_flows().packets == 0 && self.fast_path.len() < MOST_ON_FAST_PATH {
            self.fast_path.push_back(arrived);
            return Ok(());
        }
        let number = (self.key.hash(packet.flow) & self.config.orphan_mask) as usize;
        let flow = &mut self.flows[number];
        if flow.packets.len() >= self.config.flow_limit as usize {
            return Err(arrived.payload);
        }
        if !flow.is_listed {
            flow.is_listed = true;
            self.bands[flow.band].new.push_back(number);
            let refilled_after = ticks(self.config.refill_delay);
            let is_refilled = flow.idle_since.is_some_and(|since| tick(now) > since + refilled_after);
            // Linux compares numbers without a sign: a debt is more than a quantum.
            if is_refilled && flow.credit >= 0 {
                flow.credit = flow.credit.max(signed(self.config.quantum.get()));
            }
        }
        flow.band = BAND;
        flow.packets.push_back(arrived);
        Ok(())
    }

    /// Give the turn to the next band until one has flows and credit.
    fn turn_to_flows(&mut self) {
        let has_turn = |band: &Band| band.credit > 0 && !(band.new.is_empty() && band.old.is_empty());
        while !has_turn(&self.bands[self.turn]) {
            self.turn = (self.turn + 1) % WEIGHTS.len();
            let (band, weight) = (&mut self.bands[self.turn], WEIGHTS[self.turn]);
            band.credit = (band.credit + weight).min(weight);
        }
    }

    /// Return the next packet of the flow whose turn it is.
    fn next(&mut self, now: Time) -> Departure<P> {
        loop {
            self.turn_to_flows();
            let band = &mut self.bands[self.turn];
            let is_new = !band.new.is_empty();
            let list = if is_new { &mut band.new } else { &mut band.old };
            let number = *list.front().expect("the band has flows");
            let flow = &mut self.flows[number];
            if flow.credit <= 0 {
                flow.credit += signed(self.config.quantum.get());
            } else if let Some(head) = flow.packets.pop_front() {
                let size = signed(head.packet.size.get());
                flow.credit -= size;
                band.credit -= size;
                return head;
            } else if !is_new {
                list.pop_front();
                flow.is_listed = false;
                // Linux marks a flow without a place in the round by an odd number.
                flow.idle_since = Some(tick(now) | 1);
                continue;
            }
            list.pop_front();
            self.bands[flow.band].old.push_back(number);
        }
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).expect("a packet or a quantum")
}

/// Ticks that last as long, the last one whole.
fn ticks(span: Duration) -> u64 {
    span.as_nanos().div_ceil(TICK.as_nanos())
}

fn tick(now: Time) -> u64 {
    now.saturating_since(Time::ZERO).as_nanos() / TICK.as_nanos()
}

impl<P> Qdisc<P> for LinuxFq<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let admission = match self.admit(Departure { packet, payload, enqueued_at: now }) {
            Ok(()) => {
                self.waiting = plus_packet(self.waiting, packet.size);
                Admission::Queued
            }
            Err(payload) => {
                lost(payload);
                Admission::DroppedByLimit
            }
        };
        self.counters.count(admission, packet.size);
        admission
    }

    fn dequeue(&mut self, now: Time, _lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        if self.waiting.packets == 0 {
            return None;
        }
        let departure = self.fast_path.pop_front().unwrap_or_else(|| {
            let mut head = self.next(now);
            let sojourn = now.saturating_since(head.enqueued_at);
            let is_late = self.config.ce_threshold.is_some_and(|threshold| sojourn > threshold);
            if is_late && head.packet.ecn.is_capable() {
                head.packet.ecn = Ecn::Ce;
                self.counters.marked += 1;
            }
            head
        });
        let QueueState { packets, bytes } = self.waiting;
        self.waiting = QueueState { packets: packets - 1, bytes: bytes - departure.packet.size };
        Some(departure)
    }

    fn state(&self) -> QueueState {
        self.waiting
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let count = |list: fn(&Band) -> &VecDeque<usize>| {
            self.bands.iter().map(|band| list(band).len()).sum::<usize>()
        };
        out("new_flows", count(|band| &band.new) as f64);
        out("old_flows", count(|band| &band.old) as f64);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::Bytes;

    use super::*;

    /// A queue with a packet of 1000 B of flow 0 in the fast path and `flows` behind it, all at time zero.
    fn queue(config: &FqConfig, flows: &[u32]) -> LinuxFq<usize> {
        let mut queue = LinuxFq::new(config, FlowKey([1, 2]));
        for (number, &flow) in [0].iter().chain(flows).enumerate() {
            let packet = Packet { size: Bytes::new(1000), ecn: Ecn::Ect0, flow };
            queue.enqueue(packet, number, Time::ZERO, &mut |_| ());
        }
        queue
    }

    fn order(queue: &mut LinuxFq<usize>, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| queue.dequeue(now, &mut |_| ())).map(|sent| sent.packet.flow).collect()
    }

    #[test]
    fn only_an_overload_leaves_the_fast_path() {
        let mut queue = queue(&FqConfig::default(), &[1; 9]);
        assert_eq!((queue.fast_path.len(), queue.in_flows().packets), (8, 2));
        let now = Time::from_secs_f64(1.0);
        assert_eq!(order(&mut queue, now), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(queue.counters.marked, 0);
    }

    #[test]
    fn marks_begin_above_the_threshold_behind_the_fast_path() {
        let config = FqConfig { ce_threshold: Some(Duration::from_millis(5)), ..FqConfig::default() };
        for (waited_us, marked) in [(5_000, 0), (5_001, 2)] {
            let mut queue = queue(&config, &[1; 9]);
            order(&mut queue, Time::ZERO + Duration::from_micros(waited_us));
            assert_eq!(queue.counters.marked, marked);
        }
    }

    #[test]
    fn flows_take_turns_of_a_quantum_after_their_first_ones() {
        let quanta = (Bytes::new(2000), Bytes::new(3000));
        let config = FqConfig { quantum: quanta.0, initial_quantum: quanta.1, ..FqConfig::default() };
        let flows: Vec<u32> = [0; 7].into_iter().chain([1; 8]).chain([2; 8]).collect();
        let left = order(&mut queue(&config, &flows), Time::ZERO);
        assert_eq!(left[8..], [1, 1, 1, 2, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 2]);
    }

    #[test]
    fn a_flow_has_its_own_limit() {
        let config = FqConfig { flow_limit: 3, ..FqConfig::default() };
        let queue = queue(&config, &[&[0; 7][..], &[1; 5], &[2]].concat());
        assert_eq!((queue.counters.dropped_by_limit, queue.state().packets), (2, 12));
    }
}
