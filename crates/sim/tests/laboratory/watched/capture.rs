//! A capture does not change the run, and its packets add up to the counters.

use aqmlab_sim::{Bounds, Capture};
use aqmlab_units::{Duration, Time};

use crate::*;

pub(crate) const ALL: Bounds = Bounds { from: Time::ZERO, until: Time::MAX, packets: u64::MAX };

/// Twenty seconds of [`congested`].
fn briefly(queue: &Value, ecn: bool) -> Value {
    let mut spec = congested(queue);
    spec["protocol"]["duration"] = json!("20 s");
    spec["tcp"] = json!({"ecn": ecn});
    spec
}

/// A run in steps of a second, and the file of its capture.
pub(crate) fn captured(spec: &Value, bounds: Bounds) -> (Run, Vec<u8>) {
    let spec = read(spec);
    let capture = Capture::new(&spec, bounds);
    let mut laboratory = build(&spec, 1, None, Watch::Capture(&capture)).expect("the spec is sound");
    let mut file = Vec::new();
    while laboratory.now() < laboratory.end() {
        laboratory.advance(laboratory.now() + Duration::from_secs(1));
        file.extend(capture.take());
    }
    capture.finish();
    file.extend(capture.take());
    (Run::result_of(&mut *laboratory), file)
}

/// An enhanced packet block, read dully.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) interface: u32,
    pub(crate) nanos: u64,
    pub(crate) stored: Vec<u8>,
    pub(crate) length: u32,
    pub(crate) comment: String,
}

pub(crate) fn packets(mut file: &[u8]) -> Vec<Seen> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let mut packets = Vec::new();
    while !file.is_empty() {
        let (block, rest) = file.split_at(word(&file[4..8]) as usize);
        file = rest;
        if word(&block[..4]) != 6 {
            continue;
        }
        let stored = word(&block[20..24]) as usize;
        let options = &block[28 + stored.next_multiple_of(4)..];
        let comment = &options[4..4 + usize::from(u16::from_le_bytes([options[2], options[3]]))];
        packets.push(Seen {
            interface: word(&block[8..12]),
            nanos: u64::from(word(&block[12..16])) << 32 | u64::from(word(&block[16..20])),
            stored: block[28..28 + stored].to_vec(),
            length: word(&block[24..28]),
            comment: String::from_utf8(comment.to_vec()).expect("a comment is text"),
        });
    }
    packets
}

#[test]
fn packets_are_captured_as_ip_under_every_header_setting() {
    let file = |header: &str| {
        let mut spec = briefly(&law("droptail"), false);
        spec["link"]["header"] = json!(header);
        packets(&captured(&spec, ALL).1)
    };
    assert_eq!(file("14 B"), file("0 B"));
}

#[test]
fn capture_changes_no_run_under_any_discipline() {
    for (name, queue) in disciplines() {
        for ecn in [false, true] {
            let spec = briefly(&queue, ecn);
            let (run, _) = captured(&spec, ALL);
            assert!(format!("{run:?}") == format!("{:?}", Run::to_the_end(&spec, 1)), "{name}, ecn {ecn}");
        }
    }
}

#[test]
fn capture_changes_no_response_time_of_users_or_sources() {
    let mut spec = briefly(&law("droptail"), false);
    spec["users"]["per_side"] = 100.into();
    // Short connections: users and sources take over each other's places all the time.
    spec["sources"] = json!([
        {"transfers": {"rate_per_second": [20, 20], "size": {"fixed": "3 kB"}, "rtt": {"fixed": "5 ms"}}},
        {"datagrams": {"rate": "100 kbit/s", "packet": "200 B"}},
    ]);
    let (run, _) = captured(&spec, ALL);
    assert!(run.summary.sources[0].packets.packets_sent > 2_000, "{:?}", run.summary.sources);
    assert_eq!(format!("{:?}", run.summary), format!("{:?}", Run::to_the_end(&spec, 1).summary));
}

#[test]
fn comments_and_counters_agree_under_every_discipline() {
    for (name, queue) in disciplines() {
        for ecn in [false, true] {
            let (run, file) = captured(&briefly(&queue, ecn), ALL);
            let packets = packets(&file);
            for (direction, link) in (0..).zip(run.summary.counters) {
                let verdicts: Vec<&str> = packets
                    .iter()
                    .filter(|seen| seen.interface == direction)
                    .map(|seen| &*seen.comment)
                    .collect();
                let count =
                    |word: &str| verdicts.iter().filter(|comment| comment.contains(word)).count() as u64;
                let reported = [
                    verdicts.len() as u64,
                    count("marked"),
                    count("dropped early"),
                    count("dropped forced"),
                    count("dropped by limit"),
                    count("dropped at dequeue"),
                    count("dropped evicted"),
                    count("dropped"),
                ];
                let counted = [
                    link.arrived,
                    link.marked,
                    link.dropped_early,
                    link.dropped_forced,
                    link.dropped_by_limit,
                    link.dropped_at_dequeue,
                    link.evicted,
                    link.dropped(),
                ];
                assert_eq!(reported, counted, "direction {direction} under {name}, ecn {ecn}");
                assert!(count("still there at the end") <= link.held);
            }
        }
    }
}

