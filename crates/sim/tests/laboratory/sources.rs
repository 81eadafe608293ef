//! Traffic beside web users.

use super::*;

/// Sources alone on a link of 10 Mbit/s with 50 packets of buffer, for a minute.
fn only_sources(sources: &Value) -> Value {
    json!({
        "link": {"rate": "10 Mbit/s", "device_fifo": 0},
        "queue": {"droptail": {"limit": 50}},
        "tcp": {"receive_window": 65535},
        "users": {"per_side": 0},
        "sources": sources,
        "protocol": {"warmup": "0 s", "duration": "60 s"},
        "record": {"exchanges": true},
    })
}

/// One transfer: a response of `bytes` over a path of 40 ms.
fn transfer(bytes: u64) -> Value {
    json!([{"trace": {
        "start_seconds": [1], "side": [0], "request_bytes": [300], "response_bytes": [bytes], "rtt_ms": [40]
    }}])
}

#[test]
fn long_transfers_fill_the_link_in_either_direction() {
    for direction in ["upload", "download"] {
        let mut spec =
            only_sources(&json!([{"bulk": {"flows": 4, "direction": direction, "rtt": {"fixed": "40 ms"}}}]));
        spec["protocol"]["warmup"] = "10 s".into();
        let run = Run::to_the_end(&spec, 1);
        let source = &run.summary.sources[0];
        // 1,460 bytes of data take 1,538 on the wire.
        let most = 10.0 * 1460.0 / 1538.0;
        assert!((0.97 * most..=most).contains(&source.goodput_mbps), "{} Mbit/s", source.goodput_mbps);
        let busy = usize::from(direction == "download");
        assert!(run.summary.counters[busy].sent > run.summary.counters[1 - busy].sent / 2);
        assert!(
            run.summary.counters[busy].dropped_by_limit > 0 && run.summary.counters[1 - busy].dropped() == 0
        );
    }
}

#[test]
fn a_transfer_takes_what_arithmetic_gives() {
    // SYN, SYN/ACK, request and response cross an idle link of 10 Mbit/s with 0.5 ms each way and 38 bytes of overhead;
    // the 40 ms are added to what the client sends.
    let run = Run::to_the_end(&only_sources(&transfer(1_000)), 1);
    let wire = |bytes: u32| f64::from(bytes + 40 + 38) * 8.0 / 10e3;
    let (handshake, request, response) = (2.0 * wire(0), wire(300), wire(1_000));
    let expected = 2.0 * 40.0 + 4.0 * 0.5 + handshake + request + response;
    let took = run.tables.exchanges.response_time_ms[0];
    // The request follows the handshake's last acknowledgement, and the response the request's own.
    assert!((took - expected - 2.0 * wire(0)).abs() < 1e-3, "{took} ms instead of {expected} ms");
    assert_eq!(run.tables.exchanges.source, [1]);
}

#[test]
fn transfers_of_more_than_tcp_takes_at_once_arrive_whole() {
    let bytes = (1 << 29) + 12_345;
    let mut spec = only_sources(&transfer(bytes));
    spec["link"] = json!({"rate": "10 Gbit/s"});
    spec["hosts"] = json!({"rate": "10 Gbit/s"});
    spec["sources"][0]["trace"]["rtt_ms"] = json!([1]);
    let run = Run::to_the_end(&spec, 1);
    assert_eq!(run.summary.sources[0].completed, 1);
    let delivered = run.summary.sources[0].goodput_mbps * 60e6 / 8.0;
    assert!((delivered - (bytes + 300) as f64).abs() < 1.0, "{delivered} bytes");
    assert_eq!(run.tables.exchanges.response_bytes, [u32::try_from(bytes).expect("fits")]);
}

#[test]
fn each_flow_sends_no_faster_than_its_hosts_interface() {
    // 1,460 bytes of data take 1,538 on a wire.
    let most = 3.0 * 1460.0 / 1538.0;
    for direction in ["upload", "download"] {
        for flows in [1, 2] {
            let bulk = json!({"flows": flows, "direction": direction, "interface": "3 Mbit/s", "rtt": {"fixed": "10 ms"}});
            let mut spec = only_sources(&json!([{ "bulk": bulk }]));
            spec["protocol"]["warmup"] = "10 s".into();
            let run = Run::to_the_end(&spec, 1);
            let a_flow = run.summary.sources[0].goodput_mbps / f64::from(flows);
            assert!(
                (0.99 * most..=1.001 * most).contains(&a_flow),
                "{flows} {direction}: {a_flow} Mbit/s each"
            );
            assert_eq!(run.summary.loss_percent, Some(0.0));
        }
    }
}

