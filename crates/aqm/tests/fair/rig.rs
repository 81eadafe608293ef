//! A link with flows that always have data to send, for tests of schedulers.

use std::collections::BTreeMap;

use aqmlab_aqm::{Ecn, Packet, Qdisc, QueueConfig};
use aqmlab_units::{Bytes, Stream, Time};
use serde_json::Value;

use crate::common::link;

/// A configuration as a user writes it.
pub(crate) fn config(json: Value) -> QueueConfig {
    let config: QueueConfig = serde_json::from_value(json).expect("a configuration");
    config.resolve(&link()).expect("possible parameters")
}

/// A packet, whose number is its position among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) flow: u32,
    pub(crate) serial: usize,
}

/// A discipline before a link of 100 Mbit/s.
pub(crate) struct Rig {
    pub(crate) queue: Box<dyn Qdisc<usize> + Send>,
    pub(crate) now: Time,
    /// Packets and bytes of each flow that the link has sent.
    pub(crate) sent: BTreeMap<u32, (u64, u64)>,
    /// Packets of each flow that were lost.
    pub(crate) lost: BTreeMap<u32, u64>,
    waiting: BTreeMap<u32, u64>,
    marks: Vec<Mark>,
}

impl Rig {
    pub(crate) fn new(json: Value) -> Rig {
        let queue = config(json).queue(&link(), Stream::named(1, "queue"));
        let (sent, lost, waiting) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Rig { queue, now: Time::ZERO, sent, lost, waiting, marks: Vec::new() }
    }

    pub(crate) fn waiting(&self, flow: u32) -> u64 {
        self.waiting.get(&flow).copied().unwrap_or(0)
    }

    pub(crate) fn lost(&self, flow: u32) -> u64 {
        self.lost.get(&flow).copied().unwrap_or(0)
    }

    pub(crate) fn arrive(&mut self, flow: u32, size: u64, ecn: Ecn) -> usize {
        let serial = self.marks.len();
        self.marks.push(Mark { flow, serial });
        *self.waiting.entry(flow).or_default() += 1;
        let packet = Packet { size: Bytes::new(size), ecn, flow };
        let mut gone = Vec::new();
        self.queue.enqueue(packet, serial, self.now, &mut |serial| gone.push(serial));
        self.forget(&gone);
        serial
    }

    /// The link takes the next packet and sends it, while timers expire.
    pub(crate) fn send(&mut self) -> Option<Mark> {
        let mut gone = Vec::new();
        let departure = self.queue.dequeue(self.now, &mut |serial| gone.push(serial));
        self.forget(&gone);
        let size = departure.map_or(Bytes::new(1500), |departure| departure.packet.size);
        let free = self.now + link().rate.time_to_send(size + link().overhead);
        while let Some(due) = self.queue.poll_timeout().filter(|due| *due <= free) {
            self.queue.on_timeout(due);
        }
        self.now = free;
        let departure = departure?;
        let mark = self.marks[departure.payload];
        *self.waiting.entry(mark.flow).or_default() -= 1;
        let (packets, bytes) = self.sent.entry(mark.flow).or_default();
        (*packets, *bytes) = (*packets + 1, *bytes + size.get());
        Some(mark)
    }

    fn forget(&mut self, gone: &[usize]) {
        for &serial in gone {
            let mark = self.marks[serial];
            *self.waiting.entry(mark.flow).or_default() -= 1;
            *self.lost.entry(mark.flow).or_default() += 1;
        }
    }

    /// Bring each of `flows`, with packets of the size that `size` gives it, to `depth` packets waiting.
    pub(crate) fn top_up(&mut self, flows: std::ops::Range<u32>, depth: u64, size: impl Fn(u32) -> u64) {
        for flow in flows {
            // A packet may be refused: no more than `depth` tries.
            for _ in self.waiting(flow)..depth {
                self.arrive(flow, size(flow), Ecn::NotEct);
            }
        }
    }
}

/// Jain's index: 1 when all are equal, 1/n when one has all.
pub(crate) fn jain(shares: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = shares.clone().count() as f64;
    let (sum, squares) = (shares.clone().sum::<f64>(), shares.map(|x| x * x).sum::<f64>());
    sum * sum / (n * squares)
}
