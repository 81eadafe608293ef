//! FQ-CoDel's scheduler as RFC 8290, section 4, tells it, with the law of its queues left open. Credits are whole bytes,
//! and each queue is in at most one of two lists.

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Half, Limit, ThroughOld};
use aqmlab_units::Stream;
use proptest::prelude::*;

use crate::common::oracle::{Item, Oracle, Queue, bytes, hashed};

/// A law over the packets of its queue; `others` is the backlog of the other queues, in bytes.
pub(crate) trait FlowLaw {
    /// May an arriving packet join `queue`? It may be marked.
    fn enqueue(&mut self, _packet: &mut Item, _queue: &Queue) -> bool {
        true
    }
    fn dequeue(&mut self, queue: &mut Queue, others: i64, now: i64, lost: &mut Vec<usize>) -> Option<Item>;
    /// One of its packets was pushed out.
    fn evicted(&mut self, _now: i64) {}
    /// The seconds between two ticks.
    fn period(&self) -> Option<f64> {
        None
    }
    fn tick(&mut self, _queue: &Queue, _now: i64) {}
}

/// The packets that are dropped on overflow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    /// The arriving packet.
    Refuse,
    /// One packet at a time from the head of the queue with the most bytes.
    One,
    /// Half of that queue, but no more than this number of packets.
    Half(Half, usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) flows: u32,
    pub(crate) associative: bool,
    pub(crate) quantum: i64,
    pub(crate) limit: Limit,
    pub(crate) room: Room,
    pub(crate) through_old: ThroughOld,
}

struct Subqueue<L> {
    packets: Queue,
    credits: i64,
    law: L,
    /// The hash of the flow that had it last.
    tag: Option<u64>,
}

pub(crate) struct Scheduler<L> {
    rules: Rules,
    secret: u64,
    queues: Vec<Subqueue<L>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl<L: FlowLaw> Scheduler<L> {
    /// `law` makes the law of each queue from its random stream.
    pub(crate) fn new(rules: Rules, mut rng: Stream, law: impl Fn(Stream) -> L) -> Scheduler<L> {
        let (secret, laws) = (rng.next_u64(), rng.next_u64());
        let queue = |number| Subqueue {
            packets: VecDeque::new(),
            credits: 0,
            law: law(Stream::numbered(laws, number)),
            tag: None,
        };
        let queues = (0..u64::from(rules.flows)).map(queue).collect();
        Scheduler { rules, secret, queues, new: VecDeque::new(), old: VecDeque::new() }
    }

    fn is_listed(&self, queue: usize) -> bool {
        self.new.contains(&queue) || self.old.contains(&queue)
    }

    fn classify(&mut self, flow: u32) -> usize {
        let direct = hashed(self.secret, flow, u64::from(self.rules.flows));
        if !self.rules.associative {
            return direct;
        }
        let hash = Stream::numbered(self.secret, u64::from(flow)).next_u64();
        // The eight queues of the set, beginning with the one that the hash names and round the set.
        let set: Vec<usize> = (0..8).map(|way| direct / 8 * 8 + (direct + way) % 8).collect();
        let matching = set.iter().find(|&&queue| self.queues[queue].tag == Some(hash));
        let free = set.iter().find(|&&queue| !self.is_listed(queue));
        let chosen = *matching.or(free).unwrap_or(&direct);
        self.queues[chosen].tag = Some(hash);
        chosen
    }

    fn fits(&self, packets: usize, bytes: i64) -> bool {
        match self.rules.limit {
            Limit::Packets(most) => packets <= most as usize,
            Limit::Bytes(most) => bytes <= i64::try_from(most.get()).expect("a small limit"),
        }
    }

    fn make_room(&mut self, now: i64, lost: &mut Vec<usize>) {
        loop {
            let (packets, all) = self.waiting();
            if self.fits(packets, all) {
                return;
            }
            let most = self.queues.iter().map(|queue| bytes(&queue.packets)).max().expect("there are queues");
            let fattest =
                self.queues.iter().position(|queue| bytes(&queue.packets) == most).expect("the fattest");
            let queue = &mut self.queues[fattest];
            let length = queue.packets.len();
            let (mut gone, mut gone_bytes) = (0, 0);
            loop {
                let victim = queue.packets.pop_front().expect("the fattest queue has packets");
                lost.push(victim.serial);
                queue.law.evicted(now);
                gone += 1;
                gone_bytes += victim.size;
                let enough = match self.rules.room {
                    Room::Refuse | Room::One => true,
                    Room::Half(Half::Packets, batch) => gone >= length / 2 || gone >= batch,
                    Room::Half(Half::Bytes, batch) => gone_bytes >= most / 2 || gone >= batch,
                };
                if enough {
                    break;
                }
            }
        }
    }
}

impl<L: FlowLaw> Oracle for Scheduler<L> {
    fn enqueue(&mut self, mut packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        let now = packet.at;
        let chosen = self.classify(packet.flow);
        let (packets, all) = self.waiting();
        let queue = &mut self.queues[chosen];
        if !queue.law.enqueue(&mut packet, &queue.packets) {
            lost.push(packet.serial);
            return None;
        }
        let refused = matches!(self.rules.room, Room::Refuse) && !self.fits(packets + 1, all + packet.size);
        if refused || !self.fits(1, packet.size) {
            self.queues[chosen].law.evicted(now);
            lost.push(packet.serial);
            return None;
        }
        self.queues[chosen].packets.push_back(packet);
        if !self.is_listed(chosen) {
            self.new.push_back(chosen);
            self.queues[chosen].credits = self.rules.quantum;
        }
        self.make_room(now, lost);
        None
    }

    fn dequeue(&mut self, now: i64, lost: &mut Vec<usize>) -> Option<Item> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let chosen = *list.front()?;
            let all: i64 = self.queues.iter().map(|queue| bytes(&queue.packets)).sum();
            let queue = &mut self.queues[chosen];
            if queue.credits <= 0 {
                queue.credits += self.rules.quantum;
                list.pop_front();
                self.old.push_back(chosen);
                continue;
            }
            let other_bytes = all - bytes(&queue.packets);
            if let Some(packet) = queue.law.dequeue(&mut queue.packets, other_bytes, now, lost) {
                queue.credits -= packet.size;
                return Some(packet);
            }
            list.pop_front();
            let through_old = match self.rules.through_old {
                ThroughOld::Always => true,
                ThroughOld::IfAny => !self.old.is_empty(),
                ThroughOld::Never => false,
            };
            if is_new && through_old {
                self.old.push_back(chosen);
            }
        }
    }

    fn due(&self, tick: u32) -> Option<f64> {
        self.queues[0].law.period().map(|period| f64::from(tick) * period)
    }

    fn tick(&mut self, now: i64) {
        for queue in &mut self.queues {
            queue.law.tick(&queue.packets, now);
        }
    }

    fn waiting(&self) -> (usize, i64) {
        let sizes = self.queues.iter().map(|queue| (queue.packets.len(), bytes(&queue.packets)));
        sizes.fold((0, 0), |sum, queue| (sum.0 + queue.0, sum.1 + queue.1))
    }
}

pub(crate) fn any_through_old() -> impl Strategy<Value = ThroughOld> {
    prop::sample::select(ThroughOld::ALL)
}
