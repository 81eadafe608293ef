//! Cases of RFC 8867: calls over a FIFO of 300 ms whose rate changes, and paths of 50 ms one way.
//!
//! The RFC has settings, and no numbers for what is to happen: the bounds are ours.

use std::collections::VecDeque;

use aqmlab_units::{Duration, Time};

use crate::RttConfig;
use crate::sources::{Datagram, Source, SourceConfig, VideoCallQuality, VideoCalls};

/// A FIFO in each direction. Its rate in Mbit/s is that of the last change before.
struct Bottleneck {
    changes: Vec<(f64, f64)>,
    limit: u64,
    /// Packets above this many bytes in the queue are marked.
    mark_above: u64,
    queues: [VecDeque<Datagram>; 2],
    bytes: [u64; 2],
    /// The packet at the head leaves at this time.
    leaves: [Time; 2],
    /// By direction, second and flow: bytes that left; by direction and second: packets lost, and the longest queue in bytes.
    sent: [Vec<Vec<u64>>; 2],
    lost: [Vec<u64>; 2],
    longest: [Vec<u64>; 2],
}

impl Bottleneck {
    fn new(reference_kbps: u64, changes: &[(f64, f64)], seconds: usize, flows: usize) -> Bottleneck {
        Bottleneck {
            changes: changes.to_vec(),
            limit: reference_kbps * 300 / 8,
            mark_above: u64::MAX,
            queues: Default::default(),
            bytes: [0; 2],
            leaves: [Time::MAX; 2],
            sent: [vec![vec![0; flows]; seconds], vec![vec![0; flows]; seconds]],
            lost: [vec![0; seconds], vec![0; seconds]],
            longest: [vec![0; seconds], vec![0; seconds]],
        }
    }

    fn start(&mut self, side: usize, now: Time) {
        self.leaves[side] = self.queues[side].front().map_or(Time::MAX, |head| {
            let change = self.changes.iter().rfind(|(at, _)| *at <= now.as_secs_f64()).expect("from 0 on");
            now + Duration::from_secs_f64(8e-6 * head.size.as_f64() / change.1)
        });
    }

    /// Drives `calls` until `end`.
    fn run(&mut self, calls: &mut VideoCalls, end: f64) {
        let end = Time::from_secs_f64(end);
        loop {
            let action = calls.next_time().unwrap_or(Time::MAX);
            let now = action.min(self.leaves[0]).min(self.leaves[1]);
            if now >= end {
                return;
            }
            let second = usize::try_from(now.as_nanos() / 1_000_000_000).expect("minutes");
            for side in 0..2 {
                if self.leaves[side] == now {
                    let is_marked = self.bytes[side] > self.mark_above;
                    let head = self.queues[side].pop_front().expect("it leaves");
                    self.bytes[side] -= head.size.get();
                    self.sent[side][second][head.flow as usize] += head.size.get();
                    calls.receive(&head, is_marked, now);
                    self.start(side, now);
                }
            }
            while let Some(datagram) = calls.next_datagram(now) {
                let side = usize::from(datagram.side);
                if self.bytes[side] + datagram.size.get() > self.limit {
                    self.lost[side][second] += 1;
                    calls.lose(&datagram);
                    continue;
                }
                self.bytes[side] += datagram.size.get();
                self.longest[side][second] = self.longest[side][second].max(self.bytes[side]);
                self.queues[side].push_back(datagram);
                if self.queues[side].len() == 1 {
                    self.start(side, now);
                }
            }
        }
    }

    /// Mean Mbit/s of a flow in direction 0.
    fn mbps(&self, flow: usize, from: usize, to: usize) -> f64 {
        8e-6 * self.sent[0][from..to].iter().map(|flows| flows[flow]).sum::<u64>() as f64 / (to - from) as f64
    }
}

