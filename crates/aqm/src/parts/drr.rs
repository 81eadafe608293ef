//! Scheduling of many queues: deficit round robin and its relatives.
//!
//! Each queue has a credit in bytes. If its credit does not suffice at its turn, it gets another quantum and goes
//! to the end of the round. DRR++ serves queues that have just become active before the others, from a separate
//! list, so that a flow that sends less than a quantum a round never waits for those that send more.
//!
//! Source: McKenney, "Stochastic fairness queueing", INFOCOM 1990 ([`Turns::Packet`]); Shreedhar and Varghese,
//! "Efficient fair queuing using deficit round-robin", IEEE/ACM Transactions on Networking 4(3), 1996
//! ([`Turns::Deficit`]); Linux `sch_sfq.c` ([`Turns::Surplus`]); RFC 8290, sections 3.1 and 4.2 ([`Rules::SparseFirst`]).
//!
//! Differs from the 1996 paper in form only: there a queue gets its quantum when its turn begins, here at the end
//! of the previous turn.

use aqmlab_units::Bytes;
use std::collections::VecDeque;

use crate::ThroughOld;
use crate::parameter::choices;

choices! {
    /// The data that a queue may send in its turn.
    pub enum Turns {
        /// One packet of any size.
        Packet = "packet",
        /// The packets that its credit covers; the rest of the credit is for the next turn.
        Deficit = "deficit",
        /// Packets while any credit is left; the next turn has less by the excess.
        Surplus = "surplus",
    }
}

/// The rules of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// A queue that becomes active joins the end of the round, and leaves it when it is empty.
    Plain(Turns),
    /// DRR++: it joins the new queues, which are served first, and leaves only if it is empty at its turn.
    SparseFirst(ThroughOld),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct QueueEntry {
    credit: i64,
    list: List,
}

/// The round of the active queues.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    rules: Rules,
    quantum: i64,
    entries: Vec<QueueEntry>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Round {
    /// Return a round without any of the `queues` queues.
    pub(crate) fn new(rules: Rules, quantum: Bytes, queues: usize) -> Round {
        let quantum = if rules == Rules::Plain(Turns::Packet) { 1 } else { signed(quantum) };
        let entries = vec![QueueEntry { credit: 0, list: List::None }; queues];
        Round { rules, quantum, entries, new: VecDeque::new(), old: VecDeque::new() }
    }

    /// The numbers of new and of old queues.
    pub(crate) fn active(&self) -> (usize, usize) {
        (self.new.len(), self.old.len())
    }

    /// True if this queue is not in the round.
    #[inline]
    pub(crate) fn is_idle(&self, queue: usize) -> bool {
        self.entries[queue].list == List::None
    }

    /// Add a queue to the round on a packet's arrival, unless it is in the round.
    #[inline]
    pub(crate) fn on_arrival(&mut self, queue: usize) {
        if self.is_idle(queue) {
            let list = if matches!(self.rules, Rules::Plain(_)) { List::Old } else { List::New };
            self.entries[queue] = QueueEntry { credit: self.quantum, list };
            match list {
                List::New => self.new.push_back(queue),
                _ => self.old.push_back(queue),
            }
        }
    }

    /// Return the queue whose turn it is; `head` returns the size of a queue's first packet.
    #[inline]
    pub(crate) fn next_queue(&mut self, head: impl Fn(usize) -> Bytes) -> Option<usize> {
        loop {
            let queue = *self.front()?;
            let needed = if self.rules == Rules::Plain(Turns::Deficit) { signed(head(queue)) } else { 1 };
            if self.entries[queue].credit >= needed {
                return Some(queue);
            }
            self.entries[queue].credit += self.quantum;
            self.leave_front();
            self.join_old(queue);
        }
    }

    /// Charge a packet of `size` to the queue whose turn it is; `is_empty` if it was its last.
    #[inline]
    pub(crate) fn on_sent(&mut self, queue: usize, size: Bytes, is_empty: bool) {
        self.entries[queue].credit -=
            if self.rules == Rules::Plain(Turns::Packet) { 1 } else { signed(size) };
        if is_empty && matches!(self.rules, Rules::Plain(_)) {
            self.leave_front();
        }
    }

    /// Remove the queue whose turn it is, because it is empty.
    pub(crate) fn on_empty_turn(&mut self, queue: usize) {
        let was_new = self.entries[queue].list == List::New;
        self.leave_front();
        let passes_through_old = match self.rules {
            Rules::SparseFirst(ThroughOld::Always) => true,
            Rules::SparseFirst(ThroughOld::IfAny) => !self.old.is_empty(),
            Rules::SparseFirst(ThroughOld::Never) | Rules::Plain(_) => false,
        };
        if was_new && passes_through_old {
            self.join_old(queue);
        }
    }

    /// Remove a queue whose last packet was evicted, possibly at another queue's turn.
    pub(crate) fn remove_emptied(&mut self, queue: usize) {
        if matches!(self.rules, Rules::Plain(_)) {
            self.old.retain(|&other| other != queue);
            self.entries[queue].list = List::None;
        }
    }

    /// Remove all queues.
    pub(crate) fn clear(&mut self) {
        self.new.clear();
        self.old.clear();
        self.entries.iter_mut().for_each(|entry| entry.list = List::None);
    }

    /// The queue at the front of the round.
    pub(crate) fn front(&self) -> Option<&usize> {
        self.new.front().or_else(|| self.old.front())
    }

    fn leave_front(&mut self) {
        let queue = self.new.pop_front().or_else(|| self.old.pop_front()).expect("a queue has the turn");
        self.entries[queue].list = List::None;
    }

    fn join_old(&mut self, queue: usize) {
        self.old.push_back(queue);
        self.entries[queue].list = List::Old;
    }
}

fn signed(size: Bytes) -> i64 {
    i64::try_from(size.get()).expect("a packet or a quantum")
}
