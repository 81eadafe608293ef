//! A tin of CAKE: queues of flows, their rotation and their COBALT.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018, section III; Linux `sch_cake.c`.

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration, Stream, Time};

use super::ack_filter::{FlowHeader, Headers, superfluous};
use super::clock::{ByteTime, Clock};
use super::hosts::{FlowHosts, Hosts};
use super::options::AckFilter;
use super::rotation::{Rotation, Set};
use super::rules::{TinRules, cobalt_rules, flow_quantum};
use super::sets::{PerQueue, Placement, Sets};
use super::statistics::{Columns, TinStatistics};
use super::tins::TinPlan;
use crate::parts::cobalt::{CobaltRules, CobaltState, Departing};
use crate::parts::control_law::ControlLaw;
use crate::{Coin, Counters, Departure, Ecn, Sqrt};

/// A packet that waits, and its length on the link behind the shaper.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) departure: Departure<P>,
    pub(crate) length: u32,
}

/// The hashes of the hosts of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostHashes {
    pub(crate) source: u32,
    pub(crate) destination: u32,
}

/// One of the queues of a tin.
#[derive(Clone, Debug)]
struct FlowQueue<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: Bytes,
    cobalt: CobaltState,
    hosts: FlowHosts,
}

/// The random numbers of the queues.
#[derive(Clone, Debug)]
pub(crate) struct Draws<C> {
    pub(crate) stream: Stream,
    /// The coin of a kernel, which decides about the bytes of a quantum in place of the stream.
    pub(crate) coin: Option<C>,
}

impl<C: Coin> Draws<C> {
    /// Draw 16 bits.
    #[inline]
    fn dither(&mut self) -> u64 {
        match &mut self.coin {
            // A short number of the kernel is the upper part of a long one.
            Some(coin) => coin.toss() >> 48,
            None => self.stream.next_u64() & 0xffff,
        }
    }
}

/// The result of serving a tin.
#[derive(Debug)]
pub(crate) enum Served<P> {
    /// A packet leaves.
    Sent(Waiting<P>),
    /// COBALT drops a packet.
    Dropped(Waiting<P>),
    /// The queue whose turn it was, is empty.
    Nothing,
}

/// A tin.
#[derive(Clone, Debug)]
pub(crate) struct Tin<P> {
    rules: TinRules,
    plan: TinPlan,
    cobalt: CobaltRules,
    byte_time: Option<ByteTime>,
    flow_quantum: u32,
    /// The time from which the tin is below its threshold.
    clock: Clock,
    /// Bytes that the tin may still send in this round of the tins, without a shaper.
    pub(crate) deficit: i64,
    sets: Sets,
    hosts: Hosts,
    rotation: Rotation,
    queues: PerQueue<FlowQueue<P>>,
    /// The headers of the packets of each queue, if acknowledgements are filtered.
    headers: Option<PerQueue<Headers>>,
    /// Packets that wait.
    waiting: u32,
    statistics: TinStatistics,
}

impl<P> Tin<P> {
    /// Return an empty tin.
    pub(crate) fn new(rules: TinRules, plan: TinPlan) -> Tin<P> {
        let queue = || FlowQueue {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
            cobalt: CobaltState::new(ControlLaw::without_count(Sqrt::ExactTable32)),
            hosts: FlowHosts::default(),
        };
        let mut tin = Tin {
            rules,
            plan,
            cobalt: cobalt_rules(rules.rtt, Duration::ZERO),
            byte_time: None,
            flow_quantum: 0,
            clock: Clock::default(),
            deficit: 0,
            sets: Sets::new(),
            hosts: Hosts::new(rules.isolation),
            rotation: Rotation::new(),
            queues: PerQueue::new(queue),
            headers: (rules.ack_filter != AckFilter::NoAckFilter).then(|| PerQueue::new(Headers::new)),
            waiting: 0,
            statistics: TinStatistics::default(),
        };
        tin.adapt(plan);
        tin
    }

