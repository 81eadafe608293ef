//! Low-latency DOCSIS: the pseudocode of RFC 9957 and the ramp, on random traffic. The Classic queue does not drop in it, as its
//! law has an oracle of its own.

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Counters, Discipline, DocsisLld, DocsisLldConfig, DocsisPieConfig, Ecn, Limit};
use aqmlab_units::{Bytes, Duration, Stream};
use proptest::prelude::*;

use crate::common::oracle::{Item, Oracle, Queue, bytes, compare, reached};
use crate::common::slow_link;
use crate::common::traffic::{Operation, traffic_with};

/// Bytes that the link of 10 Mbit/s sends in a nanosecond, and the overhead of its frames.
const BYTES_PER_NS: f64 = 10e6 / 8.0 / 1e9;
const OVERHEAD: i64 = 38;

/// A bucket of RFC 9957.
#[derive(Clone, Copy)]
struct Bucket {
    id: i64,
    t_exp: i64,
}

struct Annexes {
    config: DocsisLldConfig,
    secret: u64,
    buckets: [Bucket; 33],
    minth: i64,
    maxth: i64,
    count: f64,
    ql: Queue,
    qc: Queue,
    sanctioned: f64,
    deficits: [f64; 2],
    turn: usize,
}

fn ns(span: Duration) -> i64 {
    span.as_nanos().cast_signed()
}

fn on_wire(queue: &Queue) -> i64 {
    bytes(queue) + OVERHEAD * i64::try_from(queue.len()).expect("a queue of packets")
}

#[expect(clippy::cast_possible_truncation, reason = "small")]
fn time_ns(bytes: i64) -> i64 {
    (bytes as f64 / BYTES_PER_NS).round() as i64
}

impl Annexes {
    fn new(config: &DocsisLldConfig, mut rng: Stream) -> Annexes {
        let range = 1_i64 << config.lg_range;
        let floor = time_ns(2 * config.max_frame.get().cast_signed()).min(65_535_000);
        let minth = (ns(config.max_th) - range).max(floor);
        Annexes {
            config: config.clone(),
            secret: rng.next_u64(),
            buckets: [Bucket { id: -1, t_exp: 0 }; 33],
            minth,
            maxth: (minth + range).min(65_535_000),
            count: 0.0,
            ql: VecDeque::new(),
            qc: VecDeque::new(),
            sanctioned: 0.0,
            deficits: [0.0; 2],
            turn: 0,
        }
    }

    fn pick_bucket(&mut self, flow: u32, now: i64) -> usize {
        let mut h32 = Stream::numbered(self.secret, flow.into()).next_u64();
        let mut hsav = 32;
        for _ in 0..2 {
            let h = (h32 % 32) as usize;
            if self.buckets[h].id == i64::from(flow) {
                if self.buckets[h].t_exp <= now {
                    self.buckets[h].t_exp = now;
                }
                return h;
            } else if hsav == 32 && self.buckets[h].t_exp <= now {
                hsav = h;
            }
            h32 /= 32;
        }
        if hsav != 32 || self.buckets[hsav].t_exp <= now {
            self.buckets[hsav].t_exp = now;
        }
        self.buckets[hsav].id = i64::from(flow);
        hsav
    }

    #[expect(clippy::cast_possible_truncation, reason = "seconds at most")]
    fn fill_bucket(&mut self, bucket: usize, size: i64, prob_native: f64, now: i64) -> i64 {
        let aging = 2_f64.powi(self.config.lg_aging.cast_signed() - 30);
        self.buckets[bucket].t_exp += (prob_native * size as f64 / aging) as i64;
        if self.buckets[bucket].t_exp - now > 5_000_000_000 {
            self.buckets[bucket].t_exp = now + 5_000_000_000;
        }
        self.buckets[bucket].t_exp - now
    }

    fn qprotect(&mut self, packet: &Item, qdelay: i64, prob_native: f64) -> bool {
        let bucket = self.pick_bucket(packet.flow, packet.at);
        let ql_score = self.fill_bucket(bucket, packet.size, prob_native, packet.at);
        let critical_ql = self.config.critical_ql.map_or(self.maxth, ns);
        let product = i128::from(critical_ql) * i128::from(ns(self.config.critical_ql_score));
        qdelay > critical_ql && i128::from(qdelay) * i128::from(ql_score) > product
    }
}

