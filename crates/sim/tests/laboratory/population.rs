//! A closed population: the same users under every queue, and fewer exchanges the longer they wait.

use std::collections::BTreeMap;

use super::*;

/// Three hours of one user on each side at a bad link.
fn lonely(queue: &Value, seed: u64) -> Run {
    let spec = json!({
        "link": {"rate": "1 Mbit/s", "device_fifo": 0},
        "queue": queue,
        "users": {"per_side": 1},
        "protocol": {"warmup": "0 s", "duration": "3 h"},
        "record": {"exchanges": true},
    });
    let run = Run::to_the_end(&spec, seed);
    let Summary { aborted_requests, completed_requests, .. } = run.summary;
    let loss_percent = known(run.summary.loss_percent);
    assert!(loss_percent > 0.5, "{loss_percent}: the queue must make a difference");
    assert!(aborted_requests == 0 && completed_requests > 1_000);
    run
}

/// The number of completed exchanges of the user on `side`, by sizes.
fn exchanges(run: &Run, side: u8) -> BTreeMap<(u32, u32), u32> {
    let rows = &run.tables.exchanges;
    let mut counts = BTreeMap::new();
    for row in (0..rows.side.len()).filter(|&row| rows.side[row] == side) {
        *counts.entry((rows.request_bytes[row], rows.response_bytes[row])).or_default() += 1;
    }
    counts
}

#[test]
fn the_queue_changes_the_pace_of_exchanges_but_not_which() {
    let drop_tail = json!({"droptail": {"limit": 3}});
    let pi = json!({"pi": {"q_ref": 2, "a": 0.002, "b": 0.0019}});
    for seed in 1..=4 {
        let runs = [&drop_tail, &pi].map(|queue| lonely(queue, seed));
        assert_ne!(runs[0].tables.exchanges.response_time_ms, runs[1].tables.exchanges.response_time_ms);
        for side in 0..2 {
            let [one, two] = [0, 1].map(|run| exchanges(&runs[run], side));
            let one_is_behind = one.values().sum::<u32>() < two.values().sum();
            let (behind, ahead) = if one_is_behind { (one, two) } else { (two, one) };
            let only_behind = behind.iter().find(|(sizes, count)| ahead.get(sizes) < Some(count));
            assert_eq!(only_behind, None, "seed {seed}, side {side}: who is ahead has not made it");
        }
    }
}

#[test]
fn users_of_one_side_do_the_same_without_the_other_side() {
    // Nothing is lost and no queue is long: users of one side do not affect the requests of the other.
    let run = |sides| {
        Run::to_the_end(
            &json!({
                "link": {"rate": "1 Gbit/s"},
                "users": {"per_side": 50, "sides": sides},
                "protocol": {"warmup": "0 s", "duration": "10 min"},
                "record": {"exchanges": true},
            }),
            1,
        )
    };
    let (both, one) = (run(2), run(1));
    let (here, across) = (exchanges(&one, 0), exchanges(&one, 1));
    assert!(across.is_empty(), "the other side has no users");
    assert_eq!(here, exchanges(&both, 0));
    // Their data come in direction 1, what they send is requests and acknowledgements.
    let [forth, back] = [0, 1].map(|direction: usize| one.summary.directions[direction].throughput_mbps);
    assert!(back > 5.0 * forth && forth > 0.0, "{forth} Mbit/s forth, {back} Mbit/s back");
    assert_eq!(one.summary.completed_requests, one.tables.exchanges.side.len() as u64);
}

/// Users who think for exactly 5 s between pages of one object each.
fn thinkers(per_side: u32, queue: &Value) -> Value {
    let mut spec = in_full(&json!({
        "link": {"rate": "2 Mbit/s", "device_fifo": 16},
        "queue": queue,
        "users": {"per_side": per_side},
        "protocol": {"warmup": "2 min", "duration": "10 min"},
    }));
    let workload = &mut spec["users"]["workload"];
    workload["think_seconds"]["nodes"] = json!([[0, 5], [0.5, 5]]);
    workload["embedded_per_page"] = json!({"min": 0, "probabilities": [1]});
    workload["top_level_bytes"]["nodes"] = json!([[0, 300], [0.5, 3_000], [0.9, 10_000]]);
    spec
}

#[test]
fn completions_follow_the_interactive_response_time_law() {
    for (per_side, name) in [(100, "droptail"), (300, "droptail"), (300, "pi"), (300, "rem")] {
        let summary = Run::to_the_end(&thinkers(per_side, &law(name)), 1).summary;
        // X = N / (Z + R)
        let cycle = 5.0 + 1e-3 * known(summary.response_time_ms.mean);
        let expected = 600.0 * 2.0 * f64::from(per_side) / cycle;
        let ratio = summary.completed_requests as f64 / expected;
        // Exact over whole cycles; the ends of the window cut about 1 % of them, and what the first end takes the
        // other mostly gives back.
        assert!((ratio - 1.0).abs() < 0.002, "{per_side} users a side under {name}: {ratio} of the law");
        assert_eq!(summary.aborted_requests, 0);
    }
}
