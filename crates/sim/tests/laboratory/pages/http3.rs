//! Pages over HTTP/3: page load times in closed form, losses, and the pages that HTTP/2 loads too.

use aqmlab_sim::{Bounds, Capture};
use aqmlab_units::Time;

use super::*;

/// The pages of `plain` over HTTP/2, or a share of them over HTTP/3.
pub(super) fn plain_http3(number: f64, resumed: f64, http3: f64) -> Value {
    let mut workload = plain(number, 0.0, resumed);
    workload["http3"]["origins"]["share"] = json!(http3);
    workload
}

/// The mean page load time, in milliseconds.
fn load_ms(run: &Run) -> f64 {
    let pages = run.summary.pages.expect("users load pages");
    assert!(pages.pages > 5 && pages.incomplete_pages == 0);
    pages.load_s_mean.expect("loaded") * 1e3
}

// IP and UDP headers have 28 bytes, a packet with a long header 43, in the Initial space 44, one with a short header 27. A
// CRYPTO or STREAM frame has a header of 4 bytes at offset 0 here, and an acknowledgement 5.
const INITIAL: u32 = 28 + 1200;
const SETTINGS: u32 = 4 + 40;
const REQUEST: u32 = 28 + 27 + SETTINGS + 4 + 540;
const RESPONSE: u32 = 28 + 27 + 5 + SETTINGS + 4 + 5 + 1024;

#[test]
fn a_page_takes_two_round_trips_and_its_bytes() {
    // The server's flight has 90 bytes in the Initial space, and 100 + 2000 + 80 + 36 = 2216 in the Handshake space, of which
    // 1007 and 1150 are in the first two datagrams. The client's Finished has 36, and leaves before its request.
    let flight = [INITIAL, 28 + 43 + 5 + 1150, 28 + 43 + 5 + 2216 - 1007 - 1150];
    let rest = [28 + 43 + 5 + 4 + 36, REQUEST, RESPONSE];
    let expected = 2.0 * 20.0 + wire_ms(&[INITIAL]) + wire_ms(&flight) + wire_ms(&rest);
    let run = idle(&plain_http3(0.5, 0.0, 1.0));
    for &time in &run.tables.exchanges.response_time_ms {
        assert!((time - expected).abs() < 1e-6, "{time} ms, expected {expected}");
    }
    assert!((load_ms(&run) - expected).abs() < 1e-6);
    let pages = run.summary.pages.expect("users load pages");
    assert_eq!((pages.http3_load_s_p50, pages.http2_load_s_p50), (pages.load_s_p50, None));
}

#[test]
fn a_page_of_a_resumed_session_takes_one_round_trip() {
    // The request is in the first datagram, the server's flight in one, and the response in the next.
    let expected = 20.0 + wire_ms(&[INITIAL, INITIAL, RESPONSE]);
    let load = load_ms(&idle(&plain_http3(0.5, 1.0, 1.0)));
    assert!((load - expected).abs() < 1e-6, "{load} ms, expected {expected}");
}

#[test]
fn twelve_images_take_one_more_round_trip() {
    for (resumed, round_trips) in [(0.0, 3.0), (1.0, 2.0)] {
        let run = idle(&plain_http3(12.5, resumed, 1.0));
        assert_eq!(run.summary.pages.expect("users load pages").requests_mean, Some(13.0));
        let load = load_ms(&run);
        assert!((20.0 * round_trips..20.0 * round_trips + 0.5).contains(&load), "{load} ms");
    }
}

/// Response times of the images of the first user's first page, in milliseconds, and the time of their requests. Packets are lost in
/// the millisecond from `lost_from`, in seconds.
fn first_page(http3: f64, lost_from: Option<f64>) -> (Vec<f64>, f64) {
    let mut spec = idle_spec(&plain_http3(12.5, 0.0, http3));
    spec["link"]["rate"] = json!("10 Mbit/s");
    if let Some(at) = lost_from {
        spec["link"]["outages"] =
            json!([{"at": format!("{:.6} ms", at * 1e3), "lasts": "1 ms", "packets": "lost"}]);
    }
    let run = Run::to_the_end(&spec, 1);
    let rows = &run.tables.exchanges;
    let page: Vec<usize> = (0..rows.user.len()).filter(|&row| rows.user[row] == 0).take(13).collect();
    let last = page.iter().map(|&row| rows.start_s[row]).fold(0.0, f64::max);
    let mut images: Vec<f64> = page[1..].iter().map(|&row| rows.response_time_ms[row]).collect();
    images.sort_by(f64::total_cmp);
    (images, last)
}

#[test]
fn a_lost_packet_delays_only_its_streams() {
    // The images fill nine packets of the initial window. The second one is lost.
    let late = |http3: f64| {
        let (times, last) = first_page(http3, None);
        let (with_loss, _) = first_page(http3, Some(last + 0.0235));
        assert_eq!((times.len(), with_loss.len()), (12, 12));
        let on_time = times[11] + 1.0;
        with_loss.iter().filter(|&&time| time > on_time).count()
    };
    let (http2, http3) = (late(0.0), late(1.0));
    assert!((1..=3).contains(&http3), "{http3} images are late over HTTP/3");
    assert!(http2 >= 9, "{http2} images are late over HTTP/2");
}

#[test]
fn pages_are_the_same_over_either_protocol_under_every_queue() {
    let run = |queue: Value, http3: f64| {
        let spec = json!({
            "link": {"rate": "4 Mbit/s", "device_fifo": 0, "loss": 0.005},
            "queue": queue,
            "tcp": {"profile": "linux-6"},
            "users": {"per_side": 4, "sides": 1, "workload": "web-2024", "http3": http3},
            "protocol": {"warmup": "0 s", "duration": "3 min"},
            "record": {"exchanges": true},
        });
        Run::to_the_end(&spec, 1)
    };
    let droptail = json!({"droptail": {"limit": 20}});
    let runs = [(droptail.clone(), 0.0), (droptail, 1.0), (json!({"fq_codel": {}}), 1.0)];
    let [http2, http3, fair] = runs.map(|(queue, share)| {
        let run = run(queue, share);
        assert!(known(run.summary.loss_percent) > 0.1, "the queue must make a difference");
        pages(&run)
    });
    for (one, two) in [(&http2, &http3), (&http3, &fair)] {
        let both: Vec<_> = one.keys().filter(|key| two.contains_key(key)).collect();
        assert!(both.len() > 5, "{} pages", both.len());
        for key in both {
            // The numbers of requests differ by protocol, and connections and sizes of responses do not.
            assert_eq!(one[key], two[key], "page {key:?}");
        }
    }
}

#[test]
fn a_capture_needs_pages_without_http3() {
    let spec = read(&json!({"users": {"per_side": 1, "workload": "web-2024"}, "queue": {"droptail": {}}}));
    let capture = Capture::new(&spec, Bounds { from: Time::ZERO, until: Time::MAX, packets: 1 });
    let error = build(&spec, 1, None, Watch::Capture(&capture)).err().expect("refused");
    assert!(error.to_string().starts_with("users.http3: must be 0: captures"), "{error}");
}
