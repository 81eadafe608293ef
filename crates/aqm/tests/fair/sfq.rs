//! SFQ against its papers: turns, overflow and perturbation.

use std::collections::VecDeque;

use aqmlab_aqm::{
    Admission, Counters, Discipline, Ecn, Limit, Packet, Qdisc, QueueEnd, Sfq, SfqConfig, Turns,
};
use aqmlab_units::{Bytes, Duration, Stream, Time};
use proptest::prelude::*;

use crate::common::link;
use crate::common::oracle::{Item, Oracle, Queue, bytes, compare, hashed, reached};
use crate::common::traffic::{Operation, traffic};

/// One queue with its deficit counter.
#[derive(Clone, Default)]
struct Subqueue {
    packets: Queue,
    dc: i64,
}

/// Shreedhar and Varghese (1996), figure 2, with an active list of queue numbers; `Turns::Packet` is McKenney (1990), and
/// `Turns::Surplus` lets a queue send while its counter is above zero.
struct Papers {
    config: SfqConfig,
    secret: u64,
    rng: Stream,
    queues: Vec<Subqueue>,
    active: VecDeque<usize>,
    /// True once the queue at the front has its quantum for this turn.
    turn_begun: bool,
}

impl Papers {
    fn new(config: &SfqConfig, mut rng: Stream) -> Papers {
        let secret = rng.next_u64();
        // The seed of the queues' laws, of which SFQ has none.
        rng.next_u64();
        let queues = vec![Subqueue::default(); config.flows as usize];
        Papers { config: config.clone(), secret, rng, queues, active: VecDeque::new(), turn_begun: false }
    }

    fn over(&self) -> bool {
        let (packets, bytes) = self.waiting();
        match self.config.limit {
            Limit::Packets(most) => packets > most as usize,
            Limit::Bytes(most) => bytes > i64::try_from(most.get()).expect("a small limit"),
        }
    }

    fn activate(&mut self, queue: usize) {
        if !self.active.contains(&queue) {
            self.active.push_back(queue);
            self.queues[queue].dc = 0;
        }
    }

    /// Ends the turn of the queue at the front.
    fn end_turn(&mut self) {
        self.turn_begun = false;
        let queue = self.active.pop_front().expect("a queue had its turn");
        if self.queues[queue].packets.is_empty() {
            self.queues[queue].dc = 0;
        } else {
            self.active.push_back(queue);
        }
    }
}

