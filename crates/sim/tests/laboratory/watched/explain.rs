//! The breakdown of response times: its parts add up exactly, and equal arithmetic where that is possible.

use std::collections::BTreeMap;

use aqmlab_aqm::{Aqm, Packet, QueueState, Verdict};
use aqmlab_sim::{ExplanationTable, TimelineRequest, TimelineTable, Watch, build};
use aqmlab_units::Time;

use crate::*;

pub(super) const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// One response time, and where it went.
#[derive(Clone, Debug)]
pub(super) struct Explained {
    pub(super) source: u8,
    pub(super) side: u8,
    pub(super) response_time: u64,
    pub(super) request: u32,
    pub(super) response: u32,
    pub(super) first: bool,
    pub(super) losses: u32,
    marks: u32,
    pub(super) parts: BTreeMap<&'static str, u64>,
}

impl Explained {
    pub(super) fn all(table: &ExplanationTable) -> Vec<Explained> {
        (0..table.start_ns.len())
            .map(|row| Explained {
                source: table.source[row],
                side: table.side[row],
                response_time: table.response_time_ns[row],
                request: table.request_bytes[row],
                response: table.response_bytes[row],
                first: table.first_on_connection[row],
                losses: table.losses[row],
                marks: table.marks[row],
                parts: table.parts.iter().map(|(name, nanos)| (*name, nanos[row])).collect(),
            })
            .collect()
    }

    /// The parts that are not nothing.
    pub(super) fn what_counts(&self) -> Vec<&'static str> {
        self.parts.iter().filter(|&(_, &nanos)| nanos > 0).map(|(&name, _)| name).collect()
    }
}

fn explained(spec: &Value, request: TimelineRequest) -> Run {
    explained_run(spec, &[], request)
}

/// The run with explanations of these sources, or of the web users.
pub(super) fn explained_run(spec: &Value, sources: &[u8], request: TimelineRequest) -> Run {
    let watch = Watch::Explain(sources, request);
    let mut laboratory = build(&read(spec), 1, None, watch).expect("the spec is sound");
    laboratory.advance(laboratory.end());
    Run::result_of(&mut *laboratory)
}

/// The hosts of the papers, with marks and with held-back acknowledgements.
fn hosts_of_2001() -> Vec<Value> {
    vec![json!({"profile": "unc-testbed", "ecn": true}), json!({"profile": "freebsd-4.5"})]
}

fn hosts_of_today() -> Vec<Value> {
    vec![json!({"profile": "linux-6"}), json!({"profile": "linux-6", "congestion": "bbr"})]
}

fn congested_runs(hosts: &[Value]) -> Vec<(String, Value)> {
    let queues =
        [law("droptail"), law("pi"), json!({"codel": {}}), json!({"fq_codel": {}}), json!({"dualpi2": {}})];
    let combinations = queues.iter().flat_map(|queue| hosts.iter().map(move |tcp| (queue, tcp)));
    combinations
        .map(|(queue, tcp)| {
            let mut spec = congested(queue);
            spec["tcp"] = tcp.clone();
            (format!("{queue}, {tcp}"), spec)
        })
        .collect()
}

