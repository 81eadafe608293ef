//! The oracle of laws: a queue discipline of the kernel and ours get the same packets before the same line, and each packet must have
//! the same fate at the same nanosecond.

mod coin;
pub(crate) mod guest;
mod line;
mod ours;
mod pattern;
mod segments;

use aqmlab_aqm::{Ecn, QueueConfig};
use aqmlab_sim::LossSpec;
use aqmlab_units::{BitRate, Bytes};
use serde::Deserialize;
use serde_json::{Value, json};

use self::ours::Ours;
use self::pattern::{Arrival, Pattern};
use crate::error::Error;
use crate::kernel_network::{KernelNetwork, SIDES};
use crate::message::{Message, Words};
use crate::run::output;

/// The device of the kernel's discipline.
const PORT: usize = SIDES;

/// The bytes before the IP header that both disciplines count: Linux's for Ethernet.
const HEADER: usize = 14;

/// The shortest packet: an IP header.
const SHORTEST: usize = 20;

/// A comparison of a discipline of the kernel with ours.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Comparison {
    /// The kernel's discipline, as `tc` takes it; `{rate}` is the rate of a pattern's line.
    tc: String,
    /// Ours.
    queue: QueueConfig,
    /// True if it marks ECN-capable packets.
    ecn: bool,
    /// The seed of the traffic.
    seed: u64,
    /// The seed of the kernel's coin, which both toss.
    coin: u64,
    /// The number of traffic patterns, each of which begins with new disciplines.
    patterns: u64,
    /// The packets of a pattern.
    packets: usize,
    /// True if the packets are segments of TCP, most of them acknowledgements.
    #[serde(default)]
    segments: bool,
    /// The losses of packets before our discipline, which the kernel's has itself.
    #[serde(default)]
    loss: Option<LossSpec>,
    /// The lowest rate at which the disciplines send, if it may be below the line's.
    #[serde(default)]
    slowest: Option<BitRate>,
}

impl Comparison {
    fn parse(request: &Value) -> Result<Comparison, Error> {
        Comparison::deserialize(request).map_err(|error| Error::Refused(format!("oracle: {error}")))
    }

    fn pattern(&self, number: u64) -> Pattern {
        Pattern::new(self.seed, number, self.packets, self.segments)
    }
}

/// The outcome for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It left as it had come.
    Departed,
    /// It left with a mark that it did not have.
    Marked,
    /// It was dropped on arrival.
    Refused,
    /// It was dropped while it waited, on another packet's arrival.
    Evicted,
    /// It was dropped when it was about to leave.
    DroppedAtDequeue,
}

/// The outcome for a packet, and its time in nanoseconds of the kernel's clock.
type Fate = Option<(Outcome, u64)>;

/// The kernel's side of a comparison, and its judge.
pub(crate) struct Oracle {
    ours: Ours,
    comparison: Comparison,
    current: Option<Current>,
    done: u64,
    counts: Counts,
    first: Option<Value>,
    about: Option<String>,
}

/// The pattern that the kernel's discipline gets.
struct Current {
    pattern: Pattern,
    /// The time at which the discipline was set up.
    start: u64,
    arrived: usize,
    /// The packet that the discipline takes at present.
    entering: Option<u32>,
    fates: Vec<Fate>,
}

/// The kernel's fates by outcome, and the number of those that ours does not share.
#[derive(Default)]
struct Counts {
    departed: u64,
    marked: u64,
    refused: u64,
    evicted: u64,
    dropped_at_dequeue: u64,
    differences: u64,
}

impl Outcome {
    /// Returns the outcome for a packet that arrived with one ECN field and leaves with another.
    fn of_departure(arrived: Ecn, left: Ecn) -> Outcome {
        if left == Ecn::Ce && arrived != Ecn::Ce { Outcome::Marked } else { Outcome::Departed }
    }
}

impl Oracle {
    /// Returns the oracle of the comparison that is requested.
    pub(crate) fn new(request: &Value) -> Result<Oracle, Error> {
        let comparison = Comparison::parse(request)?;
        Ok(Oracle {
            ours: Ours::new(&comparison)?,
            comparison,
            current: None,
            done: 0,
            counts: Counts::default(),
            first: None,
            about: None,
        })
    }

    fn pattern(&self) -> Option<&Pattern> {
        self.current.as_ref().map(|current| &current.pattern)
    }

    fn set_fate(&mut self, number: u32, outcome: Outcome, now: u64) {
        let current = self.current.as_mut().expect("a packet belongs to a pattern");
        let before = current.fates[number as usize].replace((outcome, now));
        assert!(before.is_none(), "packet {number} has two fates: {before:?} and {outcome:?}");
    }

    /// Compares the fates of the pattern that has ended.
    fn judge(&mut self) {
        let Some(Current { pattern, start, fates, .. }) = self.current.take() else { return };
        let ours = self.ours.fates(&pattern, start);
        for (number, (kernel, ours)) in fates.iter().zip(&ours).enumerate() {
            self.counts.count(*kernel);
            if kernel != ours {
                self.counts.differences += 1;
                self.first.get_or_insert_with(|| {
                    json!({
                        "pattern": self.done,
                        "packet": number,
                        "kernel": describe(*kernel, start),
                        "ours": describe(*ours, start),
                    })
                });
            }
        }
        self.done += 1;
    }
}

