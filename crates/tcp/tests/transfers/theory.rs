//! One long flow against what theory says of its throughput and of its sawtooth.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use aqmlab_tcp::congestion::{Dctcp, Prague, Reno};
use aqmlab_tcp::{Algorithm, Basic, CongestionControl, EcnPolicy, Full, Profile, Scaled, Segment};
use aqmlab_units::{Duration, Prob, Stream, Time};

use crate::network::{Bounded, CLIENT, Network, SERVER, marked};

/// More than any of these flows can send; what is written and not acknowledged must stay below 2^31 bytes.
const ENDLESS: u32 = 2_000_000_000;

fn seconds(span: f64) -> Duration {
    Duration::from_secs_f64(span)
}

/// Mathis, Semke, Mahdavi and Ott 1997: sqrt(3/2) / (RTT sqrt p) segments a second, when each is acknowledged.
fn square_root_law(p: f64, rtt: f64) -> f64 {
    (1.5 / p).sqrt() / rtt
}

/// Throughput in segments a second under independent losses of probability `p`, over some thousand losses.
fn throughput_under_random_loss<S: Bounded>(values: &Profile, p: f64, rtt: f64) -> f64 {
    // Small segments, so that the window of 65,535 bytes, which is 131 of them, almost never limits the flow.
    let profile = Profile { mss: 500, receive_window: 65_535, ..values.clone() };
    let mss = f64::from(profile.mss);
    let loss = Prob::clamped(p);
    let mut stream = Stream::named(1, "loss");
    let mut network = Network::<_, S>::between(profile, move |_, segment, now| {
        let lost = segment.len > 0 && stream.chance(loss);
        if lost { vec![] } else { vec![(now + seconds(rtt / 2.0), segment)] }
    });
    network.write(CLIENT, ENDLESS);
    let mut received_after = |span: f64| {
        let end = network.now + seconds(span);
        while network.now < end {
            network.step();
        }
        f64::from(network.ends[SERVER].tcp.received().get()) / mss
    };
    // Let the first slow start be forgotten.
    let start = received_after(300.0 * rtt);
    let span = 1000.0 / p / square_root_law(p, rtt);
    (received_after(span) - start) / span
}

#[test]
fn throughput_follows_the_root_law_while_timeouts_are_rare() {
    let near = |expected: RangeInclusive<f64>, p: f64, rtt: f64| {
        let ratio =
            throughput_under_random_loss::<Basic>(&Profile::unc_testbed(), p, rtt) / square_root_law(p, rtt);
        assert!(expected.contains(&ratio), "{ratio} of the law at p = {p}, RTT = {rtt} s");
    };
    near(0.90..=1.10, 0.001, 0.10);
    near(0.90..=1.10, 0.003, 0.10);
    near(0.90..=1.10, 0.003, 0.05);
    near(0.90..=1.10, 0.010, 0.10);
    // Windows of nine segments: now and then too few are left for three duplicates, and a second is lost.
    near(0.80..=1.00, 0.020, 0.10);
}

#[test]
fn with_sack_throughput_follows_the_root_law_up_to_2_percent() {
    let threshold = Profile { sack: true, ..Profile::unc_testbed() };
    let time = Profile { rack: true, ..threshold.clone() };
    for values in [threshold, time] {
        for (p, rtt) in [(0.001, 0.10), (0.005, 0.05), (0.010, 0.10), (0.020, 0.10)] {
            let ratio = throughput_under_random_loss::<Full>(&values, p, rtt) / square_root_law(p, rtt);
            let rack = values.rack;
            assert!(
                (0.90..=1.10).contains(&ratio),
                "{ratio} of the law at p = {p}, RTT = {rtt} s, RACK {rack}"
            );
        }
    }
}

/// A flow of a scalable control with this feedback.
fn scalable(congestion: Algorithm, ecn: EcnPolicy) -> Profile {
    Profile {
        mss: 500,
        window_scaling: true,
        receive_window: 1_000_000,
        sack: true,
        ecn,
        congestion,
        ..Profile::unc_testbed()
    }
}

