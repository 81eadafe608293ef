//! Sojourn times at the queues, where arithmetic gives them.

use aqmlab_sim::ClassSummary;

use super::*;

/// Datagrams of 500 bytes on the wire, twice as many as links of 10 Mbit/s carry, for a second.
fn burst(name: &str, side: u8) -> Value {
    json!({"datagrams": {
        "name": name, "rate": "18.48 Mbit/s", "packet": "462 B", "side": side, "spread": "0 s", "stop": "1 s",
    }})
}

/// One comes every 0.2 ms and is sent in 0.4 ms: number n waits n times the difference.
const EACH_WAITS_LONGER_BY_MS: f64 = 0.2;
const DATAGRAMS: f64 = 5_000.0;

fn only_sources(sources: &[Value], device_fifo: u32, queue: &Value) -> Value {
    json!({
        "link": {"rate": "10 Mbit/s", "delay": "0.5 ms", "device_fifo": device_fifo},
        "queue": queue,
        "users": {"per_side": 0},
        "sources": sources,
        "protocol": {"warmup": "0 s", "duration": "10 s"},
    })
}

fn near(value: Option<f64>, expected: f64, within: f64) {
    let value = known(value);
    assert!((value / expected - 1.0).abs() < within, "{value}, not {expected}");
}

#[test]
fn a_bursts_sojourn_times_match_arithmetic_on_every_link() {
    let never = json!({"codel": {"target": "1 h", "interval": "1 h", "limit": "1000000 packets"}});
    for queue in [json!({"droptail": {"limit": "1000000 packets"}}), never] {
        for device_fifo in [0, 1, 16] {
            let run = Run::to_the_end(&only_sources(&[burst("one", 0)], device_fifo, &queue), 1);
            let delay = run.summary.directions[0].queue_delay_ms;
            let longest = EACH_WAITS_LONGER_BY_MS * (DATAGRAMS - 1.0);
            near(delay.mean, longest / 2.0, 1e-9);
            near(delay.p50, longest / 2.0, 0.016);
            near(delay.p99, longest * 0.99, 0.016);
            near(delay.p999, longest * 0.999, 0.016);
            // Nothing went the other way.
            assert_eq!(run.summary.directions[1].queue_delay_ms.mean, None);
            assert_eq!(run.summary.directions[1].queue_delay_ms.p50, None);
            let text_of = |delay: QueueDelayMs| format!("{delay:?}");
            let source = run.summary.sources[0].packets;
            assert_eq!(text_of(run.summary.queue_delay_ms), text_of(delay));
            assert_eq!(text_of(source.queue_delay_ms), text_of(delay));
            assert_eq!(
                source.queue_delay_ms_each_way.map(text_of),
                [0, 1].map(|n| text_of(run.summary.directions[n].queue_delay_ms))
            );
            // On its way a datagram waits, is sent in 0.4 ms and travels for 0.5 ms.
            let took = run.summary.sources[0].datagrams.expect("it sends datagrams");
            near(took.delay_ms_mean, known(delay.mean) + 0.9, 1e-3);
        }
    }
}

#[test]
fn each_owner_has_the_waits_of_its_own_packets() {
    let queue = json!({"droptail": {"limit": "1000000 packets"}});
    let mut spec = only_sources(&[burst("there", 0), burst("back", 1)], 0, &queue);
    spec["sources"][1]["datagrams"]["stop"] = "0.5 s".into();
    let summary = Run::to_the_end(&spec, 1).summary;
    for (source, direction) in summary.sources.iter().zip(&summary.directions) {
        let packets = source.packets;
        assert_eq!(format!("{:?}", packets.queue_delay_ms), format!("{:?}", direction.queue_delay_ms));
        let its_way = packets.queue_delay_ms_each_way[direction.direction];
        assert_eq!(its_way.mean, direction.queue_delay_ms.mean);
        assert_eq!(packets.queue_delay_ms_each_way[1 - direction.direction].mean, None);
    }
    // A third of the packets wait half as long.
    let [there, back] = [0, 1].map(|n| known(summary.directions[n].queue_delay_ms.mean));
    near(summary.queue_delay_ms.mean, (2.0 * there + back) / 3.0, 1e-9);
    assert!(back < 0.51 * there, "{back} {there}");
}

