//! Cellular: the share of one user of a cell, whose scheduler is proportionally fair and whose users have fading channels.
//!
//! Source: Viswanath, Tse and Laroia, "Opportunistic beamforming using dumb antennas", 2002, section 2, for the scheduler; the
//! channel is Rayleigh fading with an exponential autocorrelation (Gauss-Markov), and a rate by Shannon's formula:
//!
//! ```text
//!   each slot:   g_k = |h_k|^2,   h_k = rho h_k + sqrt(1 - rho^2) w,   rho = exp(-slot / coherence)
//!                r_k = rate log2(1 + snr g_k) / E log2(1 + snr g)
//!   selected:    the user of the largest r_k / T_k
//!                T_k = (1 - slot / average) T_k + slot / average (r_k if selected, else 0)
//! ```
//!
//! All users have the same mean channel and always have data, this one too: what it does not use is lost.

use aqmlab_aqm::LinkContext;
use aqmlab_units::range::{above, from, up_to};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Range, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::opportunities::{Opportunities, Opportunity, Scheduler};
use super::{BoxedCapacity, CapacityKind, Streams, rate_of};
use crate::spec::{RATES, SpecError};

/// One user of a cell, among users whose channels fade: each slot goes to the user whose rate is the highest of its own mean
/// (proportional fairness). The link's discipline knows the mean rate of this user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Cellular", transform = with_ranges::<CellularSpec>))]
#[serde(deny_unknown_fields)]
pub struct CellularSpec {
    /// The mean rate of a user who is alone in the cell.
    pub rate: BitRate,
    /// The busy users of the cell, this one included.
    #[serde(default = "one")]
    pub users: u32,
    /// The mean signal-to-noise ratio in dB.
    #[serde(default = "default_snr")]
    pub snr: f64,
    /// The time after which the correlation of the channel has fallen to 1/e.
    #[serde(default = "default_coherence")]
    pub coherence: Duration,
    /// The time over which the scheduler averages the rates that a user got.
    #[serde(default = "default_average")]
    pub average: Duration,
    /// The time of one decision of the scheduler.
    #[serde(default = "default_slot")]
    pub slot: Duration,
}

const SNR: Range<f64> = from(-20.0).up_to(40.0);

ranges! {
    CellularSpec {
        rate: RATES,
        users: from(1).up_to(100),
        snr: SNR,
        coherence: above(Duration::ZERO).up_to(Duration::from_secs(60)),
        average: up_to(Duration::from_secs(60)),
        slot: from(Duration::from_micros(100)).up_to(Duration::from_millis(100)),
    }
}

fn one() -> u32 {
    1
}

/// Ours: a rate that varies by a factor of some ten.
fn default_snr() -> f64 {
    10.0
}

/// Ours: that of a walk; at 2 GHz and 1 m/s the Doppler frequency is 7 Hz.
fn default_coherence() -> Duration {
    Duration::from_millis(50)
}

/// A thousand slots, of the order of 1.67 s of HDR (Viswanath et al.).
fn default_average() -> Duration {
    Duration::from_secs(1)
}

/// The transmission time interval of LTE.
fn default_slot() -> Duration {
    Duration::from_millis(1)
}

/// The points of a numerical mean over the distribution of gains.
const POINTS: u32 = 4_096;

/// The span over which rates are averaged where they are drawn, and the most spans of a run. Ours.
const SPAN: Duration = Duration::from_millis(100);
const MOST_SPANS: u64 = 100_000;

impl CellularSpec {
    fn linear_snr(&self) -> f64 {
        libm::pow(10.0, self.snr / 10.0)
    }

    /// Returns the mean of log2(1 + snr g) over the largest gain of `users`.
    fn mean_of_largest(&self, users: u32) -> f64 {
        let snr = self.linear_snr();
        let bits = |point: u32| {
            // The inverse of (1 - exp(-g))^users.
            let share = (f64::from(point) + 0.5) / f64::from(POINTS);
            let gain = -libm::log1p(-libm::pow(share, 1.0 / f64::from(users)));
            libm::log2(1.0 + snr * gain)
        };
        (0..POINTS).map(bits).sum::<f64>() / f64::from(POINTS)
    }

    fn scheduler(&self, streams: &Streams) -> ProportionalFair {
        let mut stream = streams.own("cellular");
        let users = (0..self.users).map(|_| User { gain: [normal(&mut stream), normal(&mut stream)], mean: 1.0 });
        let users = users.collect();
        let correlation = libm::exp(-(self.slot / self.coherence));
        ProportionalFair {
            slot: self.slot,
            snr: self.linear_snr(),
            bytes_per_bit: self.rate.bits_per_sec() as f64 * self.slot.as_secs_f64() / 8.0 / self.mean_of_largest(1),
            correlation,
            innovation: libm::sqrt(1.0 - correlation * correlation),
            weight: (self.slot / self.average.max(self.slot)).min(1.0),
            users,
            stream,
            at: Time::ZERO,
            rest: 0.0,
        }
    }

