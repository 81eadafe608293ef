//! Hosts with a TCP of today.

use crate::*;

fn linux(queue: &Value) -> Value {
    let mut spec = congested(queue);
    spec["tcp"] = json!({"profile": "linux-6"});
    spec
}

#[test]
fn a_modern_stack_browses_under_every_discipline() {
    for (name, queue) in disciplines() {
        // The engine itself checks that every packet is accounted for.
        let run = Run::to_the_end(&linux(&queue), 1);
        assert!(run.summary.completed_requests > 1_000, "{name}: {:?}", run.summary);
    }
}

#[test]
fn every_congestion_control_fills_a_link_that_it_has_to_itself() {
    let cases = [
        ("reno", "off"),
        ("cubic", "off"),
        ("bbr", "off"),
        ("ledbat", "off"),
        ("dctcp", "dctcp"),
        ("prague", "accurate"),
    ];
    for (congestion, ecn) in cases {
        let mut spec = linux(&json!({"droptail": {"limit": 100}}));
        if ecn != "off" {
            spec["queue"] = json!({"threshold": {"threshold": 30, "limit": 100}});
        }
        spec["tcp"] = json!({"profile": "linux-6", "congestion": congestion, "ecn": ecn});
        spec["users"]["per_side"] = 0.into();
        spec["link"] = json!({"rate": "20 Mbit/s", "device_fifo": 0});
        spec["sources"] = json!([{"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}}]);
        spec["protocol"]["warmup"] = "10 s".into();
        let goodput = Run::to_the_end(&spec, 1).summary.sources[0].goodput_mbps;
        // 1,448 bytes of data take 1,538 on the wire.
        assert!(goodput > 0.9 * 20.0 * 1448.0 / 1538.0, "{congestion}: {goodput} Mbit/s");
    }
}

#[test]
fn stacks_of_today_and_of_2001_meet() {
    let mut spec = congested(&law("pi"));
    spec["tcp"] = json!({"mix": [{"share": 0.5, "profile": "linux-6"}]});
    let run = Run::to_the_end(&spec, 1);
    assert!(run.summary.completed_requests > 1_000 && run.summary.aborted_requests < 20, "{:?}", run.summary);
}

#[test]
fn over_a_short_queue_timestamps_do_not_add_losses() {
    for congestion in ["reno", "cubic"] {
        let loss = |timestamps: bool| {
            let mut spec = linux(&json!({"droptail": {"limit": 20}}));
            spec["tcp"] = json!({"profile": "linux-6", "congestion": congestion, "timestamps": timestamps});
            spec["users"]["per_side"] = 0.into();
            spec["link"] = json!({"rate": "10 Mbit/s", "device_fifo": 0});
            spec["sources"] = json!([{"bulk": {"flows": 1, "rtt": {"fixed": "20 ms"}}}]);
            spec["protocol"] = json!({"warmup": "10 s", "duration": "50 s"});
            known(Run::to_the_end(&spec, 1).summary.loss_percent)
        };
        let (with, without) = (loss(true), loss(false));
        // A window of 37 segments loses one each time that it has grown by half: some 0.1 % of them.
        assert!(with < 0.5 && without < 0.5, "{congestion}: {with} % with, {without} % without");
    }
}

/// Sources over 10 Mbit/s under drop-tail, with room for 300 ms; the one called `background` has LEDBAT.
fn beside_ledbat(sources: &Value, warmup: &str) -> Run {
    beside_ledbat_at("100 ms", sources, warmup)
}

/// The same with a target of its own.
fn beside_ledbat_at(target: &str, sources: &Value, warmup: &str) -> Run {
    let mut spec = linux(&json!({"droptail": {"limit": 250}}));
    let ledbat =
        json!({"share": 1.0, "source": "background", "congestion": "ledbat", "ledbat_target": target});
    spec["tcp"] = json!({"profile": "linux-6", "congestion": "reno", "mix": [ledbat]});
    spec["users"]["per_side"] = 0.into();
    spec["link"] = json!({"rate": "10 Mbit/s", "device_fifo": 0});
    spec["sources"] = sources.clone();
    spec["protocol"] = json!({"warmup": warmup, "duration": "60 s"});
    Run::to_the_end(&spec, 1)
}

/// Goodput of 10 Mbit/s: 1,448 bytes in a frame of 1,538.
const FULL_MBPS: f64 = 10.0 * 1448.0 / 1538.0;

/// Mean queue of the downloads' direction, in milliseconds of 1,538 bytes at 10 Mbit/s.
fn mean_wait_ms(run: &Run) -> f64 {
    let queue = &run.tables.queue;
    let samples = || queue.packets.iter().zip(&queue.direction).filter(|&(_, &direction)| direction == 1);
    samples().map(|(&packets, _)| 1.2304 * f64::from(packets)).sum::<f64>() / samples().count() as f64
}

#[test]
fn rfc_6817_2_4_1_lone_ledbat_fills_the_link_at_its_target() {
    let bulk = json!([{"bulk": {"name": "background", "flows": 1, "rtt": {"fixed": "100 ms"}}}]);
    for target_ms in [60_u32, 100] {
        let run = beside_ledbat_at(&format!("{target_ms} ms"), &bulk, "60 s");
        let goodput = run.summary.sources[0].goodput_mbps;
        assert!(goodput > 0.99 * FULL_MBPS, "{goodput} Mbit/s");
        let wait = mean_wait_ms(&run);
        assert!((wait / f64::from(target_ms) - 1.0).abs() < 0.05, "{wait} ms");
        assert!(run.summary.counters.iter().all(|link| link.dropped() == 0));
    }
}

#[test]
fn ledbat_makes_way_for_newreno_rfc_6817_section_4_2() {
    let sources = json!([
        {"bulk": {"name": "background", "flows": 1, "rtt": {"fixed": "100 ms"}}},
        {"bulk": {"flows": 1, "rtt": {"fixed": "100 ms"}, "start": "30 s"}},
    ]);
    let run = beside_ledbat(&sources, "60 s");
    let [background, newreno] = [0, 1].map(|number| run.summary.sources[number].goodput_mbps);
    let share = background / (background + newreno);
    assert!(share < 0.05, "it keeps {share} of the link");
}

#[test]
fn rfc_6817_3_1_a_reverse_queue_does_not_slow_ledbat() {
    // NewReno's uploads keep that queue above 100 ms.
    let sources = json!([
        {"bulk": {"name": "background", "flows": 1, "rtt": {"fixed": "100 ms"}}},
        {"bulk": {"flows": 2, "side": 1, "rtt": {"fixed": "100 ms"}, "start": "20 s"}},
    ]);
    let run = beside_ledbat(&sources, "200 s");
    let goodput = run.summary.sources[0].goodput_mbps;
    assert!(goodput > 0.9 * FULL_MBPS, "{goodput} Mbit/s");
}
