//! Calls and games: their traffic over links, and what their receivers make of it.

use super::*;

/// Sources alone on a link of 1 Mbit/s with 5 ms of propagation, for a minute after ten seconds.
fn only(sources: &Value) -> Value {
    json!({
        "link": {"rate": "1 Mbit/s", "delay": "5 ms", "device_fifo": 0},
        "queue": {"droptail": {"limit": 100}},
        "users": {"per_side": 0},
        "sources": sources,
        "protocol": {"warmup": "10 s", "duration": "60 s"},
    })
}

fn call(more: &Value) -> Value {
    let mut call = json!({"flows": 1, "codec": "g711", "rtt": {"fixed": "40 ms"}});
    call.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    json!([{ "call": call }])
}

#[test]
fn a_call_on_an_idle_link_has_the_delay_of_its_parts() {
    let run = Run::to_the_end(&only(&call(&json!({"buffer": {"fixed": "30 ms"}}))), 1);
    let source = &run.summary.sources[0];
    let calls = source.calls.expect("it makes calls");
    // A frame of 20 ms and no look-ahead; 238 bytes on the wire, 5 ms of propagation and 20 ms beyond; the buffer.
    let expected = 20.0 + 238.0 * 8.0 / 1e3 + 5.0 + 20.0 + 30.0;
    assert!((calls.mouth_to_ear_ms_mean.expect("heard") - expected).abs() < 1e-6, "{calls:?}");
    assert_eq!((calls.missing_percent, calls.discarded_percent), (Some(0.0), Some(0.0)));
    // G.107: R of 93.2 at no delay, and 0.024 a millisecond below 177 ms in the fit of Cole and Rosenbluth.
    assert!((calls.r_mean.expect("heard") - (93.2 - 0.024 * expected)).abs() < 0.9, "{calls:?}");
    let datagrams = source.datagrams.expect("it sends datagrams");
    assert_eq!(datagrams.sent, 2 * 60 * 50);
    assert!((datagrams.delay_ms_max.expect("arrived") - (expected - 50.0)).abs() < 1e-6);
}

#[test]
fn a_call_behind_a_full_queue_is_heard_late_and_in_pieces() {
    // 1.2 Mbit/s of datagrams keep the queue of direction 0 full: one packet in six is lost there.
    let mut sources = call(&json!({"buffer": "adaptive"}));
    let flood = json!({"datagrams": {"rate": "1.2 Mbit/s", "packet": "462 B", "jitter": 0.5}});
    sources.as_array_mut().expect("a list").push(flood);
    let run = Run::to_the_end(&only(&sources), 1);
    let calls = run.summary.sources[0].calls.expect("it makes calls");
    let datagrams = run.summary.sources[0].datagrams.expect("it sends datagrams");
    let lost = datagrams.loss_percent.expect("sent");
    assert!(lost > 2.0 && calls.missing_percent.expect("heard") >= lost - 0.1, "{calls:?}, lost {lost} %");
    // The other direction is idle: the scores of the two listeners are far apart.
    assert!(calls.mos_min.expect("heard") < 1.5 && calls.mos_mean.expect("heard") > 2.5, "{calls:?}");
}

#[test]
fn updates_are_late_by_the_bound_and_by_the_path() {
    let late = |late_after: &str| {
        let game = json!([{"game": {"flows": 3, "rtt": {"fixed": "60 ms"}, "late_after": late_after}}]);
        let run = Run::to_the_end(&only(&game), 1);
        run.summary.sources[0].games.expect("it is a game")
    };
    // 30 ms beyond the link, 5 ms of propagation, and at least 0.6 ms for the smallest packet.
    assert_eq!(late("35 ms").late_percent, Some(100.0));
    let quality = late("45 ms");
    assert!(quality.late_percent.expect("sent") < 0.1 && quality.late_percent_max.expect("sent") < 0.2);
}

#[test]
fn calls_and_games_are_the_same_under_every_discipline() {
    let sent = |queue: Value| {
        let mut spec = only(&json!([{"call": {"flows": 5}}, {"game": {"flows": 5}}]));
        spec["queue"] = queue;
        let sources = Run::to_the_end(&spec, 3).summary.sources;
        sources.iter().map(|source| source.packets.packets_sent).collect::<Vec<u64>>()
    };
    assert_eq!(sent(json!({"droptail": {"limit": 2}})), sent(json!({"fq_codel": {}})));
}
