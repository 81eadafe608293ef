//! The breakdown of page load times: its parts are what arithmetic gives, and the path of resources adds up to the page.

use aqmlab_sim::{ExplainedPageTable, ResourceTable, TimelineRequest, TimelineTable};

use super::http3::plain_http3;
use super::*;

const MS: f64 = 1e6;

fn explained(spec: &Value, request: TimelineRequest) -> Run {
    let mut laboratory =
        build(&read(spec), 1, None, Watch::Explain(&[], request)).expect("the spec is sound");
    laboratory.advance(laboratory.end());
    Run::result_of(&mut *laboratory)
}

/// The parts of a row that are not nothing, in milliseconds.
fn parts_ms(parts: &[(&'static str, Vec<u64>)], row: usize) -> BTreeMap<&'static str, f64> {
    parts.iter().map(|(part, nanos)| (*part, nanos[row] as f64 / MS)).filter(|&(_, ms)| ms > 0.0).collect()
}

#[test]
fn a_page_on_an_idle_link_has_a_round_trip_of_each_kind() {
    let round_trip = 20.0;
    // Without the wire: the handshakes, and what is left is the request with its response.
    let over_tcp =
        [("handshake", round_trip), ("tls_handshake", round_trip), ("request_round_trip", round_trip)];
    let over_quic = [("handshake", round_trip), ("request_round_trip", round_trip)];
    for (workload, expected) in [
        (plain(0.5, 0.0, 0.0), &over_tcp[..]),
        (plain(0.5, 1.0, 1.0), &over_tcp),
        (plain_http3(0.5, 0.0, 1.0), &over_quic),
        (plain_http3(0.5, 1.0, 1.0), &over_quic[1..]),
    ] {
        let run = explained(&idle_spec(&workload), TimelineRequest::default());
        let pages = &run.tables.explained_pages;
        assert!(pages.load_ns.len() > 5);
        for row in 0..pages.load_ns.len() {
            let mut parts = parts_ms(&pages.parts, row);
            let on_the_wire = parts.remove("transmission").expect("bits take time");
            let waits = ["queueing", "interface"].map(|part| parts.remove(part).unwrap_or(0.0));
            assert!(on_the_wire < 0.2 && waits.iter().all(|&ms| ms < 0.1), "{on_the_wire} ms, {waits:?} ms");
            assert_eq!(parts, expected.iter().copied().collect(), "page {row}");
        }
    }
}

#[test]
fn the_last_of_twelve_images_waits_for_its_connection() {
    // Over HTTP/1.1: the document after 60 ms, the first images over six connections at 80 ms and 120 ms, the last at 140 ms.
    let run = explained(&idle_spec(&plain(12.5, 1.0, 0.0)), TimelineRequest { row: Some(2), slowest: 0 });
    let resources = &run.tables.resources;
    assert!(resources.page.iter().all(|&page| page == 2));
    assert_eq!(resources.resource.len(), 13);
    let path: Vec<usize> = (0..13).filter(|&row| resources.on_path[row]).collect();
    let [document, image] = path[..] else { panic!("a document and an image, not {path:?}") };
    assert_eq!((resources.resource[document], resources.parent[image], image), (0, 0, 12));
    let at_ms = |nanos: u64| (nanos + 500_000) / 1_000_000;
    assert_eq!(at_ms(resources.complete_ns[document]), 60);
    assert_eq!(resources.known_ns[image], resources.complete_ns[document]);
    let waited = [resources.known_ns[image], resources.requested_ns[image], resources.complete_ns[image]];
    assert_eq!(waited.map(at_ms), [60, 120, 140]);
    assert_eq!(run.tables.explained_pages.path_resources[2], 2);
    // Of its time, all is on the way: of requests before its own, or of handshakes.
    let parts = parts_ms(&resources.parts, image);
    let on_the_way: f64 = ["handshake", "tls_handshake", "request_round_trip"]
        .map(|part| parts.get(part).unwrap_or(&0.0))
        .into_iter()
        .sum();
    assert!((on_the_way - 80.0).abs() < 1e-9, "{parts:?}");
}

/// Each resource's parts add up to its time, and the times of the path to the page load time.
fn check_resources(resources: &ResourceTable, pages: &ExplainedPageTable, name: &str) {
    let mut on_path = BTreeMap::<u64, u64>::new();
    for row in 0..resources.page.len() {
        let time = resources.complete_ns[row] - resources.known_ns[row];
        let parts: u64 = resources.parts.iter().map(|(_, nanos)| nanos[row]).sum();
        assert_eq!(parts, time, "{name}: resource {row}");
        assert!(resources.known_ns[row] <= resources.requested_ns[row], "{name}: resource {row}");
        assert!(resources.requested_ns[row] < resources.complete_ns[row], "{name}: resource {row}");
        if resources.on_path[row] {
            *on_path.entry(resources.page[row]).or_default() += time;
        }
    }
    assert!(on_path.len() >= 5, "{name}: {} pages", on_path.len());
    for (page, time) in on_path {
        assert_eq!(time, pages.load_ns[usize::try_from(page).expect("small")], "{name}: page {page}");
    }
}

#[test]
fn the_parts_add_up_to_the_page_load_time_of_the_plain_run() {
    let mut ever = BTreeMap::<_, u64>::new();
    for (queue, ecn) in [("droptail", false), ("fq_codel", false), ("pie", true), ("dualpi2", true)] {
        let name = format!("{queue}, ECN {ecn}");
        let mut spec = json!({
            "link": {"rate": "10 Mbit/s"},
            "queue": {queue: {}},
            "tcp": {"profile": "linux-6", "ecn": ecn},
            "users": {"per_side": 12, "workload": "web-2024"},
            "protocol": {"warmup": "5 s", "duration": "60 s"},
        });
        spec["queue"] =
            if queue == "droptail" { json!({"droptail": {"limit": 60}}) } else { spec["queue"].clone() };
        let plain = Run::to_the_end(&spec, 1);
        let mut run = explained(&spec, TimelineRequest { row: Some(3), slowest: 5 });
        let pages = std::mem::take(&mut run.tables.explained_pages);
        let resources = std::mem::take(&mut run.tables.resources);
        let timelines = std::mem::take(&mut run.tables.timelines);
        assert!(format!("{run:?}") == format!("{plain:?}"), "{name}: another run than the plain one");
        let quality = plain.summary.pages.expect("users load pages");
        assert_eq!(pages.load_ns.len() as u64, quality.pages, "{name}");
        let mean_s =
            pages.load_ns.iter().map(|&nanos| nanos as f64 * 1e-9).sum::<f64>() / pages.load_ns.len() as f64;
        assert!((mean_s - quality.load_s_mean.expect("loaded")).abs() < 1e-9, "{name}");
        for row in 0..pages.load_ns.len() {
            let parts: u64 = pages.parts.iter().map(|(_, nanos)| nanos[row]).sum();
            assert_eq!(parts, pages.load_ns[row], "{name}: page {row}");
        }
        check_resources(&resources, &pages, &name);
        check_timelines(&timelines, &pages, &name);
        assert_eq!(pages.marks.iter().sum::<u32>() > 0, ecn, "{name}");
        for (part, nanos) in &pages.parts {
            *ever.entry(*part).or_default() += nanos.iter().sum::<u64>();
        }
    }
    let never: Vec<_> = ever.iter().filter(|&(_, &nanos)| nanos == 0).map(|(&part, _)| part).collect();
    assert_eq!(
        never,
        ["application"],
        "browsers and their servers write at once, and pages have anything else"
    );
}

/// A timeline has the losses and the marks of its page, and connections of the page alone.
fn check_timelines(timelines: &TimelineTable, pages: &ExplainedPageTable, name: &str) {
    let rows: std::collections::BTreeSet<u64> = timelines.row.iter().copied().collect();
    for page in rows {
        let row = usize::try_from(page).expect("small");
        let events = || (0..timelines.row.len()).filter(|&event| timelines.row[event] == page);
        let count = |names: &[&str]| {
            events().filter(|&at| names.iter().any(|name| timelines.event[at].starts_with(name))).count()
        };
        assert_eq!(count(&["dropped", "evicted"]), pages.losses[row] as usize, "{name}: page {page}");
        assert_eq!(count(&["arrived marked"]), pages.marks[row] as usize, "{name}: page {page}");
        let connections = events().map(|at| timelines.connection[at]).max().expect("there are events");
        assert_eq!(connections + 1, pages.connections[row], "{name}: page {page}");
    }
}
