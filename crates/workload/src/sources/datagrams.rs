//! Datagrams without congestion control, over UDP: at a constant bit rate, or in bursts at that rate.
//!
//! Bursts and pauses alternate; the flow begins with a burst. Packets are evenly spaced in the time that is spent in
//! bursts, so that the mean rate is exactly rate · on / (on + off), however short the bursts. They are not ECN-capable.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};
use serde::{Deserialize, Serialize};

use super::bulk::{check_flows, no_time, one_second};
use super::check_side;
use super::distribution::{Span, TimeConfig, check_time};
use super::starts::Starts;
use super::transfers::check_stop;
use crate::config::{ConfigError, check_range, refuse};

/// Flows of datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DatagramsConfig {
    /// What to call the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Flows; 1 to 1,000,000, default 1.
    #[serde(default = "one")]
    pub flows: u32,
    /// The side of the link that they are sent from, 0 or 1; default 0.
    #[serde(default)]
    pub side: u8,
    /// The rate of each flow, in bits of IP packets per second, while it sends.
    pub rate: BitRate,
    /// The size of a packet, IP header included: 28 to 65,535 B; default 1,500 B, the MTU of Ethernet.
    #[serde(default = "ethernet_mtu")]
    pub packet: Bytes,
    /// Bursts and the pauses between them; absent: a constant bit rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstsConfig>,
    /// The part of the time between two packets that each is held back by at most, at random; in \[0, 1\], default 0.
    /// Flows of one rate without it stay in step for ever.
    #[serde(default)]
    pub jitter: f64,
    /// The earliest start; default 0.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The starts are spread evenly at random over this time; default 1 s, ours.
    #[serde(default = "one_second")]
    pub spread: Duration,
    /// When they end; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

/// Bursts and pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BurstsConfig {
    /// The length of a burst; its mean must be the time from a packet to the next at least.
    pub on: TimeConfig,
    /// The pause after it.
    pub off: TimeConfig,
}

fn one() -> u32 {
    1
}

fn ethernet_mtu() -> Bytes {
    Bytes::new(1500)
}

impl DatagramsConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_flows("flows", self.flows)?;
        check_side(self.side)?;
        if self.rate > MAX_RATE {
            return refuse("rate", format!("must be at most {MAX_RATE}, got {}", self.rate));
        }
        if !(28..=65_535).contains(&self.packet.get()) {
            return refuse("packet", format!("must be between 28 B and 65535 B, got {}", self.packet));
        }
        if let Some(BurstsConfig { on, off }) = &self.bursts {
            on.check("bursts.on")?;
            off.check("bursts.off")?;
            let interval = self.rate.time_to_send(self.packet);
            if on.mean() < interval {
                return refuse(
                    "bursts.on",
                    format!("must last a packet's time, {interval}, on average, got {}", on.mean()),
                );
            }
        }
        check_range("jitter", self.jitter, 0.0, 1.0)?;
        check_time("start", self.start)?;
        check_time("spread", self.spread)?;
        check_stop(self.start, self.stop)
    }
}

/// 1 Tbit/s.
const MAX_RATE: BitRate = BitRate::from_mbit_per_sec(1_000_000);

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When.
    pub at: Time,
    /// The number of its flow in the source, from 0.
    pub flow: u32,
    /// The side of the link that sends it.
    pub side: u8,
    /// Its size, IP header included.
    pub size: Bytes,
}

/// A source of datagrams.
#[derive(Debug)]
pub struct DatagramSource {
    pattern: Pattern,
    side: u8,
    flows: Vec<Flow>,
    /// What each flow sends next.
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

/// What all flows have in common.
#[derive(Debug)]
struct Pattern {
    rate: BitRate,
    packet: Bytes,
    bursts: Option<(Span, Span)>,
    jitter: f64,
    stop: Time,
}

#[derive(Debug)]
struct Flow {
    stream: Stream,
    /// When it would have started without the pauses so far.
    start: Time,
    /// The time spent in bursts when the present one ends.
    burst_end: Duration,
    sent: u64,
}

impl DatagramSource {
    /// From a checked configuration; `key` is that of the source's streams.
    pub(crate) fn new(config: &DatagramsConfig, key: u64) -> DatagramSource {
        let pattern = Pattern {
            rate: config.rate,
            packet: config.packet,
            bursts: config.bursts.as_ref().map(|bursts| (Span::new(&bursts.on), Span::new(&bursts.off))),
            jitter: config.jitter,
            stop: config.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
        };
        let mut starts =
            Starts::uniform(config.flows, config.start, config.spread, Stream::numbered(key, u64::MAX));
        let flows = std::iter::from_fn(|| starts.next()).zip(0_u64..).map(|(start, number)| {
            let mut stream = Stream::numbered(key, number);
            let burst_end = match &pattern.bursts {
                Some((on, _)) => on.draw(&mut stream),
                None => Duration::ZERO,
            };
            Flow { stream, start, burst_end, sent: 0 }
        });
        let flows = flows.collect();
        let mut source = DatagramSource { pattern, side: config.side, flows, due: BinaryHeap::new() };
        for flow in 0..config.flows {
            source.plan(flow);
        }
        source
    }

    /// Find out when `flow` sends next.
    fn plan(&mut self, flow: u32) {
        let at = self.flows[flow as usize].next(&self.pattern);
        if at < self.pattern.stop {
            self.due.push(Reverse((at, flow)));
        }
    }
}

impl Iterator for DatagramSource {
    type Item = Datagram;

    /// The next packet of all flows, in order of time.
    fn next(&mut self) -> Option<Datagram> {
        let Reverse((at, flow)) = self.due.pop()?;
        self.plan(flow);
        Some(Datagram { at, flow, side: self.side, size: self.pattern.packet })
    }
}

impl Flow {
    /// When the next packet is sent.
    fn next(&mut self, pattern: &Pattern) -> Time {
        // From the first packet, so that rounding to nanoseconds does not change the rate.
        let nominal = pattern.rate.time_to_send(Bytes::new(self.sent * pattern.packet.get()));
        self.sent += 1;
        if let Some((on, off)) = &pattern.bursts {
            while nominal >= self.burst_end {
                self.start += off.draw(&mut self.stream);
                self.burst_end = self.burst_end + on.draw(&mut self.stream);
            }
        }
        let mut at = self.start + nominal;
        if pattern.jitter > 0.0 {
            let interval = pattern.rate.time_to_send(pattern.packet).as_secs_f64();
            at += Duration::from_secs_f64(pattern.jitter * interval * self.stream.uniform());
        }
        at
    }
}
