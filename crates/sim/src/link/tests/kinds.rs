//! Kinds of capacity against plain models of them: buckets that count tokens, in floating point.

use aqmlab_aqm::{Droptail, Limit};
use serde_json::{Value, json};

use super::traces::departures;
use super::*;
use crate::link::{BoxedCapacity, CapacitySpec, Interrupted, Streams};
use crate::side::Direction;

const OVERHEAD: u64 = 38;

pub(super) const STREAMS: Streams = Streams { seed: 1, link: 0, direction: Direction::FORWARD };

fn context(rate: BitRate) -> LinkContext {
    LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::new(OVERHEAD), peak: None }
}

/// The capacity of a kind as a spec has it.
pub(super) fn capacity(kind: Value, context: &LinkContext) -> BoxedCapacity {
    let spec: CapacitySpec = serde_json::from_value(kind).expect("a kind of capacity");
    spec.capacity(context, &STREAMS)
}

/// One of the kinds, by a number, with values that make it a line of constant rate.
pub(super) fn constant_kind(context: &LinkContext, number: usize) -> BoxedCapacity {
    let rate = context.rate.to_string();
    let mbps = context.rate.bits_per_sec() as f64 / 1e6;
    // Buckets that are never empty.
    let bucket = json!({ "rate": rate, "burst": "1 GB", "line": rate });
    let trace = json!({ "seconds": [0, 0.5, 0.7], "mbps": [mbps, mbps, mbps] });
    let kinds = [json!({ "token_bucket": bucket }), json!({ "policer": bucket }), json!({ "trace": trace })];
    capacity(kinds[number % kinds.len()].clone(), context)
}

/// A bucket that counts tokens, in bytes.
struct PlainBucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    at: f64,
}

impl PlainBucket {
    fn new(mbit: u64, burst: u64) -> PlainBucket {
        PlainBucket { rate: mbit as f64 * 1e6 / 8.0, burst: burst as f64, tokens: burst as f64, at: 0.0 }
    }

    fn fill(&mut self, now: f64) -> f64 {
        self.tokens = (self.tokens + self.rate * (now - self.at)).min(self.burst);
        self.at = now;
        self.tokens
    }

    /// Seconds from `now` until it has `bytes`.
    fn missing(&mut self, bytes: f64, now: f64) -> f64 {
        ((bytes - self.fill(now)) / self.rate).max(0.0)
    }
}

/// The frames that arrive: the seconds and the bytes.
fn frames(steps: &[Step]) -> Vec<(f64, f64)> {
    let mut now = 0;
    let each = steps.iter().map(|step| {
        now += step.after;
        let len = step.arrival.map_or(0, |(len, _)| len);
        (now as f64 / 1e9, (HEADERS + u64::from(len) + OVERHEAD) as f64)
    });
    each.collect()
}

/// Sends the packets of `steps` over `kind`. Returns the deliveries, the numbers of packets dropped, and the counters.
fn run(kind: Value, device_fifo: u32, steps: &[Step]) -> (Vec<Delivery>, Vec<u32>, LinkCounters) {
    let context = context(BitRate::from_mbit_per_sec(10));
    let wire = Wire { context, delay: Duration::from_millis(3), device_fifo, owners: 0 };
    let queue = Fifo::new(Droptail, Limit::Packets(10_000));
    let mut link = Boxed::new(Queued::with_capacity(queue, &wire, capacity(kind, &context)));
    let (mut now, mut delivered, mut lost) = (Time::ZERO, Vec::new(), Vec::new());
    for (number, step) in (0..).zip(steps) {
        now += Duration::from_nanos(step.after);
        deliver_until(&mut link, now, &mut delivered);
        let len = step.arrival.map_or(0, |(len, _)| len);
        link.arrive(&packet(number, len, false, 0), now);
        lost.extend(std::iter::from_fn(|| link.pop_drop().map(|packet| number_of(&packet))));
    }
    deliver_until(&mut link, Time::MAX, &mut delivered);
    link.advance(now + Duration::from_secs(600));
    let counters = meter(&link).counters();
    (delivered, lost, counters)
}

