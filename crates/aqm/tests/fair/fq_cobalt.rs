//! FQ-COBALT: CAKE's hash, scheduler and law, transcribed, and what its options change.

use aqmlab_aqm::{CobaltConfig, Counters, Discipline, Ecn, FqCobaltConfig, Limit, QueueConfig, Sqrt};
use aqmlab_units::{Bytes, Duration, Prob, Stream};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::link;
use crate::common::oracle::{Item, Queue, compare, hashed, reached};
use crate::common::traffic::{Operation, traffic};
use crate::rfc8290::{FlowLaw, Room, Rules, Scheduler, any_through_old};
use crate::rig::{Rig, jain};

/// COBALT as `sch_cake.c` has it, in nanoseconds; BLUE may act on delay as in ns-3.
struct Cobalt {
    config: FqCobaltConfig,
    rng: Stream,
    count: i64,
    gap: i64,
    dropping: bool,
    drop_next: i64,
    blue_timer: i64,
    p_drop: f64,
}

fn ns(span: Duration) -> i64 {
    span.as_nanos().cast_signed()
}

impl Cobalt {
    fn new(config: &FqCobaltConfig, rng: Stream) -> Cobalt {
        Cobalt {
            config: config.clone(),
            rng,
            count: 0,
            gap: ns(config.cobalt.interval),
            dropping: false,
            drop_next: 0,
            blue_timer: 0,
            p_drop: 0.0,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "shorter than the interval")]
    fn recount(&mut self, step: i64) {
        self.count += step;
        self.gap = (self.config.cobalt.interval.as_secs_f64() / (self.count.max(1) as f64).sqrt() * 1e9)
            .round() as i64;
        self.drop_next += self.gap;
    }

    fn blue(&mut self, step: f64, now: i64) {
        if now - self.blue_timer > ns(self.config.cobalt.target) {
            self.p_drop = (self.p_drop + step).clamp(0.0, 1.0);
            self.blue_timer = now;
        }
    }

    /// Decide on this packet, which may have been marked: `(is_dropped, by_blue)`.
    fn should_drop(&mut self, packet: &mut Item, now: i64) -> (bool, bool) {
        let sojourn = now - packet.at;
        // 100 Mbit/s: 80 ns for each byte.
        let mtu_time = 80 * self.config.cobalt.mtu.get().cast_signed();
        let over_target = sojourn > ns(self.config.cobalt.target) && sojourn > 4 * mtu_time;
        let schedule = now - self.drop_next;
        let mut schedule_left = schedule;
        let next_due = self.count > 0 && schedule >= 0;
        let mut drop = false;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.gap;
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if next_due && self.dropping {
            if packet.capable() {
                packet.mark();
            } else {
                drop = true;
            }
            self.recount(1);
            schedule_left = now - self.drop_next;
        } else if next_due {
            while self.count > 0 && now >= self.drop_next {
                self.recount(-1);
            }
            schedule_left = now - self.drop_next;
        }
        if self.config.cobalt.blue_on_delay && sojourn > ns(self.config.cobalt.blue_threshold) {
            self.blue(self.config.cobalt.p_inc.get(), now);
        }
        let blue = self.p_drop > 0.0 && (self.p_drop >= 1.0 || self.rng.uniform() < self.p_drop);
        drop |= blue;
        if self.count == 0 {
            self.drop_next = now + ns(self.config.cobalt.interval);
        } else if schedule_left > 0 && !drop {
            self.drop_next = now;
        }
        (drop, blue)
    }
}