    /// Returns the opportunities that begin from `start` to `end`.
    fn opportunities(&self, streams: &Streams, end: Time) -> impl Iterator<Item = Opportunity> {
        let mut scheduler = self.scheduler(streams);
        std::iter::from_fn(move || Some(scheduler.next())).take_while(move |next| next.at <= end)
    }
}

impl CapacityKind for CellularSpec {
    fn rate(&self) -> BitRate {
        let share = self.mean_of_largest(self.users) / self.mean_of_largest(1) / f64::from(self.users);
        rate_of(self.rate.bits_per_sec() as f64 * share)
    }

    /// The rate of a gain that is exceeded once in a million.
    fn fastest(&self) -> BitRate {
        let gain = libm::log(1e6);
        let share = libm::log2(1.0 + self.linear_snr() * gain) / self.mean_of_largest(1);
        rate_of(self.rate.bits_per_sec() as f64 * share)
    }

    fn bits_between(&self, start: Time, end: Time, streams: &Streams) -> f64 {
        self.opportunities(streams, end).filter(|next| next.at > start).map(|next| 8.0 * next.bytes.as_f64()).sum()
    }

    fn drain_rates(&self, until: Time, streams: &Streams) -> Vec<(Time, f64)> {
        let span = Duration::from_nanos(SPAN.as_nanos().max(until.as_nanos() / MOST_SPANS));
        let spans = until.as_nanos().div_ceil(span.as_nanos());
        let mut rates: Vec<(Time, f64)> = (0..spans).map(|number| (Time::ZERO + span * number, 0.0)).collect();
        for next in self.opportunities(streams, until) {
            // An opportunity is at the end of its slot.
            let index = usize::try_from((next.at.as_nanos() - 1) / span.as_nanos()).expect("a run has few spans");
            if let Some((_, rate)) = rates.get_mut(index) {
                *rate += 8.0 * next.bytes.as_f64() / span.as_secs_f64();
            }
        }
        rates
    }

    fn is_random(&self) -> bool {
        true
    }

    fn check(&self, _frame: Bytes) -> Result<(), SpecError> {
        if self.users == 1 && self.average != default_average() {
            let message = format!("has no effect: there is no other user, got {}", self.average);
            return Err(SpecError { path: "average".to_owned(), message });
        }
        Ok(())
    }

    fn capacity(&self, link: &LinkContext, streams: &Streams) -> BoxedCapacity {
        Box::new(Opportunities::new(self.scheduler(streams), link.overhead))
    }
}

/// The scheduler of a cell, and the channels of its users.
#[derive(Debug)]
struct ProportionalFair {
    slot: Duration,
    snr: f64,
    /// The bytes of a slot for each bit a second and hertz.
    bytes_per_bit: f64,
    /// Of the channel from slot to slot, and the share that is new.
    correlation: f64,
    innovation: f64,
    /// Of a slot in the mean rates of users.
    weight: f64,
    /// The first one is the user of this link.
    users: Vec<User>,
    stream: Stream,
    /// The end of the last slot.
    at: Time,
    /// The part of a byte that is left of the slots of this user.
    rest: f64,
}

/// A user of the cell.
#[derive(Clone, Copy, Debug)]
struct User {
    /// The real and the imaginary part of its channel, of variance 1 each.
    gain: [f64; 2],
    /// The mean rate that it got, in bits a second and hertz.
    mean: f64,
}

impl ProportionalFair {
    /// Returns the bytes of the next slot for the first user; zero if another one is selected.
    fn next_slot(&mut self) -> f64 {
        self.at += self.slot;
        let mut selected = (0, 0.0, f64::MIN);
        for (number, user) in self.users.iter_mut().enumerate() {
            for part in &mut user.gain {
                *part = self.correlation * *part + self.innovation * normal(&mut self.stream);
            }
            let power = f64::midpoint(user.gain[0] * user.gain[0], user.gain[1] * user.gain[1]);
            let rate = libm::log2(1.0 + self.snr * power);
            let priority = rate / user.mean;
            if priority > selected.2 {
                selected = (number, rate, priority);
            }
        }
        let (winner, rate, _) = selected;
        for (number, user) in self.users.iter_mut().enumerate() {
            let got = if number == winner { rate } else { 0.0 };
            user.mean = ((1.0 - self.weight) * user.mean + self.weight * got).max(1e-9);
        }
        if winner == 0 { rate * self.bytes_per_bit } else { 0.0 }
    }
}

impl Scheduler for ProportionalFair {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a slot has few bytes")]
    fn next(&mut self) -> Opportunity {
        loop {
            self.rest += self.next_slot();
            let bytes = self.rest as u64;
            if bytes > 0 {
                self.rest -= bytes as f64;
                return Opportunity { at: self.at, bytes: Bytes::new(bytes) };
            }
        }
    }
}

/// Draws a number of the normal distribution (Box and Muller).
fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform()));
    radius * libm::cos(std::f64::consts::TAU * stream.uniform())
}
