//! Drop-tail: drops a packet if and only if the queue is full. With `drop = head` the oldest packets make room.
//!
//! The queue without active management that others are compared with. Source: Le et al. (2004), section 4, with
//! 24, 240 and 2,400 packets; 240 packets of the testbed's mean size are 10 ms at 100 Mbit/s.

use crate::parameter::parameters;
use crate::parts::linux::drop_head::DropHead;
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, EcnUse, Limit, LinkContext, QueueEnd, Tc, TcWords, Visitor,
};

parameters! {
    /// A drop-tail queue; the default suits a link of 100 Mbit/s.
    pub struct DroptailConfig {
        /// The maximum that may wait. A larger limit costs queueing delay, a smaller one costs packets.
        limit: Limit = Limit::Packets(240), source "Le et al. 2004, the baseline", tc TcWords::Value("limit");
        /// The end of a full queue at which packets are dropped: the arriving one, or the oldest ones.
        drop: QueueEnd = QueueEnd::Tail, source "Le et al. 2004; or Linux pfifo_head_drop: head", tc TcWords::Kind(&[("head", "pfifo_head_drop")]), omit default;
    }
}

impl Discipline for DroptailConfig {
    const FAMILY: &'static str = "drop-tail";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const ECN: EcnUse = EcnUse::Ignores;
    const SUMMARY: &'static str = "Drops packets that arrive at a full queue: no active management";
    const TC: Option<Tc> = Some(Tc {
        names: &["pfifo", "bfifo"],
        ecn: None,
        values: &[("limit", "1000 packets")],
        accepted: &[],
        refused: &[],
    });

    fn visit<V: Visitor>(&self, _link: &LinkContext, visitor: V) -> V::Output {
        match self.drop {
            QueueEnd::Tail => visitor.law(self.limit, |_| Droptail),
            QueueEnd::Head => visitor.queue(|_| DropHead::new(self.limit)),
        }
    }
}

/// The law of drop-tail: every packet passes, and only the queue's limit drops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Droptail;

impl DecidesAtEnqueue for Droptail {}

impl Aqm for Droptail {}
