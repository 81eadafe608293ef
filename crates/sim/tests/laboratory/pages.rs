//! Pages of today over links: page load times in closed form, and the same pages under every queue discipline.

mod explained;
mod http3;

use std::collections::BTreeMap;

use super::*;

/// The shipped workload with `change` in it.
fn workload(change: impl FnOnce(&mut Value)) -> Value {
    let spec = in_full(&json!({"users": {"per_side": 1, "workload": "web-2024"}, "queue": {"droptail": {}}}));
    let mut workload = spec["users"]["workload"].clone();
    change(&mut workload);
    workload
}

/// Pages with `number` images of 1 KB beside a document of 1 KB, all from one origin, with full handshakes.
fn plain(number: f64, http1: f64, resumed: f64) -> Value {
    workload(|workload| {
        let nothing = json!([[0, 0.5], [0.5, 0.5]]);
        for kind in ["html", "css", "script", "font", "image", "other"] {
            workload["resources"][kind]["per_page"]["nodes"] = nothing.clone();
            let sizes = json!({"source": "", "nodes": [[0, 1], [0.5, 1]]});
            workload["resources"][kind]["kilobytes"] = json!({ "per_resource": sizes });
        }
        workload["resources"]["image"]["per_page"]["nodes"] = json!([[0, number], [0.5, number]]);
        for share in ["other_origins", "images_by_css", "images_by_scripts"] {
            workload[share]["share"] = json!(0);
        }
        workload["http1_own_origin"]["share"] = json!(http1);
        workload["http3"]["origins"]["share"] = json!(0);
        workload["resumed_connections"]["share"] = json!(resumed);
    })
}

/// One user on each side of an idle link of 1 Gbit/s, 20 ms away from the servers.
fn idle(workload: &Value) -> Run {
    Run::to_the_end(&idle_spec(workload), 1)
}

fn idle_spec(workload: &Value) -> Value {
    json!({
        "link": {"rate": "1 Gbit/s", "delay": "0 s", "device_fifo": 0},
        "queue": {"droptail": {"limit": 1000}},
        "hosts": {"rate": null},
        "tcp": {"profile": "linux-6"},
        "users": {"per_side": 1, "workload": workload, "rtt": {"source": "", "distribution": {"uniform_ms": {"min": 20, "max": 20}}}},
        "protocol": {"warmup": "0 s", "duration": "10 min"},
        "record": {"exchanges": true},
    })
}

/// The time that packets with these IP bytes take on the wire of 1 Gbit/s, in milliseconds.
fn wire_ms(packets: &[u32]) -> f64 {
    packets.iter().map(|bytes| f64::from(bytes + 38) * 8.0 / 1e6).sum()
}

#[test]
fn a_page_takes_three_round_trips_and_its_bytes() {
    // TCP's headers have 52 bytes, with its timestamps; a SYN has 60. A record of TLS has 22 more, a frame of HTTP/2 9.
    let full = [1500, 1500, 3000 - 2 * 1448 + 52];
    for (http1, resumed, flight, overhead) in
        [(0.0, 0.0, &full[..], 31), (1.0, 0.0, &full[..], 22), (0.0, 1.0, &[250 + 52][..], 31)]
    {
        let run = idle(&plain(0.5, http1, resumed));
        let handshake = wire_ms(&[60, 60, 52, 517 + 52]) + wire_ms(flight);
        // Linux acknowledges the first data of a connection at once: an acknowledgement goes before the flight, and one before
        // the request.
        let handshake = handshake + wire_ms(&[52, 52]);
        let expected = 3.0 * 20.0 + handshake + wire_ms(&[58 + 600 + 52, 1024 + overhead + 52]);
        let rows = &run.tables.exchanges;
        assert!(rows.top_level.len() > 5 && rows.top_level.iter().all(|&document| document));
        for &time in &rows.response_time_ms {
            assert!((time - expected).abs() < 1e-6, "{time} ms, expected {expected}");
        }
        let pages = run.summary.pages.expect("users load pages");
        assert_eq!((pages.pages, pages.incomplete_pages), (rows.top_level.len() as u64, 0));
        assert!((pages.load_s_mean.expect("loaded") * 1e3 - expected).abs() < 1e-6);
        assert_eq!(pages.load_s_p50, pages.first_render_s_p50);
    }
}

