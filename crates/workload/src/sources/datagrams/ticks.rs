//! Flows of datagrams in both directions, each end with a clock of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_units::{Bytes, Duration, Stream, Time};

use super::Datagram;
use crate::sources::draws::starts::Starts;

/// One end of every flow: when it sends, and how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Peer {
    /// The side of the link that it is on.
    pub(crate) side: u8,
    pub(crate) interval: Interval,
    pub(crate) size: PacketSize,
}

/// The time between two packets of one end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Interval {
    /// The ticks of a clock.
    Fixed(Duration),
    /// Largest extreme value, with location and scale in milliseconds.
    LargestExtreme(f64, f64),
}

/// The size of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PacketSize {
    /// The same for all, headers included.
    Fixed(Bytes),
    /// Headers, and data of largest extreme value, with location, scale and upper bound in bytes.
    LargestExtreme { headers: Bytes, location: f64, scale: f64, most: f64 },
}

/// A draw of the largest extreme value distribution, by inversion.
fn largest_extreme_value(location: f64, scale: f64, stream: &mut Stream) -> f64 {
    location - scale * libm::log(-libm::log(stream.uniform()))
}

impl PacketSize {
    /// The sizes of the smallest and the largest packet.
    pub(crate) fn bounds(self) -> [Bytes; 2] {
        match self {
            PacketSize::Fixed(size) => [size; 2],
            PacketSize::LargestExtreme { headers, most, .. } => [0.0, most].map(|data| packet(headers, data)),
        }
    }

    fn draw(self, stream: &mut Stream) -> Bytes {
        match self {
            PacketSize::Fixed(size) => size,
            PacketSize::LargestExtreme { headers, location, scale, most } => {
                packet(headers, largest_extreme_value(location, scale, stream).min(most))
            }
        }
    }
}

/// The least drawn packet: live runs write into each what it is, for which they need this much.
const LEAST: u64 = 42;

/// The size of a packet of `headers` and so much data.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest size"
)]
fn packet(headers: Bytes, data: f64) -> Bytes {
    Bytes::new((headers.get() + data.round() as u64).max(LEAST))
}

/// Flows in both directions.
#[derive(Debug)]
pub(crate) struct TwoWayFlows {
    peers: [Peer; 2],
    stop: Time,
    /// Both ends of each flow.
    ends: Vec<FlowEnd>,
    /// The next packet of each end: its time, and the end.
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

#[derive(Debug)]
struct FlowEnd {
    stream: Stream,
    /// The time of the first packet, or of the last one where intervals are drawn.
    from: Time,
    sent: u64,
}

impl TwoWayFlows {
    /// Flows between `peers` that begin at `starts`; `key` is that of the source's streams.
    pub(crate) fn new(peers: [Peer; 2], mut starts: Starts, stop: Time, key: u64) -> TwoWayFlows {
        let mut flows = TwoWayFlows { peers, stop, ends: Vec::new(), due: BinaryHeap::new() };
        while let Some(start) = starts.next() {
            for peer in peers {
                let number = flows.ends.len();
                let mut stream = Stream::numbered(key, number as u64);
                // The clocks of two ends are independent.
                let phase = peer.interval.mean_seconds() * stream.uniform();
                let from = start + Duration::from_secs_f64(phase);
                flows.ends.push(FlowEnd { stream, from, sent: 0 });
                flows.plan(u32::try_from(number).expect("the ranges bound the flows"), from);
            }
        }
        flows
    }

    /// End `number` sends next at `at`.
    fn plan(&mut self, number: u32, at: Time) {
        if at < self.stop {
            self.due.push(Reverse((at, number)));
        }
    }
}

impl Iterator for TwoWayFlows {
    type Item = Datagram;

    fn next(&mut self) -> Option<Datagram> {
        let Reverse((at, number)) = self.due.pop()?;
        let peer = self.peers[number as usize % 2];
        let end = &mut self.ends[number as usize];
        let size = peer.size.draw(&mut end.stream);
        let next = end.next(peer.interval);
        self.plan(number, next);
        Some(Datagram { at, flow: number / 2, side: peer.side, size, tag: 0 })
    }
}

impl FlowEnd {
    /// Return the time of the packet after the one that is sent now.
    fn next(&mut self, interval: Interval) -> Time {
        match interval {
            Interval::Fixed(interval) => {
                self.sent += 1;
                self.from + interval * self.sent
            }
            Interval::LargestExtreme(location, scale) => {
                let milliseconds = largest_extreme_value(location, scale, &mut self.stream);
                self.from += Duration::from_secs_f64(1e-3 * milliseconds.max(0.0));
                self.from
            }
        }
    }
}

/// Euler's constant: the mean of the standard largest extreme value.
const EULER: f64 = 0.577_215_664_901_532_9;

impl Interval {
    pub(crate) fn mean_seconds(self) -> f64 {
        match self {
            Interval::Fixed(interval) => interval.as_secs_f64(),
            Interval::LargestExtreme(location, scale) => 1e-3 * (location + EULER * scale),
        }
    }
}
