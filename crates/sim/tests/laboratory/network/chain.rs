//! Links in series: invariants of a chain under every queue discipline, and theory.

use aqmlab_sim::{Bounds, Capture};
use aqmlab_units::Time;

use crate::*;

/// The columns of a run as text, but for the numbers of the links.
fn all_of(run: &Run) -> String {
    let summary = &run.summary;
    let mut tables = run.tables.clone();
    tables.queue.link = None;
    tables.link.link = None;
    // They know whether they are of several laws.
    let variables = std::mem::take(&mut tables.queue.variables).each;
    format!("{summary:?} {tables:?} {variables:?} {:?}", run.response_times)
}

/// The spec with these links in series, each with what the link is.
fn in_series(spec: &Value, links: &Value) -> Value {
    let mut spec = spec.clone();
    put_in_series(&mut spec, links);
    spec
}

/// Sources alone on a chain of ideal links of 10 Mbit/s and 1 ms, for half a minute.
fn chain_of(links: usize, queue: &Value, sources: &Value) -> Value {
    json!({
        "link": vec![json!({"rate": "10 Mbit/s", "delay": "1 ms", "device_fifo": 0}); links],
        "queue": queue,
        "tcp": {"receive_window": 65535},
        "users": {"per_side": 0},
        "sources": sources,
        "protocol": {"warmup": "10 s", "duration": "20 s"},
        "record": {"exchanges": true},
    })
}

/// Fair queueing with room for a window: at `CoDel`'s target of 5 ms a single Reno flow leaves some of a link unused.
fn fair() -> Value {
    json!({"fq_codel": {"target": "30 ms", "interval": "200 ms"}})
}

/// Packets that arrived at a link in both directions, in the whole run.
fn arrived(run: &Run, link: usize) -> u64 {
    run.summary.counters[2 * link..2 * link + 2].iter().map(|direction| direction.arrived).sum()
}