/// The mean window in segments, taken over time, of a flow whose packets are marked when `mark` says so: what it delivers
/// in a round trip. Over some thousand marks.
fn window_under_marks<S: Bounded>(profile: Profile, mut mark: impl FnMut() -> bool) -> f64 {
    let rtt = 0.1;
    let mss = f64::from(profile.mss);
    let mut network = Network::<_, S>::between(profile, move |from, segment, now| {
        let segment = if from == CLIENT && mark() { marked(segment) } else { segment };
        vec![(now + seconds(rtt / 2.0), segment)]
    });
    network.write(CLIENT, ENDLESS);
    let mut received_after = |rounds: f64| {
        let end = network.now + seconds(rounds * rtt);
        while network.now < end {
            network.step();
        }
        f64::from(network.ends[SERVER].tcp.received().get()) / mss
    };
    let start = received_after(500.0);
    let rounds = 2500.0;
    let window = (received_after(rounds) - start) / rounds;
    assert_eq!(network.ends[CLIENT].tcp.recovery().fast_retransmits, 0, "marks cost no data");
    window
}

/// Each packet with probability `p`.
fn at_random(p: f64) -> impl FnMut() -> bool {
    let mut stream = Stream::named(1, "marks");
    move || stream.chance(Prob::clamped(p))
}

/// One packet in this many.
fn one_in(distance: u32) -> impl FnMut() -> bool {
    let mut packet = 0;
    move || {
        packet += 1;
        packet % distance == 0
    }
}

#[test]
fn dctcp_and_prague_keep_1_plus_root_3_random_marks_in_a_window() {
    // They reduce at the first mark after a round trip, every W + 1 / p segments, by W p / 2, and grow by one in each W:
    // 1 + 1 / (W p) = W p / 2.
    let expected = 1.0 + 3.0_f64.sqrt();
    for p in [0.01, 0.03] {
        let dctcp = scalable(Algorithm::Dctcp, EcnPolicy::Accurate);
        let prague = scalable(Algorithm::Prague, EcnPolicy::Accurate);
        for (name, window) in [
            ("dctcp", window_under_marks::<Full<Dctcp>>(dctcp, at_random(p))),
            ("prague", window_under_marks::<Full<Prague>>(prague, at_random(p))),
        ] {
            println!("{name} p={p}: W p = {:.3}", p * window);
            assert!((p * window / expected - 1.0).abs() < 0.1, "{name}: {} marks at p = {p}", p * window);
        }
    }
}

#[test]
fn with_two_acks_dctcp_keeps_two_isolated_marks_in_a_window() {
    // One packet in 50 is marked and every second is acknowledged. Each mark counts once where the change of marks is
    // acknowledged twice; with one acknowledgement it counts for the segment held back before it too, which happens to one
    // mark in two: 1.5 p, and a smaller window. W = 2 (1 - p) / p, see `congestion/response.rs`.
    let product = |dctcp_two_acks, delayed_ack| {
        let values = scalable(Algorithm::Dctcp, EcnPolicy::Dctcp);
        let profile = Profile { dctcp_two_acks, ack_every: 2, delayed_ack, ..values };
        window_under_marks::<Full<Dctcp>>(profile, one_in(51)) / 51.0
    };
    let delay = Duration::from_millis(40);
    let (two, one) = (product(true, delay), product(false, delay));
    println!("dctcp, isolated marks: W p = {two:.3} with two acknowledgements, {one:.3} with one");
    assert!((two / (2.0 * (1.0 - 1.0 / 51.0)) - 1.0).abs() < 0.1, "{two} marks");
    assert!(one < 0.85 * two, "{one} and {two} marks");
}

/// A drop-tail queue before a link.
struct DropTail {
    /// The number of packets that may queue while one is being sent.
    buffer: usize,
    /// The time at which the packets that are queued or being sent will have left.
    departures: VecDeque<Time>,
}

