//! Every packet and every exchange is accounted for, in the summary and in the tables.

use super::*;

/// The rows of one direction, summed.
fn total(column: &[u64], directions: &[u8], direction: u8) -> u64 {
    column.iter().zip(directions).filter(|&(_, &d)| d == direction).map(|(value, _)| value).sum()
}

/// The times of one direction's rows.
fn times(time_s: &[f64], directions: &[u8], direction: u8) -> Vec<f64> {
    time_s.iter().zip(directions).filter(|&(_, &d)| d == direction).map(|(&time, _)| time).collect()
}

/// `rows` regular instants, the first one `every` after `start`.
fn are_regular(times: &[f64], start: f64, every: f64, rows: u32) {
    let expected: Vec<f64> = (1..=rows).map(|row| start + every * f64::from(row)).collect();
    assert_eq!(times.len(), expected.len());
    assert!(times.iter().zip(expected).all(|(time, expected)| (time - expected).abs() < 1e-9));
}

#[test]
fn every_discipline_accounts_for_all_packets_at_98_percent_load() {
    for (name, queue) in disciplines() {
        for ecn in [false, true] {
            // At its end a run checks that no packet vanished between the endpoints either.
            let run = Run::to_the_end(
                &json!({
                    "link": {"rate": "10 Mbit/s", "device_fifo": 16},
                    "queue": queue,
                    "tcp": {"ecn": ecn},
                    "users": {"per_side": 933},
                    "protocol": {"warmup": "10 s", "duration": "20 s"},
                }),
                1,
            );
            for link in run.summary.counters {
                assert_eq!(link.arrived, link.sent + link.dropped() + link.held, "{name}, ecn {ecn}");
            }
            assert!(run.summary.bottleneck_packets > 100_000, "{name}, ecn {ecn}: too little to tell");
        }
    }
}

#[test]
fn the_table_of_the_link_adds_up_to_its_counters() {
    let run = Run::to_the_end(&congested(&json!({"pi": {"q_ref": 24}})), 1);
    let table = &run.tables.link;
    for (direction, link) in (0..).zip(run.summary.counters) {
        let total = |column: &[u64]| total(column, &table.direction, direction);
        assert_eq!(total(&table.arrived), link.arrived);
        assert_eq!(total(&table.packets), link.sent);
        assert_eq!(total(&table.drops), link.dropped());
        assert_eq!(total(&table.marks), link.marked);
        are_regular(&times(&table.time_s, &table.direction, direction), 0.0, 0.1, 600);
    }
    let bytes = table.bytes.iter().sum::<u64>() as f64;
    assert!((run.summary.throughput_mbps / (8e-6 * bytes / 2.0 / 60.0) - 1.0).abs() < 1e-12);
    assert!(known(run.summary.loss_percent) > 0.1, "too little happened to tell");
}

#[test]
fn summary_and_tables_cover_the_measured_window_alone() {
    let mut spec = congested(&law("ared"));
    spec["protocol"] = json!({"warmup": "20 s", "duration": "30 s"});
    let run = Run::to_the_end(&spec, 1);
    let (queue, link) = (&run.tables.queue, &run.tables.link);
    for direction in 0..2 {
        are_regular(&times(&queue.time_s, &queue.direction, direction), 20.0, 0.01, 3_000);
        are_regular(&times(&link.time_s, &link.direction, direction), 20.0, 0.1, 300);
        let arrived = total(&link.arrived, &link.direction, direction);
        assert!(
            arrived < run.summary.counters[usize::from(direction)].arrived,
            "the warm-up counts in the whole"
        );
    }
    let loss = link.drops.iter().sum::<u64>() as f64 / link.arrived.iter().sum::<u64>() as f64;
    assert!((known(run.summary.loss_percent) - 100.0 * loss).abs() < 1e-9 && loss > 0.001);
    let names: Vec<&str> = queue.variables.each.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["avg", "p_b", "max_p"]);
    assert!(queue.variables.each.iter().all(|(_, values)| values.len() == queue.packets.len()));
    let ended = run.tables.exchanges.start_s.iter().zip(&run.tables.exchanges.response_time_ms);
    assert!(ended.map(|(start, ms)| start + 1e-3 * ms).all(|end| 20.0 < end && end <= 50.0));
}