impl Oracle for Annexes {
    fn enqueue(&mut self, mut packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        if !matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) {
            self.qc.push_back(packet);
            return Some(Admission::Queued);
        }
        let qdelay = time_ns(on_wire(&self.ql) + packet.size + OVERHEAD);
        let ramp = (qdelay - self.minth) as f64 / (self.maxth - self.minth) as f64;
        let prob_native = if qdelay >= self.maxth { 1.0 } else { ramp.max(0.0) };
        let mut admission = Admission::Queued;
        self.count += prob_native;
        if self.count > 1.0 {
            self.count -= 1.0;
            packet.mark();
            admission = Admission::Marked;
        }
        if self.config.qprotect && self.qprotect(&packet, qdelay, prob_native) {
            self.sanctioned += 1.0;
            self.qc.push_back(packet);
            return Some(admission);
        }
        let config_buffer_size = self.config.ll_buffer.expect("resolved").get().cast_signed();
        if on_wire(&self.ql) >= config_buffer_size - self.config.max_frame.get().cast_signed() {
            lost.push(packet.serial);
            return Some(Admission::DroppedByLimit);
        }
        self.ql.push_back(packet);
        Some(admission)
    }

    fn dequeue(&mut self, _now: i64, _lost: &mut Vec<usize>) -> Option<Item> {
        for (lane, queue) in [&self.ql, &self.qc].into_iter().enumerate() {
            if queue.is_empty() {
                self.deficits[lane] = 0.0;
            }
        }
        let (Some(l), Some(c)) = (self.ql.front(), self.qc.front()) else {
            return self.ql.pop_front().or_else(|| self.qc.pop_front());
        };
        let weight = f64::from(self.config.weight) / 256.0;
        let quantum = self.config.quantum.as_f64();
        let sizes = [(l.size + OVERHEAD) as f64, (c.size + OVERHEAD) as f64];
        while self.deficits[self.turn] < sizes[self.turn] {
            self.turn = 1 - self.turn;
            self.deficits[self.turn] += quantum * [weight, 1.0 - weight][self.turn];
        }
        self.deficits[self.turn] -= sizes[self.turn];
        if self.turn == 0 { self.ql.pop_front() } else { self.qc.pop_front() }
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.classic.interval.as_secs_f64())
    }

    fn waiting(&self) -> (usize, i64) {
        (self.ql.len() + self.qc.len(), bytes(&self.ql) + bytes(&self.qc))
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("sanctioned_packets", self.sanctioned), ("ll_packets", self.ql.len() as f64)]
    }
}

/// Settings under which random traffic is marked, sanctioned and refused. The Classic law stays inactive.
fn settings() -> impl Strategy<Value = DocsisLldConfig> {
    let ramp = (100_u64..8_000, 10_u32..24, 100_u64..3_000);
    let protection = (any::<bool>(), prop::option::of(0_u64..8_000), 0_u64..20_000, 14_u32..24);
    (ramp, protection, 1_u32..256, 256_u64..4_000, prop::option::of(4_000_u64..60_000)).prop_map(
        |((max_th, lg_range, max_frame), (qprotect, ql, score, lg_aging), weight, quantum, buffer)| {
            DocsisLldConfig {
                max_th: Duration::from_micros(max_th),
                lg_range,
                max_frame: Bytes::new(max_frame),
                weight,
                quantum: Bytes::new(quantum),
                ll_buffer: buffer.map(Bytes::new),
                qprotect,
                critical_ql: ql.map(Duration::from_micros),
                critical_ql_score: Duration::from_micros(score),
                lg_aging,
                coupling_factor: 0.0,
                classic: DocsisPieConfig {
                    limit: Some(Limit::Packets(1_000_000)),
                    ..DocsisPieConfig::default()
                },
                ..DocsisLldConfig::default()
            }
        },
    )
}

fn any_ecn() -> impl Strategy<Value = Ecn> + Clone {
    prop_oneof![1 => Just(Ecn::Ce), 4 => Just(Ecn::Ect1), 2 => Just(Ecn::NotEct), 1 => Just(Ecn::Ect0)]
}

fn run(config: &DocsisLldConfig, seed: u64, traffic: &[Operation]) -> Result<Counters, TestCaseError> {
    let config = config.resolve(&slow_link())?;
    let rng = Stream::named(seed, "queue");
    let queue = Box::new(DocsisLld::new(&config, &slow_link(), rng.clone()));
    compare(queue, Annexes::new(&config, rng), traffic)
}

proptest! {
    #[test]
    fn each_packet_has_the_fate_of_rfc_9957(config in settings(), seed: u64, traffic in traffic_with(any_ecn())) {
        run(&config, seed, &traffic)?;
    }
}

#[test]
fn the_traffic_is_marked_and_refused() {
    let sum = reached((settings(), traffic_with(any_ecn())), |(config, traffic)| run(&config, 1, &traffic));
    assert!(sum.marked > 3_000 && sum.dropped_by_limit > 500, "{sum:?}");
}

#[test]
fn the_ramp_has_the_thresholds_of_the_examples_of_cablelabs() {
    use aqmlab_aqm::LinkContext;
    use aqmlab_units::BitRate;
    let end_us = |max_th| {
        let link = LinkContext { rate: BitRate::from_mbit_per_sec(50), ..slow_link() };
        let config = DocsisLldConfig { max_th: Duration::from_micros(max_th), ..DocsisLldConfig::default() };
        config.resolve(&link).expect("possible").critical_ql.expect("resolved").as_micros()
    };
    // Two frames of 2000 B take 640 us, and the ramp 524 us.
    assert_eq!((end_us(1_000), end_us(2_000)), (1_164, 2_000));
}