impl Oracle for Papers {
    fn enqueue(&mut self, packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        let queue = hashed(self.secret, packet.flow, u64::from(self.config.flows));
        let drop_tail = self.config.drop == QueueEnd::Tail;
        if drop_tail && self.queues[queue].packets.len() >= self.config.depth as usize {
            lost.push(packet.serial);
            return None;
        }
        // Would it be the longest queue's last packet, and the first to go?
        self.queues[queue].packets.push_back(packet);
        let longest_before = self.queues.iter().enumerate().filter(|(other, _)| *other != queue);
        let longest_before = longest_before.map(|(_, other)| other.packets.len()).max().unwrap_or(0);
        let fits_alone = match self.config.limit {
            Limit::Packets(_) => true,
            Limit::Bytes(most) => packet.size <= i64::try_from(most.get()).expect("a small limit"),
        };
        let flow_length = self.queues[queue].packets.len();
        if !fits_alone || self.over() && drop_tail && flow_length >= longest_before {
            self.queues[queue].packets.pop_back();
            lost.push(packet.serial);
            return None;
        }
        self.activate(queue);
        if self.queues[queue].packets.len() > self.config.depth as usize {
            lost.push(self.queues[queue].packets.pop_front().expect("the queue is too long").serial);
        }
        while self.over() {
            let most = self.queues.iter().map(|queue| queue.packets.len()).max().expect("there are queues");
            let longest =
                self.queues.iter().position(|queue| queue.packets.len() == most).expect("the longest");
            let packets = &mut self.queues[longest].packets;
            let victim = if drop_tail { packets.pop_back() } else { packets.pop_front() };
            lost.push(victim.expect("the longest queue has packets").serial);
            if self.queues[longest].packets.is_empty() {
                self.turn_begun &= self.active.front() != Some(&longest);
                self.active.retain(|&other| other != longest);
            }
        }
        None
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.perturb.as_secs_f64())
    }

    fn dequeue(&mut self, _now: i64, _lost: &mut Vec<usize>) -> Option<Item> {
        let quantum = i64::try_from(self.config.quantum.get()).expect("a quantum");
        loop {
            let queue = *self.active.front()?;
            let front = &mut self.queues[queue];
            let first = *front.packets.front().expect("an active queue has packets");
            if !self.turn_begun {
                self.turn_begun = true;
                front.dc += if self.config.turns == Turns::Packet { 1 } else { quantum };
            }
            let (may, cost) = match self.config.turns {
                Turns::Packet => (front.dc >= 1, 1),
                Turns::Deficit => (first.size <= front.dc, first.size),
                Turns::Surplus => (front.dc > 0, first.size),
            };
            if !may {
                self.end_turn();
                continue;
            }
            front.packets.pop_front();
            front.dc -= cost;
            if front.packets.is_empty() {
                self.end_turn();
            }
            return Some(first);
        }
    }

    fn tick(&mut self, _now: i64) {
        self.secret = self.rng.next_u64();
        if !self.config.rehash {
            return;
        }
        let all: Vec<Item> = self.queues.iter_mut().flat_map(|queue| queue.packets.drain(..)).collect();
        self.active.clear();
        self.turn_begun = false;
        for packet in all {
            let queue = hashed(self.secret, packet.flow, u64::from(self.config.flows));
            self.queues[queue].packets.push_back(packet);
            self.activate(queue);
        }
    }

    fn waiting(&self) -> (usize, i64) {
        let sizes = self.queues.iter().map(|queue| (queue.packets.len(), bytes(&queue.packets)));
        sizes.fold((0, 0), |sum, queue| (sum.0 + queue.0, sum.1 + queue.1))
    }
}

fn settings() -> impl Strategy<Value = SfqConfig> {
    let turns = prop::sample::select(Turns::ALL);
    let end = prop::sample::select(QueueEnd::ALL);
    let limit = prop_oneof![
        (1_u32..60).prop_map(Limit::Packets),
        (1_u64..40_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    (1_u32..64, turns, 64_u64..4000, 1_u32..40, end, 0_u64..20, any::<bool>(), limit).prop_map(
        |(flows, turns, quantum, depth, drop, perturb, rehash, limit)| SfqConfig {
            flows,
            turns,
            quantum: Bytes::new(quantum),
            depth,
            drop,
            perturb: Duration::from_millis(perturb),
            rehash,
            limit,
            ..SfqConfig::default()
        },
    )
}

fn run(config: &SfqConfig, seed: u64, traffic: &[Operation]) -> Result<Counters, TestCaseError> {
    let config = config.resolve(&link())?;
    let rng = Stream::named(seed, "queue");
    compare(Box::new(Sfq::new(&config, rng.clone())), Papers::new(&config, rng), traffic)
}

proptest! {
    #[test]
    fn sfq_serves_and_drops_as_its_papers_do(config in settings(), seed: u64, traffic in traffic()) {
        run(&config, seed, &traffic)?;
    }
}

#[test]
fn the_traffic_makes_sfq_refuse_and_push_out() {
    let sum = reached((settings(), traffic()), |(config, traffic)| run(&config, 1, &traffic));
    assert!(sum.dropped_by_limit > 1000 && sum.evicted > 1000, "{sum:?}");
}

/// The flows of the departures, when packets of these numbers and sizes of flows 0 and 1 are queued.
fn order(turns: Turns, quantum: u64, packets: [(usize, u64); 2]) -> Vec<u32> {
    let config = SfqConfig { turns, quantum: Bytes::new(quantum), ..SfqConfig::default() };
    let mut queue = Sfq::new(&config, Stream::named(1, "queue"));
    for (flow, (n, size)) in (0_u32..).zip(packets) {
        for _ in 0..n {
            let packet = Packet { size: Bytes::new(size), ecn: Ecn::NotEct, flow };
            queue.enqueue(packet, flow, Time::ZERO, &mut drop);
        }
    }
    std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drop)).map(|departure| departure.payload).collect()
}

