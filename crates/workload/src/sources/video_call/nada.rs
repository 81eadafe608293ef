//! NADA, the rate control of RFC 8698: the receiver measures congestion, and the sender sets its rate by it.
//!
//! Table 2 of the RFC has the parameters, of which all have their default. The RFC leaves a few things open:
//!
//! * A gap in the packets' numbers is one loss event for the average loss interval, which has the weights of RFC 5348,
//!   section 5.4.
//! * The receiving rate in the first LOGWIN is that since the first packet, over at least DELTA.
//! * The round-trip time is the latest sample.
//! * The congestion signal has no bound. Its penalty for loss is a square, so that the fall of the signal after a loss of
//!   10 % and more would raise the rate many times over, into the next loss. It is bounded here by XMAX, as in ns3-rmcat, the
//!   implementation by the authors of the RFC.

use std::collections::VecDeque;

use aqmlab_units::{BitRate, Bytes, Duration, Time};

/// PRIO, the weight of the flow.
const PRIO: f64 = 1.0;
/// XREF, the reference congestion level, in milliseconds.
const XREF_MS: f64 = 10.0;
/// KAPPA and ETA, the scale of the gradual update.
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
/// TAU, the upper bound of the round-trip time in the gradual update, in milliseconds.
const TAU_MS: f64 = 500.0;
/// DELTA, the target interval of reports.
pub(super) const DELTA: Duration = Duration::from_millis(100);
/// LOGWIN, the window in which the receiver observes packets.
const LOGWIN: Duration = Duration::from_millis(500);
/// QEPS, the queueing delay from which a queue builds up.
const QEPS: Duration = Duration::from_millis(10);
/// DFILT, the bound on the delay of filters.
const DFILT: Duration = Duration::from_millis(120);
/// `GAMMA_MAX`, the largest increase in the accelerated ramp-up.
const GAMMA_MAX: f64 = 0.5;
/// QBOUND, the most queueing delay that a ramp-up may inflict on itself, in milliseconds.
const QBOUND_MS: f64 = 50.0;
/// MULTILOSS, the average loss intervals after which a loss expires.
const MULTILOSS: f64 = 7.0;
/// QTH, the delay from which it is warped, in milliseconds; LAMBDA, the scale in the exponent.
const QTH_MS: f64 = 50.0;
const LAMBDA: f64 = 0.5;
/// PLRREF and PMRREF, the reference ratios of loss and of marks.
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
/// DLOSS and DMARK, the penalties at these ratios, in milliseconds.
const DLOSS_MS: f64 = 10.0;
const DMARK_MS: f64 = 2.0;
/// XMAX, the bound of the congestion signal, in milliseconds.
const XMAX_MS: f64 = 500.0;
/// `BETA_S` and `BETA_V`, the effects of the shaping buffer on the sending rate and on the encoder.
const BETA_S: f64 = 0.1;
const BETA_V: f64 = 0.1;
/// ALPHA, the gain of the ratios of loss and of marks.
const ALPHA: f64 = 0.1;
/// Samples of the minimum filter of delays (section 5.1.1).
const TAPS: usize = 15;
/// Weights of the latest loss intervals (RFC 5348, section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// A report of the receiver (section 5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CongestionReport {
    /// The sender may ramp up: rmode is 0.
    pub(crate) allows_ramp_up: bool,
    /// The aggregate congestion signal `x_curr`, in milliseconds.
    pub(crate) signal_ms: f64,
    /// The receiving rate `r_recv`, in bit/s.
    pub(crate) receiving_rate: f64,
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) arrived: Time,
    /// Its number among those sent.
    pub(crate) number: u64,
    pub(crate) delay: Duration,
    pub(crate) size: Bytes,
    /// It carries a CE mark.
    pub(crate) is_marked: bool,
}

/// The receiver: it measures the congestion of the packets that arrive (section 4.2).
#[derive(Clone, Debug, Default)]
pub(crate) struct CongestionMeter {
    first: Option<Time>,
    base_delay: Option<Duration>,
    /// The packets of the last LOGWIN.
    window: VecDeque<Sample>,
    loss_ratio: f64,
    mark_ratio: f64,
    intervals: LossIntervals,
}

impl CongestionMeter {
    /// A packet has arrived; packets are in order of arrival.
    pub(crate) fn add(&mut self, sample: Sample) {
        self.first.get_or_insert(sample.arrived);
        self.base_delay = Some(self.base_delay.map_or(sample.delay, |base| base.min(sample.delay)));
        self.intervals.add(sample.number);
        self.window.push_back(sample);
        self.forget(sample.arrived);
    }

    fn forget(&mut self, now: Time) {
        while self.window.front().is_some_and(|sample| sample.arrived + LOGWIN <= now) {
            self.window.pop_front();
        }
    }