#[test]
fn each_completed_exchange_is_one_row_and_one_histogram_count() {
    let run = Run::to_the_end(&congested(&law("red")), 1);
    let rows = &run.tables.exchanges;
    let in_bins: u64 = run.response_times.count.iter().sum();
    assert_eq!(rows.start_s.len() as u64, run.summary.completed_requests);
    assert_eq!(in_bins, run.summary.completed_requests);
    let bins = &run.response_times;
    for (bin, &count) in bins.count.iter().enumerate() {
        let sizes = bins.size_low_bytes[bin]..bins.size_high_bytes[bin];
        let times = bins.time_low_ms[bin]..bins.time_high_ms[bin];
        let in_rows = rows.response_bytes.iter().zip(&rows.response_time_ms).filter(|&(&size, &ms)| {
            let whole_micros = (ms * 1e3 + 1e-6).floor() * 1e-3;
            sizes.contains(&u64::from(size)) && times.contains(&whole_micros)
        });
        assert_eq!(in_rows.count() as u64, count, "{sizes:?} bytes, {times:?} ms");
    }
    let mean = rows.response_time_ms.iter().sum::<f64>() / rows.start_s.len() as f64;
    assert!((known(run.summary.response_time_ms.mean) / mean - 1.0).abs() < 1e-9);
}

#[test]
fn a_saturated_link_carries_its_rate_less_38_bytes_a_frame() {
    let mut spec = congested(&json!({"droptail": {"limit": 240}}));
    spec["users"]["per_side"] = json!(400);
    spec["protocol"]["warmup"] = json!("30 s");
    let run = Run::to_the_end(&spec, 1);
    // Frames of s + 38 bytes at 2 Mbit/s: s / (s + 38) of it are IP.
    let size = known(run.summary.packet_bytes_mean);
    let most = 2.0 * size / (size + 38.0);
    let carried = run.summary.throughput_mbps;
    assert!(0.999 * most < carried && carried <= most, "{carried} of {most} Mbit/s");
    // In no tenth of a second more than the rate, but for the frame that was being sent at its start.
    let table = &run.tables.link;
    for (bytes, packets) in table.bytes.iter().zip(&table.packets) {
        let bits = 8 * (bytes + 38 * packets);
        assert!(bits <= 200_000 + 8 * 1_538, "{bits} bits in 100 ms at 2 Mbit/s");
    }
}

#[test]
fn the_table_of_losses_has_each_drop_with_its_source() {
    let mut spec = congested(&json!({"codel": {}}));
    spec["tcp"] = json!({"profile": "linux-6"});
    spec["users"]["per_side"] = 20.into();
    spec["sources"] = json!([
        {"bulk": {"flows": 3, "rtt": {"fixed": "50 ms"}}},
        {"datagrams": {"rate": "1 Mbit/s", "packet": "1000 B"}},
    ]);
    spec["record"] = json!({"losses": true});
    let run = Run::to_the_end(&spec, 1);
    let losses = &run.tables.losses;
    for (direction, link) in (0..).zip(run.summary.counters) {
        let rows = times(&losses.time_s, &losses.direction, direction).len() as u64;
        // Some of the whole run: there is no warm-up.
        assert_eq!(rows, link.dropped(), "direction {direction}");
    }
    assert!(losses.time_s.is_sorted() && losses.time_s.iter().all(|&time| (0.0..=60.0).contains(&time)));
    for source in 0..3 {
        let mut flows: Vec<_> =
            losses.flow.iter().zip(&losses.source).filter(|&(_, &s)| s == source).collect();
        flows.sort_unstable();
        flows.dedup();
        assert!(!flows.is_empty(), "source {source} lost nothing");
        assert!(source != 1 || flows.len() == 3, "of the three bulk transfers: {flows:?}");
        assert!(source != 2 || flows.len() == 1, "of the one flow of datagrams: {flows:?}");
    }
}

#[test]
fn losses_are_recorded_after_warm_up_and_on_request_only() {
    let mut spec = congested(&law("pi"));
    assert!(Run::to_the_end(&spec, 1).tables.losses.time_s.is_empty());
    spec["record"]["losses"] = true.into();
    spec["protocol"] = json!({"warmup": "20 s", "duration": "40 s"});
    let times = Run::to_the_end(&spec, 1).tables.losses.time_s;
    assert!(times.len() > 10 && times[0] >= 20.0, "{times:?}");
}
