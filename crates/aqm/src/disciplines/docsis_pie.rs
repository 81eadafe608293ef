//! DOCSIS-PIE: PIE as cable modems have it.
//!
//! It differs from PIE in the estimate of the delay, which follows from the buckets of the modem's shaper; in the
//! protection of bursts, which begins at the first drop and ends after a time without a queue; in probabilities up to
//! 13.6, of which a packet has a share by its size; and in drops, as it makes no use of ECN.
//!
//! Source: RFC 8034, section 4 and appendix A.
//!
//! Differs from RFC 8034: sizes are those that the queue counts, but in the delay, where the overhead of frames counts
//! as in the buckets; the size of a packet is not rounded. Random numbers are drawn only when the outcome is open.

use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{GAIN, HOUR, PACKET_SIZE, above, check, from, parameters, up_to};
use crate::parts::delay::LinkRateLaw;
use crate::parts::msr_bucket::MsrBucket;
use crate::{
    Aqm, DecidesAt, Discipline, EcnUse, Fifo, Limit, LinkContext, Packet, ParameterError, QueueState,
    Settings, Verdict, Visitor,
};

/// Bits a second of the rate for each byte of the default buffer, which takes 100 ms.
const BITS_PER_BUFFER_BYTE: u64 = 80;

/// The default of a bucket, two full packets, and the least default buffer.
const DEFAULT_BURST: Bytes = Bytes::new(3044);

parameters! {
    /// DOCSIS-PIE's parameters. The rate of the link is the modem's Maximum Sustained Traffic Rate.
    pub struct DocsisPieConfig {
        /// The delay to hold.
        latency_target: Duration = Duration::from_millis(10), in up_to(HOUR), source "RFC 8034, section 4.1";
        /// The time between two updates of the probability.
        interval: Duration = Duration::from_millis(16), in from(Duration::from_micros(1)).up_to(HOUR), source "RFC 8034, appendix A";
        /// A, the gain on the distance from `latency_target`.
        a: f64 = 0.25, in GAIN, unit "Hz", source "RFC 8034, appendix A";
        /// B, the gain on the change since the last update.
        b: f64 = 2.5, in GAIN, unit "Hz", source "RFC 8034, appendix A";
        /// The time after a first drop in which no packet is dropped.
        max_burst: Duration = Duration::from_millis(142), in up_to(HOUR), source "RFC 8034, appendix A: 150 ms less half an update";
        /// The time without a queue after which a drop is a first one again.
        burst_reset_timeout: Duration = Duration::from_secs(1), in up_to(HOUR), source "RFC 8034, appendix A";
        /// The delay below which the probability decays.
        latency_low: Duration = Duration::from_millis(5), in up_to(HOUR), source "RFC 8034, section 4.5";
        /// The delay above which the probability rises by 0.02 more at each update.
        latency_high: Duration = Duration::from_millis(200), in up_to(HOUR), source "RFC 8034, appendix A";
        /// The sum of probabilities below which no packet is dropped, and the most that a packet has.
        prob_low: f64 = 0.85, in above(0.0).up_to(1.0), unit "1", source "RFC 8034, appendix A";
        /// The sum of probabilities from which on a packet is dropped in any case.
        prob_high: f64 = 8.5, in above(0.0).up_to(1000.0), unit "1", source "RFC 8034, appendix A";
        /// The packet size for which the probability holds.
        mean_packet: Bytes = Bytes::new(1024), in PACKET_SIZE, source "RFC 8034, appendix A";
        /// The packet size that bounds the probability, which has no effect above `prob_low` for it.
        min_packet: Bytes = Bytes::new(64), in PACKET_SIZE, source "RFC 8034, appendix A";
        /// The rate at which the modem sends while its bucket has tokens; automatic: that of the link.
        peak_rate: Option<BitRate> = None, source "RFC 8034, section 4.2: Peak Traffic Rate";
        /// The tokens of a full bucket; automatic: those of the link, or 3044 B if it has no bucket.
        burst: Option<Bytes> = None, in up_to(Bytes::new(1_000_000_000_000)), source "CM-SP-MULPIv3.1, C.2.2: Maximum Traffic Burst";
        /// The maximum that may wait; automatic: 100 ms at `peak_rate` if written, else at the rate of the link, and 3044 B at least.
        limit: Option<Limit> = None, source "CM-SP-MULPIv3.1, C.2.2.7.11.4: Target Buffer";
    }
}

impl Discipline for DocsisPieConfig {
    const FAMILY: &'static str = "control theory";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const ECN: EcnUse = EcnUse::Ignores;
    const SUMMARY: &'static str = "PIE of cable modems: knows their shaper, and protects bursts longer";