#[test]
fn the_parts_add_up_to_the_response_time_of_the_plain_run() {
    let mut ever = BTreeMap::<_, u64>::new();
    for (name, spec) in congested_runs(&[hosts_of_2001(), hosts_of_today()].concat()) {
        let plain = Run::to_the_end(&spec, 1);
        let mut run = explained(&spec, TimelineRequest { row: Some(7), slowest: 3 });
        let table = std::mem::take(&mut run.tables.explanations);
        run.tables.timelines = TimelineTable::default();
        assert!(format!("{run:?}") == format!("{plain:?}"), "{name}: another run than the plain one");
        let (rows, exchanges) = (Explained::all(&table), &plain.tables.exchanges);
        assert_eq!(rows.len(), exchanges.start_s.len(), "{name}");
        for (number, row) in rows.iter().enumerate() {
            assert_eq!(row.parts.values().sum::<u64>(), row.response_time, "{name}: {row:?}");
            let plain_ms = exchanges.response_time_ms[number];
            assert!((plain_ms - row.response_time as f64 * 1e-6).abs() < 1e-9, "{name}: row {number}");
            for (&part, &nanos) in &row.parts {
                *ever.entry(part).or_default() += nanos;
            }
        }
        assert_eq!(table.syn_retransmits, exchanges.syn_retransmits, "{name}");
        assert_eq!(table.timeouts, exchanges.timeouts, "{name}");
        assert_eq!(table.fast_retransmits, exchanges.fast_retransmits, "{name}");
        assert_eq!(table.ecn_reductions, exchanges.ecn_reductions, "{name}");
        let marked: u64 = rows.iter().map(|row| u64::from(row.marks)).sum();
        assert_eq!(marked > 0, known(plain.summary.mark_percent) > 0.0, "{name}");
    }
    let never: Vec<&str> = ever.iter().filter(|&(_, &nanos)| nanos == 0).map(|(&part, _)| part).collect();
    assert_eq!(never, ["application", "tls_handshake"], "requests of 2001 have anything else");
}

#[test]
fn the_parts_add_up_wherever_the_round_trip_is_spent() {
    for delay_at in ["server", "split"] {
        for (name, mut spec) in congested_runs(&[json!({"profile": "unc-testbed"})]).into_iter().take(2) {
            spec["users"]["delay_at"] = delay_at.into();
            let mut run = explained(&spec, TimelineRequest::default());
            let rows = Explained::all(&std::mem::take(&mut run.tables.explanations));
            assert!(format!("{run:?}") == format!("{:?}", Run::to_the_end(&spec, 1)), "{name}: another run");
            assert!(rows.len() > 1_000, "{name}");
            for row in &rows {
                assert_eq!(row.parts.values().sum::<u64>(), row.response_time, "{name}, {delay_at}: {row:?}");
                // A request's round trip is all of the way there and back, at least 10 ms of it.
                let on_the_way = row.parts["request_round_trip"]
                    + row.parts["further_round_trips"]
                    + row.parts["recovery"]
                    + row.parts["handshake"];
                assert!(on_the_way >= 10 * MS, "{name}, {delay_at}: {row:?}");
            }
        }
    }
}

#[test]
fn without_loss_no_time_is_spent_on_timeouts_or_repair() {
    for (name, spec) in congested_runs(&hosts_of_2001()) {
        let run = explained(&spec, TimelineRequest::default());
        let rows = Explained::all(&run.tables.explanations);
        assert!(rows.iter().any(|row| row.losses > 0) && rows.iter().any(|row| row.losses == 0), "{name}");
        for (number, row) in rows.iter().enumerate() {
            let table = &run.tables.explanations;
            if table.syn_retransmits[number] == 0 {
                assert_eq!(row.parts["syn_timeouts"], 0, "{name}: {row:?}");
            }
            if table.timeouts[number] == 0 {
                assert_eq!(row.parts["data_timeouts"], 0, "{name}: {row:?}");
            }
            // The clock's tick is 10 ms and the least timeout 1 s, on every host.
            let waits = row.parts["data_timeouts"];
            assert!(waits == 0 || waits >= SECOND, "{name}: {row:?}");
            assert!(row.parts["syn_timeouts"] % (3 * SECOND) == 0, "{name}: {row:?}");
            assert!(row.first || row.parts["handshake"] == 0, "{name}: {row:?}");
        }
    }
}

/// One user on each side, 100 ms and twice 0.5 ms from the servers, on an idle link of 8 ns a byte.
pub(super) fn idle() -> Value {
    json!({
        "link": {"rate": "1 Gbit/s", "device_fifo": 0},
        "queue": {"droptail": {"limit": 1000}},
        "users": {
            "per_side": 1,
            "rtt": {"source": "none", "distribution": {"uniform_ms": {"min": 100, "max": 100}}},
        },
        "protocol": {"warmup": "0 s", "duration": "60 min"},
    })
}