#[test]
fn a_transfer_has_its_applications_rate_from_the_change_on() {
    let stacks = [
        json!({"receive_window": 65535}),
        json!({"profile": "linux-6"}),
        json!({"profile": "linux-6", "congestion": "bbr", "send_buffer": 0}),
        json!({"profile": "quic"}),
    ];
    for (tcp, direction) in stacks.iter().flat_map(|tcp| [(tcp, "upload"), (tcp, "download")]) {
        let bulk = json!({"flows": 2, "direction": direction, "rtt": {"fixed": "40 ms"},
            "rate_changes": [{"at": "20 s", "rate": "1.5 Mbit/s"}, {"at": "80 s"}]});
        let goodput = |warmup: &str, duration: &str| {
            let mut spec = only_sources(&json!([{ "bulk": bulk }]));
            spec["tcp"] = tcp.clone();
            spec["protocol"] = json!({"warmup": warmup, "duration": duration});
            Run::to_the_end(&spec, 1).summary.sources[0].goodput_mbps
        };
        // The window ends a moment after the same fraction of a block as it begins.
        let limited = goodput("25 s", "50 s");
        assert!((limited - 3.0).abs() < 0.01, "{tcp} {direction}: {limited} Mbit/s");
        for others in [goodput("5 s", "15 s"), goodput("85 s", "15 s")] {
            assert!(others > 8.5, "{tcp} {direction}: {others} Mbit/s");
        }
    }
}

