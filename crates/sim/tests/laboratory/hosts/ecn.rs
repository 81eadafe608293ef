//! With ECN a law signals by marks, and what it marks is not lost.

use aqmlab_aqm::{EcnUse, catalogue};
use aqmlab_sim::PacketCounts;

use crate::*;

fn run(queue: &Value, ecn: impl Into<Value>) -> Run {
    let mut spec = congested(queue);
    // No more than the link carries: behind a queue of seconds hosts time out with nothing lost, and give ECN up.
    spec["users"]["per_side"] = json!(180);
    spec["tcp"] = json!({"ecn": ecn.into()});
    spec["protocol"]["duration"] = json!("3 min");
    Run::to_the_end(&spec, 1)
}

fn sum(column: &[u16]) -> u64 {
    column.iter().copied().map(u64::from).sum()
}

#[test]
fn under_pi_ecn_capable_data_are_marked_and_never_lost() {
    for q_ref in [5, 24] {
        let queue = json!({"pi": {"q_ref": q_ref}});
        let [without, with] = [false, true].map(|ecn| run(&queue, ecn));
        let exchanges = &with.tables.exchanges;
        let marked = known(with.summary.mark_percent);
        assert!(marked > 0.5, "{marked} %");
        assert!(sum(&exchanges.ecn_reductions) > 100, "senders heed the marks");
        // Three duplicate acknowledgements tell of lost data.
        assert_eq!(sum(&exchanges.fast_retransmits), 0);
        assert!(with.summary.counters.iter().all(|link| link.dropped_by_limit == 0));
        assert!(sum(&without.tables.exchanges.fast_retransmits) > 100);
        assert!(without.summary.counters.iter().all(|link| link.marked == 0));
        assert_eq!(sum(&without.tables.exchanges.ecn_reductions), 0);
        // What is not ECN-capable, SYNs and bare acknowledgements, is still dropped.
        assert!(with.summary.counters.iter().all(|link| link.dropped_early > 0));
    }
}

/// The discipline `name` with `noecn`.
fn without_ecn(name: &str) -> Value {
    json!({name: {"noecn": true}})
}

#[test]
fn hosts_with_ecn_behind_noecn_are_hosts_without_ecn() {
    let run = |queue: &Value, ecn: bool| {
        let mut spec = congested(queue);
        spec["tcp"] = json!({"ecn": ecn});
        spec["protocol"] = json!({"warmup": "5 s", "duration": "30 s"});
        Run::to_the_end(&spec, 1)
    };
    let mut lost = 0;
    for entry in catalogue().iter().filter(|entry| entry.ecn == EcnUse::Marks) {
        let with = run(&without_ecn(entry.name), true);
        let without = run(&json!({entry.name: {}}), false);
        assert_eq!(format!("{:?}", with.summary), format!("{:?}", without.summary), "{}", entry.name);
        assert!(with.summary.counters.iter().all(|link| link.marked == 0), "{}", entry.name);
        lost += with.summary.counters.iter().map(PacketCounts::dropped).sum::<u64>();
    }
    assert!(lost > 1_000, "{lost}");
}

#[test]
fn noecn_is_of_one_link_of_a_chain_and_of_one_direction() {
    let marked = |chain: Value| {
        let mut spec = congested(&law("pi"));
        spec["tcp"] = json!({"ecn": true});
        put_in_series(&mut spec, &chain);
        let run = Run::to_the_end(&spec, 1);
        run.summary.counters.iter().map(|link| link.marked > 0).collect::<Vec<bool>>()
    };
    let noecn = without_ecn("pi");
    assert_eq!(marked(json!([{}])), [true, true]);
    // The queue of the spec is that of the second link.
    assert_eq!(marked(json!([{"queue": noecn}, {}]))[..2], [false, false]);
    assert_eq!(marked(json!([{"queue_back": noecn}])), [true, false]);
}

#[test]
fn drop_tail_marks_nothing() {
    let with = run(&law("droptail"), true);
    assert!(known(with.summary.loss_percent) > 0.5);
    assert!(with.summary.counters.iter().all(|link| link.marked == 0));
}