#[test]
fn the_waits_at_the_links_of_a_chain_add_up_to_the_way() {
    let queue = json!({"droptail": {"limit": "1000000 packets"}});
    let mut spec = only_sources(&[burst("one", 0)], 0, &queue);
    put_in_series(&mut spec, &json!([{"rate": "15 Mbit/s"}, {"rate": "100 Mbit/s"}, {}]));
    let summary = Run::to_the_end(&spec, 1).summary;
    let waits: Vec<f64> = [0, 2, 4].map(|n| known(summary.directions[n].queue_delay_ms.mean)).into();
    assert!(waits[0] > 100.0 && waits[1] == 0.0 && waits[2] > 100.0, "{waits:?}");
    let way = 4000.0 / 15e3 + 4000.0 / 100e3 + 0.4 + 3.0 * 0.5;
    let took = summary.sources[0].datagrams.expect("it sends datagrams");
    near(took.delay_ms_mean, waits.iter().sum::<f64>() + way, 1e-3);
    // At any of its queues.
    near(summary.sources[0].packets.queue_delay_ms.mean, waits.iter().sum::<f64>() / 3.0, 1e-9);
}

#[test]
fn classes_share_out_the_packets_sent_and_their_waits() {
    let mut spec = congested(&json!({"dualpi2": {}}));
    spec["link"] = json!({"rate": "10 Mbit/s", "device_fifo": 0});
    spec["protocol"] = json!({"warmup": "5 s", "duration": "30 s"});
    spec["tcp"] = json!({
        "profile": "linux-6",
        "mix": [{"source": "scalable", "share": 1.0, "congestion": "prague", "ecn": "accurate"}],
    });
    spec["sources"] =
        json!([{"bulk": {"flows": 2, "name": "scalable"}}, {"bulk": {"flows": 2, "name": "classic"}}]);
    let Run { summary, tables, .. } = Run::to_the_end(&spec, 1);
    for direction in &summary.directions {
        let [l4s, classic] = &direction.classes[..] else { panic!("two classes") };
        assert_eq!((l4s.name, classic.name), ("L4S", "Classic"));
        let rows = tables.link.packets.iter().zip(&tables.link.direction);
        let sent: u64 =
            rows.filter(|(_, there)| usize::from(**there) == direction.direction).map(|(sent, _)| sent).sum();
        assert_eq!(l4s.packets + classic.packets, sent);
        let total = |class: &ClassSummary| class.packets as f64 * class.queue_delay_ms.mean.unwrap_or(0.0);
        near(direction.queue_delay_ms.mean, (total(l4s) + total(classic)) / sent as f64, 1e-9);
    }
    let [l4s, classic] = &summary.classes[..] else { panic!("two classes") };
    for (number, class) in [l4s, classic].into_iter().enumerate() {
        let packets = summary.directions.iter().map(|direction| direction.classes[number].packets);
        assert_eq!(class.packets, packets.sum::<u64>());
    }
    // Data come along direction 1, and what the second queue is for shows there.
    let [l4s, classic] = &summary.directions[1].classes[..] else { panic!("two classes") };
    assert!(l4s.packets > 100 && classic.packets > 100);
    assert!(known(l4s.queue_delay_ms.mean) < known(classic.queue_delay_ms.mean) / 2.0, "{l4s:?} {classic:?}");
    // Under other disciplines there are none.
    spec["queue"] = json!({"fq_codel": {}});
    let summary = Run::to_the_end(&spec, 1).summary;
    assert!(
        summary.classes.is_empty() && summary.directions.iter().all(|direction| direction.classes.is_empty())
    );
}

#[test]
fn a_run_in_which_nothing_was_sent_has_no_delays() {
    let mut spec = only_sources(&[burst("one", 0)], 0, &json!({"droptail": {}}));
    spec["protocol"]["warmup"] = "20 s".into();
    let summary = Run::to_the_end(&spec, 1).summary;
    let source = &summary.sources[0];
    let took = source.datagrams.expect("it sends datagrams");
    let nothing = [
        summary.loss_percent,
        summary.packet_bytes_mean,
        summary.queue_delay_ms.mean,
        summary.queue_delay_ms.p999,
        summary.directions[0].loss_percent,
        source.packets.loss_percent,
        source.packets.queue_delay_ms.p50,
        source.response_time_ms.p50,
        source.response_time_ms_max,
        took.loss_percent,
        took.delay_ms_mean,
        took.delay_ms_p99,
        took.delay_ms_max,
        took.delay_ms_sd,
    ];
    assert_eq!(nothing, [None; 14]);
    // The queue was looked at, and was empty.
    assert_eq!((summary.queue_packets_mean, summary.queue_packets_p99), (Some(0.0), Some(0)));
    assert_eq!((summary.directions[0].arrived, source.goodput_mbps), (0, 0.0));
}
