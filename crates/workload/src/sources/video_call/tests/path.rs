//! Calls over a path with a constant delay that loses chosen packets.

use std::collections::BTreeMap;

use aqmlab_units::{Duration, Time};

use crate::RttConfig;
use crate::sources::{Datagram, Source, SourceConfig, VideoCallQuality, VideoCalls};

fn calls(rest: &str, seed: u64) -> VideoCalls {
    let config = format!(r#"{{"video_call": {{"flows": 1, "rtt": {{"fixed": "40 ms"}}{rest}}}}}"#);
    let config: SourceConfig = serde_json::from_str(&config).unwrap_or_else(|error| panic!("{error}"));
    config.check().unwrap_or_else(|error| panic!("{error}"));
    match Source::new(&config, 0, &RttConfig::shipped("uniform").expect("shipped"), seed) {
        Ok(Source::VideoCalls(calls)) => calls,
        other => panic!("video calls: {other:?}"),
    }
}

/// The delay of the link.
const LINK: Duration = Duration::from_millis(10);

/// Drives `calls` for this number of seconds; `is_lost` decides on each packet by its place among those sent. Returns these.
fn run(
    calls: &mut VideoCalls,
    seconds: u64,
    mut is_lost: impl FnMut(usize, &Datagram) -> bool,
) -> Vec<Datagram> {
    let end = Time::ZERO + Duration::from_secs(seconds);
    let (mut link, mut sent): (BTreeMap<(Time, usize), Datagram>, _) = (BTreeMap::new(), Vec::new());
    loop {
        let arrival = link.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
        let action = calls.next_time().unwrap_or(Time::MAX);
        let now = arrival.min(action);
        if now > end {
            return sent;
        }
        if arrival <= action {
            let (_, datagram) = link.pop_first().expect("it arrives");
            calls.receive(&datagram, false, now);
        }
        while let Some(datagram) = calls.next_datagram(now) {
            assert_eq!(datagram.at, now);
            if is_lost(sent.len(), &datagram) {
                calls.lose(&datagram);
            } else {
                link.insert((now + LINK, sent.len()), datagram);
            }
            sent.push(datagram);
        }
    }
}

fn quality(rest: &str, is_lost: impl FnMut(usize, &Datagram) -> bool) -> VideoCallQuality {
    let mut calls = calls(rest, 1);
    calls.measure_from(Time::ZERO + Duration::from_secs(10));
    run(&mut calls, 70, is_lost);
    calls.quality(Time::ZERO + Duration::from_secs(70))
}

#[test]
fn without_congestion_a_call_has_its_highest_rate() {
    let quality = quality("", |_, _| false);
    // 1.5 Mbit/s, less headers of 3 %, and what equation 8 takes for the shaping buffer: 24 bit/s a byte of some 3 kB.
    let rate = quality.bitrate_mbps_mean.expect("shown");
    assert!((1.33..1.45).contains(&rate), "{quality:?}");
    assert_eq!((quality.in_time_percent, quality.missing_percent), (Some(100.0), Some(0.0)));
    assert_eq!((quality.freezes_per_minute, quality.frozen_percent), (Some(0.0), Some(0.0)));
    // 30 ms of path, some 33 ms for the packets of a frame, and as much for those before it.
    let median = quality.frame_delay_ms_p50.expect("shown");
    assert!((70.0..120.0).contains(&median), "{quality:?}");
}

#[test]
fn a_burst_leaves_at_once_and_takes_less_time() {
    let [paced, burst] = ["", r#", "burst": true"#].map(|rest| quality(rest, |_, _| false));
    assert!(
        burst.frame_delay_ms_p50 < paced.frame_delay_ms_p50.map(|delay| delay - 10.0),
        "{paced:?} {burst:?}"
    );
    let mut calls = calls(r#", "burst": true"#, 1);
    let sent = run(&mut calls, 20, |_, _| false);
    let media = sent.iter().filter(|datagram| datagram.side == 0 && !datagram.is_report());
    let mut frames: BTreeMap<Time, u64> = BTreeMap::new();
    for datagram in media {
        *frames.entry(datagram.at).or_default() += 1;
    }
    assert!((550..650).contains(&frames.len()), "30 frames a second: {}", frames.len());
}

#[test]
fn lost_packets_are_sent_again_and_every_frame_is_shown() {
    // One packet in 500 is lost, which NADA bears with: x_curr stays below 1 ms.
    let quality = quality("", |place, _| place % 500 == 250);
    assert_eq!(quality.missing_percent, Some(0.0), "{quality:?}");
    assert!(quality.in_time_percent.expect("sent") > 95.0, "{quality:?}");
    // A request takes 30 ms and more to the sender, and the packet as long.
    assert!(quality.frame_delay_ms_p99 > Some(100.0), "{quality:?}");
}

#[test]
fn packets_that_are_lost_for_good_end_with_a_key_frame() {
    let mut calls = calls("", 1);
    calls.measure_from(Time::ZERO + Duration::from_secs(10));
    // Packets of side 0 are lost for half a second, and all requests for them for ten, after which they cannot be sent again.
    run(&mut calls, 40, |_, datagram| {
        let until = if datagram.side == 0 { 15.5 } else { 25.0 };
        datagram.is_report() == (datagram.side == 1) && (15.0..until).contains(&datagram.at.as_secs_f64())
    });
    let quality = calls.quality(Time::ZERO + Duration::from_secs(40));
    // One end of two freezes for some ten seconds of 30.
    assert!((quality.freezes_per_minute.expect("watched") - 1.0).abs() < 1e-9, "{quality:?}");
    let frozen = quality.frozen_percent_max.expect("watched") * 0.3;
    assert!((10.0..10.5).contains(&frozen), "{quality:?}");
    let missing = quality.missing_percent.expect("sent") * 0.6;
    assert!((9.5..10.5).contains(&missing), "the frames of ten seconds: {quality:?}");
    assert_eq!(quality.received_in_time_percent, Some(100.0), "{quality:?}");
    assert!((quality.sent_in_time_percent.expect("sent") - 100.0 * 2.0 / 3.0).abs() < 2.0, "{quality:?}");
}

#[test]
fn frames_do_not_depend_on_the_network_but_by_the_rate() {
    let captures = |is_lossy: bool| {
        let mut calls = calls(r#", "burst": true"#, 3);
        let sent = run(&mut calls, 20, |place, _| is_lossy && place % 20 == 0);
        let mut times: Vec<Time> =
            sent.iter().filter(|it| it.side == 0 && !it.is_report()).map(|it| it.at).collect();
        times.dedup();
        times
    };
    let (clean, lossy) = (captures(false), captures(true));
    // Retransmissions have times of their own.
    assert!(clean.iter().all(|at| lossy.contains(at)), "the same captures");
}

#[test]
fn a_call_ends_at_its_stop() {
    let mut calls = calls(r#", "stop": "5 s""#, 1);
    let sent = run(&mut calls, 60, |_, _| false);
    let last = sent.last().expect("sent").at.as_secs_f64();
    assert!((4.8..5.3).contains(&last), "{last}");
    assert_eq!(calls.next_time(), None);
    assert_eq!(calls.quality(Time::ZERO + Duration::from_secs(60)).frozen_percent, Some(0.0));
}

#[test]
fn packets_lie_within_their_bounds_and_reports_are_small() {
    let mut calls = calls(r#", "packet": "500 B""#, 1);
    let sent = run(&mut calls, 20, |place, _| place % 30 == 0);
    for datagram in sent {
        let size = datagram.size.get();
        if datagram.is_report() {
            assert!((44..=120).contains(&size), "{size}");
        } else {
            assert!((41..=500).contains(&size), "{size}");
        }
    }
}
