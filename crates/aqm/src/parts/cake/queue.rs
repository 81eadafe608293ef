//! CAKE: a shaper before tins.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: a comprehensive queue management solution for home gateways",
//! LANMAN 2018; Linux `sch_cake.c`.

use aqmlab_units::{Bytes, Stream, Time};

use super::ack_filter::FlowHeader;
use super::autorate::ArrivalRate;
use super::clock::{ByteTime, Shaper};
use super::framing::Framing;
use super::labels::Labels;
use super::options::{AckFilter, Diffserv};
use super::rules::TinRules;
use super::tin::{Draws, Served, Tin, Waiting};
use crate::parts::linux::memory;
use crate::{Admission, Coin, Counters, Departure, FlowLabel, Limit, Packet, Qdisc, QueueState, TcpHeader};

/// The least memory of a queue that shapes.
const LEAST_MEMORY: u64 = 4 << 20;

/// The packets that the kernel keeps at most, as full ones.
const MOST_PACKETS: u64 = 10_240;

/// The configuration of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The rate of the shaper, in bytes per second.
    pub(crate) rate: Option<u64>,
    pub(crate) diffserv: Diffserv,
    pub(crate) tin_rules: TinRules,
    pub(crate) framing: Framing,
    /// Prefer the hosts' addresses behind a NAT.
    pub(crate) nat: bool,
    /// Set the code points of packets that leave to 0.
    pub(crate) wash: bool,
    /// The shaper follows the rate of arrivals.
    pub(crate) autorate: bool,
    /// The memory for waiting packets, if it is not automatic.
    pub(crate) memlimit: Option<Bytes>,
    /// The maximum that may wait.
    pub(crate) limit: Limit,
}

impl Plan {
    /// The memory for waiting packets with a shaper of `rate` bytes per second.
    fn memory_limit(&self, rate: Option<u64>) -> u64 {
        let most = MOST_PACKETS * self.tin_rules.mtu.get();
        if let Some(memlimit) = self.memlimit {
            return memlimit.get();
        }
        // Four bandwidth-delay products.
        let of_rate = |rate: u64| {
            let bytes = u128::from(rate) * u128::from(self.tin_rules.rtt.as_nanos()) * 4 / 1_000_000_000;
            u64::try_from(bytes).unwrap_or(u64::MAX).max(LEAST_MEMORY)
        };
        rate.map_or(most, of_rate).min(most)
    }
}

/// CAKE.
#[derive(Clone, Debug)]
pub(crate) struct Cake<P, C = Stream> {
    plan: Plan,
    byte_time: Option<ByteTime>,
    shaper: Shaper,
    tins: Vec<Tin<P>>,
    /// The index of the tin of packets with code point 0.
    unmarked_tin: usize,
    /// The tin whose turn it is, without a shaper.
    current: usize,
    labels: Labels,
    arrivals: ArrivalRate,
    /// The memory of waiting packets, and its limit.
    memory: u64,
    memory_limit: u64,
    waiting: QueueState,
    counters: Counters,
    /// The time at which a packet that was held back may leave.
    timeout: Option<Time>,
    draws: Draws<C>,
}

impl<P, C: Coin> Cake<P, C> {
    /// Return an empty queue.
    ///
    /// With a coin it tosses this one where Linux tosses its own.
    pub(crate) fn new(plan: Plan, mut rng: Stream, coin: Option<C>) -> Cake<P, C> {
        let tins = plan.diffserv.plans(plan.rate).into_iter().map(|tin| Tin::new(plan.tin_rules, tin));
        Cake {
            byte_time: plan.rate.map(|rate| ByteTime::from_rate(rate, plan.tin_rules.variant)),
            shaper: Shaper::default(),
            tins: tins.collect(),
            unmarked_tin: plan.diffserv.tin_of(0).into(),
            current: 0,
            labels: Labels::new(plan.tin_rules.isolation, plan.nat, rng.next_u64()),
            arrivals: ArrivalRate::default(),
            memory: 0,
            memory_limit: plan.memory_limit(plan.rate),
            waiting: QueueState::default(),
            counters: Counters::default(),
            timeout: None,
            plan,
            draws: Draws { stream: rng, coin },
        }
    }

    /// Set the rate of the shaper, in bytes per second.
    fn adapt(&mut self, rate: u64) {
        let rate = (rate > 0).then_some(rate);
        self.byte_time = rate.map(|rate| ByteTime::from_rate(rate, self.plan.tin_rules.variant));
        self.memory_limit = self.plan.memory_limit(rate);
        for (tin, plan) in self.tins.iter_mut().zip(self.plan.diffserv.plans(rate)) {
            tin.adapt(plan);
        }
    }