#[test]
fn a_deficit_is_saved_up_and_a_surplus_paid_back() {
    // A quantum of 1000: packets of 1500 wait for their second turn, or leave in the first and miss the next.
    assert_eq!(order(Turns::Deficit, 1000, [(2, 1500), (6, 500)]), [1, 1, 0, 1, 1, 0, 1, 1]);
    assert_eq!(order(Turns::Surplus, 1000, [(2, 1500), (6, 500)]), [0, 1, 1, 0, 1, 1, 1, 1]);
    assert_eq!(order(Turns::Packet, 1000, [(2, 1500), (6, 500)]), [0, 1, 0, 1, 1, 1, 1, 1]);
}

#[test]
fn flows_that_share_a_queue_are_parted_by_the_next_perturbation() {
    let config = SfqConfig { perturb: Duration::from_millis(100), ..SfqConfig::default() };
    let (mut secrets, queues) = (Stream::named(1, "queue"), u64::from(config.flows));
    let secret = secrets.next_u64();
    let second_flow = (1_u32..100_000)
        .find(|&flow| hashed(secret, flow, queues) == hashed(secret, 0, queues))
        .expect("some flow");
    let mut queue = Sfq::new(&config, Stream::named(1, "queue"));
    let fill = |queue: &mut Sfq<u32>| {
        for flow in [0, 0, 0, second_flow, second_flow, second_flow] {
            let packet = Packet { size: Bytes::new(1514), ecn: Ecn::NotEct, flow };
            queue.enqueue(packet, flow, Time::ZERO, &mut drop);
        }
    };
    let drain = |queue: &mut Sfq<u32>| -> Vec<u32> {
        std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drop))
            .map(|departure| departure.payload)
            .collect()
    };
    fill(&mut queue);
    assert_eq!(drain(&mut queue), [0, 0, 0, second_flow, second_flow, second_flow], "they share a queue");
    fill(&mut queue);
    let due = queue.poll_timeout().expect("a perturbation is due");
    assert_eq!(due, Time::from_nanos(100_000_000));
    queue.on_timeout(due);
    assert_eq!(queue.poll_timeout(), Some(Time::from_nanos(200_000_000)));
    let mut served = drain(&mut queue);
    assert!(served.windows(2).all(|pair| pair[0] != pair[1]), "they take turns: {served:?}");
    served.sort_unstable();
    assert_eq!(served, [0, 0, 0, second_flow, second_flow, second_flow]);
}

#[test]
fn without_a_rehash_a_flow_is_reordered_and_with_it_not() {
    let reordered = |rehash: bool| {
        let config = SfqConfig { perturb: Duration::from_millis(1), rehash, ..SfqConfig::default() };
        let mut queue = Sfq::new(&config, Stream::named(1, "queue"));
        let (mut last, mut overtaken) = (0, 0);
        for serial in 1..2000_u64 {
            let now = Time::from_nanos(serial * 100_000);
            while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
                queue.on_timeout(due);
            }
            let packet = Packet { size: Bytes::new(1500), ecn: Ecn::NotEct, flow: 5 };
            queue.enqueue(packet, serial, now, &mut drop);
            if serial > 50 {
                let left = queue.dequeue(now, &mut drop).expect("fifty wait").payload;
                overtaken += u32::from(left < last);
                last = left.max(last);
            }
        }
        overtaken
    };
    assert_eq!(reordered(true), 0);
    assert!(reordered(false) > 0);
}
