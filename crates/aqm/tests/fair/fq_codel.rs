//! FQ-CoDel: RFC 8290's scheduler with RFC 8289's loop in each queue, and what its options change.

use aqmlab_aqm::{Backlog, CodelConfig, Counters, Discipline, Ecn, FqCodelConfig, Half, Limit, QueueConfig};
use aqmlab_units::{Bytes, Duration, Stream};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::link;
use crate::common::oracle::{Item, Queue, bytes, compare, reached};
use crate::common::traffic::{Operation, traffic};
use crate::rfc8290::{FlowLaw, Room, Rules, Scheduler, any_through_old};
use crate::rig::Rig;

/// RFC 8289, section 5, in nanoseconds; what can be marked is marked, which ends the call, as in Linux.
struct Codel {
    config: FqCodelConfig,
    first_above_time: Option<i64>,
    drop_next: i64,
    count: i64,
    lastcount: i64,
    dropping: bool,
}

impl Codel {
    fn new(config: &FqCodelConfig) -> Codel {
        let config = config.clone();
        Codel { config, first_above_time: None, drop_next: 0, count: 0, lastcount: 0, dropping: false }
    }

    fn interval(&self) -> i64 {
        self.config.codel.interval.as_nanos().cast_signed()
    }

    #[expect(clippy::cast_possible_truncation, reason = "shorter than the interval")]
    fn control_law(&self, t: i64) -> i64 {
        t + (self.config.codel.interval.as_secs_f64() / (self.count as f64).sqrt() * 1e9).round() as i64
    }

    fn dodequeue(&mut self, queue: &mut Queue, others: i64, now: i64) -> (Option<Item>, bool) {
        let Some(packet) = queue.pop_front() else {
            self.first_above_time = None;
            return (None, false);
        };
        let backlog = bytes(queue) + if self.config.backlog == Backlog::All { others } else { 0 };
        let small = backlog <= self.config.codel.mtu.get().cast_signed();
        if now - packet.at < self.config.codel.target.as_nanos().cast_signed() || small {
            self.first_above_time = None;
            return (Some(packet), false);
        }
        let interval = self.interval();
        let first_above_time = *self.first_above_time.get_or_insert(now + interval);
        (Some(packet), now >= first_above_time)
    }
}

