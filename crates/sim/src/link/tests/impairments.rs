//! Impairments of the wire: their closed forms, and the order of packets.

use aqmlab_aqm::{Droptail, Limit};
use serde_json::{Value, json};

use super::kinds::STREAMS;
use super::*;
use crate::link::{Fates, Impaired, WireCounts, WireEvent};
use crate::side::Direction;
use crate::spec::LinkSpec;

fn with_impairments(link: impl Link + Send + 'static, spec: &LinkSpec) -> Boxed<WindowScale> {
    let impairments = spec.impairments(Direction::FORWARD).expect("there are impairments");
    let path = spec.rate.of(Direction::FORWARD).kind().and_then(|kind| kind.path(&STREAMS));
    let stream = |purpose: &str| Stream::named(1, &format!("{purpose}/0/link/0"));
    let fates = Fates::new(&impairments, spec, path, stream);
    Boxed::new(Impaired::new(Boxed::new(link), fates))
}

/// Impairments that change none of these packets, of a link with this delay.
pub(super) fn neutral(link: impl Link + Send + 'static, delay: Duration) -> Boxed<WindowScale> {
    let spec = LinkSpec { delay, ..read(json!({ "ecn": "rewrite_ect1" })) };
    with_impairments(link, &spec)
}

fn read(written: Value) -> LinkSpec {
    serde_json::from_value(written).expect("a link")
}

/// A link of 10 Mbit/s with a delay of 3 ms, without overhead, and with these impairments.
pub(super) fn impaired(mut written: Value) -> Boxed<WindowScale> {
    for (key, value) in [("rate", "10 Mbit/s"), ("delay", "3 ms"), ("overhead", "0 B")] {
        if written.get(key).is_none() {
            written[key] = value.into();
        }
    }
    let spec = read(written);
    let wire = Wire { context: spec.context(), delay: spec.shortest_delay(), device_fifo: 1, owners: 0 };
    with_impairments(Queued::new(Fifo::new(Droptail, Limit::Packets(10_000)), &wire), &spec)
}

/// The results of packets of 1,000 bytes, one each millisecond, whose transmission takes 0.8 ms.
struct Run {
    /// The packets in the order of their arrivals.
    order: Vec<u32>,
    /// By packet, the time from its departure to its last arrival; `None` if it was lost.
    delays: Vec<Option<Duration>>,
    counts: WireCounts,
}

fn run(written: Value, packets: u32) -> Run {
    let mut link = impaired(written);
    let (mut order, mut delays) = (Vec::new(), vec![None; packets as usize]);
    let (mut lost, mut copies) = (0, 0);
    let mut deliver = |link: &mut Boxed<WindowScale>, until: Time| {
        while link.next_delivery() <= until && link.next_delivery() < Time::MAX {
            let at = link.next_delivery();
            match link.forward_to_next_hop() {
                Forwarding::Forwarded => {
                    match link.pop_wire_event() {
                        Some(WireEvent::Lost(_)) => lost += 1,
                        Some(WireEvent::Copied(_)) => copies += 1,
                        None => {}
                    }
                    assert!(link.pop_drop().is_none(), "the queue drops no packet");
                }
                Forwarding::AtDestination => {
                    let number = number_of(&link.deliver());
                    order.push(number);
                    let departed = Time::from_nanos(u64::from(number) * 1_000_000 + 800_000);
                    delays[number as usize] = Some(at - departed);
                }
            }
        }
    };
    for number in 0..packets {
        let now = Time::from_nanos(u64::from(number) * 1_000_000);
        deliver(&mut link, now);
        link.arrive(&packet(number, 960, false, 0), now);
    }
    deliver(&mut link, Time::MAX);
    let counters = meter(&link).counters();
    assert_eq!(meter(&link).inside(), 0);
    assert_eq!((lost, copies), (counters.wire.lost, counters.wire.duplicated));
    assert_eq!(order.len() as u64, u64::from(packets) + copies - lost, "each packet is lost or arrives");
    Run { order, delays, counts: counters.wire }
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.03, "{value}, in theory {expected}");
}