    /// Set the rate of the tin, and the quantum of its flows.
    pub(crate) fn set_rate(&mut self, plan: TinPlan) {
        self.plan = plan;
        self.byte_time = plan.rate.map(|rate| ByteTime::from_rate(rate, self.rules.variant));
        self.flow_quantum = flow_quantum(plan.rate);
    }

    /// Adapt the tin and its law to another rate.
    pub(crate) fn adapt(&mut self, plan: TinPlan) {
        self.set_rate(plan);
        let mtu_time = self.byte_time.map_or(Duration::ZERO, |byte| byte.of_packet(self.rules.mtu.get()));
        self.cobalt = cobalt_rules(self.rules.rtt, mtu_time);
    }

    /// The bytes of a round of the tins, without a shaper.
    #[inline]
    pub(crate) fn quantum(&self) -> i64 {
        self.plan.quantum
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// True if a queue of the tin may have packets.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.rotation.is_active()
    }

    /// The time from which the tin is below its threshold.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        self.clock.next()
    }

    /// A packet arrives at an empty tin.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) {
        self.clock.catch_up(now);
    }

    /// Add its arrivals and its marks to the counts.
    pub(crate) fn count(&self, counters: &mut Counters) {
        let TinStatistics { packets, bytes, marks, .. } = self.statistics;
        counters.offered += packets;
        counters.queued += packets;
        counters.queued_bytes += Bytes::new(bytes);
        counters.marked += marks;
    }

    /// Return the queue of the flow with the hash `flow`; `hosts` returns the hashes of its hosts.
    #[inline]
    pub(crate) fn queue_of(&mut self, flow: u32, hosts: impl FnOnce() -> HostHashes) -> usize {
        let (queue, placement) = self.sets.place(flow, |queue| self.rotation.set(queue) == Set::None);
        if placement != Placement::Known && self.hosts.are_used() {
            let is_bulk = self.rotation.set(queue) == Set::Bulk;
            if is_bulk {
                self.hosts.remove_bulk_flow(self.queues[queue].hosts);
            }
            let HostHashes { source, destination } = hosts();
            let hosts = self.hosts.place(source, destination);
            self.queues[queue].hosts = hosts;
            if is_bulk {
                self.hosts.add_bulk_flow(hosts);
            }
        }
        queue
    }

    /// The quantum of a queue: a fraction of a byte becomes a byte with its probability.
    #[inline]
    fn quantum_of(&self, queue: usize, draws: &mut Draws<impl Coin>) -> i32 {
        let load = u32::from(self.hosts.load(self.queues[queue].hosts));
        let dither = draws.dither();
        let quantum = (u64::from(self.flow_quantum) * u64::from(65_535 / load) + dither) >> 16;
        i32::try_from(quantum).expect("at most a packet")
    }

    /// Enqueue a packet, with its header if it is a TCP segment.
    #[inline]
    pub(crate) fn push(
        &mut self,
        queue: usize,
        waiting: Waiting<P>,
        header: Option<FlowHeader>,
        draws: &mut Draws<impl Coin>,
    ) {
        let size = waiting.departure.packet.size;
        if let Some(headers) = &mut self.headers {
            headers[queue].push_back(header);
        }
        let flow_queue = &mut self.queues[queue];
        flow_queue.packets.push_back(waiting);
        flow_queue.bytes += size;
        self.waiting += 1;
        self.statistics.packets += 1;
        self.statistics.bytes += size.get();
        match self.rotation.set(queue) {
            Set::None | Set::Decaying => {
                let quantum = self.quantum_of(queue, draws);
                self.rotation.start(queue, quantum);
            }
            Set::SparseWait => self.become_bulk(queue),
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn become_bulk(&mut self, queue: usize) {
        self.rotation.become_bulk(queue);
        self.hosts.add_bulk_flow(self.queues[queue].hosts);
    }

    /// Remove the acknowledgement that the last packet of a queue replaces, if any.
    pub(crate) fn filter(&mut self, queue: usize, now: Time) -> Option<Waiting<P>> {
        let headers = &mut self.headers.as_mut()?[queue];
        let place = superfluous(self.rules.ack_filter, headers)?;
        headers.remove(place);
        let flow_queue = &mut self.queues[queue];
        let removed = flow_queue.packets.remove(place).expect("each packet has an entry");
        flow_queue.bytes = flow_queue.bytes - removed.departure.packet.size;
        self.waiting -= 1;
        self.statistics.ack_drops += 1;
        if self.rules.ingress {
            self.charge_threshold(removed.length, now);
        }
        Some(removed)
    }

    #[inline]
    fn pop(&mut self, queue: usize) -> Option<Waiting<P>> {
        let flow_queue = &mut self.queues[queue];
        let popped = flow_queue.packets.pop_front()?;
        flow_queue.bytes = flow_queue.bytes - popped.departure.packet.size;
        if let Some(headers) = &mut self.headers {
            headers[queue].pop_front();
        }
        self.waiting -= 1;
        Some(popped)
    }

    /// Serve the queue whose turn it is; with `decaying_first`, a decaying one.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        mut decaying_first: bool,
        now: Time,
        draws: &mut Draws<impl Coin>,
    ) -> Served<P> {
        loop {
            let Some(queue) = self.rotation.turn(std::mem::take(&mut decaying_first)) else {
                return Served::Nothing;
            };
            if self.rotation.deficit(queue) > 0 {
                return self.serve_queue(queue, now, &mut draws.stream);
            }
            if self.rotation.set(queue) == Set::Sparse {
                if self.queues[queue].packets.is_empty() {
                    self.rotation.wait_as_sparse(queue);
                } else {
                    self.become_bulk(queue);
                }
            }
            let quantum = self.quantum_of(queue, draws);
            self.rotation.end_turn(queue, quantum);
        }
    }

    #[inline]
    fn serve_queue(&mut self, queue: usize, now: Time, rng: &mut Stream) -> Served<P> {
        let Some(mut waiting) = self.pop(queue) else {
            self.find_empty(queue, now);
            return Served::Nothing;
        };
        let Departure { packet, enqueued_at, .. } = &mut waiting.departure;
        let sojourn = now.saturating_since(*enqueued_at);
        let is_ecn_capable = packet.ecn.is_capable();
        let departing = Departing { is_long: self.is_long(sojourn), is_ecn_capable };
        let FlowQueue { cobalt, packets, .. } = &mut self.queues[queue];
        let signals = cobalt.advance(&self.cobalt, departing, now, rng);
        let is_dropped = signals.by_blue || (signals.by_codel && !is_ecn_capable);
        // The last packet of a queue is not dropped: none would come after it to tell the receiver.
        if is_dropped && !packets.is_empty() {
            self.statistics.drops += 1;
            if self.rules.ingress {
                self.charge(queue, waiting.length, now);
            }
            return Served::Dropped(waiting);
        }
        if signals.by_codel && is_ecn_capable {
            packet.ecn = Ecn::Ce;
            self.statistics.marks += 1;
        }
        self.statistics.record_delay(sojourn);
        self.charge(queue, waiting.length, now);
        Served::Sent(waiting)
    }

    /// True for a sojourn time that asks for a signal.
    #[inline]
    fn is_long(&self, sojourn: Duration) -> bool {
        // The shaper of incoming packets keeps room for two packets of each bulk flow.
        let room = || self.cobalt.mtu_time * (2 * u64::from(self.rotation.bulk_flows()));
        self.cobalt.is_long(sojourn) && (!self.rules.ingress || sojourn > room())
    }

    #[inline]
    fn charge(&mut self, queue: usize, length: u32, now: Time) {
        self.rotation.charge(queue, i32::try_from(length).expect("a packet"));
        self.deficit -= i64::from(length);
        self.charge_threshold(length, now);
    }

    #[inline]
    fn charge_threshold(&mut self, length: u32, now: Time) {
        if let Some(byte_time) = self.byte_time {
            self.clock.advance_from(length.into(), byte_time, now);
        }
    }

    /// The queue whose turn it is, is empty.
    fn find_empty(&mut self, queue: usize, now: Time) {
        if self.rotation.set(queue) == Set::Bulk {
            self.hosts.remove_bulk_flow(self.queues[queue].hosts);
        }
        let cobalt = &mut self.queues[queue].cobalt;
        let has_calmed = cobalt.on_empty(&self.cobalt, now);
        let at_rest = cobalt.is_at_rest(now);
        self.statistics.unresponsive -= u32::from(has_calmed);
        self.rotation.empty(queue, at_rest);
    }

    /// The bytes that wait.
    fn backlog(&self) -> Bytes {
        self.rotation.active_queues().fold(Bytes::ZERO, |sum, queue| sum + self.queues[queue].bytes)
    }

    /// The queue with the most bytes, and its bytes.
    pub(crate) fn longest(&self) -> Option<(usize, Bytes)> {
        let lengths = self.rotation.active_queues().map(|queue| (queue, self.queues[queue].bytes));
        lengths.reduce(|longest, next| if next.1 > longest.1 { next } else { longest })
    }

    /// Evict the first packet of a queue, because all queues together take too much memory.
    pub(crate) fn evict(&mut self, queue: usize, now: Time) -> Option<Waiting<P>> {
        let evicted = self.pop(queue)?;
        let cobalt = &mut self.queues[queue].cobalt;
        let was_unresponsive = cobalt.p_drop() > 0.0;
        cobalt.on_overflow(&self.cobalt, now);
        self.statistics.unresponsive += u32::from(!was_unresponsive && cobalt.p_drop() > 0.0);
        self.statistics.drops += 1;
        if self.rules.ingress {
            self.charge_threshold(evicted.length, now);
        }
        Some(evicted)
    }

    /// Report the statistics under the names of `columns`.
    pub(crate) fn probe(&self, columns: &Columns, out: &mut dyn FnMut(&'static str, f64)) {
        let TinStatistics { packets, bytes, drops, marks, ack_drops, unresponsive, .. } = self.statistics;
        let TinStatistics { average_delay, peak_delay, base_delay, .. } = self.statistics;
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let values = [
            self.plan.rate.map_or(0.0, |rate| rate as f64 * 8e-6),
            self.cobalt.target.as_millis_f64(),
            self.cobalt.interval.as_millis_f64(),
            f64::from(self.flow_quantum),
            ms(peak_delay),
            ms(average_delay),
            ms(base_delay),
            self.backlog().as_f64(),
            packets as f64,
            bytes as f64,
            self.sets.way_inds as f64,
            self.sets.way_miss as f64,
            self.sets.way_cols as f64,
            drops as f64,
            marks as f64,
            ack_drops as f64,
            f64::from(self.rotation.sparse_flows()),
            f64::from(self.rotation.bulk_flows()),
            f64::from(unresponsive),
        ];
        for (column, value) in columns.iter().zip(values) {
            out(column, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variant;
    use crate::parts::cake::options::Isolation;

    #[test]
    fn the_mean_of_dithered_quanta_is_exact() {
        let rules = TinRules {
            isolation: Isolation::DualSrchost,
            rtt: Duration::from_millis(100),
            mtu: Bytes::new(1514),
            ingress: false,
            variant: Variant::Linux,
            ack_filter: AckFilter::NoAckFilter,
        };
        let mut tin = Tin::<()>::new(rules, TinPlan { rate: None, quantum: 1 });
        let mut draws = Draws::<Stream> { stream: Stream::named(1, "dither"), coin: None };
        for load in 1..=32_u32 {
            tin.hosts.add_bulk_flow(FlowHosts::default());
            let number = 100_000;
            let sum: i64 = (0..number).map(|_| i64::from(tin.quantum_of(0, &mut draws))).sum();
            let exact = 1514.0 * f64::from(65_535 / load) / 65_536.0;
            // The standard deviation of one draw is at most half a byte.
            let error = sum as f64 / f64::from(number) - exact;
            assert!(error.abs() < 4.0 * 0.5 / f64::from(number).sqrt(), "{error} with {load} flows");
        }
    }
}