/// Flights of a response that begins with a window of two segments and doubles it.
pub(super) fn flights(response: u32) -> u64 {
    let (mut window, mut sent, mut flights) = (2, 0, 0);
    while sent < response.div_ceil(1460) {
        sent += window;
        window *= 2;
        flights += 1;
    }
    flights
}

#[test]
fn on_an_idle_link_the_parts_are_what_arithmetic_gives() {
    let run = explained(&idle(), TimelineRequest::default());
    let rows = Explained::all(&run.tables.explanations);
    let mut small = 0;
    for row in &rows {
        let part_of = |part| row.parts[part];
        for part in ["syn_timeouts", "data_timeouts", "recovery", "delayed_acks"] {
            assert_eq!(part_of(part), 0, "{part}: {row:?}");
        }
        assert_eq!(part_of("handshake"), if row.first { 101 * MS } else { 0 }, "{row:?}");
        // The ways of a request longer than a segment, and of later flights, are whole round trips.
        assert_eq!(part_of("request_round_trip"), 101 * MS, "{row:?}");
        assert_eq!(part_of("further_round_trips") % (101 * MS), 0, "{row:?}");
        if row.first && row.request <= 1460 && row.response <= 14 * 1460 {
            assert_eq!(part_of("further_round_trips"), (flights(row.response) - 1) * 101 * MS, "{row:?}");
        }
        if row.request <= 1460 && row.response <= 1460 {
            small += 1;
            // 40 bytes of headers and 38 of the frame, each 8 ns: twice for the handshake, twice for the data.
            let bytes = u64::from(row.request + row.response) + 2 * 78 + if row.first { 2 * 78 } else { 0 };
            assert_eq!(part_of("transmission"), 8 * bytes, "{row:?}");
        }
    }
    assert!(small > 100, "too few to tell");
}

#[test]
fn on_idle_links_in_series_each_direction_has_its_own_times() {
    let mut spec = idle();
    let rates = json!([{}, {"rate": {"up": "500 Mbit/s", "down": "250 Mbit/s"}}]);
    put_in_series(&mut spec, &rates);
    // Nanoseconds per byte over both links.
    let (up, down) = (8 + 16, 8 + 32);
    let run = explained(&spec, TimelineRequest::default());
    let mut small = [0, 0];
    for row in Explained::all(&run.tables.explanations) {
        // Twice the delay of 0.5 ms of either link.
        assert_eq!(row.parts["handshake"], if row.first { 102 * MS } else { 0 }, "{row:?}");
        assert_eq!(row.parts["request_round_trip"], 102 * MS, "{row:?}");
        if row.request <= 1460 && row.response <= 1460 {
            small[usize::from(row.side)] += 1;
            let (out, back) = if row.side == 0 { (up, down) } else { (down, up) };
            let headers = if row.first { 2 * 78 } else { 78 };
            let bits = out * (u64::from(row.request) + headers) + back * (u64::from(row.response) + headers);
            assert_eq!(row.parts["transmission"], bits, "{row:?}");
        }
    }
    assert!(small.iter().all(|&count| count > 50), "too few to tell: {small:?}");
}

