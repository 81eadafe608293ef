//! The table of flows agrees with the counts of the run, and recording it changes nothing.

use aqmlab_sim::FlowTable;

use super::*;

const SECONDS: f64 = 10.0;

/// Two bulk transfers with `congestion`, recorded every 10 ms.
fn transfers(congestion: &str) -> Value {
    let ecn = if congestion == "dctcp" || congestion == "prague" { "accurate++" } else { "off" };
    json!({
        "link": {"rate": "20 Mbit/s"},
        "queue": {"codel": {}},
        "tcp": {"profile": "linux-6", "congestion": congestion, "ecn": ecn},
        "sources": [{"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}}],
        "users": {"per_side": 0},
        "protocol": {"warmup": "0 s", "duration": "10 s"},
        "record": {"flows": "10 ms"},
    })
}

fn flows(spec: &Value) -> FlowTable {
    Run::to_the_end(spec, 1).tables.flows
}

const CONTROLS: [&str; 7] = ["reno", "cubic", "cubic-rfc9438", "bbr", "dctcp", "prague", "ledbat"];

#[test]
fn sent_bytes_are_delivered_lost_or_in_flight() {
    let mut exact_controls_with_losses = 0;
    for control in CONTROLS {
        let table = flows(&transfers(control));
        assert!(table.time_s.len() > 2_000, "{control}");
        // Spurious losses count as lost, and their data are in flight or delivered as well.
        let mut spurious = std::collections::BTreeMap::new();
        for row in 0..table.time_s.len() {
            let end = (table.connection[row], table.direction[row]);
            let [delivered, in_flight] = [table.delivered_bytes[row], table.in_flight_bytes[row].into()];
            let lost = known(table.lost_bytes[row]);
            let excess = delivered as f64 + lost + in_flight as f64 - table.sent_bytes[row] as f64;
            let before = spurious.insert(end, excess).unwrap_or(0.0);
            assert!(before <= excess && excess <= lost, "{control}, row {row}: {before}, {excess}");
            assert!(table.retransmitted_bytes[row] as f64 <= lost, "{control}, row {row}");
        }
        let is_exact = spurious.values().all(|&excess| excess == 0.0);
        let has_losses = table.retransmitted_bytes.iter().any(|&bytes| bytes > 0);
        exact_controls_with_losses += usize::from(is_exact && has_losses);
    }
    assert!(exact_controls_with_losses >= 1, "{exact_controls_with_losses}");
}

#[test]
fn delivered_bytes_of_a_source_are_its_goodput() {
    for control in CONTROLS {
        let run = Run::to_the_end(&transfers(control), 1);
        let table = &run.tables.flows;
        let last = (0..table.time_s.len()).filter(|&row| table.time_s[row] == SECONDS);
        let data = last.filter(|&row| table.direction[row] == 1).collect::<Vec<_>>();
        let goodput_mbps = |bytes: f64| 8e-6 * bytes / SECONDS;
        let delivered = goodput_mbps(data.iter().map(|&row| table.delivered_bytes[row] as f64).sum());
        // What has arrived may not be acknowledged yet.
        let on_the_way = goodput_mbps(data.iter().map(|&row| f64::from(table.in_flight_bytes[row])).sum());
        let received = run.summary.sources[0].goodput_mbps;
        assert!(data.len() == 2 && received - on_the_way <= delivered, "{control}: {delivered}, {received}");
        // Data that arrived behind a gap are delivered, and not received in order.
        assert!(delivered <= received + on_the_way, "{control}: {delivered}, {received}");
    }
}

#[test]
fn rows_are_regular_and_totals_never_fall() {
    let mut spec = transfers("cubic");
    spec["protocol"]["warmup"] = json!("2 s");
    let table = flows(&spec);
    for flow in 0..2 {
        let is_its = |&row: &usize| (table.flow[row], table.direction[row]) == (flow, 1);
        let rows: Vec<_> = (0..table.time_s.len()).filter(is_its).collect();
        assert_eq!(rows.len(), 1_001);
        for (number, pair) in rows.windows(2).enumerate() {
            let [row, next] = [pair[0], pair[1]];
            assert!((table.time_s[row] - (2.0 + 0.01 * number as f64)).abs() < 1e-9);
            for total in [&table.sent_bytes, &table.delivered_bytes, &table.retransmitted_bytes] {
                assert!(total[row] <= total[next]);
            }
        }
    }
}

#[test]
fn recording_flows_changes_no_result() {
    for profile in ["linux-6", "ns2-newreno", "quic"] {
        let mut spec = congested(&law("pi"));
        spec["tcp"] = json!({"profile": profile});
        spec["sources"] = json!([{"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}}]);
        let plain = Run::to_the_end(&spec, 1);
        spec["record"]["flows"] = json!({"every": "10 ms", "users": 0.5});
        let recorded = Run::to_the_end(&spec, 1);
        let fields = |run: &Run| (format!("{:?}", run.summary), format!("{:?}", run.tables.exchanges));
        assert_eq!(fields(&plain), fields(&recorded), "{profile}");
        let sources = &recorded.tables.flows.source;
        assert!(plain.tables.flows.time_s.is_empty() && sources.contains(&0) && sources.contains(&1));
    }
}

#[test]
fn cubics_k_is_the_cube_root_of_the_reduction() {
    // RFC 9438 §4.2: K = cbrt((W_max - cwnd_epoch) / C). Without fast convergence cwnd_epoch = 0.7 W_max.
    let table = flows(&transfers("cubic"));
    let mss = 1448.0;
    let mut without_convergence = 0;
    for row in 0..table.time_s.len() {
        let (Some(k), Some(w_max)) = (table.k_s[row], table.w_max_bytes[row]) else { continue };
        let segments = w_max / mss;
        let expected = f64::cbrt(0.3 * segments / 0.4);
        // With fast convergence W_max is lower, by 15 %, and K with it: cbrt((0.85 - 0.7) / 0.85 / 0.3) of the above.
        assert!(k <= expected + 0.3, "{k} and {expected} of {segments} segments");
        without_convergence += usize::from((k - expected).abs() < 0.1);
    }
    assert!(without_convergence > 20, "too few rows to tell: {without_convergence}");
}

#[test]
fn a_record_of_flows_needs_a_flow() {
    let refused = |spec: &Value| Spec::from_json(&spec.to_string()).expect_err("a refusal").to_string();
    let mut spec = transfers("cubic");
    spec["record"]["flows"] = json!({"every": "10 ms", "sources": ["x"]});
    assert_eq!(refused(&spec), "record.flows.sources[0]: no source is called `x`: choose bulk");
    spec["record"]["flows"] = json!({"every": "10 ms", "users": 0.5});
    assert_eq!(refused(&spec), "record.flows.users: must be 0 without web users, got 0.5");
    spec["record"]["flows"] = json!("10");
    assert!(refused(&spec).starts_with("record.flows: "), "{}", refused(&spec));
    spec["record"]["flows"] = json!({"every": "10 ms", "sources": []});
    assert!(refused(&spec).starts_with("record.flows: must choose a source"));
}