    /// Set the rate of the shaper, in bytes per second, and leave the law and the memory as they are.
    pub(crate) fn set_rate(&mut self, rate: u64) {
        self.byte_time = Some(ByteTime::from_rate(rate, self.plan.tin_rules.variant));
        for (tin, plan) in self.tins.iter_mut().zip(self.plan.diffserv.plans(Some(rate))) {
            tin.set_rate(plan);
        }
    }

    /// The memory of waiting packets, in bytes.
    pub(crate) fn memory_used(&self) -> u64 {
        self.memory
    }

    /// The index of the tin of a flow's packets.
    #[inline]
    fn tin_of(&self, flow: u32) -> usize {
        let dscp = self.labels.dscp(flow);
        if dscp == 0 { self.unmarked_tin } else { self.plan.diffserv.tin_of(dscp).into() }
    }

    /// The time until which the shaper holds packets back.
    #[inline]
    fn held_until(&self, now: Time) -> Option<Time> {
        self.byte_time.and(Some(self.shaper.ready_at())).filter(|&ready| ready > now)
    }

    /// Return the tin to serve.
    #[inline]
    fn choose_tin(&mut self, now: Time) -> usize {
        match self.tins.len() {
            1 => 0,
            _ if self.byte_time.is_some() => self.most_urgent_tin(now),
            _ => self.next_tin(),
        }
    }

    /// The last of the tins that are below their thresholds, or the one that will be next.
    fn most_urgent_tin(&self, now: Time) -> usize {
        let active = self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active());
        let urgency = |(index, tin): (usize, &Tin<P>)| (tin.due().max(now), std::cmp::Reverse(index));
        let (_, std::cmp::Reverse(index)) = active.map(urgency).min().expect("packets wait in a tin");
        index
    }

    /// The next tin in the round, without a shaper.
    fn next_tin(&mut self) -> usize {
        let mut current = self.current;
        loop {
            let tin = &mut self.tins[current];
            if tin.deficit >= 0 && tin.is_active() {
                self.current = current;
                return current;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum();
            }
            current = if current + 1 == self.tins.len() { 0 } else { current + 1 };
        }
    }

    /// Charge a packet that left or was dropped to the shaper.
    #[inline]
    fn charge(&mut self, length: u32, is_dropped: bool) {
        if let Some(byte_time) = self.byte_time {
            self.shaper.charge(length.into(), byte_time, is_dropped);
        }
    }

    /// Count a packet that no longer waits.
    #[inline]
    fn release(&mut self, size: Bytes) {
        self.memory -= memory::of_packet(size);
        self.waiting = QueueState { packets: self.waiting.packets - 1, bytes: self.waiting.bytes - size };
    }

    /// Drop a packet by COBALT.
    #[cold]
    fn drop_at_dequeue(&mut self, dropped: Waiting<P>, lost: &mut dyn FnMut(P)) {
        self.release(dropped.departure.packet.size);
        self.counters.dropped_at_dequeue += 1;
        if self.plan.tin_rules.ingress {
            self.charge(dropped.length, true);
        }
        lost(dropped.departure.payload);
    }

    /// True if more waits than is permitted.
    #[inline]
    fn is_over_limit(&self) -> bool {
        self.memory > self.memory_limit || !self.plan.limit.holds(self.waiting)
    }

    /// Evict the first packet of the longest queue.
    #[cold]
    fn evict(&mut self, now: Time, lost: &mut dyn FnMut(P)) {
        let lengths = self.tins.iter().enumerate().filter_map(|(tin, queues)| {
            let (queue, bytes) = queues.longest()?;
            Some((tin, queue, bytes))
        });
        let longest = lengths.reduce(|longest, next| if next.2 > longest.2 { next } else { longest });
        let (tin, queue, _) = longest.expect("a queue is not empty");
        let evicted = self.tins[tin].evict(queue, now).expect("the longest queue is not empty");
        self.counters.evicted += 1;
        self.release(evicted.departure.packet.size);
        if self.plan.tin_rules.ingress {
            self.charge(evicted.length, true);
        }
        lost(evicted.departure.payload);
    }

    /// Handle an arriving packet, with its header if it is a TCP segment.
    #[inline]
    fn admit(
        &mut self,
        packet: Packet,
        header: Option<&TcpHeader>,
        payload: P,
        now: Time,
        lost: &mut dyn FnMut(P),
    ) {
        let index = self.tin_of(packet.flow);
        let tin = &mut self.tins[index];
        if tin.is_empty() {
            tin.wake(now);
            if self.waiting.packets == 0 {
                self.shaper.wake(now);
            }
        }
        let labels = &self.labels;
        let queue = tin.queue_of(labels.flow_hash(packet.flow), || labels.host_hashes(packet.flow));
        let length = u32::try_from(self.plan.framing.length(packet.size)).expect("a packet");
        let departure = Departure { packet, payload, enqueued_at: now };
        let is_segment = header.is_some();
        let header = header.map(|&header| FlowHeader { flow: packet.flow, header });
        tin.push(queue, Waiting { departure, length }, header, &mut self.draws);
        self.memory += memory::of_packet(packet.size);
        self.waiting =
            QueueState { packets: self.waiting.packets + 1, bytes: self.waiting.bytes + packet.size };
        let filtered = if is_segment { self.filter((index, queue), now, lost) } else { Bytes::ZERO };
        if self.plan.autorate
            && let Some(rate) = self.arrivals.on_arrival(packet.size, filtered, now)
        {
            self.adapt(rate);
        }
        while self.is_over_limit() {
            self.evict(now, lost);
        }
    }

    /// Drop the acknowledgement that the last packet of a queue of a tin replaces. Returns its size, or 0 B if there is none.
    #[inline]
    fn filter(&mut self, (tin, queue): (usize, usize), now: Time, lost: &mut dyn FnMut(P)) -> Bytes {
        let Some(filtered) = self.tins[tin].filter(queue, now) else { return Bytes::ZERO };
        let size = filtered.departure.packet.size;
        self.counters.evicted += 1;
        self.release(size);
        if self.plan.tin_rules.ingress {
            self.charge(filtered.length, true);
        }
        lost(filtered.departure.payload);
        size
    }
}