/// Data packets of 960 and 40 bytes on 10 Mbit/s: 0.8 ms each.
const MSS: u16 = 960;
const SERVICE: f64 = 0.8e-3;

impl DropTail {
    /// The time at which a packet that arrives now will have left, or `None` on overflow.
    fn carry(&mut self, now: Time) -> Option<Time> {
        while self.departures.front().is_some_and(|&departure| departure <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() > self.buffer {
            return None;
        }
        let departure = *self.departures.back().unwrap_or(&now) + seconds(SERVICE);
        self.departures.push_back(departure);
        Some(departure)
    }
}

/// One flow's steady sawtooth: ten losses in a row, each with its time, the window it found in segments, and the
/// segments received until then.
fn sawtooth<S: Bounded>(values: &Profile, rtt: f64, buffer: usize) -> Vec<(Time, f64, f64)> {
    let profile = Profile { mss: MSS, ..values.clone() };
    let mut link = DropTail { buffer, departures: VecDeque::new() };
    let mut network = Network::<_, S>::between(profile, move |from, segment: Segment<S::Options>, now| {
        let left = if from == CLIENT { link.carry(now) } else { Some(now) };
        left.map(|left| (left + seconds(rtt / 2.0), segment)).into_iter().collect()
    });
    network.write(CLIENT, ENDLESS);
    let mut losses = vec![];
    while losses.len() < 13 {
        let (before, cwnd) = {
            let sender = &network.ends[CLIENT].tcp;
            (sender.recovery(), f64::from(sender.congestion().cwnd()))
        };
        network.step();
        let after = network.ends[CLIENT].tcp.recovery();
        assert_eq!(after.timeouts, 0, "one loss a tooth needs no timeout");
        if after.fast_retransmits > before.fast_retransmits {
            let received = f64::from(network.ends[SERVER].tcp.received().get());
            losses.push((network.now, cwnd / f64::from(MSS), received / f64::from(MSS)));
        }
    }
    // The overshoot of slow start and the teeth next to it differ.
    losses.split_off(3)
}

/// The sawtooth by arithmetic: the window that fills pipe and buffer, then the length of a tooth in seconds.
///
/// The window grows from half of that by a segment each round trip, and a round trip lasts `rtt` and a packet's
/// service or, with a queue, as long as the link needs for a window. One more passes before the loss is seen, and
/// one to repair it.
fn arithmetic(rtt: f64, buffer: u32) -> (f64, f64) {
    let full = rtt / SERVICE + 1.0 + f64::from(buffer);
    let round = |window: f64| (window * SERVICE).max(rtt + SERVICE);
    let (mut window, mut period) = ((full / 2.0).floor(), 2.0 * round(full));
    while window <= full {
        period += round(window);
        window += 1.0;
    }
    (full, period)
}

fn assert_teeth<S: Bounded>(values: &Profile, rtt: f64, buffer: u16) {
    let (full, period) = arithmetic(rtt, u32::from(buffer));
    let losses = sawtooth::<S>(values, rtt, usize::from(buffer));
    for &(_, window, _) in &losses {
        assert!(full <= window && window <= full + 2.0, "a peak of {window} segments, the path holds {full}");
    }
    for pair in losses.windows(2) {
        let tooth = (pair[1].0 - pair[0].0).as_secs_f64();
        assert!((tooth / period - 1.0).abs() < 0.05, "a tooth of {tooth} s, by arithmetic {period} s");
    }
}

fn classic() -> Profile {
    Profile { receive_window: 65_535, ..Profile::unc_testbed() }
}

/// Windows of at most 42 segments: the half more that leaves during recovery still fits the peer's 65,535 bytes.
#[test]
fn the_sawtooth_over_a_drop_tail_queue_is_what_arithmetic_gives() {
    // A buffer above the bandwidth-delay product of 12.5 packets, and one below that of 35.
    for (rtt, buffer) in [(0.010, 28), (0.028, 6)] {
        assert_teeth::<Basic>(&classic(), rtt, buffer);
    }
}

#[test]
fn at_10_mbit_s_40_ms_50_packets_throughput_matches_arithmetic() {
    let scaled = Profile { receive_window: 1 << 20, window_scaling: true, ..Profile::unc_testbed() };
    assert_teeth::<Scaled>(&scaled, 0.040, 50);
    for modern in [Profile { sack: true, ..scaled.clone() }, Profile { frto: true, ..scaled }] {
        assert_teeth::<Full<Reno>>(&modern, 0.040, 50);
    }
}

#[test]
fn a_buffer_of_one_bdp_keeps_the_link_busy_a_smaller_one_not() {
    let utilisation = |rtt: f64, buffer: usize| {
        let losses = sawtooth::<Basic>(&classic(), rtt, buffer);
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        (last.2 - first.2) * SERVICE / (last.0 - first.0).as_secs_f64()
    };
    // The bandwidth-delay product is 12.5 packets, then 35.
    assert!(utilisation(0.010, 28) > 0.98);
    let short = utilisation(0.028, 6);
    // With no buffer at all the window would swing between half and all of the product: 3/4.
    assert!(0.75 < short && short < 0.95, "{short}");
}

/// The swing of a queue that marks each packet above `threshold`, from the mean peak to the mean trough, under one flow.
fn swing_under_a_step<S: Bounded>(profile: Profile, rtt: f64, threshold: usize) -> f64 {
    let profile = Profile { mss: MSS, ..profile };
    let length = std::rc::Rc::new(std::cell::Cell::new(0));
    let seen = length.clone();
    let mut link = DropTail { buffer: 1000, departures: VecDeque::new() };
    let mut network = Network::<_, S>::between(profile, move |from, segment: Segment<S::Options>, now| {
        if from != CLIENT {
            return vec![(now + seconds(rtt / 2.0), segment)];
        }
        let left = link.carry(now).expect("the buffer is large");
        seen.set(link.departures.len());
        let segment = if link.departures.len() > threshold { marked(segment) } else { segment };
        vec![(left + seconds(rtt / 2.0), segment)]
    });
    network.write(CLIENT, ENDLESS);
    let mut lengths = vec![];
    while network.now < Time::ZERO + seconds(400.0 * rtt) {
        network.step();
        lengths.push(length.get());
    }
    // The second half, in pieces of 20 round trips: two or three teeth each.
    let settled = &lengths[lengths.len() / 2..];
    let pieces = settled.chunks_exact(settled.len() / 10);
    let swings = pieces.map(|piece| {
        let (low, high) = (piece.iter().min().expect("some"), piece.iter().max().expect("some"));
        (high - low) as f64
    });
    swings.sum::<f64>() / 10.0
}

#[test]
fn dctcp_swings_a_queue_under_a_step_by_the_papers_root() {
    // Alizadeh et al., SIGCOMM 2010, (8): sqrt(N (C RTT + K) / 2) packets for N flows. The alpha that reduces is that from
    // before the marks it answers, which makes it a fifth less. Waiting for the end of the observation
    // window makes it two thirds more.
    let (rtt, threshold) = (0.08, 40_usize);
    let expected = f64::midpoint(rtt / SERVICE, threshold as f64).sqrt();
    for (ecn, ack_every, dctcp_two_acks) in
        [(EcnPolicy::Accurate, 1, false), (EcnPolicy::Dctcp, 1, false), (EcnPolicy::Dctcp, 2, true)]
    {
        let values = scalable(Algorithm::Dctcp, ecn);
        let profile = Profile { ack_every, dctcp_two_acks, ..values };
        let swing = swing_under_a_step::<Full<Dctcp>>(profile, rtt, threshold);
        println!("{ecn}, {ack_every} segments an acknowledgement: {swing} packets, expected {expected:.1}");
        assert!((0.6..=1.2).contains(&(swing / expected)), "{ecn}: {swing} packets, expected {expected}");
    }
}
