//! Scripted: a FIFO that drops and marks the packets whose numbers a script lists. A tool for tests.
//!
//! Two TCP stacks lose the same packets behind it as long as they send the same ones: `aqmlab conversation` compares
//! them so.
//!
//! Source: ours.

use aqmlab_units::Time;

use crate::parameter::{PacketNumbers, parameters};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Packet, QueueState, Verdict, Visitor,
};

parameters! {
    /// The script.
    pub struct ScriptedConfig {
        /// The packets to drop, by their number in the order of arrival at this queue, from 1: `4 10-12`.
        drop: PacketNumbers = PacketNumbers::default(), source "ours: none";
        /// The packets to mark, in the same way; those that are not ECN-capable are dropped.
        mark: PacketNumbers = PacketNumbers::default(), source "ours: none";
        /// The maximum that may wait: enough for only the script to drop.
        limit: Limit = Limit::Packets(10_000), source "ours: no tail drops";
    }
}

impl Discipline for ScriptedConfig {
    const FAMILY: &'static str = "drop-tail";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "Drops and marks the packets that a script lists by number: a tool for tests";

    fn visit<V: Visitor>(&self, _link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |_| Scripted::new(self))
    }
}

/// The law of a script.
#[derive(Clone, Debug)]
pub struct Scripted {
    drop: PacketNumbers,
    mark: PacketNumbers,
    /// Packets that have arrived.
    arrived: u32,
}

impl Scripted {
    /// Return the law. `config` must have passed [`ScriptedConfig::resolve`].
    pub fn new(config: &ScriptedConfig) -> Scripted {
        Scripted { drop: config.drop.clone(), mark: config.mark.clone(), arrived: 0 }
    }
}

impl DecidesAtEnqueue for Scripted {}

impl Aqm for Scripted {
    fn on_enqueue(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        self.arrived = self.arrived.saturating_add(1);
        if self.drop.contains(self.arrived) {
            Verdict::Drop
        } else if self.mark.contains(self.arrived) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
}