    fn complete(&self, link: &LinkContext) -> Result<DocsisPieConfig, ParameterError> {
        let peak_rate = self.peak_rate.or(link.peak.map(|peak| peak.rate)).unwrap_or(link.rate);
        let burst = self.burst.or(link.peak.map(|peak| peak.burst)).unwrap_or(DEFAULT_BURST);
        let at_least = format!("at least the link's rate, {}", link.rate);
        check(peak_rate >= link.rate, "peak_rate", at_least, &self.peak_rate)?;
        let above_low = format!("at least prob_low = {}", self.prob_low);
        check(self.prob_high >= self.prob_low, "prob_high", above_low, &self.prob_high)?;
        // The line behind the modem's bucket may be a hundred times as fast as what is sold.
        let sold = self.peak_rate.unwrap_or(link.rate);
        let buffer = Bytes::new(sold.bits_per_sec() / BITS_PER_BUFFER_BYTE);
        let limit = self.limit.unwrap_or(Limit::Bytes(buffer.max(DEFAULT_BURST)));
        Ok(DocsisPieConfig {
            peak_rate: Some(peak_rate),
            burst: Some(burst),
            limit: Some(limit),
            ..self.clone()
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        if self.peak_rate == Some(link.rate) {
            return visitor.law(self.limit(), |rng| LinkRateLaw(DocsisPie::new(self, link, rng)));
        }
        visitor.queue(|rng| Fifo::new(DocsisPie::new(self, link, rng), self.limit()))
    }
}

/// The activity of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AqmState {
    /// It drops nothing until the queue has a third of the buffer.
    Inactive,
    /// The next drop begins a protected burst.
    Quiescent,
    /// A drop has begun a protected burst.
    Active,
}

/// The DOCSIS-PIE law.
#[derive(Clone, Debug)]
pub struct DocsisPie {
    config: DocsisPieConfig,
    limit: Limit,
    latency_target: f64,
    /// The bytes of each frame that the queue does not count.
    overhead: u64,
    bucket: MsrBucket,
    rng: Stream,
    drop_prob: f64,
    /// Sum of the probabilities of packets since the last drop.
    accu_prob: f64,
    /// The delay at the last update, in seconds.
    qdelay_old: f64,
    burst_allowance: Duration,
    burst_reset: Duration,
    aqm_state: AqmState,
    next_update: Time,
}

impl DocsisPie {
    /// Return a law that has seen only an empty queue. `config` must have passed [`DocsisPieConfig::resolve`].
    pub fn new(config: &DocsisPieConfig, link: &LinkContext, rng: Stream) -> DocsisPie {
        let complete = "a resolved configuration is complete";
        let (peak_rate, burst) = (config.peak_rate.expect(complete), config.burst.expect(complete));
        DocsisPie {
            limit: config.limit(),
            latency_target: config.latency_target.as_secs_f64(),
            overhead: link.overhead.get(),
            bucket: MsrBucket::new(link.rate, peak_rate, burst),
            rng,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: Duration::ZERO,
            burst_reset: Duration::ZERO,
            aqm_state: AqmState::Inactive,
            next_update: Time::ZERO + config.interval,
            config: config.clone(),
        }
    }

    /// The probability for a packet of `mean_packet`, which may exceed 1.
    pub(crate) fn drop_prob(&self) -> f64 {
        self.drop_prob
    }

    fn is_light(&self, qdelay: f64) -> bool {
        qdelay < 0.5 * self.latency_target
    }

    /// True if less than a third of the buffer is in use.
    fn is_below_third(&self, queue: QueueState) -> bool {
        match self.limit {
            Limit::Packets(most) => 3 * u64::from(queue.packets) < u64::from(most),
            Limit::Bytes(most) => 3 * u128::from(queue.bytes.get()) < u128::from(most.get()),
        }
    }

    /// Decide whether to drop this packet (RFC 8034, appendix A.3, `drop_early`).
    fn drop_early(&mut self, pkt: &Packet, queue: QueueState) -> bool {
        if self.burst_allowance > Duration::ZERO {
            return false;
        }
        if self.drop_prob <= 0.0 {
            self.accu_prob = 0.0;
        }
        if self.aqm_state == AqmState::Inactive {
            if self.is_below_third(queue) {
                return false;
            }
            self.aqm_state = AqmState::Quiescent;
        }
        let DocsisPieConfig { prob_low, prob_high, mean_packet, .. } = self.config;
        // p1 = min(drop_prob size / MEAN_PKTSIZE, PROB_LOW)
        let p1 = (self.drop_prob * pkt.size.as_f64() / mean_packet.as_f64()).min(prob_low);
        self.accu_prob += p1;
        // Random drops at light load would cost throughput and gain no delay.
        let is_light = self.is_light(self.qdelay_old) && self.drop_prob < 0.2;
        if is_light || queue.bytes.get() <= 2 * mean_packet.get() {
            return false;
        }
        // Derandomisation: no two drops too close together, and none too far apart.
        let is_dropped =
            self.accu_prob >= prob_low && (self.accu_prob >= prob_high || bernoulli(p1, 1.0, &mut self.rng));
        if is_dropped {
            self.accu_prob = 0.0;
            if self.aqm_state == AqmState::Quiescent {
                self.aqm_state = AqmState::Active;
                self.burst_allowance = self.config.max_burst;
            }
        }
        is_dropped
    }