#[test]
fn on_asymmetric_links_and_chains_the_parts_add_up() {
    let rate = json!({"up": "2 Mbit/s", "down": "3 Mbit/s"});
    let mut asymmetric = congested(&law("pi"));
    asymmetric["link"]["rate"] = rate.clone();
    let mut chain = congested(&law("droptail"));
    put_in_series(&mut chain, &json!([{"rate": rate}, {"queue": {"codel": {}}}, {"delay": "5 ms"}]));
    chain["sources"] = json!([
        {"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}, "path": [2, 3]}},
        {"datagrams": {"rate": "300 kbit/s", "packet": "200 B", "side": 1, "path": [1, 3]}},
    ]);
    let causes = [&["dropped early"][..], &["dropped at the limit", "dropped at dequeue"]];
    for (spec, causes) in [asymmetric, chain].iter().zip(causes) {
        for tcp in [hosts_of_2001(), hosts_of_today()].concat() {
            let mut spec = spec.clone();
            spec["tcp"] = tcp;
            spec["tcp"]["ecn"] = json!(false);
            let mut run = explained(&spec, TimelineRequest { row: None, slowest: 200 });
            let rows = Explained::all(&std::mem::take(&mut run.tables.explanations));
            let timelines = std::mem::take(&mut run.tables.timelines);
            assert!(format!("{run:?}") == format!("{:?}", Run::to_the_end(&spec, 1)), "another run");
            assert_eq!(rows.len() as u64, run.summary.completed_requests);
            assert!(rows.iter().all(|row| row.parts.values().sum::<u64>() == row.response_time));
            assert!(rows.iter().map(|row| row.losses).sum::<u32>() > 100);
            for cause in causes {
                assert!(timelines.event.contains(cause), "{cause}");
            }
        }
    }
}

/// Drops packet number `victim` of those that arrive, the first being 0.
struct Dropper {
    victim: Option<u32>,
    seen: u32,
}

impl Aqm for Dropper {
    fn on_enqueue(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        self.seen += 1;
        if self.victim == Some(self.seen - 1) { Verdict::Drop } else { Verdict::Pass }
    }
}

/// The first exchange, when packet number `victim` of those that arrive on its way out, or on its way back, is dropped;
/// and its timeline.
fn first_without(out: Option<u32>, back: Option<u32>) -> (Explained, TimelineTable) {
    let mut spec = idle();
    spec["queue"] = json!({"test:Dropper": {}});
    spec["protocol"]["duration"] = json!("1 min");
    // The first user to wake is one of side 1.
    let laws = [back, out].map(|victim| Some(Box::new(Dropper { victim, seen: 0 }) as Box<dyn Aqm + Send>));
    let request = TimelineRequest { row: Some(0), slowest: 0 };
    let mut laboratory =
        build(&read(&spec), 1, Some(laws), Watch::Explain(&[], request)).expect("the spec is sound");
    laboratory.advance(laboratory.end());
    let tables = Run::result_of(&mut *laboratory).tables;
    assert_eq!(tables.explanations.side[0], 1);
    (Explained::all(&tables.explanations)[0].clone(), tables.timelines)
}

/// The events in order, without routine ones.
fn incidents(timeline: &TimelineTable) -> Vec<&'static str> {
    let routine = ["sent", "arrived", "written", "complete"];
    timeline.event.iter().copied().filter(|event| !routine.contains(event)).collect()
}

#[test]
fn a_dropped_syn_or_syn_ack_costs_3_s_of_syn_timeouts() {
    let (undisturbed, timeline) = first_without(None, None);
    assert_eq!(
        undisturbed.what_counts(),
        ["further_round_trips", "handshake", "interface", "queueing", "request_round_trip", "transmission"]
    );
    assert_eq!(incidents(&timeline), [""; 0]);
    for (out, back) in [(Some(0), None), (None, Some(0))] {
        let (first, timeline) = first_without(out, back);
        assert_eq!(first.losses, 1);
        assert_eq!(first.parts["syn_timeouts"], 3 * SECOND);
        assert_eq!(first.parts["handshake"], 101 * MS);
        assert_eq!(incidents(&timeline)[..3], ["dropped, forced", "SYN timeout", "sent again"]);
    }
    // A server whose SYN/ACK was lost begins with a window of one segment: 8 segments take a flight more.
    let window = |(first, _): (Explained, TimelineTable)| first.parts["further_round_trips"];
    assert_eq!(window(first_without(Some(0), None)), undisturbed.parts["further_round_trips"]);
    assert_eq!(window(first_without(None, Some(0))), undisturbed.parts["further_round_trips"] + 101 * MS);
}

