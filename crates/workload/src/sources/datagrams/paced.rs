//! Flows of datagrams at a rate, all from one side.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};

use super::Datagram;
use crate::sources::draws::distribution::Span;
use crate::sources::draws::starts::Starts;

/// Flows of datagrams at a rate.
#[derive(Debug)]
pub(crate) struct PacedFlows {
    pattern: Pattern,
    side: u8,
    flows: Vec<Flow>,
    /// The next packet of each flow: its time, and the flow.
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

/// The properties that all flows share.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) rate: BitRate,
    pub(crate) packet: Bytes,
    /// The lengths of bursts, and of the pauses between them.
    pub(crate) bursts: Option<(Span, Span)>,
    /// The part of the time between two packets that each is held back by at most.
    pub(crate) jitter: f64,
    pub(crate) stop: Time,
}

#[derive(Debug)]
struct Flow {
    stream: Stream,
    /// The start of the flow, moved by its pauses so far.
    start: Time,
    /// The time spent in bursts when the present one ends.
    burst_end: Duration,
    sent: u64,
}

impl PacedFlows {
    /// Flows that begin at `starts`; `key` is that of the source's streams.
    pub(crate) fn new(pattern: Pattern, side: u8, mut starts: Starts, key: u64) -> PacedFlows {
        let flows = std::iter::from_fn(|| starts.next()).zip(0_u64..).map(|(start, number)| {
            let mut stream = Stream::numbered(key, number);
            let burst_end = match &pattern.bursts {
                Some((on, _)) => on.draw(&mut stream),
                None => Duration::ZERO,
            };
            Flow { stream, start, burst_end, sent: 0 }
        });
        let flows: Vec<Flow> = flows.collect();
        let mut source = PacedFlows { pattern, side, flows, due: BinaryHeap::new() };
        for flow in (0..).take(source.flows.len()) {
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

impl Iterator for PacedFlows {
    type Item = Datagram;

    /// The next packet of all flows, in order of time.
    fn next(&mut self) -> Option<Datagram> {
        let Reverse((at, flow)) = self.due.pop()?;
        self.plan(flow);
        Some(Datagram { at, flow, side: self.side, size: self.pattern.packet, tag: 0 })
    }
}

impl Flow {
    /// Returns the time of the next packet.
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