/// Asserts that `count` of `trials` is within four standard deviations of a binomial distribution.
fn binomial(count: u64, trials: u32, probability: f64) {
    let mean = f64::from(trials) * probability;
    let deviation = libm::sqrt(mean * (1.0 - probability));
    assert!((count as f64 - mean).abs() <= 4.0 * deviation, "{count}, in theory {mean} +- {deviation}");
}

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn damaged_frames_have_the_share_of_their_length() {
    let lost = run(json!({ "bit_error_rate": 1e-5 }), 100_000).counts.lost;
    binomial(lost, 100_000, 1.0 - libm::pow(1.0 - 1e-5, 8_000.0));
    assert_eq!(run(json!({ "bit_error_rate": 1 }), 100).counts.lost, 100);
}

#[test]
fn jitter_keeps_the_order_and_its_bounds() {
    let Run { order, delays, .. } = run(json!({ "jitter": "20 ms" }), 50_000);
    assert!(order.is_sorted());
    let delays: Vec<Duration> = delays.into_iter().flatten().collect();
    assert!(delays.iter().all(|delay| (MS(3)..=MS(23)).contains(delay)));
    // At most 10 ms are added if the draw of the packet is at most 10 ms, that of the one before at most 11 ms, and so on.
    let at_most_13 = (10..20).map(|x| f64::from(x) / 20.0).product::<f64>();
    close(delays.iter().filter(|&&delay| delay <= MS(13)).count() as f64 / 50_000.0, at_most_13);
}

#[test]
fn jitter_shorter_than_the_spacing_is_uniform() {
    let delays = run(json!({ "jitter": "0.9 ms" }), 50_000).delays;
    let mean = delays.iter().flatten().map(|delay| delay.as_millis_f64()).sum::<f64>() / 50_000.0;
    close(mean - 3.0, 0.45);
}

#[test]
fn late_packets_are_overtaken_by_those_of_their_delay() {
    let Run { order, delays, counts, .. } =
        run(json!({ "reorder": { "probability": 0.01, "delay": "2.5 ms" } }), 50_000);
    let late = delays.iter().flatten().filter(|&&delay| delay == Duration::from_micros(5_500)).count() as u64;
    let punctual = delays.iter().flatten().filter(|&&delay| delay == MS(3)).count() as u64;
    assert_eq!((late, punctual), (counts.reordered, 50_000 - counts.reordered));
    binomial(late, 50_000, 0.01);
    let place = order.iter().position(|&number| delays[number as usize] > Some(MS(3))).expect("a late one");
    // Two packets leave in 2.5 ms.
    assert_eq!(order[place - 2..=place], [order[place] + 1, order[place] + 2, order[place]]);
}

#[test]
fn duplicates_arrive_right_behind_their_packet() {
    let Run { order, counts, .. } = run(json!({ "duplicate": 0.05 }), 50_000);
    binomial(counts.duplicated, 50_000, 0.05);
    assert!(order.is_sorted());
    let pairs = order.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    assert_eq!(pairs, counts.duplicated);
}

#[test]
fn a_trace_has_delays_and_losses_beside_its_rates() {
    // Three rows of 10 ms at 10 Mbit/s, over and over: 5 ms more, every other packet lost, and neither.
    let trace = json!({ "seconds": [0, 0.01, 0.02], "mbps": [10, 10, 10], "delay_ms": [5, 0, 0], "loss": [0, 0.5, 0] });
    let Run { delays, counts, .. } = run(json!({ "rate": { "trace": trace } }), 60_000);
    let row = |number: usize| number % 30 / 10;
    let mut lost = 0;
    for (number, delay) in delays.iter().enumerate() {
        match (row(number), delay) {
            (1, None) => lost += 1,
            (0, delay) => assert_eq!(*delay, Some(MS(8))),
            (_, delay) => assert_eq!(*delay, Some(MS(3))),
        }
    }
    assert_eq!(lost, counts.lost);
    binomial(lost, 20_000, 0.5);
}

#[test]
fn a_profile_gives_each_packet_its_delay_or_its_loss() {
    let Run { order, delays, counts, .. } = run(json!({ "profile": { "delay_ms": [0, 2.5, -1, 0] } }), 400);
    let expected = [Some(MS(3)), Some(Duration::from_micros(5_500)), None, Some(MS(3))];
    assert!(delays.chunks(4).all(|four| four == expected));
    assert_eq!((counts.lost, counts.reordered), (100, 0));
    // The second of four packets arrives behind the fourth.
    assert_eq!(order[..6], [0, 3, 1, 4, 7, 5]);
}