impl<P, C: Coin> Qdisc<P> for Cake<P, C> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        self.admit(packet, None, payload, now, lost);
        Admission::Queued
    }

    #[inline]
    fn reads_headers(&self) -> bool {
        self.plan.tin_rules.ack_filter != AckFilter::NoAckFilter
    }

    fn enqueue_segment(
        &mut self,
        packet: Packet,
        header: &TcpHeader,
        payload: P,
        now: Time,
        lost: &mut dyn FnMut(P),
    ) -> Admission {
        self.admit(packet, Some(header), payload, now, lost);
        Admission::Queued
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        self.timeout = None;
        let mut decaying_first = true;
        while self.waiting.packets > 0 {
            if let Some(ready) = self.held_until(now) {
                self.timeout = Some(ready);
                return None;
            }
            let tin = self.choose_tin(now);
            let mut is_charged = false;
            loop {
                let decaying_first = std::mem::take(&mut decaying_first);
                match self.tins[tin].serve(decaying_first, now, &mut self.draws) {
                    // The shaper and the tins are as before: the same one is next.
                    Served::Nothing if !is_charged && self.tins[tin].is_active() => {}
                    Served::Nothing => break,
                    Served::Sent(Waiting { departure, length }) => {
                        self.release(departure.packet.size);
                        self.charge(length, false);
                        return Some(departure);
                    }
                    Served::Dropped(dropped) => {
                        is_charged = self.plan.tin_rules.ingress;
                        self.drop_at_dequeue(dropped, lost);
                    }
                }
            }
        }
        None
    }

    fn state(&self) -> QueueState {
        self.waiting
    }

    fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.tins.iter().for_each(|tin| tin.count(&mut counters));
        counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timeout
    }

    fn on_timeout(&mut self, now: Time) {
        self.timeout = self.timeout.filter(|&at| at > now);
    }

    fn label_flow(&mut self, flow: u32, label: FlowLabel) -> FlowLabel {
        self.labels.insert(flow, label);
        let dscp = if self.plan.wash { 0 } else { label.dscp };
        FlowLabel { dscp, ..label }
    }

    fn classes(&self) -> &'static [&'static str] {
        let names = self.plan.diffserv.names();
        if names.len() > 1 { names } else { &[] }
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> u8 {
        self.plan.diffserv.place_of(self.labels.dscp(packet.flow))
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("memory_used_bytes", self.memory as f64);
        if self.plan.autorate {
            out("capacity_estimate_mbps", self.arrivals.peak() as f64 * 8e-6);
        }
        for (columns, &tin) in self.plan.diffserv.columns().iter().zip(self.plan.diffserv.order()) {
            self.tins[tin].probe(columns, out);
        }
    }
}
