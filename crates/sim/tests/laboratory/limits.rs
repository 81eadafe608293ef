//! The shares of the time for which connections are limited, by reason.

use aqmlab_sim::LimitedByPercent;

use super::*;

/// Sources alone between hosts of today, on a link of 20 Mbit/s with a buffer of 100 packets, after slow start.
fn only_sources(sources: &Value) -> Value {
    json!({
        "link": {"rate": "20 Mbit/s", "device_fifo": 0},
        "queue": {"droptail": {"limit": 100}},
        "tcp": {"profile": "linux-6", "receive_window": 6_000_000},
        "users": {"per_side": 0},
        "sources": sources,
        "protocol": {"warmup": "10 s", "duration": "30 s"},
    })
}

fn one_flow() -> Value {
    json!([{"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}, "interface": "1 Gbit/s"}}])
}

/// The shares of the first source's time.
#[derive(Debug)]
struct Limited {
    application: f64,
    receive_window: f64,
    congestion_window: f64,
    recovery: f64,
    pacing: f64,
    interface: f64,
}

impl Limited {
    fn new(shares: &LimitedByPercent) -> Limited {
        Limited {
            application: known(shares.application),
            receive_window: known(shares.receive_window),
            congestion_window: known(shares.congestion_window),
            recovery: known(shares.recovery),
            pacing: known(shares.pacing),
            interface: known(shares.interface),
        }
    }

    fn sum(&self) -> f64 {
        let windows = self.receive_window + self.congestion_window;
        self.application + windows + self.recovery + self.pacing + self.interface
    }
}

fn limited(run: &Run) -> Limited {
    Limited::new(&run.summary.sources[0].limited_by_percent)
}

#[test]
fn a_small_window_limits_a_flow_to_one_window_a_round_trip() {
    for profile in ["linux-6", "freebsd-4.5"] {
        let mut spec = only_sources(&one_flow());
        spec["tcp"] = json!({"profile": profile, "receive_window": 32_000});
        let run = Run::to_the_end(&spec, 1);
        let limited = limited(&run);
        assert!(limited.receive_window > 99.0, "{profile}: {limited:?}");
        // What full segments fill of the window, an odd one of which is acknowledged late; 40 ms and 0.5 ms each way.
        let goodput = run.summary.sources[0].goodput_mbps;
        let most = 32_000.0 * 8.0 / 41e-3 / 1e6;
        assert!((0.88 * most..=most).contains(&goodput), "{profile}: {goodput} of {most} Mbit/s");
    }
}

#[test]
fn an_interface_slower_than_the_link_limits_a_flow() {
    for direction in ["upload", "download"] {
        let mut spec = only_sources(&one_flow());
        spec["sources"][0]["bulk"]["interface"] = "5 Mbit/s".into();
        spec["sources"][0]["bulk"]["direction"] = direction.into();
        let run = Run::to_the_end(&spec, 1);
        let limited = limited(&run);
        assert!(limited.interface > 99.0, "{direction}: {limited:?}");
        assert!(run.summary.sources[0].goodput_mbps > 4.5, "{direction}");
    }
}

#[test]
fn the_congestion_window_limits_a_flow_that_fills_the_link() {
    for (profile, congestion) in [("linux-6", "cubic"), ("linux-6", "reno"), ("freebsd-4.5", "reno")] {
        let mut spec = only_sources(&one_flow());
        spec["tcp"] = json!({"profile": profile, "receive_window": 1_000_000, "window_scaling": true});
        if profile == "linux-6" {
            spec["tcp"]["congestion"] = congestion.into();
        }
        let limited = limited(&Run::to_the_end(&spec, 1));
        assert!(limited.congestion_window > 75.0, "{profile}, {congestion}: {limited:?}");
        assert!(limited.recovery > 0.1, "{profile}, {congestion}: {limited:?}");
        assert!(limited.congestion_window + limited.recovery > 99.0, "{profile}, {congestion}: {limited:?}");
    }
}

#[test]
fn the_application_limits_a_video_that_the_link_carries() {
    let mut spec = only_sources(&json!([{"streaming": {
        "flows": 1, "rate": "2 Mbit/s", "buffered": "1 s", "rtt": {"fixed": "40 ms"}, "interface": "1 Gbit/s"
    }}]));
    let wide = limited(&Run::to_the_end(&spec, 1));
    assert!(wide.application > 60.0, "{wide:?}");
    spec["link"]["rate"] = "1 Mbit/s".into();
    let narrow = limited(&Run::to_the_end(&spec, 1));
    assert!(narrow.application < 1.0, "{narrow:?}");
}

#[test]
fn pacing_limits_a_flow_of_bbr() {
    let mut spec = only_sources(&one_flow());
    spec["tcp"]["congestion"] = "bbr".into();
    let limited = limited(&Run::to_the_end(&spec, 1));
    assert!(limited.pacing > 75.0, "{limited:?}");
}

#[test]
fn shares_add_up_to_all_of_the_time() {
    for tcp in [json!({}), json!({"profile": "linux-6"}), json!({"profile": "linux-6", "congestion": "bbr"})]
    {
        let mut spec = congested(&law("pi"));
        spec["tcp"] = tcp;
        spec["protocol"] = json!({"warmup": "20 s", "duration": "40 s"});
        spec["sources"] = json!([
            {"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}},
            {"transfers": {"rate_per_second": [3, 3], "size": {"fixed": "10 kB"}}},
            {"datagrams": {"rate": "100 kbit/s"}},
        ]);
        let run = Run::to_the_end(&spec, 1);
        let users = Limited::new(&run.summary.users_limited_by_percent);
        let sources = run.summary.sources.iter().map(|source| &source.limited_by_percent);
        let [bulk, transfers, datagrams] = sources.collect::<Vec<_>>().try_into().expect("three sources");
        assert!(datagrams.application.is_none(), "datagrams have no connections");
        let (bulk, transfers) = (Limited::new(bulk), Limited::new(transfers));
        for limited in [&users, &bulk, &transfers] {
            assert!((limited.sum() - 100.0).abs() < 1e-9, "{limited:?}");
        }
        assert!(users.application > bulk.application + 10.0, "{users:?}");
    }
}