fn describe(fate: Fate, start: u64) -> String {
    fate.map_or_else(|| "no fate".to_owned(), |(outcome, at)| format!("{outcome:?} at {} ns", at - start))
}

impl Counts {
    fn count(&mut self, fate: Fate) {
        let Some((outcome, _)) = fate else { return };
        *match outcome {
            Outcome::Departed => &mut self.departed,
            Outcome::Marked => &mut self.marked,
            Outcome::Refused => &mut self.refused,
            Outcome::Evicted => &mut self.evicted,
            Outcome::DroppedAtDequeue => &mut self.dropped_at_dequeue,
        } += 1;
    }
}

impl KernelNetwork for Oracle {
    fn ports(&self) -> usize {
        PORT + 1
    }

    fn header(&self, port: usize) -> usize {
        if port == PORT { HEADER } else { 0 }
    }

    fn send(&mut self, port: usize, now: u64, number: u32, packet: &[u8]) -> Option<u64> {
        if port != PORT {
            return None;
        }
        let Pattern { line, arrivals } = self.pattern()?;
        let (line, arrived) = (*line, arrivals[number as usize].ecn);
        self.set_fate(number, Outcome::of_departure(arrived, read_ecn(&packet[HEADER..])), now);
        Some(line.free_at(now, Bytes::new(packet.len() as u64)))
    }

    fn drop(&mut self, _port: usize, now: u64, number: u32) {
        let entering = self.current.as_ref().and_then(|current| current.entering);
        let outcome = match entering {
            Some(entering) if entering == number => Outcome::Refused,
            Some(_) => Outcome::Evicted,
            None => Outcome::DroppedAtDequeue,
        };
        self.set_fate(number, outcome, now);
    }

    fn next_event(&self) -> Option<u64> {
        let Current { pattern, start, arrived, .. } = self.current.as_ref()?;
        pattern.arrivals.get(*arrived).map(|arrival| start + arrival.after)
    }

    fn receive(&mut self, now: u64, packet: &mut [u8]) -> Option<(usize, u32, usize)> {
        let current = self.current.as_mut()?;
        current.entering = None;
        let arrival = current.pattern.arrivals.get(current.arrived)?;
        let due = current.start + arrival.after;
        if now < due {
            return None;
        }
        assert!(now == due, "the kernel takes a packet {} ns late", now - due);
        let number = u32::try_from(current.arrived).expect("a pattern is short");
        current.arrived += 1;
        current.entering = Some(number);
        Some((PORT, number, write_packet(arrival, packet)))
    }

    fn control(&mut self, at: u64, messages: &[u8]) {
        let mut words = Words(messages);
        while !words.0.is_empty() {
            match Message::decode(&mut words).expect("the guest's program is of the same build") {
                Message::Start => {
                    let pattern = self.comparison.pattern(self.done);
                    let fates = vec![None; pattern.arrivals.len()];
                    let start = at - at % guest::TICK.as_nanos();
                    self.current = Some(Current { pattern, start, arrived: 0, entering: None, fates });
                }
                Message::Step => self.judge(),
                Message::Finish(about) => self.about = Some(about),
                Message::Event(_) | Message::Output(_) => unreachable!("the guest of an oracle has no hosts"),
            }
        }
    }

    fn finish(&mut self) {
        let about = self.about.take().and_then(|about| serde_json::from_str::<Value>(&about).ok());
        let Some(about) = about else {
            output::error(&Error::Odd("the guest ended before the comparison did".to_owned()));
            return;
        };
        if ["refused", "failed"].iter().any(|key| about.get(key).is_some()) {
            output::line(&about);
            return;
        }
        let Counts { departed, marked, refused, evicted, dropped_at_dequeue, differences } = self.counts;
        output::line(&json!({
            "patterns": self.done,
            "packets": departed + marked + refused + evicted + dropped_at_dequeue,
            "departed": departed,
            "marked": marked,
            "refused": refused,
            "evicted": evicted,
            "dropped_at_dequeue": dropped_at_dequeue,
            "differences": differences,
            "first": self.first,
            "kernel": about["kernel"],
        }));
    }
}

/// Writes the packet of an arrival: an IP header, with version, length, ECN field and the address of its flow, the header of a segment, and
/// zeros. Returns its length.
fn write_packet(arrival: &Arrival, packet: &mut [u8]) -> usize {
    let length = HEADER + arrival.size;
    packet[..length].fill(0);
    let header = &mut packet[HEADER..];
    header[0] = 0x45;
    header[1] = match arrival.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    header[16..20].copy_from_slice(&pattern::address(arrival.flow));
    header[2..4].copy_from_slice(&u16::try_from(arrival.size).expect("a packet").to_be_bytes());
    if let Some(segment) = &arrival.segment {
        segment.write(header);
    }
    length
}

fn read_ecn(packet: &[u8]) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(packet[1] & 3)]
}
