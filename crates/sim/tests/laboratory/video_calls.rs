//! Video calls in cases of RFC 8867, which has their settings, and no numbers for what is to happen.

use aqmlab_units::Time;

use super::*;

/// Calls over paths of 50 ms one way and a FIFO of 300 ms at `kbps`, which changes: sections 4.3 and 5.
fn case(kbps: u64, changes: &Value, calls: &Value, seconds: u64) -> Value {
    json!({
        "link": {
            "rate": format!("{kbps} kbit/s"), "delay": "0 ms", "overhead": "0 B", "device_fifo": 0,
            "rate_changes": changes,
        },
        "queue": {"droptail": {"limit": format!("{} B", kbps * 300 / 8)}},
        "users": {"per_side": 0},
        "sources": calls,
        "protocol": {"warmup": "0 s", "duration": format!("{seconds} s")},
        "record": {"link_every": "1 s"},
    })
}

fn call(name: &str, more: &Value) -> Value {
    let mut table = json!({"name": name, "flows": 1, "spread": "0 s", "rtt": {"fixed": "100 ms"}});
    table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    json!({ "video_call": table })
}

/// The mean Mbit/s in direction 0 between these seconds.
fn mbps(run: &Run, from: usize, to: usize) -> f64 {
    let table = &run.tables.link;
    let bytes = table.bytes.iter().zip(&table.direction).filter(|&(_, &direction)| direction == 0);
    let bytes: Vec<u64> = bytes.map(|(&bytes, _)| bytes).collect();
    8e-6 * bytes[from..to].iter().sum::<u64>() as f64 / (to - from) as f64
}

#[test]
fn a_call_follows_a_capacity_that_changes() {
    // Section 5.1: 1 Mbit/s, then 2.5, 0.6 and 1 again.
    let changes = json!([{"at": "40 s", "rate": "2.5 Mbit/s"}, {"at": "60 s", "rate": "0.6 Mbit/s"}, {"at": "80 s", "rate": "1 Mbit/s"}]);
    let run = Run::to_the_end(&case(1_000, &changes, &json!([call("call", &json!({}))]), 100), 1);
    for (from, to, capacity) in [(20, 40, 1.0), (45, 60, 1.5), (70, 80, 0.6), (90, 100, 1.0)] {
        let share = mbps(&run, from, to) / capacity;
        assert!((0.8..1.001).contains(&share), "{from} to {to} s: {share} of {capacity} Mbit/s");
    }
    let source = &run.summary.sources[0];
    let quality = source.video_calls.expect("it calls");
    assert!(known(source.packets.loss_percent) < 2.0 && known(quality.frozen_percent) < 5.0, "{quality:?}");
}

#[test]
fn marks_reach_the_rate_control_and_reports_are_not_marked() {
    let run = |ecn: &str| {
        let mut spec = case(1_000, &json!([]), &json!([call("call", &json!({"ecn": ecn}))]), 60);
        spec["queue"] = json!({"fq_codel": {}});
        spec["protocol"]["warmup"] = json!("10 s");
        Run::to_the_end(&spec, 1).summary
    };
    let (dropping, marking) = (run("not-ect"), run("ect0"));
    assert_eq!(dropping.mark_percent, Some(0.0));
    // What is dropped with marks are reports, which are not ECN-capable.
    assert!(known(marking.mark_percent) > 0.1 && known(marking.loss_percent) < 1.0, "{marking:?}");
    let missing =
        |summary: &Summary| known(summary.sources[0].video_calls.expect("it calls").missing_percent);
    assert!(missing(&marking) <= 0.0 && missing(&dropping) < 5.0);
}

#[test]
fn a_call_bears_with_copies_reordering_and_loss_on_the_wire() {
    let mut spec = case(3_000, &json!([]), &json!([call("call", &json!({"flows": 2}))]), 30);
    let link = spec["link"].as_object_mut().expect("a table");
    link.insert("duplicate".to_owned(), json!(0.02));
    link.insert("loss".to_owned(), json!(0.002));
    link.insert("reorder".to_owned(), json!({"probability": 0.02, "delay": "3 ms"}));
    let run = Run::to_the_end(&spec, 1);
    let quality = run.summary.sources[0].video_calls.expect("it calls");
    assert!(known(quality.missing_percent) < 1.0 && known(quality.frozen_percent) < 5.0, "{quality:?}");
}

#[test]
fn looking_at_a_call_changes_nothing() {
    let changes = json!([{"at": "10 s", "rate": "0.4 Mbit/s"}]);
    let spec = case(1_000, &changes, &json!([call("call", &json!({"flows": 2}))]), 20);
    let plain = Run::to_the_end(&spec, 1).summary;
    let mut watched = prepare(&spec, 1);
    for step in 1..=200 {
        watched.advance(Time::from_secs_f64(0.1 * f64::from(step)));
        watched.summary();
    }
    let json = |summary: &Summary| serde_json::to_value(summary).expect("a summary has a JSON form");
    assert_eq!(json(&plain), json(&watched.summary()));
}

#[test]
fn a_burst_of_more_packets_than_tags_arrives_whole() {
    // A key frame of 12 MB in packets of 160 bytes of data begins the call: 75,000 packets at once.
    let huge = json!({"key_frame": "12 MB", "packet": "200 B", "burst": true, "max_rate": "100 Mbit/s", "min_rate": "50 Mbit/s"});
    let mut spec = case(1_000_000, &json!([]), &json!([call("call", &huge)]), 3);
    spec["queue"] = json!({"droptail": {"limit": "1 GB"}});
    spec["sources"][0]["video_call"]["interface"] = json!("100 Gbit/s");
    let source = &Run::to_the_end(&spec, 1).summary.sources[0];
    let quality = source.video_calls.expect("it calls");
    assert_eq!((source.packets.packets_lost, quality.missing_percent), (0, Some(0.0)), "{quality:?}");
}