impl FlowLaw for Cobalt {
    fn dequeue(&mut self, queue: &mut Queue, _others: i64, now: i64, lost: &mut Vec<usize>) -> Option<Item> {
        while let Some(mut packet) = queue.pop_front() {
            let unmarked = packet;
            let (drop, blue) = self.should_drop(&mut packet, now);
            if !drop {
                return Some(packet);
            }
            if self.config.spare_last && queue.is_empty() {
                // Here a packet that BLUE would have dropped leaves without a mark.
                return Some(if blue { unmarked } else { packet });
            }
            lost.push(packet.serial);
        }
        if self.p_drop > 0.0 {
            self.blue(-self.config.cobalt.p_dec.get(), now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.recount(-1);
        }
        None
    }

    fn evicted(&mut self, now: i64) {
        self.blue(self.config.cobalt.p_inc.get(), now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }
}

/// Few queues, small buffers and an impatient COBALT in each.
fn settings() -> impl Strategy<Value = FqCobaltConfig> {
    let limit = prop_oneof![
        (1_u32..60).prop_map(Limit::Packets),
        Just(Limit::Packets(10_240)),
        (1_u64..60_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    let codel = (0_u64..2000, 100_u64..20_000, prop_oneof![Just(0_u64), 0_u64..200]);
    let blue = (0.0..0.3, 0.0..0.1, any::<bool>(), 0_u64..10_000);
    (codel, blue, 1_u32..6, 64_u64..4000, any_through_old(), any::<bool>(), limit).prop_map(
        |(
            (target, interval, mtu),
            (p_inc, p_dec, blue_on_delay, threshold),
            sets,
            quantum,
            through_old,
            spare,
            limit,
        )| {
            FqCobaltConfig {
                flows: 8 * sets,
                quantum: Bytes::new(quantum),
                through_old,
                spare_last: spare,
                cobalt: CobaltConfig {
                    target: Duration::from_micros(target),
                    interval: Duration::from_micros(interval),
                    mtu: Bytes::new(mtu),
                    sqrt: Sqrt::Exact,
                    p_inc: Prob::clamped(p_inc),
                    p_dec: Prob::clamped(p_dec),
                    blue_on_delay,
                    blue_threshold: Duration::from_micros(threshold),
                    limit,
                    ..CobaltConfig::default()
                },
            }
        },
    )
}

fn run(config: &FqCobaltConfig, seed: u64, traffic: &[Operation]) -> Result<Counters, TestCaseError> {
    let config = config.resolve(&link())?;
    let rng = Stream::named(seed, "queue");
    let rules = Rules {
        flows: config.flows,
        associative: true,
        quantum: config.quantum.get().cast_signed(),
        limit: config.cobalt.limit,
        room: Room::One,
        through_old: config.through_old,
    };
    let oracle = Scheduler::new(rules, rng.clone(), |rng| Cobalt::new(&config, rng));
    compare(QueueConfig::FqCobalt(config.clone()).queue(&link(), rng), oracle, traffic)
}

proptest! {
    #[test]
    fn fq_cobalt_hashes_schedules_and_signals_as_cake_does(
        config in settings(),
        seed: u64,
        traffic in traffic(),
    ) {
        run(&config, seed, &traffic)?;
    }
}

#[test]
fn the_traffic_makes_fq_cobalt_mark_drop_and_push_out() {
    let sum = reached((settings(), traffic()), |(config, traffic)| run(&config, 1, &traffic));
    assert!(sum.marked > 300 && sum.dropped_at_dequeue > 300 && sum.evicted > 1000, "{sum:?}");
}

#[test]
fn flows_that_a_plain_hash_would_join_have_queues_of_their_own() {
    // Eight flows that the hash points to one queue, and one that it points elsewhere.
    let flows = 1024;
    let secret = Stream::named(1, "queue").next_u64();
    let queue = hashed(secret, 0, flows);
    let mut same: Vec<u32> =
        (0..100_000).filter(|&flow| hashed(secret, flow, flows) == queue).take(8).collect();
    let distinct =
        (0..100_000).find(|&flow| hashed(secret, flow, flows) / 8 != queue / 8).expect("most of them");
    same.push(distinct);
    let shares = |discipline: Value| {
        let mut rig = Rig::new(discipline);
        for _ in 0..9_000 {
            for &flow in &same {
                while rig.waiting(flow) < 10 {
                    rig.arrive(flow, 1500, Ecn::NotEct);
                }
            }
            rig.send();
        }
        jain(same.iter().map(|flow| rig.sent[flow].1 as f64))
    };
    let (associative, plain) = (shares(json!({"fq_cobalt": {}})), shares(json!({"fq_codel": {}})));
    assert!(associative > 0.98, "nine equal shares: {associative}");
    assert!(plain < 0.5, "one half for the ninth, a sixteenth for each other: {plain}");
}

#[test]
fn a_queues_last_packet_is_spared_unless_told_otherwise() {
    let lost = |spare_last: bool| {
        let options = json!({"spare_last": spare_last, "target": "1 ms", "interval": "5 ms", "mtu": "0 B"});
        let mut rig = Rig::new(json!({ "fq_cobalt": options }));
        // A hundred flows with a packet each: each packet waits 12 ms and is the last of its queue.
        for _ in 0..10_000 {
            rig.top_up(0..100, 1, |_| 1500);
            rig.send();
        }
        rig.queue.counters().dropped_at_dequeue
    };
    assert_eq!(lost(true), 0);
    assert!(lost(false) > 100);
}

#[test]
fn blue_in_an_unresponsive_flows_queue_relieves_the_buffer() {
    let evicted = |p_inc: f64| {
        let mut rig = Rig::new(json!({"fq_cobalt": {"p_inc": p_inc, "limit": "200 packets"}}));
        for _ in 0..40_000 {
            (0..2).for_each(|_| {
                rig.arrive(0, 1500, Ecn::Ect0);
            });
            rig.send();
        }
        let counters = rig.queue.counters();
        (counters.evicted, counters.dropped_at_dequeue)
    };
    let ((with, blue), (without, none)) = (evicted(1.0 / 256.0), evicted(0.0));
    assert!(blue > 10_000 && with < without / 2, "BLUE drops {blue}, the buffer {with} instead of {without}");
    assert_eq!(none, 0, "without BLUE every signal is a mark");
}
