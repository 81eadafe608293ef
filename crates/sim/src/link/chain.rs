//! Links in series: one direction of a chain of routers.
//!
//! ```text
//!   direction 0:  R1 -> [hop 0] -> R2 -> [hop 1] -> R3        a packet joins where its path begins, and
//!   direction 1:  R1 <- [hop 0] <- R2 <- [hop 1] <- R3        leaves where that ends
//! ```
//!
//! A packet that one link delivers and that has not come to the end of its path arrives at the next link at that instant.
//! The engine's loop decides the order: a move from link to link is a delivery without a packet, so that all events of the
//! network have one order. A packet's endpoint decides its path: the paths of the web users and of each source are set once,
//! and each connection has its owner.

use aqmlab_aqm::FlowLabel;
use aqmlab_units::Time;

use super::{Forwarding, Link, Meter, WireEvent};
use crate::packet::{EndpointId, Owner, Packet};
use crate::side::Direction;
use crate::spec::{Hops, MOST_LINKS};

/// Hops are noted in the bits of a word.
const _: () = assert!(MOST_LINKS <= 64);

/// One direction of a chain.
#[derive(Debug)]
pub(crate) struct Chain<L, O> {
    direction: Direction,
    /// The links from the first router to the last, in both directions.
    links: Vec<L>,
    /// The next delivery of each link.
    moves: Vec<Time>,
    /// The link with the first of these deliveries.
    next: usize,
    /// Bit n: link n may have dropped packets that were not taken yet.
    lossy: u64,
    /// The effect of a link's wire on a packet, which was not taken yet.
    wire_event: Option<WireEvent<O>>,
    /// By owner.
    paths: Vec<Hops>,
    /// By number of connection.
    owners: Vec<Owner>,
}

impl<O, L: Link<O>> Chain<L, O> {
    /// `links` from the first router to the last, at least one; `paths` of the owners by number.
    pub(crate) fn new(direction: Direction, links: Vec<L>, paths: Vec<Hops>) -> Chain<L, O> {
        let moves = vec![Time::MAX; links.len()];
        Chain { direction, links, moves, next: 0, lossy: 0, wire_event: None, paths, owners: Vec::new() }
    }

    /// Returns the links at which a packet to `to` enters and leaves this direction.
    fn ends(&self, to: EndpointId) -> (usize, usize) {
        let owner = match to.datagram_owner() {
            Some(owner) => owner,
            None => self.owners[to.connection()],
        };
        let Hops { first, last } = self.paths[owner.index()];
        if self.direction == Direction::FORWARD { (first, last) } else { (last, first) }
    }

    /// Update the records of link `hop` after a call that changes it.
    fn touched(&mut self, hop: usize) {
        // Any call may drop packets, and asking a link without drops costs little.
        self.lossy |= 1 << hop;
        self.moves[hop] = self.links[hop].next_delivery();
        let earliest = self.moves.iter().enumerate().min_by_key(|&(_, at)| *at);
        (self.next, _) = earliest.expect("a chain has a link");
    }

    fn enter(&mut self, hop: usize, packet: &Packet<O>, now: Time) {
        self.links[hop].arrive(packet, now);
        self.touched(hop);
    }
}

impl<O, L: Link<O>> Link<O> for Chain<L, O> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        if self.owners.len() <= client.connection() {
            self.owners.resize(client.connection() + 1, Owner::default());
        }
        self.owners[client.connection()] = owner;
        for link in &mut self.links {
            link.opened(client, owner);
        }
    }

    fn label_flow(&mut self, to: EndpointId, label: FlowLabel) -> FlowLabel {
        let (joins, leaves) = self.ends(to);
        let path = &mut self.links[joins.min(leaves)..=joins.max(leaves)];
        if joins <= leaves {
            path.iter_mut().fold(label, |label, link| link.label_flow(to, label))
        } else {
            path.iter_mut().rev().fold(label, |label, link| link.label_flow(to, label))
        }
    }

    /// Offers a packet; a link may thereby drop packets that it had queued, which `pop_drop` returns.
    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        let (joins, _) = self.ends(packet.to);
        self.enter(joins, packet, now);
        true
    }

    fn pop_drop(&mut self) -> Option<Packet<O>> {
        while self.lossy != 0 {
            let hop = self.lossy.trailing_zeros() as usize;
            let lost = self.links[hop].pop_drop();
            if lost.is_some() {
                return lost;
            }
            self.lossy &= self.lossy - 1;
        }
        None
    }

    fn pop_wire_event(&mut self) -> Option<WireEvent<O>> {
        self.wire_event.take()
    }

    fn next_delivery(&self) -> Time {
        self.moves[self.next]
    }

    fn next_to(&self) -> EndpointId {
        self.links[self.next].next_to()
    }

    fn peek_prefetch(&self) -> EndpointId {
        self.links[self.next].peek_prefetch()
    }

    fn forward_to_next_hop(&mut self) -> Forwarding {
        let (hop, now) = (self.next, self.next_delivery());
        if self.links[hop].is_held_back() {
            let forwarding = self.links[hop].forward_to_next_hop();
            self.wire_event = self.links[hop].pop_wire_event();
            self.touched(hop);
            return forwarding;
        }
        let (_, leaves) = self.ends(self.next_to());
        if hop == leaves {
            return Forwarding::AtDestination;
        }
        let packet = self.links[hop].deliver();
        self.touched(hop);
        let onwards = if self.direction == Direction::FORWARD { hop + 1 } else { hop - 1 };
        self.enter(onwards, &packet, now);
        Forwarding::Forwarded
    }

    fn deliver(&mut self) -> Packet<O> {
        let hop = self.next;
        let packet = self.links[hop].deliver();
        self.touched(hop);
        packet
    }

    fn advance(&mut self, now: Time) {
        for hop in 0..self.links.len() {
            self.links[hop].advance(now);
            self.touched(hop);
        }
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        self.links.get(hop)?.meter(0)
    }
}
