//! Delivery rate samples of congestion controls, and pacing.

use aqmlab_tcp::congestion::RateSample;
use aqmlab_tcp::{Ack, CongestionControl, Full, Profile, Segment};
use aqmlab_units::{BitRate, Bytes, Duration, Time};

use crate::network::{CLIENT, Network};

/// A window that never moves, which paces at `RATE` Mbit/s unless that is 0, and remembers what it was told.
#[derive(Debug)]
struct Fixed<const RATE: u64> {
    window: u32,
    rates: Vec<RateSample>,
    rounds: u32,
}

impl<const RATE: u64> CongestionControl for Fixed<RATE> {
    fn new(profile: &Profile) -> Fixed<RATE> {
        let window = u32::from(profile.initial_window) * u32::from(profile.mss);
        Fixed { window, rates: vec![], rounds: 0 }
    }

    fn cwnd(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.window
    }

    fn needs_rate_samples(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        BitRate::from_bits_per_sec(RATE * 1_000_000)
    }

    fn on_delivery(&mut self, ack: &Ack) {
        assert!(ack.in_flight <= self.window);
        self.rates.extend(ack.rate);
        self.rounds += u32::from(ack.new_round);
    }

    fn on_ack(&mut self, _ack: &Ack) {}
    fn on_fast_retransmit(&mut self, _window: u32, _mss: u32) {}
    fn on_recovered(&mut self, _flight: u32, _mss: u32) {}
    fn on_timeout(&mut self, _window: u32, _mss: u32) {}
    fn on_ecn_echo(&mut self, _window: u32, _mss: u32) {}
    fn on_idle(&mut self, _initial_window: u32) {}
}

const MSS: u16 = 1000;

fn profile(window: u8) -> Profile {
    Profile {
        mss: MSS,
        initial_window: window,
        ack_every: 1,
        restart_after_idle: false,
        ..Profile::linux_6()
    }
}

/// One way, and with it the way back, of 50 ms.
fn later(now: Time) -> Time {
    now + Duration::from_millis(50)
}

fn mbit_per_sec(sample: &RateSample) -> f64 {
    f64::from(sample.delivered) * 8.0 / sample.interval.as_secs_f64() / 1e6
}

#[test]
fn the_delivery_rate_is_that_of_the_bottleneck_and_never_above() {
    // 8 Mbit/s, a millisecond for each segment. The path holds 100 of the window's 200; the others queue.
    let mut free = Time::ZERO;
    let path = move |from, segment: Segment<_>, now: Time| {
        if from == CLIENT && segment.len > 0 {
            free = free.max(now)
                + BitRate::from_mbit_per_sec(8).time_to_send(Bytes::new(u64::from(segment.len)));
            vec![(later(free), segment)]
        } else {
            vec![(later(now), segment)]
        }
    };
    let mut network = Network::<_, Full<Fixed<0>>>::between(profile(200), path);
    network.write(CLIENT, 2_000_000);
    while network.now < Time::from_secs_f64(2.0) {
        network.step();
    }
    let rates = &network.ends[CLIENT].tcp.congestion().rates;
    assert!(rates.len() > 1000);
    for sample in rates {
        assert!(mbit_per_sec(sample) <= 8.001, "{sample:?}");
    }
    // The first two windows leave in bursts that the path spreads.
    for sample in &rates[700..] {
        assert!(mbit_per_sec(sample) >= 7.9, "{sample:?}");
        assert_eq!((sample.lost, sample.app_limited), (0, false));
    }
}

#[test]
fn a_flow_with_little_data_is_application_limited() {
    let mut network =
        Network::<_, Full<Fixed<0>>>::between(profile(50), |_, segment, now| vec![(later(now), segment)]);
    for _ in 0..20 {
        network.write(CLIENT, 5_000);
        let until = network.now + Duration::from_millis(300);
        while network.next_event() < until {
            network.step();
        }
        network.now = until;
    }
    let rates = &network.ends[CLIENT].tcp.congestion().rates;
    assert!(rates.len() > 50 && rates.iter().all(|sample| sample.app_limited));
}

#[test]
fn a_round_trip_is_told_of_once() {
    let mut network =
        Network::<_, Full<Fixed<0>>>::between(profile(20), |_, segment, now| vec![(later(now), segment)]);
    network.write(CLIENT, 5_000_000);
    while network.now < Time::from_secs_f64(10.05) {
        network.step();
    }
    // The handshake takes the first of 100 round trips.
    let rounds = network.ends[CLIENT].tcp.congestion().rounds;
    assert!((98..=100).contains(&rounds), "{rounds}");
}

#[test]
fn paced_bursts_leave_no_faster_than_the_rate_and_keep_it() {
    for pacing_burst in [1, 2] {
        let mut departures = vec![];
        {
            let paced = Profile { pacing_burst, ..profile(200) };
            let mut network = Network::<_, Full<Fixed<4>>>::between(paced, |from, segment, now| {
                if from == CLIENT && segment.len > 0 {
                    departures.push((now, segment.len));
                }
                vec![(later(now), segment)]
            });
            network.write(CLIENT, 1_000_000);
            while network.now < Time::from_secs_f64(2.0) {
                network.step();
            }
        }
        let rate = BitRate::from_mbit_per_sec(4);
        let bursts: Vec<_> = departures.chunks_exact(usize::from(pacing_burst)).collect();
        for pair in bursts.windows(2) {
            let (first, next) = (pair[0], pair[1][0].0);
            assert!(first.iter().all(|&(at, _)| at == first[0].0), "{first:?}");
            let takes = first.iter().map(|&(_, len)| rate.time_to_send(Bytes::new(u64::from(len))));
            assert_eq!(takes.fold(first[0].0, |at, time| at + time), next);
        }
        assert!(departures.len() > 900, "{}", departures.len());
    }
}

#[test]
fn ack_compression_does_not_raise_the_delivery_rate() {
    // Paced at 4 Mbit/s. What should come back from 0.8 s on is held up: one acknowledgement at 1 s, the others 10 ms
    // later. Over the round trip after the first, 300 ms of data are acknowledged; they took 300 ms to send.
    let at = Time::from_secs_f64;
    let mut held = 0;
    let path = move |from, segment, now| {
        let mut arrival = later(now);
        if from != CLIENT && at(0.8) <= arrival && arrival < at(1.01) {
            arrival = if held == 0 { at(1.0) } else { at(1.01) };
            held += 1;
        }
        vec![(arrival, segment)]
    };
    let mut network = Network::<_, Full<Fixed<4>>>::between(profile(200), path);
    network.write(CLIENT, 1_000_000);
    while network.now < at(1.8) {
        network.step();
    }
    let rates = &network.ends[CLIENT].tcp.congestion().rates;
    assert!(rates.len() > 500);
    for sample in rates {
        assert!(mbit_per_sec(sample) <= 4.1, "{sample:?}");
    }
}
