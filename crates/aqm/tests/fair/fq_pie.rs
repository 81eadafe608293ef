//! FQ-PIE: RFC 8290's scheduler with RFC 8033's law in each queue, and what its options change.

use aqmlab_aqm::{Counters, Discipline, Ecn, FqPieConfig, Half, Limit, NoRoom, PieConfig, QueueConfig};
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};
use proptest::prelude::*;
use serde_json::json;

use crate::closed_loop::{self, Sender};
use crate::common::link;
use crate::common::oracle::{Item, Queue, bytes, compare, reached};
use crate::common::traffic::{Operation, traffic};
use crate::rfc8290::{FlowLaw, Room, Rules, Scheduler, any_through_old};
use crate::rig::{Rig, config};

/// RFC 8033, appendix A, with marks, derandomisation and the cap of section 5; delays are seconds.
struct Pie {
    config: FqPieConfig,
    rng: Stream,
    qdelay: f64,
    qdelay_old: f64,
    drop_prob: f64,
    accu_prob: f64,
    /// Nanoseconds.
    burst_allowance: i64,
}

impl Pie {
    fn new(config: &FqPieConfig, rng: Stream) -> Pie {
        let burst_allowance = config.pie.max_burst.as_nanos().cast_signed();
        let config = config.clone();
        Pie { config, rng, qdelay: 0.0, qdelay_old: 0.0, drop_prob: 0.0, accu_prob: 0.0, burst_allowance }
    }

    fn reference(&self) -> f64 {
        self.config.pie.qdelay_ref.as_secs_f64()
    }

