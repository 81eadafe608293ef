//! Decisions beside those of Sabre, the reference of Spiteri, Sitaraman and Sparacio 2018.
//!
//! `tools/video_decisions.py` made the file: a video whose segments differ in size, networks whose rate and latency
//! change, and what Sabre chose.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Decisions {
    manifest: Manifest,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Manifest {
    segment_duration_ms: u64,
    bitrates_kbps: Vec<u64>,
    segment_sizes_bits: Vec<Vec<u64>>,
}

#[derive(Deserialize)]
struct Case {
    buffer_s: u64,
    network: Vec<(f64, f64, f64)>,
    /// The version of each segment as a digit, by rule.
    decisions: BTreeMap<String, String>,
}

/// A network whose rate and latency change during downloads; the periods repeat.
struct Changing<'a> {
    /// Lengths in ms, rates in kbit/s, latencies in ms.
    periods: &'a [(f64, f64, f64)],
    index: usize,
    /// Rest of the period, in ms.
    rest: f64,
}

impl Changing<'_> {
    /// Pass the time in which this much is done, at a pace for each period.
    fn pass(&mut self, now: Time, mut work: f64, pace: impl Fn(&(f64, f64, f64)) -> f64) -> Time {
        let mut elapsed = 0.0;
        loop {
            let speed = pace(&self.periods[self.index]);
            let needed = work / speed;
            if needed <= self.rest {
                self.rest -= needed;
                return now + Duration::from_secs_f64((elapsed + needed) * 1e-3);
            }
            elapsed += self.rest;
            work -= self.rest * speed;
            self.index = (self.index + 1) % self.periods.len();
            self.rest = self.periods[self.index].0;
        }
    }
}

impl Network for Changing<'_> {
    fn first_byte(&mut self, now: Time) -> Time {
        self.pass(now, 1.0, |&(_, _, latency)| 1.0 / latency)
    }

    fn last_byte(&mut self, now: Time, size: Bytes) -> Time {
        self.pass(now, 8.0 * size.as_f64(), |&(_, rate, _)| rate)
    }

    fn idle(&mut self, now: Time, pause: Duration) -> Time {
        self.pass(now, pause.as_millis_f64(), |_| 1.0)
    }
}

#[test]
fn players_decide_as_sabre_does() {
    let Decisions { manifest, cases } =
        serde_json::from_str(include_str!("../sabre.json")).expect("decisions");
    let mut decided = 0;
    for case in &cases {
        for (rule, expected) in &case.decisions {
            let video = Video {
                ladder: manifest.bitrates_kbps.iter().copied().map(BitRate::from_kbit_per_sec).collect(),
                segment: Duration::from_millis(manifest.segment_duration_ms),
                sizes: manifest
                    .segment_sizes_bits
                    .iter()
                    .map(|bits| bits.iter().map(|bits| Bytes::new(bits / 8)).collect())
                    .collect(),
                buffer: Duration::from_secs(case.buffer_s),
                rule: serde_json::from_value(rule.as_str().into()).expect("a rule"),
                request: Bytes::new(300),
                segments: Some(expected.len() as u64),
            };
            let mut network = Changing { periods: &case.network, index: 0, rest: case.network[0].0 };
            let rates = play(&video, &mut network, |_| {});
            let ours: String = rates
                .iter()
                .map(|rate| video.ladder.iter().position(|rung| rung == rate).expect("a rate").to_string())
                .collect();
            assert_eq!(&ours, expected, "{rule} with {} s", case.buffer_s);
            decided += ours.len();
        }
    }
    assert_eq!(decided, 12 * 4 * 120);
}
