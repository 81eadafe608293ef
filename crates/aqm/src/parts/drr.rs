//! The scheduler of many queues: deficit round robin and its relatives.
//!
//! Each queue has a credit in bytes. When its turn comes and its credit does not suffice it gets a quantum more and
//! goes to the end of the round. DRR++ serves queues that have just become active, a list of their own, before the
//! others, so that a flow which sends less than a quantum a round never waits behind those that send more.
//!
//! Source: McKenney, "Stochastic fairness queueing", INFOCOM 1990 ([`Turns::Packet`]); Shreedhar and Varghese,
//! "Efficient fair queuing using deficit round-robin", IEEE/ACM Transactions on Networking 4(3), 1996
//! ([`Turns::Deficit`]); Linux `sch_sfq.c` ([`Turns::Surplus`]); RFC 8290, sections 3.1 and 4.2 ([`Rules::SparseFirst`]).
//!
//! Differs from the 1996 paper in words only: there a queue gets its quantum when its turn begins, here at the end of
//! the turn before.

use aqmlab_units::Bytes;
use std::collections::VecDeque;

use crate::ThroughOld;
use crate::parameter::choices;

choices! {
    /// The amount that a queue may send in its turn.
    pub enum Turns {
        /// One packet of any size.
        Packet = "packet",
        /// Packets that its credit covers; the remaining credit is kept for the next turn.
        Deficit = "deficit",
        /// Packets while any credit is left; the excess is deducted from the next turn.
        Surplus = "surplus",
    }
}

/// The rules of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// A queue that becomes active joins the end of the round, and leaves it when it is empty.
    Plain(Turns),
    /// DRR++: it joins the new queues, which are served first, and leaves only when it is empty at its turn.
    SparseFirst(ThroughOld),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    credit: i64,
    list: List,
}

/// The round of the active queues.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    rules: Rules,
    quantum: i64,
    places: Vec<Place>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Round {
    /// A round in which none of `queues` queues takes part yet.
    pub(crate) fn new(rules: Rules, quantum: Bytes, queues: usize) -> Round {
        let quantum = if rules == Rules::Plain(Turns::Packet) { 1 } else { signed(quantum) };
        let places = vec![Place { credit: 0, list: List::None }; queues];
        Round { rules, quantum, places, new: VecDeque::new(), old: VecDeque::new() }
    }

    /// Returns the number of new queues and of old queues.
    pub(crate) fn active(&self) -> (usize, usize) {
        (self.new.len(), self.old.len())
    }

    /// Returns whether this queue is in neither list.
    #[inline]
    pub(crate) fn is_idle(&self, queue: usize) -> bool {
        self.places[queue].list == List::None
    }

    /// Activates this queue, to which a packet has arrived, unless it is active.
    #[inline]
    pub(crate) fn arrived(&mut self, queue: usize) {
        if self.is_idle(queue) {
            let list = if matches!(self.rules, Rules::Plain(_)) { List::Old } else { List::New };
            self.places[queue] = Place { credit: self.quantum, list };
            match list {
                List::New => self.new.push_back(queue),
                _ => self.old.push_back(queue),
            }
        }
    }

    /// The queue whose turn it is; `head` tells the size of a queue's first packet.
    #[inline]
    pub(crate) fn turn(&mut self, head: impl Fn(usize) -> Bytes) -> Option<usize> {
        loop {
            let queue = *self.first()?;
            let needed = if self.rules == Rules::Plain(Turns::Deficit) { signed(head(queue)) } else { 1 };
            if self.places[queue].credit >= needed {
                return Some(queue);
            }
            self.places[queue].credit += self.quantum;
            self.leave_front();
            self.join_old(queue);
        }
    }

    /// The queue whose turn it is sent a packet of `size`, its last one perhaps.
    #[inline]
    pub(crate) fn sent(&mut self, queue: usize, size: Bytes, is_empty: bool) {
        self.places[queue].credit -= if self.rules == Rules::Plain(Turns::Packet) { 1 } else { signed(size) };
        if is_empty && matches!(self.rules, Rules::Plain(_)) {
            self.leave_front();
        }
    }

    /// The queue whose turn it is has nothing to send.
    pub(crate) fn is_empty_at_its_turn(&mut self, queue: usize) {
        let was_new = self.places[queue].list == List::New;
        self.leave_front();
        let passes = match self.rules {
            Rules::SparseFirst(ThroughOld::Always) => true,
            Rules::SparseFirst(ThroughOld::IfAny) => !self.old.is_empty(),
            Rules::SparseFirst(ThroughOld::Never) | Rules::Plain(_) => false,
        };
        if was_new && passes {
            self.join_old(queue);
        }
    }

    /// Notes that the last packet of this queue was evicted, possibly during another queue's turn.
    pub(crate) fn emptied(&mut self, queue: usize) {
        if matches!(self.rules, Rules::Plain(_)) {
            self.old.retain(|&other| other != queue);
            self.places[queue].list = List::None;
        }
    }

    /// Deactivates all queues.
    pub(crate) fn clear(&mut self) {
        self.new.clear();
        self.old.clear();
        self.places.iter_mut().for_each(|place| place.list = List::None);
    }

    fn first(&self) -> Option<&usize> {
        self.new.front().or_else(|| self.old.front())
    }

    fn leave_front(&mut self) {
        let queue = self.new.pop_front().or_else(|| self.old.pop_front()).expect("a queue is active");
        self.places[queue].list = List::None;
    }

    fn join_old(&mut self, queue: usize) {
        self.old.push_back(queue);
        self.places[queue].list = List::Old;
    }
}

fn signed(size: Bytes) -> i64 {
    i64::try_from(size.get()).expect("a packet or a quantum")
}