    /// Return the report that is due at `now`; `None` before the first packet.
    pub(crate) fn report(&mut self, now: Time) -> Option<CongestionReport> {
        let (first, base) = (self.first?, self.base_delay?);
        self.forget(now);
        let (mut bits, mut marked, mut is_building_up) = (0.0, 0_u64, false);
        let (mut lowest, mut highest) = (u64::MAX, 0);
        for sample in &self.window {
            bits += 8.0 * sample.size.as_f64();
            marked += u64::from(sample.is_marked);
            is_building_up |= sample.delay >= base + QEPS;
            (lowest, highest) = (lowest.min(sample.number), highest.max(sample.number));
        }
        let received = self.window.len() as u64;
        let expected = if received > 0 { highest - lowest + 1 } else { 0 };
        let lost = expected.saturating_sub(received);
        if received > 0 {
            self.loss_ratio += ALPHA * (lost as f64 / expected as f64 - self.loss_ratio);
            self.mark_ratio += ALPHA * (marked as f64 / received as f64 - self.mark_ratio);
        }
        let filtered = self.window.iter().rev().take(TAPS).map(|sample| sample.delay).min().unwrap_or(base);
        let queueing_ms = Duration::from_nanos(filtered.as_nanos() - base.as_nanos()).as_millis_f64();
        let is_warped = self.intervals.has_recent_loss() && queueing_ms >= QTH_MS;
        let warped_ms = if is_warped {
            QTH_MS * libm::exp(-LAMBDA * (queueing_ms - QTH_MS) / QTH_MS)
        } else {
            queueing_ms
        };
        let (loss, mark) = (self.loss_ratio / PLRREF, self.mark_ratio / PMRREF);
        let observed = (now - first).min(LOGWIN).max(DELTA);
        Some(CongestionReport {
            allows_ramp_up: lost == 0 && !is_building_up,
            signal_ms: (warped_ms + DMARK_MS * mark * mark + DLOSS_MS * loss * loss).min(XMAX_MS),
            receiving_rate: bits / observed.as_secs_f64(),
        })
    }
}

/// Packets between loss events, the current interval first.
#[derive(Clone, Debug, Default)]
struct LossIntervals {
    expected: Option<u64>,
    lengths: VecDeque<f64>,
}

impl LossIntervals {
    fn add(&mut self, number: u64) {
        match self.expected {
            // A packet that others have overtaken.
            Some(expected) if number < expected => return,
            Some(expected) if number == expected => self.lengths[0] += 1.0,
            _ => {
                self.lengths.push_front(1.0);
                self.lengths.truncate(WEIGHTS.len() + 1);
            }
        }
        self.expected = Some(number + 1);
    }

    /// True if a loss has been observed, and the packets since do not exceed MULTILOSS average intervals.
    fn has_recent_loss(&self) -> bool {
        let Some(average) = self.average() else { return false };
        self.lengths[0] < MULTILOSS * average
    }

    fn average(&self) -> Option<f64> {
        let intervals = self.lengths.len().checked_sub(1).filter(|&count| count > 0)?;
        let sum = |skipped: usize| -> f64 {
            let lengths = self.lengths.iter().skip(skipped).take(intervals);
            lengths.zip(WEIGHTS).map(|(length, weight)| length * weight).sum()
        };
        Some(sum(0).max(sum(1)) / WEIGHTS[..intervals].iter().sum::<f64>())
    }
}

/// The sender: the reference rate that follows the reports (section 4.3).
#[derive(Clone, Debug)]
pub(crate) struct ReferenceRate {
    least: f64,
    most: f64,
    /// `r_ref`, in bit/s.
    rate: f64,
    previous_signal_ms: f64,
    updated: Time,
    rtt: Option<Duration>,
}

impl ReferenceRate {
    /// A flow that starts at `now` at its lowest rate; `rates` are RMIN and RMAX.
    pub(crate) fn new(rates: [BitRate; 2], now: Time) -> ReferenceRate {
        let [least, most] = rates.map(|rate| rate.bits_per_sec() as f64);
        ReferenceRate { least, most, rate: least, previous_signal_ms: 0.0, updated: now, rtt: None }
    }

    /// The reference rate, in bit/s.
    #[cfg(test)]
    pub(crate) fn get(&self) -> f64 {
        self.rate
    }

    /// The latest round-trip time, or DELTA before the first report.
    pub(crate) fn rtt(&self) -> Duration {
        self.rtt.unwrap_or(DELTA)
    }

    /// A report arrives at `now`, with a sample of the round-trip time.
    pub(crate) fn update(&mut self, report: &CongestionReport, rtt: Duration, now: Time) {
        self.rtt = Some(rtt);
        if report.allows_ramp_up {
            let gamma = QBOUND_MS / (rtt + DELTA + DFILT).as_millis_f64();
            self.rate = self.rate.max((1.0 + gamma.min(GAMMA_MAX)) * report.receiving_rate);
        } else {
            let delta_ms = (now - self.updated).as_millis_f64();
            let offset_ms = report.signal_ms - PRIO * XREF_MS * self.most / self.rate;
            let difference_ms = report.signal_ms - self.previous_signal_ms;
            let step = delta_ms / TAU_MS * (offset_ms / TAU_MS) + ETA * (difference_ms / TAU_MS);
            self.rate -= KAPPA * step * self.rate;
        }
        self.rate = self.rate.clamp(self.least, self.most);
        self.previous_signal_ms = report.signal_ms;
        self.updated = now;
    }

    /// The rate for the encoder with this much in the shaping buffer (section 5.2.1, equation 8), in bit/s.
    pub(crate) fn encoder_rate(&self, buffered: Bytes, frames_per_second: f64) -> f64 {
        (self.rate - BETA_V * 8.0 * buffered.as_f64() * frames_per_second).max(self.least)
    }

    /// The sending rate with this much in the shaping buffer (equation 9), in bit/s.
    pub(crate) fn sending_rate(&self, buffered: Bytes, frames_per_second: f64) -> f64 {
        (self.rate + BETA_S * 8.0 * buffered.as_f64() * frames_per_second).min(self.most)
    }
}