    fn drop_early(&mut self, queue: &Queue) -> bool {
        let half = self.reference() / 2.0;
        if self.qdelay_old < half && self.drop_prob < 0.2 {
            return false;
        }
        if bytes(queue) <= 2 * self.config.pie.mean_packet.get().cast_signed() {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.config.pie.derandomize {
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        self.drop_prob > 0.0 && (self.drop_prob >= 1.0 || self.rng.uniform() < self.drop_prob)
    }
}

impl FlowLaw for Pie {
    fn enqueue(&mut self, packet: &mut Item, queue: &Queue) -> bool {
        let half = self.reference() / 2.0;
        if self.drop_prob == 0.0 && self.qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.config.pie.max_burst.as_nanos().cast_signed();
        }
        if self.burst_allowance > 0 || !self.drop_early(queue) {
            return true;
        }
        self.accu_prob = 0.0;
        if self.drop_prob < self.config.pie.mark_ecnth.get() && packet.capable() {
            packet.mark();
            return true;
        }
        false
    }

    fn dequeue(&mut self, queue: &mut Queue, _others: i64, now: i64, _lost: &mut Vec<usize>) -> Option<Item> {
        let packet = queue.pop_front()?;
        self.qdelay = if queue.is_empty() { 0.0 } else { (now - packet.at) as f64 * 1e-9 };
        Some(packet)
    }

    fn evicted(&mut self, _now: i64) {
        self.accu_prob = 0.0;
    }

    fn period(&self) -> Option<f64> {
        Some(self.config.pie.t_update.as_secs_f64())
    }

    fn tick(&mut self, _queue: &Queue, _now: i64) {
        let PieConfig { alpha, beta, cap, .. } = self.config.pie;
        let mut p = alpha * (self.qdelay - self.reference()) + beta * (self.qdelay - self.qdelay_old);
        let steps = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        if let Some((_, divisor)) = steps.iter().find(|(below, _)| self.drop_prob < *below) {
            p /= divisor;
        }
        if cap && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.qdelay;
        self.burst_allowance =
            (self.burst_allowance - self.config.pie.t_update.as_nanos().cast_signed()).max(0);
    }
}

/// Few queues, small buffers and an impatient PIE in each.
fn settings() -> impl Strategy<Value = FqPieConfig> {
    let limit = prop_oneof![
        (1_u32..60).prop_map(Limit::Packets),
        Just(Limit::Packets(10_240)),
        (1_u64..60_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    let no_room = prop::sample::select(NoRoom::ALL);
    let pie = (0_u64..2000, 100_u64..3000, 0.1..400.0, 0.1..400.0, 0_u64..5000, 0.0..1.0);
    (pie, 1_u32..64, 64_u64..4000, (no_room, 1_u32..10), (any::<[bool; 2]>(), any_through_old()), limit)
        .prop_map(
            |(
                (qdelay_ref, t_update, alpha, beta, max_burst, ecnth),
                flows,
                quantum,
                no_room,
                flags,
                limit,
            )| {
                FqPieConfig {
                    flows,
                    quantum: Bytes::new(quantum),
                    no_room: no_room.0,
                    drop_batch: no_room.1,
                    through_old: flags.1,
                    pie: PieConfig {
                        qdelay_ref: Duration::from_micros(qdelay_ref),
                        t_update: Duration::from_micros(t_update),
                        alpha,
                        beta,
                        max_burst: Duration::from_micros(max_burst),
                        mark_ecnth: Prob::clamped(ecnth),
                        derandomize: flags.0[0],
                        cap: flags.0[1],
                        mean_packet: Bytes::new(300),
                        limit,
                        ..FqPieConfig::default().pie
                    },
                }
            },
        )
}

fn run(config: &FqPieConfig, seed: u64, traffic: &[Operation]) -> Result<Counters, TestCaseError> {
    let config = config.resolve(&link())?;
    let rng = Stream::named(seed, "queue");
    let rules = Rules {
        flows: config.flows,
        associative: false,
        quantum: config.quantum.get().cast_signed(),
        limit: config.pie.limit,
        room: match config.no_room {
            NoRoom::Arrival => Room::Refuse,
            NoRoom::Fattest => Room::Half(Half::Bytes, config.drop_batch as usize),
        },
        through_old: config.through_old,
    };
    let oracle = Scheduler::new(rules, rng.clone(), |rng| Pie::new(&config, rng));
    compare(QueueConfig::FqPie(config.clone()).queue(&link(), rng), oracle, traffic)
}

proptest! {
    #[test]
    fn fq_pie_schedules_and_signals_as_its_rfcs_do(config in settings(), seed: u64, traffic in traffic()) {
        run(&config, seed, &traffic)?;
    }
}

#[test]
fn the_traffic_makes_fq_pie_mark_drop_refuse_and_push_out() {
    let sum = reached((settings(), traffic()), |(config, traffic)| run(&config, 1, &traffic));
    let dropped = sum.dropped_early + sum.dropped_forced;
    assert!(sum.marked > 100 && dropped > 300 && sum.dropped_by_limit > 200 && sum.evicted > 100, "{sum:?}");
}

#[test]
fn all_queues_are_updated_at_the_same_instants() {
    let mut queue =
        config(json!({"fq_pie": {"t_update": "15 ms"}})).queue(&link(), Stream::named(1, "queue"));
    for update in 1..100 {
        let due = queue.poll_timeout().expect("PIE samples");
        assert_eq!(due, Time::from_nanos(15_000_000 * update));
        queue.on_timeout(due);
    }
}

#[test]
fn overflow_drops_the_arrival_or_from_the_fattest_flow() {
    let lost = |no_room: &str| {
        // So long a burst is let through that PIE says nothing.
        let options = json!({"no_room": no_room, "limit": "100 packets", "max_burst": "1 h"});
        let mut rig = Rig::new(json!({ "fq_pie": options }));
        for slot in 0..4000 {
            (0..3).for_each(|_| {
                rig.arrive(0, 1500, Ecn::NotEct);
            });
            if slot % 4 == 0 {
                rig.arrive(1, 100, Ecn::NotEct);
            }
            rig.send();
        }
        rig.lost(1)
    };
    assert!(lost("arrival") > 500, "the one that fills the buffer takes the others' room");
    assert_eq!(lost("fattest"), 0);
}

#[test]
fn bulk_flows_stay_at_the_reference_and_a_sparse_one_near_0() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut queue = config(json!({"fq_pie": {}})).queue(&link(), Stream::named(1, "queue"));
        let senders = [Sender::Reno(ecn), Sender::Reno(ecn), Sender::Blind(ecn, 20)];
        let results = closed_loop::run(&mut *queue, &senders, Duration::from_millis(20), (20.0, 60.0));
        for sender in &results[..2] {
            let delay = sender.mean_delay_ms();
            assert!((delay - 15.0).abs() < 5.0, "{ecn:?}: {delay} ms");
        }
        assert!(results[2].mean_delay_ms() < 0.5, "{ecn:?}: {} ms", results[2].mean_delay_ms());
        assert_eq!(results[2].lost + results[2].marked, 0);
    }
}
