//! A second, straightforward writing of the pseudocode of RFC 8698, sections 4.2 and 4.3, and random packets for both.
//!
//! It keeps all packets, and works out each report from the beginning, in milliseconds and bits per second.

use aqmlab_units::{BitRate, Bytes, Duration, Time};
use proptest::prelude::*;

use crate::sources::video_call::nada::{CongestionMeter, ReferenceRate, Sample};

/// The fate of one packet: it arrives after this time in microseconds, or is lost; the time to the next, its size, and
/// its mark.
type Fate = (Option<u64>, u64, u64, bool);

/// Arrivals in milliseconds: when, the number, the one-way delay, the size in bits, and the mark.
#[derive(Clone, Copy, Debug)]
struct Packet {
    t_curr: f64,
    number: u64,
    d_fwd: f64,
    bits: f64,
    has_ce: bool,
}

struct Receiver {
    log: Vec<Packet>,
    p_loss: f64,
    p_mark: f64,
}

impl Receiver {
    /// Section 4.2, "on time to send a new feedback report": `(rmode, x_curr, r_recv)`.
    fn feedback(&mut self, t_curr: f64) -> (u8, f64, f64) {
        let log: Vec<Packet> = self.log.iter().copied().filter(|packet| packet.t_curr <= t_curr).collect();
        let d_base = log.iter().map(|packet| packet.d_fwd).fold(f64::INFINITY, f64::min);
        let window: Vec<&Packet> =
            log.iter().filter(|packet| packet.t_curr > t_curr - 500.0 + 1e-6).collect();
        let mut lost = 0.0;
        if !window.is_empty() {
            let numbers = || window.iter().map(|packet| packet.number);
            let expected = (numbers().max().unwrap() - numbers().min().unwrap() + 1) as f64;
            let received = window.len() as f64;
            lost = expected - received;
            self.p_loss = 0.1 * lost / expected + 0.9 * self.p_loss;
            let ce = window.iter().filter(|packet| packet.has_ce).count() as f64;
            self.p_mark = 0.1 * ce / received + 0.9 * self.p_mark;
        }
        let last_15 = &window[window.len().saturating_sub(15)..];
        let d_queue = last_15.iter().map(|packet| packet.d_fwd - d_base).fold(f64::INFINITY, f64::min);
        let d_queue = if last_15.is_empty() { 0.0 } else { d_queue };
        let loss_is_recent = loss_interval(&log).is_some_and(|(current, loss_int)| current < 7.0 * loss_int);
        let d_tilde = if loss_is_recent && d_queue >= 50.0 {
            50.0 * libm::exp(-0.5 * (d_queue - 50.0) / 50.0)
        } else {
            d_queue
        };
        let x_curr = d_tilde
            + 2.0 * (self.p_mark / 0.01) * (self.p_mark / 0.01)
            + 10.0 * (self.p_loss / 0.01) * (self.p_loss / 0.01);
        let x_curr = f64::min(x_curr, 500.0);
        let builds_up = window.iter().any(|packet| packet.d_fwd - d_base >= 10.0 - 1e-9);
        let rmode = u8::from(lost > 0.0 || builds_up);
        let span = (t_curr - log[0].t_curr).clamp(100.0, 500.0);
        (rmode, x_curr, 1000.0 * window.iter().map(|packet| packet.bits).sum::<f64>() / span)
    }
}

/// The packets since the last loss event, and the average loss interval of RFC 5348, section 5.4.
fn loss_interval(log: &[Packet]) -> Option<(f64, f64)> {
    let mut lengths = vec![0.0];
    let mut expected = log.first()?.number;
    for packet in log {
        if packet.number > expected {
            lengths.insert(0, 0.0);
        }
        lengths[0] += 1.0;
        expected = packet.number + 1;
    }
    let n = (lengths.len() - 1).min(8);
    if n == 0 {
        return None;
    }
    let weight = |i: usize| if i < 4 { 1.0 } else { 2.0 * (8 - i) as f64 / 10.0 };
    let i_tot = |from: usize| (0..n).map(|i| weight(i) * lengths[i + from]).sum::<f64>();
    let w_tot: f64 = (0..n).map(weight).sum();
    Some((lengths[0], i_tot(0).max(i_tot(1)) / w_tot))
}

/// Section 4.3, "on receiving feedback report".
fn reference_rate(r_ref: f64, x_prev: f64, delta: f64, rtt: f64, report: (u8, f64, f64)) -> f64 {
    let (rmode, x_curr, r_recv) = report;
    let (rmin, rmax) = (150e3, 1.5e6);
    let r_ref = if rmode == 0 {
        let gamma = f64::min(0.5, 50.0 / (rtt + 100.0 + 120.0));
        f64::max(r_ref, (1.0 + gamma) * r_recv)
    } else {
        let x_offset = x_curr - 1.0 * 10.0 * rmax / r_ref;
        let x_diff = x_curr - x_prev;
        r_ref - 0.5 * (delta / 500.0) * (x_offset / 500.0) * r_ref - 0.5 * 2.0 * (x_diff / 500.0) * r_ref
    };
    r_ref.clamp(rmin, rmax)
}