#[test]
fn a_line_of_cells_counts_what_fills_them() {
    // 1,500 B and 40 B, with 38 B of overhead, are 1,538 B in 33 cells and 78 B in 2.
    let steps = [1_460, 0].map(|len| Step { after: 0, arrival: Some((len, false)), flow: 0 });
    let (delivered, _, counters) = run(json!({ "atm": { "rate": "10 Mbit/s" } }), 1, &steps);
    assert_eq!(counters.padding.get(), 33 * 53 - 1_538 + 2 * 53 - 78);
    let frames = counters.sent_bytes.get() + 2 * OVERHEAD;
    let (.., last) = delivered[1];
    let seconds = (8 * (frames + counters.padding.get())) as f64 / 10e6;
    assert!((departed(last) - seconds).abs() < 1e-8, "the line is full until then");
    let (.., counters) = run(json!({ "trace": { "seconds": [0], "mbps": [10] } }), 1, &steps);
    assert_eq!(counters.padding.get(), 0);
}

/// The time at which the last bit of a packet was sent, in seconds.
fn departed(at: Time) -> f64 {
    (at - (Time::ZERO + Duration::from_millis(3))).as_nanos() as f64 / 1e9
}

/// A bucket from 1 to 9 Mbit/s, perhaps with a peak rate up to 40 Mbit/s; their bursts are in bytes.
fn buckets() -> impl Strategy<Value = (u64, u64, Option<(u64, u64)>)> {
    let peak = prop::option::of((10..40u64, 1_560..4_000u64));
    (1..10u64, 1_560..20_000u64, peak)
}

fn table((rate, burst, peak): (u64, u64, Option<(u64, u64)>), line: u64) -> Value {
    let bucket = |rate, burst| json!({ "rate": format!("{rate} Mbit/s"), "burst": format!("{burst} B") });
    let mut table = bucket(rate, burst);
    table["line"] = json!(format!("{line} Mbit/s"));
    if let Some((rate, burst)) = peak {
        table["peak"] = bucket(rate, burst);
    }
    table
}

proptest! {
    /// Tokens are counted as in the man page: a packet leaves when each bucket has its bytes.
    #[test]
    fn a_token_bucket_lets_packets_pass_when_it_has_tokens(
        values in buckets(), line in 50..1_000u64, steps in steps(),
    ) {
        let (rate, burst, peak) = values;
        let (delivered, lost, _) = run(json!({ "token_bucket": table(values, line) }), 10_000, &steps);
        prop_assert!(lost.is_empty());
        let mut all = vec![PlainBucket::new(rate, burst)];
        all.extend(peak.map(|(rate, burst)| PlainBucket::new(rate, burst)));
        let (mut released, mut line_free) = (0.0_f64, 0.0_f64);
        for ((n, (arrived, bytes)), (number, _, at)) in (0..).zip(frames(&steps)).zip(delivered) {
            prop_assert_eq!(n, number, "the order is kept");
            let held_at = arrived.max(released);
            released = held_at + all.iter_mut().map(|each| each.missing(bytes, held_at)).fold(0.0, f64::max);
            for each in &mut all {
                each.fill(released);
                each.tokens -= bytes;
            }
            line_free = released.max(line_free) + bytes * 8.0 / (line as f64 * 1e6);
            // Linux rounds each packet's time down to nanoseconds.
            let tolerance = 1e-9 * (10.0 + 2.0 * f64::from(n));
            prop_assert!((departed(at) - line_free).abs() < tolerance, "packet {}: {} and {}", n, departed(at), line_free);
        }
    }

    /// The law of the token bucket, for the frames between any two.
    #[test]
    fn in_any_time_at_most_burst_and_rate_are_sent(
        values in buckets(), device_fifo in 0..3u32, steps in steps(),
    ) {
        let (rate, burst, _) = values;
        let (delivered, ..) = run(json!({ "token_bucket": table(values, 1_000) }), device_fifo, &steps);
        let bytes: Vec<f64> = frames(&steps).into_iter().map(|(_, bytes)| bytes).collect();
        let begun: Vec<f64> =
            delivered.iter().zip(&bytes).map(|(&(_, _, at), bytes)| departed(at) - bytes * 8e-9).collect();
        prop_assert_eq!(begun.len(), steps.len());
        for first in 0..begun.len() {
            let mut sent = 0.0;
            for last in first..begun.len() {
                sent += bytes[last];
                // A packet may wait for the line after it has passed the bucket, by the time of the burst before it.
                let waited = burst as f64 * 8e-9;
                let most = burst as f64 + rate as f64 / 8.0 * 1e6 * (begun[last] - begun[first] + waited) + 1.0;
                prop_assert!(sent <= most, "{} to {}: {} B, at most {} B", first, last, sent, most);
            }
        }
    }

    #[test]
    fn a_policer_passes_what_it_has_tokens_for_and_drops_the_rest(
        values in buckets(), device_fifo in 0..3u32, steps in steps(),
    ) {
        let (rate, burst, peak) = values;
        let (delivered, lost, counters) = run(json!({ "policer": table(values, 1_000) }), device_fifo, &steps);
        let mut all = vec![PlainBucket::new(rate, burst)];
        all.extend(peak.map(|(rate, burst)| PlainBucket::new(rate, burst)));
        let mut passed: Vec<u32> = Vec::new();
        for (n, (arrived, bytes)) in (0..).zip(frames(&steps)) {
            // A difference of a rounded nanosecond a packet is not decided here.
            let margin = all.iter_mut().map(|each| each.fill(arrived) - bytes).fold(f64::MAX, f64::min);
            let has_passed = delivered.iter().any(|&(number, ..)| number == n);
            if margin.abs() > 1.0 {
                prop_assert_eq!(has_passed, margin > 0.0, "packet {}: {} B", n, margin);
            }
            if has_passed {
                for each in &mut all {
                    each.tokens -= bytes;
                }
                passed.push(n);
            }
        }
        prop_assert_eq!(delivered.iter().map(|&(number, ..)| number).collect::<Vec<_>>(), passed);
        prop_assert_eq!((counters.policed, counters.queue.dropped()), (lost.len() as u64, 0));
        prop_assert_eq!(delivered.len() + lost.len(), steps.len());
    }
}