#[test]
fn a_dropped_request_costs_a_second_and_its_way_is_repair() {
    let (first, timeline) = first_without(Some(2), None);
    assert_eq!(incidents(&timeline), ["dropped, forced", "data timeout", "sent again"]);
    assert_eq!(first.parts["data_timeouts"], SECOND);
    // The request's way takes the whole round-trip time and the link's delay, the answer's the delay alone.
    assert_eq!(first.parts["recovery"], 100 * MS + MS / 2);
    assert_eq!(first.parts["request_round_trip"], MS / 2);
}

#[test]
fn a_drop_in_a_flight_of_four_costs_one_round_trip_of_repair() {
    // Behind SYN/ACK, the acknowledgement of the request, and a flight of two.
    let (first, timeline) = first_without(None, Some(4));
    let (undisturbed, _) = first_without(None, None);
    assert_eq!(incidents(&timeline), ["dropped, forced", "fast retransmit", "sent again", "recovery ends"]);
    assert_eq!(first.parts["data_timeouts"], 0);
    assert_eq!(first.parts["recovery"], 101 * MS);
    assert_eq!(first.parts["further_round_trips"], undisturbed.parts["further_round_trips"]);
}

#[test]
fn a_timeline_spans_start_to_last_byte_with_losses_and_marks() {
    for (name, spec) in congested_runs(&[hosts_of_2001(), hosts_of_today()].concat()) {
        let run = explained(&spec, TimelineRequest { row: Some(100), slowest: 5 });
        let (rows, timeline) = (Explained::all(&run.tables.explanations), &run.tables.timelines);
        let mut slowest: Vec<usize> = (0..rows.len()).collect();
        slowest.sort_by_key(|&row| std::cmp::Reverse(rows[row].response_time));
        for row in slowest[..5].iter().copied().chain([100]) {
            let of_row = || (0..timeline.row.len()).filter(|&at| timeline.row[at] == row as u64);
            let times: Vec<u64> = of_row().map(|at| timeline.time_ns[at]).collect();
            assert!(times.is_sorted(), "{name}: row {row}");
            assert_eq!((times[0], times[times.len() - 1]), (0, rows[row].response_time), "{name}: row {row}");
            let count = |wanted: &[&str]| of_row().filter(|&at| wanted.contains(&timeline.event[at])).count();
            let drops = [
                "dropped early",
                "dropped, forced",
                "dropped at the limit",
                "dropped at dequeue",
                "pushed out",
            ];
            assert_eq!(count(&drops), rows[row].losses as usize, "{name}: row {row}");
            assert_eq!(count(&["arrived marked"]), rows[row].marks as usize, "{name}: row {row}");
            let arrivals = of_row().filter(|&at| timeline.event[at].starts_with("arrived"));
            let waits: u64 = arrivals.map(|at| timeline.waited_ns[at]).sum();
            assert!(rows[row].parts["queueing"] <= waits, "{name}: the chain is part of all that happened");
        }
    }
}

#[test]
fn only_users_requests_are_explained_among_other_sources() {
    let mut spec = congested(&law("droptail"));
    spec["sources"] = json!([
        {"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}},
        {"datagrams": {"rate": "300 kbit/s", "packet": "200 B", "side": 1}},
    ]);
    let plain = Run::to_the_end(&spec, 1);
    let mut run = explained(&spec, TimelineRequest { row: Some(50), slowest: 0 });
    let rows = Explained::all(&std::mem::take(&mut run.tables.explanations));
    assert!(run.tables.timelines.row.iter().all(|&row| row == 50) && !run.tables.timelines.row.is_empty());
    run.tables.timelines = TimelineTable::default();
    assert!(format!("{run:?}") == format!("{plain:?}"), "another run than the plain one");
    assert_eq!(rows.len() as u64, plain.summary.completed_requests);
    assert!(rows.iter().all(|row| row.parts.values().sum::<u64>() == row.response_time));
    assert!(rows.iter().map(|row| row.losses).sum::<u32>() > 0);
}