    /// Return the step of the probability at an update with this delay.
    fn step(&self, qdelay: f64) -> f64 {
        let DocsisPieConfig { a, b, .. } = self.config;
        // p = A (qdelay - LATENCY_TARGET) + B (qdelay - qdelay_old), tuned
        let p = a * (qdelay - self.latency_target) + b * (qdelay - self.qdelay_old);
        let tuned = p / tuning(self.drop_prob);
        if self.drop_prob >= 0.1 { tuned.min(0.02) } else { tuned }
    }

    /// Update the probability for this delay (RFC 8034, appendix A.2, `calculate_drop_prob`).
    pub(crate) fn update(&mut self, qdelay: f64) {
        let DocsisPieConfig {
            interval, latency_low, latency_high, prob_low, mean_packet, min_packet, ..
        } = self.config;
        if self.burst_allowance > Duration::ZERO {
            self.drop_prob = 0.0;
            self.burst_allowance = saturating_sub(self.burst_allowance, interval);
        } else {
            self.drop_prob += self.step(qdelay);
            let latency_low = latency_low.as_secs_f64();
            if qdelay < latency_low && self.qdelay_old < latency_low {
                self.drop_prob *= 0.98;
            } else if qdelay > latency_high.as_secs_f64() {
                self.drop_prob += 0.02;
            }
            let most = prob_low * mean_packet.as_f64() / min_packet.as_f64();
            self.drop_prob = self.drop_prob.clamp(0.0, most);
        }
        let is_quiet = self.is_light(qdelay)
            && self.is_light(self.qdelay_old)
            && self.drop_prob <= 0.0
            && self.burst_allowance == Duration::ZERO;
        self.count_quiet_time(is_quiet);
        self.qdelay_old = qdelay;
    }

    fn count_quiet_time(&mut self, is_quiet: bool) {
        match self.aqm_state {
            AqmState::Active if is_quiet => {
                self.aqm_state = AqmState::Quiescent;
                self.burst_reset = Duration::ZERO;
            }
            AqmState::Quiescent if is_quiet => {
                self.burst_reset = self.burst_reset + self.config.interval;
                if self.burst_reset > self.config.burst_reset_timeout {
                    self.burst_reset = Duration::ZERO;
                    self.aqm_state = AqmState::Inactive;
                }
            }
            AqmState::Quiescent => self.burst_reset = Duration::ZERO,
            AqmState::Inactive | AqmState::Active => {}
        }
    }

    fn qdelay(&self, queue: QueueState, now: Time) -> f64 {
        let byte_length = queue.bytes.get() + self.overhead * u64::from(queue.packets);
        self.bucket.delay(byte_length as f64, now)
    }
}

fn saturating_sub(span: Duration, less: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos().saturating_sub(less.as_nanos()))
}

/// Return the divisor of steps at this probability (RFC 8034, section 4.4), which keeps the relative step stable.
fn tuning(drop_prob: f64) -> f64 {
    match drop_prob {
        p if p < 1e-6 => 2048.0,
        p if p < 1e-5 => 512.0,
        p if p < 1e-4 => 128.0,
        p if p < 1e-3 => 32.0,
        p if p < 1e-2 => 8.0,
        p if p < 1e-1 => 2.0,
        p if p < 1.0 => 0.5,
        p if p < 10.0 => 0.125,
        _ => 0.03125,
    }
}

impl Aqm for DocsisPie {
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        // A full queue drops before the law decides.
        if self.limit.admits(pkt.size, queue) && self.drop_early(pkt, queue) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }

    fn on_dequeue(&mut self, pkt: &Packet, _enqueued_at: Time, _queue: QueueState, now: Time) -> Verdict {
        self.bucket.take((pkt.size.get() + self.overhead) as f64, now);
        Verdict::Pass
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {
        self.accu_prob = 0.0;
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now < self.next_update {
            return;
        }
        self.next_update += self.config.interval;
        let qdelay = self.qdelay(queue, now);
        self.update(qdelay);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("drop_prob", self.drop_prob);
        out("qdelay", self.qdelay_old);
        out("aqm_state", f64::from(self.aqm_state as u8));
    }
}
