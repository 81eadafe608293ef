//! Links whose rate changes.

use crate::*;

/// Datagrams of 1,462 bytes, 1,500 with their frames, at 2 Mbit/s over an ideal link of 10 Mbit/s that becomes another.
fn changing(changes: &Value, seconds: u32) -> Value {
    json!({
        "link": {"rate": "10 Mbit/s", "delay": "0 ms", "device_fifo": 0, "rate_changes": changes},
        "queue": {"droptail": {"limit": 10_000}},
        "users": {"per_side": 0},
        "sources": [{"datagrams": {"rate": "2 Mbit/s", "packet": "1462 B", "spread": "0 s"}}],
        "protocol": {"warmup": "0 s", "duration": format!("{seconds} s")},
        "record": {"link_every": "1 s"},
    })
}

/// Packets sent in direction 0, second by second.
fn sent(run: &Run) -> Vec<u64> {
    let table = &run.tables.link;
    table
        .packets
        .iter()
        .zip(&table.direction)
        .filter(|&(_, &d)| d == 0)
        .map(|(&packets, _)| packets)
        .collect()
}

#[test]
fn a_link_carries_its_rate_of_the_time() {
    // 166.7 packets each second of a link of 2 Mbit/s, 83.3 of one of 1 Mbit/s, 171 are offered.
    let changes = json!([{"at": "4 s", "rate": "1 Mbit/s"}, {"at": "8 s", "rate": "2 Mbit/s"}, {"at": "12 s", "rate": "20 Mbit/s"}]);
    let run = Run::to_the_end(&changing(&changes, 16), 1);
    let sent = sent(&run);
    assert!(sent[..4].iter().all(|&packets| packets == 171 || packets == 170), "{sent:?}");
    assert!(sent[4..8].iter().all(|&packets| packets == 83 || packets == 84), "{sent:?}");
    assert!(sent[8..12].iter().all(|&packets| packets == 166 || packets == 167), "{sent:?}");
    assert!(sent[12] > 400 && sent[15] == 171, "{sent:?}");
    let offered: u64 = sent.iter().sum();
    // Of 10 + 1 + 2 + 20 Mbit/s, each for four seconds, in one of two directions.
    let expected = offered as f64 * 12_000.0 / (4.0 * 33e6) / 2.0;
    assert!((run.summary.utilisation / expected - 1.0).abs() < 1e-9, "{}", run.summary.utilisation);
}

#[test]
fn a_busy_link_is_fully_used_whatever_its_rates() {
    let changes = json!([{"at": "5 s", "rate": "500 kbit/s"}, {"at": "10 s", "rate": "1.5 Mbit/s"}]);
    let mut spec = changing(&changes, 20);
    spec["link"]["rate"] = "1 Mbit/s".into();
    let run = Run::to_the_end(&spec, 1);
    // The other direction is idle.
    assert!((2.0 * run.summary.utilisation - 1.0).abs() < 2e-3, "{}", run.summary.utilisation);
}

#[test]
fn future_rate_changes_change_nothing_under_any_discipline() {
    for (name, queue) in disciplines() {
        let mut spec = congested(&queue);
        spec["protocol"]["duration"] = json!("5 s");
        let plain = Run::to_the_end(&spec, 1);
        for at in ["5 s", "1 h"] {
            spec["link"]["rate_changes"] = json!([{"at": at, "rate": "1 Gbit/s"}]);
            assert!(format!("{plain:?}") == format!("{:?}", Run::to_the_end(&spec, 1)), "{name}, {at}");
        }
    }
}

#[test]
fn each_link_of_a_chain_changes_its_rate_alone() {
    let mut spec = changing(&json!([]), 8);
    put_in_series(&mut spec, &json!([{}, {"rate_changes": [{"at": "4 s", "rate": "1 Mbit/s"}]}]));
    let run = Run::to_the_end(&spec, 1);
    let [first, _, second, _] = &run.summary.directions[..] else { panic!("two links") };
    assert!(first.arrived.abs_diff(8 * 171) < 4 && second.arrived == run.summary.counters[0].sent);
    let sent = run.summary.counters[2].sent;
    assert!(sent.abs_diff(4 * 171 + 4 * 83) < 6, "{sent}");
}

#[test]
fn such_a_run_cannot_be_explained() {
    let spec = read(&changing(&json!([{"at": "4 s", "rate": "1 Mbit/s"}]), 8));
    let refusal = build(&spec, 1, None, Watch::Explain(&[], aqmlab_sim::TimelineRequest::default()))
        .err()
        .expect("a refusal");
    let refusal = refusal.to_string();
    let reason = "such a run cannot be explained: explanations know of links of constant rates";
    assert_eq!(refusal, format!("link.rate_changes: {reason}"));
}
