//! A link that loses packets on its wire: each packet that it has sent may be lost in place of its delivery.

use aqmlab_aqm::QueueState;
use aqmlab_units::{Prob, Stream, Time};

use super::{Boxed, DelayByOwner, Forwarding, Link, LinkCounters, Meter};
use crate::packet::{EndpointId, Owner, Packet};
use crate::spec::{BurstsSpec, LossSpec};

/// One direction of a link, and the losses on its wire.
pub(crate) struct Impaired<O> {
    link: Boxed<O>,
    losses: Losses,
    /// The next packet to be delivered is lost. It is drawn ahead, in the order of delivery, so that no draw depends on when
    /// the link is asked.
    loses_next: bool,
    lost: Option<Packet<O>>,
    lost_packets: u64,
}

impl<O> Impaired<O> {
    /// `stream` is that of the losses alone: every discipline faces the same ones.
    pub(crate) fn new(link: Boxed<O>, loss: LossSpec, stream: Stream) -> Impaired<O> {
        let mut losses = Losses { loss, is_bad: false, stream };
        Impaired { link, loses_next: losses.draw(), losses, lost: None, lost_packets: 0 }
    }

    fn take_next(&mut self) -> Packet<O> {
        let packet = self.link.deliver();
        self.loses_next = self.losses.draw();
        packet
    }
}

/// The process that decides which packets are lost.
#[derive(Debug)]
struct Losses {
    loss: LossSpec,
    /// The state of a Gilbert-Elliott process.
    is_bad: bool,
    stream: Stream,
}

impl Losses {
    /// Returns true if the next packet is lost.
    fn draw(&mut self) -> bool {
        match self.loss {
            LossSpec::Independent(probability) => self.strikes(probability),
            LossSpec::Bursts(BurstsSpec::GilbertElliott(process)) => {
                let change = if self.is_bad { process.r } else { process.p };
                self.is_bad ^= self.strikes(change);
                let passes = if self.is_bad { process.h } else { process.k };
                !self.strikes(passes)
            }
        }
    }
}

impl Losses {
    fn strikes(&mut self, probability: f64) -> bool {
        self.stream.chance(Prob::clamped(probability))
    }
}

impl<O> Link<O> for Impaired<O> {
    fn opened(&mut self, client: EndpointId, owner: Owner) {
        self.link.opened(client, owner);
    }

    fn arrive(&mut self, packet: &Packet<O>, now: Time) -> bool {
        self.link.arrive(packet, now)
    }

    fn pop_drop(&mut self) -> Option<Packet<O>> {
        self.lost.take().or_else(|| self.link.pop_drop())
    }

    fn next_delivery(&self) -> Time {
        self.link.next_delivery()
    }

    fn is_held_back(&self) -> bool {
        self.loses_next || self.link.is_held_back()
    }

    fn next_to(&self) -> EndpointId {
        self.link.next_to()
    }

    fn peek_prefetch(&self) -> EndpointId {
        self.link.peek_prefetch()
    }

    fn forward_to_next_hop(&mut self) -> Forwarding {
        if self.link.is_held_back() {
            return self.link.forward_to_next_hop();
        }
        if !self.loses_next {
            return Forwarding::AtDestination;
        }
        self.lost = Some(self.take_next());
        self.lost_packets += 1;
        Forwarding::Forwarded
    }

    fn deliver(&mut self) -> Packet<O> {
        self.take_next()
    }

    fn advance(&mut self, now: Time) {
        self.link.advance(now);
    }

    fn meter(&self, hop: usize) -> Option<&dyn Meter> {
        (hop == 0).then_some(self)
    }
}

impl<O> Impaired<O> {
    fn inner(&self) -> &dyn Meter {
        self.link.meter(0).expect("there is a link")
    }
}

impl<O> Meter for Impaired<O> {
    fn state(&self) -> QueueState {
        self.inner().state()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.inner().probe(out);
    }

    fn counters(&self) -> LinkCounters {
        LinkCounters { lost: self.lost_packets, ..self.inner().counters() }
    }

    fn delays(&self) -> DelayByOwner {
        self.inner().delays()
    }

    fn inside(&self) -> u64 {
        self.inner().inside()
    }

    fn full_until(&self) -> Option<Time> {
        self.inner().full_until()
    }
}