#[test]
fn a_server_ends_each_tls_record_with_a_short_segment() {
    let mut workload = plain(0.5, 1.0, 1.0);
    workload["resources"]["html"]["kilobytes"]["per_resource"]["nodes"] = json!([[0, 33], [0.5, 33]]);
    let mut spec = idle_spec(&workload);
    spec["tcp"]["initial_window"] = json!(40);
    let run = Run::to_the_end(&spec, 1);
    // Two full records of 16,384 + 22 bytes, and the rest. As one stream they would have 23 segments.
    let record = [&[1500; 11][..], &[16_406 - 11 * 1448 + 52]].concat();
    let response = [&record[..], &record, &[33 * 1024 + 3 * 22 - 2 * 16_406 + 52]].concat();
    assert_eq!(response.len(), 25);
    let handshake = wire_ms(&[60, 60, 52, 517 + 52, 52, 250 + 52, 52]);
    let expected = 3.0 * 20.0 + handshake + wire_ms(&[58 + 600 + 52]) + wire_ms(&response);
    for &time in &run.tables.exchanges.response_time_ms {
        assert!((time - expected).abs() < 1e-6, "{time} ms, expected {expected}");
    }
}

#[test]
fn twelve_images_take_one_round_trip_or_four() {
    // The document is there after 60 ms. Over HTTP/2 all twelve requests leave then. Over HTTP/1.1 its connection carries one
    // in each round trip; five others open within two round trips, when two images are there, and six go in each of the next.
    let load = |http1: f64| {
        let run = idle(&plain(12.5, http1, 0.0));
        assert_eq!(run.summary.pages.expect("users load pages").requests_mean, Some(13.0));
        run.summary.pages.expect("users load pages").load_s_mean.expect("loaded") * 1e3
    };
    let (one, six) = (load(0.0), load(1.0));
    assert!((80.0..80.5).contains(&one), "{one} ms over HTTP/2");
    assert!((140.0..140.5).contains(&six), "{six} ms over HTTP/1.1");
}

/// The exchanges of each page of each user, without the last pages, which may be incomplete.
fn pages(run: &Run) -> BTreeMap<(u64, u64), Vec<(u64, u32)>> {
    let (rows, mut pages) = (&run.tables.exchanges, BTreeMap::<_, Vec<_>>::new());
    for row in 0..rows.user.len() {
        let page = rows.connection[row] >> 24;
        pages
            .entry((rows.user[row], page))
            .or_default()
            .push((rows.connection[row], rows.response_bytes[row]));
    }
    let last: Vec<_> =
        pages.keys().copied().filter(|&(user, page)| !pages.contains_key(&(user, page + 1))).collect();
    pages.retain(|key, _| !last.contains(key));
    for exchanges in pages.values_mut() {
        exchanges.sort_unstable();
    }
    pages
}

#[test]
fn pages_are_the_same_under_every_queue() {
    let run = |queue: Value| {
        let spec = json!({
            "link": {"rate": "4 Mbit/s", "device_fifo": 0},
            "queue": queue,
            "tcp": {"profile": "linux-6"},
            "users": {"per_side": 5, "sides": 1, "workload": "web-2024"},
            "protocol": {"warmup": "0 s", "duration": "4 min"},
            "record": {"exchanges": true},
        });
        Run::to_the_end(&spec, 1)
    };
    let (one, two) = (run(json!({"droptail": {"limit": 20}})), run(json!({"fq_codel": {}})));
    for run in [&one, &two] {
        assert!(known(run.summary.loss_percent) > 0.1, "the queue must make a difference");
    }
    let (one, two) = (pages(&one), pages(&two));
    let both: Vec<_> = one.keys().filter(|key| two.contains_key(key)).collect();
    assert!(both.len() > 10, "{} pages", both.len());
    for key in both {
        assert_eq!(one[key], two[key], "page {key:?}");
    }
}