#[test]
fn packets_that_depart_in_an_outage_are_lost() {
    let outages = json!([{ "at": "10.5 ms", "lasts": "5 ms", "every": "20 ms", "packets": "lost" }]);
    let delays = run(json!({ "outages": outages }), 40).delays;
    let lost: Vec<usize> = (0..40).filter(|&number| delays[number].is_none()).collect();
    // Packet n departs at n + 0.8 ms.
    assert_eq!(lost, [10, 11, 12, 13, 14, 30, 31, 32, 33, 34]);
}

#[test]
fn a_packet_has_the_delay_of_its_departure() {
    let changes = json!([{ "at": "10 ms", "delay": "8.5 ms" }, { "at": "20 ms", "delay": "2 ms" }]);
    let Run { order, delays, .. } = run(json!({ "delay_changes": changes }), 30);
    for (number, delay) in delays.into_iter().enumerate() {
        let micros = [3_000, 8_500, 2_000][number / 10];
        assert_eq!(delay, Some(Duration::from_micros(micros)), "packet {number}");
    }
    // A shorter path is a lead of 6.5 ms.
    assert_eq!(order[10..20], [10, 11, 12, 13, 20, 14, 21, 15, 22, 16]);
}

#[test]
fn an_impairment_changes_the_draws_of_no_other() {
    let [loss, duplicate] = [json!({ "loss": 0.02 }), json!({ "duplicate": 0.1 })];
    let late = json!({ "reorder": { "probability": 0.1, "delay": "50 ms" } });
    let all = json!({
        "loss": 0.02, "duplicate": 0.1, "reorder": late["reorder"], "bit_error_rate": 1e-6, "ecn": "bleach",
        "outages": [{ "at": "1 s", "lasts": "30 ms", "every": "200 ms", "packets": "lost" }],
    });
    let [of_loss, of_duplicate, of_late, of_all] =
        [loss, duplicate, late, all].map(|written| run(written, 10_000));
    let copies = |run: &Run| {
        let mut arrivals = vec![0; run.delays.len()];
        run.order.iter().for_each(|&number| arrivals[number as usize] += 1);
        arrivals
    };
    let (copies_alone, copies_of_all) = (copies(&of_duplicate), copies(&of_all));
    for number in 0..10_000 {
        let delay = of_all.delays[number];
        assert!(of_loss.delays[number].is_some() || delay.is_none(), "packet {number} is lost in both");
        if delay.is_some() {
            assert_eq!(copies_alone[number], copies_of_all[number], "packet {number} is copied in both");
            assert_eq!(of_late.delays[number], delay, "packet {number} is late in both");
        }
    }
    assert!(of_all.counts.lost > of_loss.counts.lost);
}

#[test]
fn a_path_changes_the_code_points_that_it_says() {
    let through = |path: &str, flags: Flags| {
        let mut link = impaired(json!({ "ecn": path, "jitter": "1 ns" }));
        let mut sent = packet(0, 960, false, 0);
        sent.segment.flags = flags;
        link.arrive(&sent, Time::ZERO);
        assert_eq!(link.forward_to_next_hop(), Forwarding::Forwarded);
        let arrives = link.pop_wire_event().is_none();
        arrives.then(|| link.deliver().segment.flags)
    };
    let (ect0, ect1, ack) = (Flags::ECT | Flags::ACK, Flags::ECT1 | Flags::ACK, Flags::ACK);
    let codepoints = [ack, ect0, ect1, ect0 | Flags::CE, ect1 | Flags::CE];
    for (path, expected) in [
        ("bleach", [ack; 5]),
        ("clear_ce", [ack, ect0, ect1, ect0, ect1]),
        ("rewrite_ect1", [ack, ect0, ect0, ect0 | Flags::CE, ect1 | Flags::CE]),
        ("refuse_syn", codepoints),
        ("pass", codepoints),
    ] {
        assert_eq!(codepoints.map(|flags| through(path, flags)), expected.map(Some), "{path}");
    }
    let request = Flags::SYN | Flags::ECE | Flags::CWR;
    assert_eq!(through("refuse_syn", request), None);
    for accepted in [Flags::SYN, Flags::SYN | Flags::ACK | Flags::ECE, Flags::ACK | Flags::ECE] {
        assert_eq!(through("refuse_syn", accepted), Some(accepted));
    }
}