#[test]
fn a_change_of_an_application_is_unknown_before_it_comes() {
    let run = |rate_changes: Value| {
        let mut spec = only_sources(&json!([
            {"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}},
            {"transfers": {"rate_per_second": [5, 5], "size": {"fixed": "10 kB"}}},
        ]));
        spec["sources"][0]["bulk"]["rate_changes"] = rate_changes;
        spec["protocol"]["duration"] = "10 s".into();
        format!("{:?}", Run::to_the_end(&spec, 1))
    };
    let plain = run(json!([]));
    assert!(plain == run(json!([{"at": "10.1 s", "rate": "1 Mbit/s"}])), "another run than the plain one");
    assert!(plain != run(json!([{"at": "9 s", "rate": "1 Mbit/s"}])));
}

#[test]
fn a_burst_queues_at_its_host_not_at_a_link_as_fast() {
    let longest = |interface: &str| {
        let bulk = json!({"flows": 1, "direction": "upload", "bytes": "14 kB", "rtt": {"fixed": "40 ms"}});
        let mut spec = only_sources(&json!([{ "bulk": bulk }]));
        spec["sources"][0]["bulk"]["interface"] = interface.into();
        spec["tcp"] = json!({"profile": "linux-6"});
        spec["record"]["queue_every"] = "100 us".into();
        Run::to_the_end(&spec, 1).tables.queue.packets.into_iter().max()
    };
    // Ten segments, behind the acknowledgement that completes the handshake.
    let (at_once, spaced) = (longest("10 Gbit/s"), longest("10 Mbit/s"));
    assert!(at_once >= Some(9) && spaced <= Some(1), "{at_once:?} and {spaced:?} packets");
}

#[test]
fn datagrams_wait_for_the_interface_of_their_flow() {
    // Two packets that jitter brings together are a packet's time at the interface apart at the receiver.
    let datagrams = json!([{"datagrams": {
        "rate": "1 Mbit/s", "packet": "462 B", "jitter": 1, "interface": "1.0823 Mbit/s",
    }}]);
    let run = Run::to_the_end(&only_sources(&datagrams), 1);
    let seen = run.summary.sources[0].datagrams.expect("it sends datagrams");
    // 500 bytes at 10 Mbit/s and 0.5 ms of an idle link, and up to 3.7 ms for the packet before.
    assert!(known(seen.delay_ms_mean) > 1.4 && known(seen.delay_ms_max) < 0.9 + 2.0 * 3.7, "{seen:?}");
    assert_eq!(seen.loss_percent, Some(0.0));
}

#[test]
fn idle_link_datagrams_take_transmission_plus_propagation() {
    let datagrams = json!([{"datagrams": {"rate": "1 Mbit/s", "packet": "462 B", "spread": "0 s"}}]);
    let run = Run::to_the_end(&only_sources(&datagrams), 1);
    let seen = run.summary.sources[0].datagrams.expect("it sends datagrams");
    // One every 3.696 ms from 0 s on, of which the one at 0 s is not after the window's start.
    assert_eq!((seen.sent, seen.loss_percent), (16_233, Some(0.0)));
    // 500 bytes at 10 Mbit/s, and 0.5 ms.
    let mean = known(seen.delay_ms_mean);
    assert!((mean - 0.9).abs() < 2e-3, "{mean} ms");
}

#[test]
fn equal_flows_of_small_datagrams_get_equal_shares_of_the_link() {
    let flow =
        |name| json!({"datagrams": {"name": name, "rate": "4 Mbit/s", "packet": "500 B", "jitter": 0.5}});
    for discipline in ["fq_cobalt", "fq_codel", "fq_pie", "sfq"] {
        let mut spec = only_sources(&json!(["a", "b", "c", "d"].map(flow)));
        spec["queue"] = json!({ discipline: {} });
        let run = Run::to_the_end(&spec, 1);
        let arrived = run.summary.sources.iter().map(|source| {
            let seen = source.datagrams.expect("it sends datagrams");
            seen.sent as f64 * (1.0 - known(seen.loss_percent) / 100.0)
        });
        let arrived: Vec<f64> = arrived.collect();
        let mean = arrived.iter().sum::<f64>() / 4.0;
        assert!(arrived.iter().all(|flow| (flow / mean - 1.0).abs() < 0.02), "{discipline}: {arrived:?}");
    }
}

#[test]
fn datagrams_beyond_the_rate_of_the_link_are_lost() {
    let datagrams = json!([{"datagrams": {"rate": "20 Mbit/s", "packet": "1462 B"}}]);
    let run = Run::to_the_end(&only_sources(&datagrams), 1);
    let seen = run.summary.sources[0].datagrams.expect("it sends datagrams");
    // Of 20 Mbit/s of IP, 10 x 1462 / 1500 pass.
    let lost = known(seen.loss_percent);
    assert!((lost - 100.0 * (1.0 - 0.5 * 1462.0 / 1500.0)).abs() < 0.2, "{lost} %");
    // 50 packets wait in front of each, 1.2 ms apiece.
    let p99 = known(seen.delay_ms_p99);
    assert!((p99 - (51.0 * 1.2 + 0.5)).abs() < 1.3, "{p99} ms");
}

#[test]
fn packets_of_users_and_sources_add_up_to_those_of_the_queues() {
    for warmup in ["0 s", "20 s"] {
        let mut spec = congested(&json!({"droptail": {"limit": 24}}));
        spec["users"]["per_side"] = 100.into();
        spec["protocol"] = json!({"warmup": warmup, "duration": "40 s"});
        spec["sources"] = json!([
            {"bulk": {"flows": 4, "rtt": {"fixed": "40 ms"}}},
            {"transfers": {"rate_per_second": [3, 3], "size": {"fixed": "10 kB"}}},
            {"datagrams": {"rate": "300 kbit/s", "packet": "200 B", "side": 1, "jitter": 1}},
        ]);
        let run = Run::to_the_end(&spec, 1);
        let users = run.summary.users.expect("there are users and others");
        let all = || run.summary.sources.iter().map(|source| source.packets).chain([users]);
        let (sent, lost) =
            (all().map(|it| it.packets_sent).sum::<u64>(), all().map(|it| it.packets_lost).sum::<u64>());
        let table = &run.tables.link;
        let (arrived, dropped) = (table.arrived.iter().sum::<u64>(), table.drops.iter().sum::<u64>());
        // What is on its way to the link counts as sent; at either end of the window it may be a window of each user.
        assert!(
            sent.abs_diff(arrived) < 200 && arrived > 15_000,
            "{sent} sent, {arrived} arrived, from {warmup} on"
        );
        assert!(
            lost.abs_diff(dropped) < 5 && dropped > 300,
            "{lost} lost, {dropped} dropped, from {warmup} on"
        );
        let bulk = run.summary.sources[0].packets;
        assert!(
            (known(bulk.loss_percent) - 100.0 * bulk.packets_lost as f64 / bulk.packets_sent as f64).abs()
                < 1e-9
        );
        let datagrams = &run.summary.sources[2];
        let seen = datagrams.datagrams.expect("it sends datagrams");
        assert_eq!(
            (datagrams.packets.packets_sent, datagrams.packets.loss_percent),
            (seen.sent, seen.loss_percent)
        );
    }
}

#[test]
fn packets_of_one_connection_are_counted_beyond_sixteen_bits() {
    let bytes = 200_000_000;
    let mut spec = only_sources(&transfer(bytes));
    spec["link"] = json!({"rate": "10 Gbit/s"});
    spec["hosts"] = json!({"rate": "10 Gbit/s"});
    spec["sources"][0]["trace"]["rtt_ms"] = json!([1]);
    let packets = Run::to_the_end(&spec, 1).summary.sources[0].packets;
    // A segment and its acknowledgement, and what opens and closes the connection.
    let expected = 2 * bytes.div_ceil(1_460);
    assert!((expected..expected + 20).contains(&packets.packets_sent), "{packets:?}, not {expected}");
    assert_eq!(packets.packets_lost, 0);
}

#[test]
fn the_longest_delays_and_response_times_are_told() {
    let mut sources = transfer(1_000);
    sources.as_array_mut().expect("a list").push(json!({"datagrams": {
        "rate": "1 Mbit/s", "packet": "462 B", "spread": "0 s", "stop": "10 s",
    }}));
    let run = Run::to_the_end(&only_sources(&sources), 1);
    let took = run.tables.exchanges.response_time_ms[0];
    assert_eq!(run.summary.sources[0].response_time_ms_max, Some(took));
    assert_eq!(run.summary.sources[1].response_time_ms_max, None);
    let seen = run.summary.sources[1].datagrams.expect("it sends datagrams");
    // Now and then one meets a packet of the transfer: at most one of 1,500 bytes with its 38, 1.23 ms.
    assert!((0.9 - 1e-9..=0.9 + 1.3).contains(&known(seen.delay_ms_max)), "{seen:?}");
    assert!(known(seen.delay_ms_sd) < 0.05, "{seen:?}");
}

#[test]
fn connections_start_at_equal_instants_under_every_discipline() {
    let sources = json!([
        {"transfers": {"rate_per_second": [20, 10], "size": {"pareto": {"mean": "12 kB", "shape": 1.2}}}},
        {"packmime": {"rate_per_second": 5}},
        {"three_gpp": {"users": 5}},
        {"on_off": {"flows": 3, "size": {"exponential": {"mean": "50 kB"}}, "off": {"exponential": {"mean": "1 s"}}}},
        {"datagrams": {"rate": "100 kbit/s", "packet": "200 B"}},
    ]);
    let first_requests = |queue: &Value| {
        let mut spec = only_sources(&sources);
        spec["queue"] = queue.clone();
        let exchanges = Run::to_the_end(&spec, 1).tables.exchanges;
        let mut starts: Vec<(u8, u64, u32)> = (0..exchanges.start_s.len())
            .filter(|&row| exchanges.first_on_connection[row] && exchanges.source[row] <= 2)
            .map(|row| {
                (exchanges.source[row], exchanges.start_s[row].to_bits(), exchanges.request_bytes[row])
            })
            .collect();
        starts.sort_unstable();
        starts
    };
    let drop_tail = first_requests(&json!({"droptail": {"limit": 1000}}));
    let fair = first_requests(&json!({"fq_codel": {}}));
    let common = drop_tail.iter().filter(|start| fair.binary_search(start).is_ok()).count();
    // Not all are complete at the end of either run.
    assert!(
        drop_tail.len() > 1_000 && common as f64 > 0.98 * drop_tail.len() as f64,
        "{common} of {}",
        drop_tail.len()
    );
}

#[test]
fn sources_and_users_share_a_link_under_every_discipline() {
    for (name, queue) in disciplines() {
        let mut spec = congested(&queue);
        spec["users"]["per_side"] = 100.into();
        spec["sources"] = json!([
            {"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}},
            {"datagrams": {"rate": "300 kbit/s", "packet": "200 B", "side": 1}},
        ]);
        // The engine itself checks that every packet is accounted for.
        let run = Run::to_the_end(&spec, 1);
        let (bulk, datagrams) = (&run.summary.sources[0], &run.summary.sources[1]);
        assert!(
            bulk.goodput_mbps > 0.01 && datagrams.goodput_mbps > 0.01,
            "{name}: {:?}",
            run.summary.sources
        );
        assert!(run.summary.completed_requests > 100, "{name}");
        assert_eq!(run.tables.exchanges.source.iter().filter(|&&source| source > 0).count(), 0, "endless");
    }
}

#[test]
fn without_users_the_summary_is_of_the_sources() {
    let run = Run::to_the_end(&only_sources(&transfer(1_000)), 1);
    assert_eq!((run.summary.completed_requests, run.summary.sources[0].completed), (1, 1));
    assert!(known(run.summary.response_time_ms.p50) > 80.0);
    assert_eq!(run.response_times.count.iter().sum::<u64>(), 1);
}

#[test]
fn a_marked_syn_ack_delays_a_sources_server_by_one_round_trip() {
    // Datagrams a little beyond the rate of the link keep some packets waiting on the way of the SYN/ACK.
    let took = |ecn: &str| {
        let mut spec = only_sources(&transfer(1_000));
        spec["link"]["rate"] = "1 Mbit/s".into();
        spec["queue"] = json!({"threshold": {"threshold": 1}});
        spec["tcp"]["ecn"] = ecn.into();
        spec["sources"][0]["trace"]["start_seconds"] = json!([5]);
        let voice = json!({"datagrams": {"rate": "1 Mbit/s", "packet": "1500 B", "side": 1}});
        spec["sources"].as_array_mut().expect("a list").push(voice);
        Run::to_the_end(&spec, 1).tables.exchanges.response_time_ms[0]
    };
    let (plain, waits) = (took("rfc3168"), took("ecn+/wait"));
    // A round trip is 40 ms and what the queue adds, some 12 ms for each of about ten packets.
    assert!((plain + 100.0..plain + 300.0).contains(&waits), "{waits} ms where others take {plain} ms");
}
