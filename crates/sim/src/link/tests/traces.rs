//! Traces: opportunities by a plain model of Mahimahi and by hand, and rates by their integral.

use std::collections::VecDeque;

use aqmlab_aqm::{Droptail, Limit};
use serde_json::json;

use super::kinds::STREAMS;
use super::*;
use crate::link::CapacitySpec;

const DELAY: Duration = Duration::from_millis(3);

/// A drop-tail link of a kind without a device FIFO.
pub(super) fn link(kind: &CapacitySpec, overhead: u64, limit: u32) -> Boxed<WindowScale> {
    let context =
        LinkContext { rate: kind.rate(), header: Bytes::ZERO, overhead: Bytes::new(overhead), peak: None };
    let wire = Wire { context, delay: DELAY, device_fifo: 0, owners: 0 };
    let queue = Fifo::new(Droptail, Limit::Packets(limit));
    Boxed::new(Queued::with_capacity(queue, &wire, kind.capacity(&context, &STREAMS)))
}

/// A packet that arrives: the nanoseconds, and the bytes of IP.
pub(super) type Arrival = (u64, u16);

/// Sends packets over a link. Returns the number of each that leaves, and when its last bit is sent.
pub(super) fn departures(mut link: Boxed<WindowScale>, arrivals: &[Arrival]) -> Vec<(u32, u64)> {
    let mut delivered = Vec::new();
    for (number, &(at, bytes)) in (0..).zip(arrivals) {
        let now = Time::from_nanos(at);
        deliver_as_engine(&mut link, now, &mut delivered);
        let headers = u16::try_from(HEADERS).expect("headers are short");
        link.arrive(&packet(number, bytes - headers, false, 0), now);
        while link.pop_drop().is_some() {}
    }
    deliver_as_engine(&mut link, Time::from_nanos(u64::MAX - 1), &mut delivered);
    delivered
}

fn deliver_as_engine(link: &mut Boxed<WindowScale>, now: Time, delivered: &mut Vec<(u32, u64)>) {
    while link.next_delivery() <= now {
        let at = link.next_delivery();
        if link.forward_to_next_hop() == Forwarding::AtDestination {
            delivered.push((number_of(&link.deliver()), (at - (Time::ZERO + DELAY)).as_nanos()));
        }
    }
}

/// Mahimahi as it is described, opportunity by opportunity.
fn plain_mahimahi(lines: &[u32], limit: usize, arrivals: &[Arrival]) -> Vec<(u32, u64)> {
    let mut opportunities = (0..).flat_map(|period: u64| {
        let base = period * u64::from(lines[lines.len() - 1]);
        lines.iter().map(move |&line| (base + u64::from(line)) * 1_000_000)
    });
    let mut queue: VecDeque<(u32, u64)> = VecDeque::new();
    let mut in_transit: Option<(u32, u64)> = None;
    let mut left = Vec::new();
    let mut next = opportunities.next().expect("endless");
    let mut arrivals = (0..).zip(arrivals.iter().copied()).peekable();
    while arrivals.peek().is_some() || !queue.is_empty() || in_transit.is_some() {
        // Opportunities at the instant of an arrival are used before it.
        if arrivals.peek().is_some_and(|&(_, (at, _))| at < next) {
            let (number, (_, bytes)) = arrivals.next().expect("it was there");
            if queue.len() < limit {
                queue.push_back((number, u64::from(bytes) + 4));
            }
            continue;
        }
        let mut bytes = 1_504;
        while bytes > 0 {
            in_transit = in_transit.or_else(|| queue.pop_front());
            let Some((number, rest)) = in_transit else { break };
            let used = rest.min(bytes);
            bytes -= used;
            in_transit = (rest > used).then_some((number, rest - used));
            if in_transit.is_none() {
                left.push((number, next));
            }
        }
        next = opportunities.next().expect("endless");
    }
    left
}

fn mahimahi(lines: &[u32]) -> CapacitySpec {
    serde_json::from_value(json!({ "mahimahi": { "opportunities": lines } })).expect("a trace")
}

/// Arrivals, many of them on whole milliseconds.
pub(super) fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![6 => Just(0), 6 => (0..4u64).prop_map(|ms| ms * 1_000_000), 3 => 0..3_000_000u64, 1 => 0..400_000_000u64];
    prop::collection::vec((gap, 40..1_501u16), 1..300).prop_map(|steps| {
        let mut now = 0;
        let at = |(gap, bytes): (u64, u16)| {
            now += gap;
            (now, bytes)
        };
        steps.into_iter().map(at).collect()
    })
}