impl FlowLaw for Codel {
    fn dequeue(&mut self, queue: &mut Queue, others: i64, now: i64, lost: &mut Vec<usize>) -> Option<Item> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(queue, others, now);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let mut signalled = packet.expect("ok to drop");
                if signalled.ecn != Ecn::NotEct {
                    signalled.mark();
                    self.drop_next = self.control_law(self.drop_next);
                    return Some(signalled);
                }
                lost.push(signalled.serial);
                (packet, ok_to_drop) = self.dodequeue(queue, others, now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                }
                self.dropping = ok_to_drop;
            }
        } else if ok_to_drop {
            let mut signalled = packet.expect("ok to drop");
            if signalled.ecn == Ecn::NotEct {
                lost.push(signalled.serial);
                (packet, _) = self.dodequeue(queue, others, now);
            } else {
                signalled.mark();
                packet = Some(signalled);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            let lately = now - self.drop_next < 16 * self.interval();
            self.count = if delta > 1 && lately { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        if packet.is_none() {
            self.dropping = false;
        }
        packet
    }

    fn evicted(&mut self, _now: i64) {
        if self.config.count_evicted {
            self.count += 1;
        }
    }
}

/// Few queues, small buffers and an impatient CoDel in each.
fn settings() -> impl Strategy<Value = FqCodelConfig> {
    let limit = prop_oneof![
        (1_u32..60).prop_map(Limit::Packets),
        Just(Limit::Packets(10_240)),
        (1_u64..60_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    let half = prop::sample::select(Half::ALL);
    let backlog = prop::sample::select(Backlog::ALL);
    let codel = (0_u64..2000, 100_u64..20_000, 0_u64..3000, backlog);
    (codel, 1_u32..64, 64_u64..4000, (half, 1_u32..10), (any::<bool>(), any_through_old()), limit).prop_map(
        |((target, interval, mtu, backlog), flows, quantum, (drop_half, drop_batch), flags, limit)| {
            FqCodelConfig {
                memory_limit: None,
                flows,
                quantum: Bytes::new(quantum),
                backlog,
                drop_half,
                drop_batch,
                count_evicted: flags.0,
                through_old: flags.1,
                codel: CodelConfig {
                    target: Duration::from_micros(target),
                    interval: Duration::from_micros(interval),
                    mtu: Bytes::new(mtu),
                    limit,
                    ..FqCodelConfig::default().codel
                },
            }
        },
    )
}

fn fq_codel(options: &Value) -> Value {
    json!({ "fq_codel": options })
}

fn oracle(config: &FqCodelConfig, rng: Stream) -> Scheduler<Codel> {
    let rules = Rules {
        flows: config.flows,
        associative: false,
        quantum: config.quantum.get().cast_signed(),
        limit: config.codel.limit,
        room: Room::Half(config.drop_half, config.drop_batch as usize),
        through_old: config.through_old,
    };
    Scheduler::new(rules, rng, |_| Codel::new(config))
}

fn run(config: &FqCodelConfig, seed: u64, traffic: &[Operation]) -> Result<Counters, TestCaseError> {
    let config = config.resolve(&link())?;
    let rng = Stream::named(seed, "queue");
    let queue = QueueConfig::FqCodel(config.clone()).queue(&link(), rng.clone());
    compare(queue, oracle(&config, rng), traffic)
}

proptest! {
    #[test]
    fn fq_codel_schedules_and_signals_as_the_rfcs_do(config in settings(), seed: u64, traffic in traffic()) {
        run(&config, seed, &traffic)?;
    }
}

#[test]
fn the_traffic_makes_fq_codel_mark_drop_and_push_out() {
    let sum = reached((settings(), traffic()), |(config, traffic)| run(&config, 1, &traffic));
    assert!(sum.marked > 500 && sum.dropped_at_dequeue > 200 && sum.evicted > 1000, "{sum:?}");
}

#[test]
fn over_limit_the_fattest_queue_loses_half_its_packets_or_bytes() {
    let evicted = |options: &Value| {
        let mut rig = Rig::new(fq_codel(options));
        // The first half of the fattest queue's packets are small.
        (0..40).for_each(|n| {
            rig.arrive(0, if n < 20 { 100 } else { 1500 }, Ecn::NotEct);
        });
        (0..20).for_each(|_| {
            rig.arrive(1, 1500, Ecn::NotEct);
        });
        assert_eq!(rig.lost(0), 0);
        rig.arrive(2, 40, Ecn::NotEct);
        assert_eq!((rig.lost(1), rig.lost(2)), (0, 0));
        rig.lost(0)
    };
    let limit = "60 packets";
    assert_eq!(evicted(&json!({"limit": limit})), 20);
    assert_eq!(evicted(&json!({"limit": limit, "drop_half": "bytes"})), 30, "twenty of 100 B, ten of 1500 B");
    assert_eq!(evicted(&json!({"limit": limit, "drop_batch": 7})), 7);
    assert_eq!(evicted(&json!({"limit": limit, "drop_half": "bytes", "drop_batch": 7})), 7);
}

#[test]
fn an_emptied_new_queue_passes_through_the_old_list() {
    let order = |through_old: &str| {
        let mut rig = Rig::new(fq_codel(&json!({"through_old": through_old})));
        for flow in [1, 2, 2, 2] {
            rig.arrive(flow, 100, Ecn::NotEct);
        }
        let mut order = vec![rig.send(), rig.send()];
        // The queue of flow 1 was empty at its turn, while none was old.
        for flow in [1, 3] {
            rig.arrive(flow, 100, Ecn::NotEct);
        }
        order.extend(std::iter::repeat_with(|| rig.send()).take(4));
        order.into_iter().map(|sent| sent.expect("six packets wait").flow).collect::<Vec<_>>()
    };
    assert_eq!(order("always"), [1, 2, 2, 2, 3, 1]);
    assert_eq!(order("if_any"), [1, 2, 2, 2, 1, 3]);
    assert_eq!(order("never"), [1, 2, 2, 2, 1, 3]);
}

#[test]
fn one_packet_flows_are_signalled_only_if_total_backlog_counts() {
    let signalled = |backlog: &str| {
        let mut rig = Rig::new(fq_codel(&json!({"backlog": backlog, "flows": 65_536})));
        // A hundred packets of 123 us each: each waits 12 ms.
        for _ in 0..10_000 {
            rig.top_up(0..100, 1, |_| 1500);
            rig.send();
        }
        rig.queue.counters().dropped_at_dequeue
    };
    assert_eq!(signalled("flow"), 0);
    assert!(signalled("all") > 100);
}

#[test]
fn what_is_pushed_out_hastens_codel_if_it_counts() {
    let dropped = |count_evicted: bool| {
        let options = json!({"count_evicted": count_evicted, "limit": "200 packets"});
        let mut rig = Rig::new(fq_codel(&options));
        for _ in 0..5_000 {
            (0..2).for_each(|_| {
                rig.arrive(0, 1500, Ecn::NotEct);
            });
            rig.send();
        }
        rig.queue.counters().dropped_at_dequeue
    };
    assert!(dropped(true) > 2 * dropped(false));
}
