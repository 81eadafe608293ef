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
        assert!(table.time_s.len() > 1_800, "{control}");
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
        assert!(plain.tables.flows.time_s.is_empty());
        for every in ["10 ms", "changes"] {
            spec["record"]["flows"] = json!({"every": every, "users": 0.5});
            let recorded = Run::to_the_end(&spec, 1);
            let fields = |run: &Run| (format!("{:?}", run.summary), format!("{:?}", run.tables.exchanges));
            assert_eq!(fields(&plain), fields(&recorded), "{profile}, {every}");
            let sources = &recorded.tables.flows.source;
            assert!(sources.contains(&0) && sources.contains(&1), "{profile}, {every}");
        }
    }
}

/// The columns whose changes make rows, in one row.
fn state(table: &FlowTable, row: usize) -> [u64; 17] {
    let known = |value: Option<f64>| value.map_or(u64::MAX, f64::to_bits);
    let text = |name: &str| name.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(257) + u64::from(byte));
    [
        table.cwnd_bytes[row].into(),
        table.retransmitted_bytes[row],
        text(table.state[row]),
        text(table.phase[row]),
        known(table.ssthresh_bytes[row]),
        known(table.pacing_rate_mbps[row]),
        known(table.min_rtt_ms[row]),
        known(table.lost_bytes[row]),
        known(table.marked_bytes[row]),
        known(table.max_bw_mbps[row]),
        known(table.bw_mbps[row]),
        known(table.inflight_longterm_bytes[row]),
        known(table.inflight_shortterm_bytes[row]),
        known(table.w_max_bytes[row]),
        known(table.k_s[row]),
        known(table.w_est_bytes[row]),
        known(table.alpha_fraction[row]),
    ]
}

/// The time and the state of a row.
type TimedState = (f64, [u64; 17]);

/// The rows of each end.
fn states(table: &FlowTable) -> std::collections::BTreeMap<(u64, u8), Vec<TimedState>> {
    let mut states = std::collections::BTreeMap::<_, Vec<TimedState>>::new();
    for row in 0..table.time_s.len() {
        let of_end = states.entry((table.connection[row], table.direction[row])).or_default();
        of_end.push((table.time_s[row], state(table, row)));
    }
    states
}

/// The end of the runs of the next test.
const END: f64 = 3.5;

#[test]
fn changes_have_each_state_that_a_fine_grid_sees() {
    for control in CONTROLS {
        let mut spec = transfers(control);
        spec["protocol"] = json!({"warmup": "500 ms", "duration": "3 s"});
        spec["record"]["flows"] = json!("100 us");
        let grid = states(&flows(&spec));
        spec["record"]["flows"] = json!("changes");
        let changes = states(&flows(&spec));
        assert_eq!(grid.keys().collect::<Vec<_>>(), changes.keys().collect::<Vec<_>>(), "{control}");
        for (end, rows) in &changes {
            assert!(rows[0].0 <= grid[end][0].0 && rows[rows.len() - 1].0 == END, "{control}, {end:?}");
            for (time, seen) in &grid[end] {
                // Events at the time of a sample are before or after it.
                let first = rows.partition_point(|(at, _)| at < time).saturating_sub(1);
                let last = rows.partition_point(|(at, _)| at <= time);
                let has_it = rows[first..last].iter().any(|(_, state)| state == seen);
                assert!(has_it, "{control}, {end:?} at {time} s");
            }
            for pair in rows.windows(2) {
                let [(before, old), (at, new)] = [pair[0], pair[1]];
                let is_due = old != new || at - before >= 0.01 - 1e-9 || at == END;
                assert!(is_due, "{control}, {end:?} at {at} s");
            }
            let changes = |rows: &[TimedState]| rows.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
            assert!(changes(rows) >= changes(&grid[end]), "{control}, {end:?}");
        }
    }
}

#[test]
fn an_end_that_only_receives_adds_no_rows() {
    let rows_of = |table: &FlowTable, direction| {
        (0..table.time_s.len()).filter(|&row| table.direction[row] == direction).count()
    };
    let table = flows(&transfers("cubic"));
    assert!(rows_of(&table, 0) < 20 && rows_of(&table, 1) > 1_800, "{}", rows_of(&table, 0));
    // In a pause neither end sends, and both have rows.
    let mut spec = transfers("cubic");
    spec["sources"] = json!([{"on_off": {
        "flows": 1, "spread": "0 s", "size": {"fixed": "1 MB"}, "off": {"fixed": "2 s"}, "rtt": {"fixed": "40 ms"},
    }}]);
    let table = flows(&spec);
    assert!((600..950).contains(&rows_of(&table, 0)), "{}", rows_of(&table, 0));
    assert!((950..=1_001).contains(&rows_of(&table, 1)), "{}", rows_of(&table, 1));
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
    spec["record"]["flows"] = json!("change");
    assert!(refused(&spec).ends_with("such as \"5 ms\", or \"changes\""), "{}", refused(&spec));
    spec["record"]["flows"] = json!({"every": "10 us"});
    assert_eq!(refused(&spec), "record.flows.every: must be between 100 us and 604800 s, got 10 us");
    spec["record"]["flows"] = json!({"every": "10 ms", "sources": []});
    assert!(refused(&spec).starts_with("record.flows: must choose a source"));
}