proptest! {
    #[test]
    fn a_trace_of_opportunities_is_replayed_as_mahimahi_does(
        gaps in prop::collection::vec(prop_oneof![Just(0), 0..9u32], 1..60), last in 1..20u32,
        limit in 1..40u32, arrivals in arrivals(),
    ) {
        let mut lines: Vec<u32> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        lines.push(lines[lines.len() - 1] + last);
        let ours = departures(link(&mahimahi(&lines), 4, limit), &arrivals);
        prop_assert_eq!(ours, plain_mahimahi(&lines, limit as usize, &arrivals));
    }

    /// From its first bit to its last one, the trace offers the bits of the packet, and the line is never idle before it.
    #[test]
    fn the_bits_of_a_packet_are_the_integral_of_the_rate(
        rows in prop::collection::vec((1..2_000_000u64, prop_oneof![Just(0.0), 0.01..100.0f64]), 1..12),
        arrivals in arrivals(),
    ) {
        let seconds: Vec<f64> = rows.iter().scan(0, |at, (gap, _)| {
            let second = *at as f64 / 1e6;
            *at += gap;
            Some(second)
        }).collect();
        let mut mbps: Vec<f64> = rows.iter().map(|(_, mbit)| *mbit).collect();
        mbps[0] = mbps[0].max(0.5);
        let kind: CapacitySpec =
            serde_json::from_value(json!({ "trace": { "seconds": seconds, "mbps": mbps } })).expect("a trace");
        let fastest = kind.fastest().bits_per_sec() as f64;
        let sent = departures(link(&kind, 38, 10_000), &arrivals);
        prop_assert_eq!(sent.len(), arrivals.len());
        let mut before = 0;
        for ((n, (number, last)), &(arrived, bytes)) in (0..).zip(sent).zip(&arrivals) {
            prop_assert_eq!(n, number, "the order is kept");
            let offered = kind.bits_between(Time::from_nanos(before.max(arrived)), Time::from_nanos(last), &STREAMS);
            let bits = 8.0 * (f64::from(bytes) + 38.0);
            // A time is rounded to a nanosecond.
            prop_assert!((offered - bits).abs() < 3e-9 * fastest + 1e-5 * bits, "packet {}: {} of {}", n, offered, bits);
            before = last;
        }
    }
}

/// The milliseconds at which packets leave.
fn left_at(lines: &[u32], arrivals: &[(u64, u16)]) -> Vec<u64> {
    let arrivals: Vec<Arrival> = arrivals.iter().map(|&(ms, bytes)| (ms * 1_000_000, bytes)).collect();
    let left = departures(link(&mahimahi(lines), 4, 100), &arrivals);
    left.into_iter().map(|(_, at)| at / 1_000_000).collect()
}

#[test]
fn mahimahis_cases_by_hand() {
    // Equal lines are several opportunities, and the trace begins again after its last line.
    assert_eq!(left_at(&[5, 5, 10], &[(0, 1500); 7]), [5, 5, 10, 15, 15, 20, 25]);
    // An arrival at the instant of an opportunity misses it.
    assert_eq!(left_at(&[1], &[(1, 1500), (7, 1500)]), [2, 8]);
    // Two packets of 752 bytes share one; what is left of an opportunity is lost when nothing waits.
    assert_eq!(left_at(&[5, 10], &[(0, 748), (0, 748), (0, 100), (6, 1500)]), [5, 5, 10, 15]);
    // A packet begins in one opportunity and ends in the next: 1,004 + 500, then 1,004.
    assert_eq!(left_at(&[5, 10], &[(0, 1000), (0, 1500), (0, 40)]), [5, 10, 10]);
    // Opportunities at 0, and one at the end of a period with one at the start of the next.
    assert_eq!(left_at(&[0, 3], &[(1, 1500), (1, 1500), (1, 1500)]), [3, 3, 6]);
}

#[test]
fn the_mean_rate_of_a_trace_is_its_bits_by_its_time() {
    let rate = |kind: serde_json::Value| {
        let spec: CapacitySpec = serde_json::from_value(kind).expect("a kind");
        let (start, end) = (Time::from_nanos(1_700_000_000), Time::from_nanos(601_700_000_000));
        let offered = spec.bits_between(start, end, &STREAMS) / 600.0;
        assert!((offered - spec.rate().bits_per_sec() as f64).abs() < 1.0, "{offered} and {}", spec.rate());
        (spec.rate().bits_per_sec(), spec.fastest().bits_per_sec())
    };
    assert_eq!(rate(json!({ "mahimahi": { "opportunities": [1] } })), (12_032_000, 12_032_000));
    assert_eq!(rate(json!({ "mahimahi": { "opportunities": [5, 5, 10] } })), (3_609_600, 24_064_000));
    // 2 s of 3 Mbit/s, an outage of 0.5 s, and 0.5 s of 10 Mbit/s.
    assert_eq!(
        rate(json!({ "trace": { "seconds": [0, 2, 2.5], "mbps": [3, 0, 10] } })),
        (3_666_667, 10_000_000)
    );
}