#[test]
fn a_full_bucket_sends_a_burst_and_then_its_rate() {
    let step = Step { after: 0, arrival: Some((1_460, false)), flow: 0 };
    let bucket = json!({ "rate": "8 Mbit/s", "burst": "15380 B", "line": "1 Gbit/s" });
    let (delivered, ..) = run(json!({ "token_bucket": bucket }), 0, &[step; 100]);
    // Ten frames of 1,538 bytes at once, then one each 1.538 ms.
    for (n, (_, _, at)) in (0..).zip(delivered) {
        let sent = if n < 10 { 0.012_304 * f64::from(n + 1) } else { 1.538 * f64::from(n - 9) + 0.012_304 };
        assert!(
            (departed(at) * 1e3 - sent).abs() < 1e-3,
            "packet {n}: {} ms, not {sent} ms",
            departed(at) * 1e3
        );
    }
}

#[test]
fn packets_wait_in_the_queue_in_an_outage_of_any_kind() {
    let link: crate::spec::LinkSpec = serde_json::from_value(json!({
        "outages": [{ "at": "1 s", "lasts": "1 s" }, { "at": "4 s", "lasts": "200 ms", "every": "700 ms" }],
    }))
    .expect("a link");
    let is_down = |nanos: u64| {
        let ms = nanos / 1_000_000;
        (1_000..2_000).contains(&ms) || (ms >= 4_000 && (ms - 4_000) % 700 < 200)
    };
    let bucket = json!({ "rate": "2 Mbit/s", "burst": "3 kB", "line": "10 Mbit/s" });
    for kind in [
        json!({ "token_bucket": bucket }),
        json!({ "cable": { "rate": "2 Mbit/s", "line": "10 Mbit/s" } }),
        json!({ "pon": { "rate": "2 Mbit/s" } }),
        json!({ "wifi": { "rate": "10 Mbit/s", "stations": 2 } }),
        json!({ "cellular": { "rate": "2 Mbit/s", "users": 2 } }),
        json!({ "leo": { "rate": "2 Mbit/s" } }),
        json!({ "trace": { "seconds": [0, 0.7], "mbps": [2, 1] } }),
        json!({ "mahimahi": { "opportunities": [5, 5, 11, 13] } }),
    ] {
        let context = context(BitRate::from_mbit_per_sec(2));
        let capacity = Box::new(Interrupted::new(capacity(kind.clone(), &context), link.waiting_outages()));
        let wire = Wire { context, delay: Duration::from_millis(3), device_fifo: 0, owners: 0 };
        let queue = Fifo::new(Droptail, Limit::Packets(10_000));
        let link = Boxed::new(Queued::with_capacity(queue, &wire, capacity as BoxedCapacity));
        let arrivals: Vec<(u64, u16)> = (0..800).map(|number| (number * 10_000_000, 500)).collect();
        let left = departures(link, &arrivals);
        assert!((0..800).zip(&left).all(|(number, &(left, _))| number == left), "{kind}");
        // What the link was given right before an outage is sent: one packet, or one aggregate.
        let begins = left.iter().filter(|&&(_, at)| is_down(at - 1)).count();
        assert!(begins <= 20, "{kind}: {begins} in outages");
        assert!(left.iter().filter(|&&(_, at)| !is_down(at)).count() >= 780, "{kind}");
    }
}