/// Phases of a path, each with packets of its own.
fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let phase = (0..120_000_u64, 0..40_000_u64, 0.0..0.15_f64, 0.0..0.3_f64, 10..150_usize).prop_flat_map(
        |(queue, jitter, loss, marks, packets)| {
            let packet = (0..=jitter, 0.0..1.0_f64, 500..12_000_u64, 40..1_200_u64, 0.0..1.0_f64);
            let fate = packet.prop_map(move |(jitter, lost, gap, size, mark)| {
                ((lost >= loss).then_some(20_000 + queue + jitter), gap, size, mark < marks)
            });
            prop::collection::vec(fate, packets)
        },
    );
    // Without loss and queues a ramp-up begins.
    let quiet =
        prop::collection::vec((Just(Some(20_000)), 1_000..12_000_u64, 40..1_200_u64, Just(false)), 0..400);
    (quiet, prop::collection::vec(phase, 1..8)).prop_map(|(quiet, phases)| [quiet, phases.concat()].concat())
}

fn ms(time: Time) -> f64 {
    time.as_secs_f64() * 1e3
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * (1.0 + one.abs().max(other.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn rates_are_those_of_the_pseudocode(fates in fates(), rtt in 5..400_u64, seed in any::<u64>()) {
        let mut samples = Vec::new();
        let mut sent_at = Time::ZERO;
        for (number, (delay, gap, size, is_marked)) in (seed % 1_000_000..).zip(fates) {
            sent_at += Duration::from_micros(gap);
            if let Some(delay) = delay.map(Duration::from_micros) {
                let (arrived, size) = (sent_at + delay, Bytes::new(size));
                samples.push(Sample { arrived, number, delay, size, is_marked });
            }
        }
        samples.sort_by_key(|sample| sample.arrived);
        prop_assume!(!samples.is_empty());
        let packet = |sample: &Sample| Packet {
            t_curr: ms(sample.arrived),
            number: sample.number,
            d_fwd: sample.delay.as_millis_f64(),
            bits: 8.0 * sample.size.as_f64(),
            has_ce: sample.is_marked,
        };
        // Reordered packets, which the RFC leaves open, are left out.
        let mut highest = 0;
        samples.retain(|sample| {
            let is_next = sample.number > highest;
            highest = highest.max(sample.number);
            is_next
        });
        let log = samples.iter().map(packet).collect();
        let mut other = Receiver { log, p_loss: 0.0, p_mark: 0.0 };
        let (mut meter, mut now) = (CongestionMeter::default(), samples[0].arrived);
        let rates = [BitRate::from_kbit_per_sec(150), BitRate::from_kbit_per_sec(1_500)];
        let (mut rate, mut other_rate, mut x_prev) = (ReferenceRate::new(rates, now), 150e3, 0.0);
        let mut samples = samples.into_iter().peekable();
        let rtt = Duration::from_millis(rtt);
        while samples.peek().is_some() {
            // Reports 80 to 160 ms apart.
            let delta = Duration::from_millis(80 + (seed ^ now.as_nanos()) % 81);
            now += delta;
            while let Some(sample) = samples.next_if(|sample| sample.arrived <= now) {
                meter.add(sample);
            }
            let report = meter.report(now).expect("a packet has arrived");
            let feedback = other.feedback(ms(now));
            prop_assert_eq!(u8::from(!report.allows_ramp_up), feedback.0);
            prop_assert!(is_near(report.signal_ms, feedback.1), "{:?} {:?}", report, feedback);
            prop_assert!(is_near(report.receiving_rate, feedback.2), "{:?} {:?}", report, feedback);
            rate.update(&report, rtt, now);
            other_rate = reference_rate(other_rate, x_prev, delta.as_millis_f64(), rtt.as_millis_f64(), feedback);
            x_prev = feedback.1;
            prop_assert!(is_near(rate.get(), other_rate), "{} {}", rate.get(), other_rate);
        }
    }
}

#[test]
fn a_steady_queue_settles_where_the_offset_is_zero() {
    // Section 4.3: x_curr = PRIO XREF RMAX / r_ref. With 20 ms of queueing delay the rate is half of the highest.
    let rates = [BitRate::from_kbit_per_sec(150), BitRate::from_kbit_per_sec(1_500)];
    let mut rate = ReferenceRate::new(rates, Time::ZERO);
    let report = crate::sources::video_call::nada::CongestionReport {
        allows_ramp_up: false,
        signal_ms: 20.0,
        receiving_rate: 1e6,
    };
    for n in 1..20_000 {
        rate.update(&report, Duration::from_millis(40), Time::ZERO + Duration::from_millis(100 * n));
    }
    assert!((rate.get() / 750e3 - 1.0).abs() < 1e-3, "{}", rate.get());
}
