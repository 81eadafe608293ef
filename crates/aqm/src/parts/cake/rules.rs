//! The rules of a tin: those that all tins share, and those that follow from its rate.
//!
//! Source: Linux `sch_cake.c`; tc-cake(8), "RTT parameters".

use aqmlab_units::{Bytes, Duration};

use super::options::{AckFilter, Isolation};
use crate::Variant;
use crate::parts::cobalt::CobaltRules;

/// The parameters of CAKE that are the same for all tins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TinRules {
    pub(crate) isolation: Isolation,
    pub(crate) rtt: Duration,
    /// The longest frame.
    pub(crate) mtu: Bytes,
    /// Dropped packets count like sent ones.
    pub(crate) ingress: bool,
    pub(crate) variant: Variant,
    pub(crate) ack_filter: AckFilter,
}

/// The steps of BLUE's probability, upwards and downwards.
const BLUE_STEPS: (f64, f64) = (1.0 / 256.0, 1.0 / 4096.0);

/// The parts of the round-trip time in the target.
const TARGETS_PER_RTT: u64 = 20;

/// The quantum of a flow when the shaper is fast or off, and the least.
const QUANTA: (u64, u64) = (1514, 300);

/// Return the quantum of a flow in a tin of this rate, in bytes per second.
pub(crate) fn flow_quantum(rate: Option<u64>) -> u32 {
    // Less than a full packet lets small packets of sparse flows pass between the full ones of a slow link.
    let quantum = rate.map_or(QUANTA.0, |rate| (rate >> 12).clamp(QUANTA.1, QUANTA.0));
    u32::try_from(quantum).expect("at most a packet")
}

/// Return COBALT's rules in a tin where a full packet takes `mtu_time`.
pub(crate) fn cobalt_rules(rtt: Duration, mtu_time: Duration) -> CobaltRules {
    let base = Duration::from_nanos(rtt.as_nanos() / TARGETS_PER_RTT);
    // target = max(rtt / 20, 3/2 mtu_time)
    let target = base.max(Duration::from_nanos(mtu_time.as_nanos() * 3 / 2));
    // interval = max(rtt + what the target was raised by, 2 target)
    let raised_by = Duration::from_nanos(target.as_nanos() - base.as_nanos());
    let interval = (rtt + raised_by).max(target * 2);
    CobaltRules { target, interval, mtu_time, p_inc: BLUE_STEPS.0, p_dec: BLUE_STEPS.1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::cake::clock::ByteTime;

    /// Quantum, target and interval of a tin of this rate.
    fn parameters(kbit_per_sec: u64, rtt_ms: u64) -> (u32, u64, u64) {
        let rate = (kbit_per_sec > 0).then_some(kbit_per_sec * 125);
        let byte_time = rate.map(|rate| ByteTime::from_rate(rate, Variant::Linux));
        let mtu_time = byte_time.map_or(Duration::ZERO, |byte_time| byte_time.of_packet(1514));
        let cobalt = cobalt_rules(Duration::from_millis(rtt_ms), mtu_time);
        (flow_quantum(rate), cobalt.target.as_micros(), cobalt.interval.as_micros())
    }

    #[test]
    fn parameters_follow_the_rate_as_tc_shows_them() {
        for (kbit_per_sec, rtt_ms, quantum, target, interval) in [
            (0, 100, 1514, 5_000, 100_000),
            (1_000_000, 100, 1514, 5_000, 100_000),
            (20_000, 100, 610, 5_000, 100_000),
            (10_000, 100, 305, 5_000, 100_000),
            // 1514 B take 12.112 ms, of which the target is one and a half.
            (1_000, 100, 300, 18_168, 113_168),
            (250, 100, 300, 72_672, 167_672),
            (100, 100, 300, 181_680, 363_360),
            (1_000, 1, 300, 18_168, 36_336),
            (50_000, 300, 1514, 15_000, 300_000),
        ] {
            let expected = (quantum, target, interval);
            assert_eq!(parameters(kbit_per_sec, rtt_ms), expected, "{kbit_per_sec} kbit/s, {rtt_ms} ms");
        }
    }
}