/// With ECN+ a SYN/ACK is lost no more. Kuzmanovic (2005): that is what ECN costs short transfers.
#[test]
fn under_pi_ecn_plus_marks_the_syn_acks_that_ecn_drops() {
    let queue = json!({"pi": {"q_ref": 5}});
    let syns_again = |ecn: &str| {
        let run = run(&queue, ecn);
        assert!(sum(&run.tables.exchanges.ecn_reductions) > 100, "{ecn}: senders heed the marks");
        assert_eq!(sum(&run.tables.exchanges.fast_retransmits), 0, "{ecn}");
        sum(&run.tables.exchanges.syn_retransmits)
    };
    let plain = syns_again("rfc3168");
    for ecn in ["ecn+", "ecn+/wait", "ecn++"] {
        let plus = syns_again(ecn);
        assert!(plus < plain, "{ecn}: {plus} SYNs and SYN/ACKs were sent again, {plain} with RFC 3168");
    }
}

#[test]
fn under_pi_almost_nothing_is_lost_if_all_packets_are_ect() {
    let run = run(&json!({"pi": {"q_ref": 5}}), "accurate++");
    let marked: u64 = run.summary.counters.iter().map(|link| link.marked).sum();
    let dropped: u64 = run.summary.counters.iter().map(|link| link.dropped_early).sum();
    assert_eq!(dropped, 0, "besides {marked} marks");
    assert!(marked > 1000, "{marked}");
    assert_eq!(sum(&run.tables.exchanges.timeouts), 0);
}

/// Hosts of `linux-6` with values of their own.
fn linux(values: &Value) -> Value {
    let mut tcp = json!({"profile": "linux-6"});
    tcp.as_object_mut().expect("a table").extend(values.as_object().expect("a table").clone());
    tcp
}

#[test]
fn many_marked_flows_keep_their_minimum_windows_in_the_queue() {
    let flows: u32 = 80;
    let queue_ms = |min_window: u8| {
        let spec = json!({
            "link": {"rate": "10 Mbit/s", "device_fifo": 0, "overhead": "0 B"},
            "queue": {"codel": {}},
            "tcp": linux(&json!({"ecn": true, "min_window": min_window})),
            "users": {"per_side": 0},
            "sources": [{"bulk": {"flows": flows, "rtt": {"fixed": "39 ms"}}}],
            "protocol": {"warmup": "10 s", "duration": "20 s"},
        });
        let run = Run::to_the_end(&spec, 1);
        let link = &run.summary.counters[1];
        assert!(link.marked > 1_000 && link.dropped() < link.marked / 100, "{link:?}");
        let queue = &run.tables.queue;
        let waiting = queue.bytes.iter().zip(&queue.direction).filter(|&(_, &direction)| direction == 1);
        let bytes: Vec<f64> = waiting.map(|(&bytes, _)| bytes as f64).collect();
        bytes.iter().sum::<f64>() / bytes.len() as f64 * 8.0 / 10e3
    };
    for min_window in [1, 2] {
        // This many segments of 1,500 bytes each, less what 40 ms of the path hold.
        let in_queues = f64::from(flows * u32::from(min_window)) * 1.2 - 40.0;
        let waited = queue_ms(min_window);
        let share = waited / in_queues;
        assert!((0.8..1.2).contains(&share), "{waited} ms with {in_queues} ms of segments");
    }
}

#[test]
fn low_latency_goodput_under_overload_ignores_delayed_acks() {
    let goodput = |values: Value| {
        let spec = json!({
            "link": {"rate": "100 Mbit/s", "device_fifo": 0, "overhead": "0 B"},
            "queue": {"dualpi2": {}},
            "tcp": linux(&values),
            "users": {"per_side": 0},
            "sources": [
                {"bulk": {"flows": 1, "rtt": {"fixed": "1 ms"}}},
                {"datagrams": {"rate": "100 Mbit/s", "side": 1}},
            ],
            "protocol": {"warmup": "10 s", "duration": "20 s"},
        });
        Run::to_the_end(&spec, 1).summary.sources[0].goodput_mbps
    };
    let prague = json!({"ecn": "accurate", "congestion": "prague"});
    let [two, prompt, one] = [json!({}), json!({"ack_every": 1}), json!({"min_window": 1})].map(|change| {
        let mut values = prague.clone();
        values.as_object_mut().expect("a table").extend(change.as_object().expect("a table").clone());
        goodput(values)
    });
    assert!(two > 0.8 * prompt, "{two} Mbit/s, and {prompt} with every segment acknowledged");
    assert!(one < 0.7 * two, "{one} Mbit/s with a window of one segment");
}