#[test]
fn a_chain_of_one_link_is_that_link_under_every_discipline() {
    for (name, queue) in disciplines() {
        for ecn in [false, true] {
            let mut spec = congested(&queue);
            spec["protocol"]["duration"] = json!("10 s");
            spec["tcp"] = json!({ "ecn": ecn });
            spec["sources"] = json!([
                {"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}},
                {"datagrams": {"rate": "100 kbit/s", "packet": "200 B", "side": 1}},
            ]);
            let single = Run::to_the_end(&spec, 1);
            let chain = Run::to_the_end(&in_series(&spec, &json!([{}])), 1);
            assert!(all_of(&single) == all_of(&chain), "{name}, ecn {ecn}");
            assert!(single.tables.link.link.is_none() && single.tables.queue.link.is_none());
            let numbers = [chain.tables.link.link, chain.tables.queue.link].map(Option::unwrap_or_default);
            assert!(numbers.iter().flatten().all(|&link| link == 1) && numbers[1].len() > 1_000);
        }
    }
}

#[test]
fn modern_stacks_find_a_chain_of_one_link_to_be_that_link() {
    for profile in ["linux-6", "quic"] {
        let mut spec = congested(&json!({"fq_codel": {}}));
        spec["protocol"]["duration"] = json!("10 s");
        spec["tcp"] = json!({"profile": profile});
        let chain = Run::to_the_end(&in_series(&spec, &json!([{}])), 1);
        assert_eq!(all_of(&Run::to_the_end(&spec, 1)), all_of(&chain));
    }
}

#[test]
fn packets_of_quic_cross_each_link_of_a_chain() {
    let sources = json!([{"bulk": {"flows": 1, "direction": "upload", "rtt": {"fixed": "20 ms"}}}]);
    let mut spec = chain_of(3, &fair(), &sources);
    spec["tcp"] = json!({"profile": "quic"});
    let run = Run::to_the_end(&spec, 1);
    let [first, second, third] = [0, 1, 2].map(|link| arrived(&run, link));
    assert!(
        second > 10_000 && first.abs_diff(second).max(second.abs_diff(third)) < 100,
        "{first} {second} {third}"
    );
}

#[test]
fn a_second_link_that_is_far_faster_adds_its_delay_and_no_more() {
    let sources = json!([{"bulk": {"flows": 1, "direction": "upload", "rtt": {"fixed": "20 ms"}}}]);
    let one = chain_of(1, &json!({"droptail": {"limit": 20}}), &sources);
    let mut single = one.clone();
    single["link"][0]["delay"] = "1.5 ms".into();
    let mut two = one;
    put_in_series(&mut two, &json!([{}, {"rate": "1000 Gbit/s", "delay": "0.5 ms"}]));
    let [single, two] = [single, two].map(|spec| Run::to_the_end(&spec, 1));
    let [first, second] = [0, 1].map(|link| arrived(&two, link));
    assert!(first.abs_diff(second) < 50 && two.summary.counters[2..].iter().all(|link| link.dropped() == 0));
    let outcome_of = |run: &Run| (run.summary.sources[0].goodput_mbps, run.summary.counters[0].dropped());
    // On the fast link a packet takes 12 ns, which shifts nothing by more than a packet here or there.
    let ((single, drops), (two, other_drops)) = (outcome_of(&single), outcome_of(&two));
    assert!((single / two - 1.0).abs() < 2e-3 && drops > 20, "{single} and {two} Mbit/s");
    assert!(drops.abs_diff(other_drops) <= 1 + drops / 50, "{drops} and {other_drops}");
}

#[test]
fn an_idle_chains_delay_is_transmission_plus_propagation() {
    for (side, path) in [(0, [1, 4]), (1, [1, 4]), (0, [2, 3]), (1, [2, 4])] {
        let datagrams = json!([{"datagrams": {
            "rate": "10 kbit/s", "packet": "462 B", "spread": "0 s", "side": side, "path": path,
        }}]);
        let mut spec = chain_of(3, &json!({"pi": {"q_ref": 24}}), &datagrams);
        spec["link"] = json!([
            {"rate": "10 Mbit/s", "delay": "1 ms"},
            {"rate": "100 kbit/s", "delay": "20 ms"},
            {"rate": "1 Mbit/s", "delay": "7 ms"},
        ]);
        let run = Run::to_the_end(&spec, 1);
        let took = run.summary.sources[0].datagrams.expect("it sends datagrams");
        // 500 bytes on the wire.
        let hops: [f64; 3] = [0.4 + 1.0, 40.0 + 20.0, 4.0 + 7.0];
        let expected: f64 = hops[path[0] - 1..path[1] - 1].iter().sum();
        let mean = known(took.delay_ms_mean);
        assert!((mean / expected - 1.0).abs() < 1e-3, "{mean} ms, not {expected}");
        assert_eq!(run.summary.sources[0].packets.packets_lost, 0);
    }
}

#[test]
fn a_flow_touches_the_links_of_its_path_and_no_other() {
    let sources = json!([
        {"bulk": {"flows": 3, "path": [2, 3], "rtt": {"fixed": "10 ms"}}},
        {"datagrams": {"rate": "100 kbit/s", "side": 1, "path": [3, 4]}},
    ]);
    let run = Run::to_the_end(&chain_of(4, &json!({"droptail": {"limit": 20}}), &sources), 1);
    assert_eq!((arrived(&run, 0), arrived(&run, 3)), (0, 0));
    let [second, third] = [&run.summary.counters[2..4], &run.summary.counters[4..6]];
    assert!(
        second.iter().all(|direction| direction.sent > 5_000),
        "data one way, acknowledgements the other"
    );
    assert!(third[0].sent == 0 && third[1].sent > 200);
}

#[test]
fn fair_queueing_halves_each_link_of_a_parking_lot() {
    let cross = |link: u64| json!({"bulk": {"name": format!("cross {link}"), "flows": 1, "path": [link, link + 1], "rtt": {"fixed": "20 ms"}}});
    let long = json!({"bulk": {"name": "long", "flows": 1, "rtt": {"fixed": "20 ms"}}});
    let mut spec = chain_of(3, &fair(), &json!([long, cross(1), cross(2), cross(3)]));
    spec["tcp"]["newreno"] = true.into();
    let run = Run::to_the_end(&spec, 1);
    // Data go from servers on side 1 to clients on side 0, 1,460 of 1,538 bytes of each frame.
    let whole = 10.0 * 1460.0 / 1538.0;
    for link in run.summary.directions.iter().filter(|link| link.direction == 1) {
        assert!(link.utilisation > 0.97, "{link:?}");
    }
    for source in &run.summary.sources {
        let share = source.goodput_mbps / whole;
        assert!((share - 0.5).abs() < 0.03, "{} has {share} of the link", source.name);
    }
}

#[test]
fn flows_over_links_of_different_rates_get_max_min_shares() {
    // Two flows on the slow second link have 5 Mbit/s each; the other one on the first has what they leave of it.
    let flow = |name: &str, path: [u32; 2]| json!({"bulk": {"name": name, "flows": 1, "path": path, "rtt": {"fixed": "20 ms"}}});
    let sources = json!([flow("long", [1, 3]), flow("first", [1, 2]), flow("second", [2, 3])]);
    let mut spec = chain_of(2, &fair(), &sources);
    spec["link"][0]["rate"] = "20 Mbit/s".into();
    let run = Run::to_the_end(&spec, 1);
    let shares: Vec<f64> =
        run.summary.sources.iter().map(|source| source.goodput_mbps * 1538.0 / 1460.0).collect();
    for (share, expected) in shares.iter().zip([5.0, 15.0, 5.0]) {
        assert!((share / expected - 1.0).abs() < 0.06, "{shares:?}");
    }
}

/// The generic fair configuration 2, at a thousandth of its rates.
fn gfc2(queue: &Value) -> Value {
    let transfers = |name: &str, path: [u32; 2], sessions: f64| {
        json!({"transfers": {
            "name": name, "rate_per_second": [0.0, 0.4 * sessions], "path": path,
            "size": {"exponential": {"mean": "5 kB"}}, "rtt": {"fixed": "10 ms"},
        }})
    };
    let groups = [
        ("A1", [1, 6], 1.0),
        ("B1", [1, 7], 1.0),
        ("C", [5, 6], 3.0),
        ("D", [1, 2], 1.0),
        ("E", [2, 3], 2.0),
        ("G", [6, 7], 7.0),
    ];
    let mut sources: Vec<Value> = groups.iter().map(|&(name, path, n)| transfers(name, path, n)).collect();
    sources.push(json!({"datagrams": {"name": "F", "rate": "12 kbit/s", "packet": "250 B", "path": [3, 4]}}));
    sources.push(
        json!({"bulk": {"name": "H", "flows": 1, "side": 1, "path": [4, 5], "rtt": {"fixed": "10 ms"}}}),
    );
    let links = [(50, 20), (100, 10), (50, 5), (150, 5), (150, 5), (50, 10)];
    let links = links.map(
        |(kbit, ms)| json!({"rate": format!("{kbit} kbit/s"), "delay": format!("{ms} ms"), "device_fifo": 0}),
    );
    json!({
        "link": links,
        "queue": queue,
        "users": {"per_side": 0},
        "sources": sources,
        "protocol": {"warmup": "20 s", "duration": "60 s"},
    })
}

/// R. Simcoe's configuration for the fairness of ATM switches, ATM Forum 94-0557, at a tenth of its rates.
#[test]
fn fair_queueing_gives_long_gfc2_flows_max_min_shares() {
    // Group, path, sessions and the fair share of each in Mbit/s.
    let groups = [
        ("A1", [1, 6], 1, 1.0),
        ("A2", [2, 6], 1, 1.0),
        ("A3", [3, 6], 1, 1.0),
        ("B1", [1, 7], 1, 0.5),
        ("B2", [2, 7], 1, 0.5),
        ("B3", [4, 7], 1, 0.5),
        ("C", [5, 6], 3, 3.5),
        ("D", [1, 2], 1, 3.5),
        ("E", [2, 3], 2, 3.5),
        ("F", [3, 4], 1, 1.0),
        ("G", [6, 7], 7, 0.5),
        ("H", [4, 5], 2, 5.25),
    ];
    let bulk = |(name, path, flows, _): (&str, [u32; 2], u32, f64)| json!({"bulk": {"name": name, "flows": flows, "side": 1, "path": path, "rtt": {"fixed": "10 ms"}}});
    let mut spec = chain_of(6, &fair(), &groups.map(bulk).to_vec().into());
    for (link, (mbit, delay)) in
        [(5, 20), (10, 10), (5, 5), (15, 5), (15, 5), (5, 10)].into_iter().enumerate()
    {
        spec["link"][link]["rate"] = json!(format!("{mbit} Mbit/s"));
        spec["link"][link]["delay"] = json!(format!("{delay} ms"));
    }
    spec["protocol"]["duration"] = "60 s".into();
    let run = Run::to_the_end(&spec, 1);
    for ((name, _, flows, fair), source) in groups.into_iter().zip(&run.summary.sources) {
        let share = source.goodput_mbps / f64::from(flows) * 1538.0 / 1460.0;
        assert!((share / fair - 1.0).abs() < 0.1, "{name} has {share} Mbit/s for a session, not {fair}");
    }
}

#[test]
fn every_packet_is_accounted_for_on_every_link_of_gfc2() {
    for (name, queue) in disciplines() {
        // At its end the run checks the ways between the endpoints.
        let run = Run::to_the_end(&gfc2(&queue), 1);
        for link in &run.summary.counters {
            assert_eq!(link.arrived, link.sent + link.dropped() + link.held, "{name}");
        }
        assert_eq!(run.summary.counters.len(), 12);
        for hop in run.summary.directions.iter().filter(|hop| hop.direction == 0) {
            let rates = [50.0, 100.0, 50.0, 150.0, 150.0, 50.0];
            assert!(
                hop.throughput_mbps * 1e3 < rates[hop.link - 1] && hop.utilisation <= 1.01,
                "{name}: {hop:?}"
            );
        }
        assert!(run.summary.bottleneck_packets > 2_000, "{name}: {}", run.summary.bottleneck_packets);
    }
}

#[test]
fn the_tables_of_a_chain_add_up_to_its_counters() {
    let mut spec = gfc2(&json!({"red": {}}));
    spec["link"][2]["queue"] = json!({"pi": {"q_ref": 24}});
    spec["protocol"]["warmup"] = "0 s".into();
    let run = Run::to_the_end(&spec, 1);
    let (table, queue) = (&run.tables.link, &run.tables.queue);
    let [numbers, numbers_of_queues] =
        [&table.link, &queue.link].map(|column| column.as_ref().expect("links of a chain have numbers"));
    for hop in &run.summary.directions {
        let rows = || {
            let of_hop = |&row: &usize| {
                usize::from(numbers[row]) == hop.link && usize::from(table.direction[row]) == hop.direction
            };
            (0..table.time_s.len()).filter(of_hop)
        };
        assert_eq!(rows().map(|row| table.arrived[row]).sum::<u64>(), hop.arrived);
        assert_eq!(rows().map(|row| table.drops[row]).sum::<u64>(), hop.dropped);
        let total = run.summary.counters[2 * (hop.link - 1) + hop.direction];
        assert_eq!((total.arrived, total.dropped(), total.marked), (hop.arrived, hop.dropped, hop.marked));
    }
    // RED's variables where RED is, and PI's where PI is.
    for (name, values) in &queue.variables.each {
        assert_eq!(values.len(), queue.packets.len());
        for (value, &link) in values.iter().zip(numbers_of_queues) {
            let is_pis = link == 3;
            assert_eq!(value.is_nan(), is_pis != (*name == "p"), "{name} of link {link}");
        }
    }
    assert!(queue.variables.each.len() > 1, "too few to tell");
}

#[test]
fn automatic_parameters_are_those_of_the_queues_own_link() {
    let spec = chain_of(2, &json!({"ared": {}}), &json!([{"bulk": {"flows": 1}}]));
    let mut fast = spec.clone();
    fast["link"][1]["rate"] = "1 Gbit/s".into();
    let [slow, fast] = [spec, fast].map(|spec| in_full(&spec));
    assert_eq!(fast["link"][0]["queue"], slow["link"][0]["queue"]);
    assert_ne!(fast["link"][1]["queue"], slow["link"][1]["queue"]);
}

#[test]
fn capture_changes_no_chain_and_has_two_interfaces_a_link() {
    let spec = gfc2(&json!({"codel": {}}));
    let resolved = read(&spec);
    let capture = Capture::new(&resolved, Bounds { from: Time::ZERO, until: Time::MAX, packets: u64::MAX });
    let mut laboratory = build(&resolved, 1, None, Watch::Capture(&capture)).expect("the spec is sound");
    laboratory.advance(laboratory.end());
    capture.finish();
    let run = Run::result_of(&mut *laboratory);
    assert_eq!(format!("{run:?}"), format!("{:?}", Run::to_the_end(&spec, 1)));
    let packets = crate::watched::capture::packets(&capture.take());
    for (interface, link) in (0..).zip(&run.summary.counters) {
        let count = packets.iter().filter(|packet| packet.interface == interface).count() as u64;
        assert_eq!(count, link.arrived);
    }
    assert!(packets.is_sorted_by_key(|packet| packet.nanos));
}