#[test]
fn packets_are_in_time_order_and_cut_to_their_headers() {
    let (_, file) = captured(&briefly(&json!({"fq_codel": {}}), true), ALL);
    let packets = packets(&file);
    assert!(packets.len() > 5_000 && packets.is_sorted_by_key(|seen| seen.nanos));
    for Seen { stored, length, .. } in packets {
        let total = u32::from(u16::from_be_bytes([stored[2], stored[3]]));
        let headers = 20 + 4 * usize::from(stored[32] >> 4);
        assert_eq!((total, headers), (length, stored.len()));
    }
}

#[test]
fn a_law_tells_the_probability_it_decided_by() {
    let (_, file) = captured(&briefly(&law("pi"), false), ALL);
    let drops: Vec<Seen> =
        packets(&file).into_iter().filter(|seen| seen.comment.starts_with("dropped early; p=")).collect();
    assert!(drops.len() > 50);
    for Seen { comment, .. } in drops {
        let (_, p) = comment.split_once("p=").unwrap();
        let p: f64 = p.parse().unwrap();
        assert!(0.0 < p && p <= 1.0, "{comment}");
    }
}

#[test]
fn bounds_choose_packets_and_change_none() {
    let spec = briefly(&law("ared"), false);
    let all = packets(&captured(&spec, ALL).1);
    let [from, until] = [5, 12].map(|secs| Time::ZERO + Duration::from_secs(secs));
    let between: Vec<Seen> =
        all.into_iter().filter(|seen| (from.as_nanos()..until.as_nanos()).contains(&seen.nanos)).collect();
    let seen =
        |packets_at_most| packets(&captured(&spec, Bounds { from, until, packets: packets_at_most }).1);
    assert!(seen(u64::MAX) == between, "other packets than those between the bounds");
    assert!(seen(100) == between[..100], "other packets than the first hundred");
}

#[test]
fn a_capture_says_where_it_was_cut_and_nothing_when_it_was_not() {
    let spec = briefly(&law("ared"), false);
    let seen = packets(&captured(&spec, ALL).1);
    let says_cut = |file: &[u8]| file.windows(4).any(|word| word == b"cut:");
    for (at_most, cut) in [(100, Some(seen[99].nanos)), (seen.len() as u64, None), (u64::MAX, None)] {
        let bounds = Bounds { packets: at_most, ..ALL };
        let capture = Capture::new(&read(&spec), bounds);
        let mut laboratory =
            build(&read(&spec), 1, None, Watch::Capture(&capture)).expect("the spec is sound");
        laboratory.advance(laboratory.end());
        capture.finish();
        assert_eq!(capture.cut().map(Time::as_nanos), cut, "{at_most}");
        assert_eq!(says_cut(&capture.take()), cut.is_some(), "{at_most}");
    }
    // What arrives before and after the time of the capture is not cut off by their number.
    let last = Time::from_nanos(seen[99].nanos);
    let (_, file) = captured(&spec, Bounds { from: Time::ZERO, until: last, packets: 99 });
    assert!(!says_cut(&file));
}

#[test]
fn a_wait_is_told_to_the_nanosecond() {
    // With no place in the device but for the packet being sent, a packet that waits leaves the queue when the one
    // before it has been sent: 38 bytes of overhead and 4 µs a byte at 2 Mbit/s.
    let mut spec = briefly(&law("droptail"), false);
    spec["link"]["device_fifo"] = json!(0);
    let packets = packets(&captured(&spec, ALL).1);
    let mut free = 0;
    let mut waited = 0;
    for seen in packets.iter().filter(|seen| seen.interface == 0) {
        let Some(wait) = seen.comment.strip_prefix("queued ").and_then(|rest| rest.strip_suffix(" ms"))
        else {
            continue;
        };
        let begins = free.max(seen.nanos);
        assert_eq!(wait, format!("{:.6}", (begins - seen.nanos) as f64 * 1e-6));
        waited += u64::from(begins > seen.nanos);
        // The engine sends a SYN without the option that is shown.
        let is_syn = seen.stored[33] & 2 != 0;
        let size = if is_syn { 40 } else { u64::from(seen.length) };
        free = begins + (size + 38) * 4_000;
    }
    assert!(waited > 1_000);
}
