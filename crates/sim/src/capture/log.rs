//! Captured packets in the order of their arrival, each written when its outcome is known.

use std::collections::{HashMap, VecDeque};

use aqmlab_tcp::Flags;
use aqmlab_units::Time;

use super::Bounds;
use super::addresses::Addresses;
use super::headers::{self, MOST_BYTES, OnTheWire, headers};
use super::pcapng::{self, PacketBlock};
use crate::packet::Packet;
use crate::side::Direction;
use crate::spec::Spec;

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueOutcome {
    /// Still in the queue.
    Queued,
    /// It left for the device.
    Left(Time),
    /// Dropped on arrival, with the reason.
    Refused(&'static str),
    /// Enqueued and dropped later, with the reason.
    Dropped(&'static str, Time),
}

/// A captured packet.
#[derive(Debug)]
struct CapturedPacket {
    arrived: Time,
    interface: u32,
    headers: Vec<u8>,
    length: u32,
    fate: QueueOutcome,
    marked: bool,
    /// The discipline's variables when it decided about the packet, as text.
    variables: String,
}

/// State of a capture.
#[derive(Debug)]
pub(super) struct PacketLog {
    pub(super) addresses: Addresses,
    /// Headers of real hosts' packets as they were sent, by name. A packet passes one or more queues, and then
    /// its name is reused.
    pub(super) shown: HashMap<u32, Vec<u8>>,
    bounds: Bounds,
    /// Packets captured so far.
    captured: u64,
    /// Arrival time of the last of them.
    last: Time,
    /// More packets arrived than the bounds permit.
    is_cut: bool,
    /// The captured packets from the first whose outcome is open.
    open: VecDeque<CapturedPacket>,
    /// The file, without the bytes already taken.
    file: Vec<u8>,
}

impl PacketLog {
    pub(super) fn new(spec: &Spec, bounds: Bounds) -> PacketLog {
        let mut file = Vec::new();
        pcapng::section(&mut file);
        for (number, hop) in (1..).zip(spec.links.hops()) {
            let prefix = if spec.links.is_chain() { format!("link {number}, ") } else { String::new() };
            for direction in Direction::BOTH {
                let name = format!("{prefix}{}", spec.direction_name(direction));
                pcapng::interface(&mut file, &name, hop.link.rate.of(direction).mean(), MOST_BYTES);
            }
        }
        PacketLog {
            addresses: Addresses::new(spec.hosts.servers_per_side),
            shown: HashMap::new(),
            bounds,
            captured: 0,
            last: Time::ZERO,
            is_cut: false,
            open: VecDeque::new(),
            file,
        }
    }

    /// Record an arriving packet. Returns its number, if it is captured.
    pub(super) fn arrive<O: OnTheWire>(
        &mut self,
        interface: u32,
        packet: &Packet<O>,
        now: Time,
    ) -> Option<u64> {
        let shown = packet.segment.options.foreign_name().and_then(|name| self.shown.get(&name));
        let Bounds { from, until, packets } = self.bounds;
        if now < from || until <= now {
            return None;
        }
        if self.captured == packets {
            self.is_cut = true;
            return None;
        }
        let (headers, length) = if let Some(shown) = shown {
            let mut headers = shown.clone();
            if packet.segment.flags.contains(Flags::CE) {
                headers::mark(&mut headers);
            }
            (headers, u32::try_from(packet.size().get()).expect("a packet is no longer than the link's MTU"))
        } else {
            let headers = headers(packet, self.addresses.source_and_destination(packet.to));
            let stored = u32::try_from(headers.len()).expect("headers are 80 bytes at most");
            (headers, stored + u32::from(packet.segment.len))
        };
        self.open.push_back(CapturedPacket {
            arrived: now,
            interface,
            headers,
            length,
            fate: QueueOutcome::Queued,
            marked: false,
            variables: String::new(),
        });
        self.captured += 1;
        self.last = now;
        Some(self.captured - 1)
    }

    /// Store the discipline's variables after its decision about packet `number`.
    pub(super) fn decided(&mut self, number: u64, variables: String) {
        self.record(number).variables = variables;
    }

    /// Record a mark on packet `number`. Returns true if it was not marked before.
    pub(super) fn mark(&mut self, number: u64) -> bool {
        !std::mem::replace(&mut self.record(number).marked, true)
    }

    /// Record the outcome of packet `number`.
    pub(super) fn settle(&mut self, number: u64, fate: QueueOutcome) {
        // Packets are written in the order of their arrival, so the first one whose outcome is open holds up the
        // others.
        self.record(number).fate = fate;
        while let Some(record) = self.open.front()
            && record.fate != QueueOutcome::Queued
        {
            record.write(&mut self.file);
            self.open.pop_front();
        }
    }

    pub(super) fn finish(&mut self) {
        for record in self.open.drain(..) {
            record.write(&mut self.file);
        }
        if let Some(last) = self.cut() {
            let comment =
                format!("cut: the capture holds the first {} packets, and more came", self.captured);
            pcapng::statistics(&mut self.file, 0, last, &comment);
        }
    }

    /// The arrival time of the last captured packet, if more arrived than the bounds permit.
    pub(super) fn cut(&self) -> Option<Time> {
        self.is_cut.then_some(self.last)
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.file)
    }

    fn record(&mut self, number: u64) -> &mut CapturedPacket {
        let index = self.open.len() as u64 - (self.captured - number);
        let index = usize::try_from(index).expect("an index of packets in memory");
        &mut self.open[index]
    }
}

impl CapturedPacket {
    fn write(&self, file: &mut Vec<u8>) {
        let packet = PacketBlock {
            interface: self.interface,
            time: self.arrived,
            stored: &self.headers,
            length: self.length,
            comment: &self.comment(),
        };
        packet.write(file);
    }

    /// Return the packet's outcome, then the discipline's variables: `marked, queued 3.200000 ms; p=0.0123`.
    fn comment(&self) -> String {
        let elapsed = |until: Time| format!("{:.6} ms", until.saturating_since(self.arrived).as_millis_f64());
        let fate = match self.fate {
            QueueOutcome::Queued => "queued, still there at the end".to_owned(),
            QueueOutcome::Left(at) => format!("queued {}", elapsed(at)),
            QueueOutcome::Refused(reason) => format!("dropped {reason}"),
            QueueOutcome::Dropped(reason, at) => format!("queued {}, dropped {reason}", elapsed(at)),
        };
        let mark = if self.marked { "marked, " } else { "" };
        let separator = if self.variables.is_empty() { "" } else { "; " };
        format!("{mark}{fate}{separator}{}", self.variables)
    }
}