fn calls(rest: &str, seed: u64) -> VideoCalls {
    let config = format!(r#"{{"video_call": {{"rtt": {{"fixed": "100 ms"}}, {rest}}}}}"#);
    let config: SourceConfig = serde_json::from_str(&config).unwrap_or_else(|error| panic!("{error}"));
    match Source::new(&config, 0, &RttConfig::shipped("uniform").expect("shipped"), seed) {
        Ok(Source::VideoCalls(calls)) => calls,
        other => panic!("video calls: {other:?}"),
    }
}

/// Runs `flows` calls over a link that changes.
fn case(
    reference_kbps: u64,
    changes: &[(f64, f64)],
    flows: usize,
    seed: u64,
) -> (Bottleneck, VideoCallQuality) {
    let seconds = 25 * changes.len().max(4);
    let mut link = Bottleneck::new(reference_kbps, changes, seconds, flows);
    let mut calls = calls(&format!(r#""flows": {flows}, "spread": "0 s""#), seed);
    link.run(&mut calls, seconds as f64);
    let quality = calls.quality(Time::from_secs_f64(seconds as f64));
    (link, quality)
}

fn assert_within(value: f64, least: f64, most: f64, place: &str) {
    assert!((least..=most).contains(&value), "{place}: {value}, not from {least} to {most}");
}

#[test]
fn a_call_follows_a_capacity_that_changes() {
    // Section 5.1: 1 Mbit/s, 2.5 at 40 s, 0.6 at 60 s, 1 at 80 s; the call has 1.5 Mbit/s at most.
    for seed in 1..=5 {
        let (link, quality) = case(1_000, &[(0.0, 1.0), (40.0, 2.5), (60.0, 0.6), (80.0, 1.0)], 1, seed);
        for (from, to, capacity) in [(5, 40, 1.0), (42, 60, 1.5), (70, 80, 0.6), (85, 100, 1.0)] {
            let share = link.mbps(0, from, to) / capacity;
            assert_within(share, 0.8, 1.001, &format!("seed {seed}, {from} to {to} s"));
        }
        // Only the fall by three quarters loses packets, for some seconds.
        assert!(link.lost[0][..60].iter().all(|&lost| lost == 0), "{:?}", link.lost[0]);
        assert!(link.lost[0][65..].iter().all(|&lost| lost == 0), "{:?}", link.lost[0]);
        assert!(quality.in_time_percent > Some(90.0) && quality.frozen_percent < Some(5.0), "{quality:?}");
    }
}

#[test]
fn two_calls_share_a_capacity_that_changes() {
    // Section 5.2: 4 Mbit/s, then 2, 3.5, 1 and 2.
    let changes = [(0.0, 4.0), (25.0, 2.0), (50.0, 3.5), (75.0, 1.0), (100.0, 2.0)];
    for seed in 1..=5 {
        let (link, _) = case(2_000, &changes, 2, seed);
        for (from, to, capacity) in
            [(5, 25, 3.0), (30, 50, 2.0), (55, 75, 3.0), (90, 100, 1.0), (110, 125, 2.0)]
        {
            let place = format!("seed {seed}, {from} to {to} s");
            let [one, other] = [0, 1].map(|flow| link.mbps(flow, from, to));
            assert_within((one + other) / capacity, 0.8, 1.001, &place);
            assert_within(one / other, 0.6, 1.0 / 0.6, &place);
        }
    }
}

#[test]
fn marks_keep_the_queue_short_and_lose_nothing() {
    let queues = [u64::MAX, 2_000].map(|mark_above| {
        let mut link = Bottleneck::new(1_000, &[(0.0, 1.0)], 60, 1);
        link.mark_above = mark_above;
        link.run(&mut calls(r#""flows": 1, "spread": "0 s""#, 1), 60.0);
        assert_eq!(link.lost[0].iter().sum::<u64>(), 0);
        assert_within(link.mbps(0, 10, 60), 0.6, 1.001, "1 Mbit/s");
        link.longest[0][10..].iter().sum::<u64>() / 50
    });
    assert!(3 * queues[1] < 2 * queues[0], "{queues:?} bytes");
}
