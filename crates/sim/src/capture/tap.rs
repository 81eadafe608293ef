//! A wrapper of a queue discipline that reports to a capture.

use aqmlab_aqm::{Admission, Departure, Ecn, Packet as Seen, Qdisc, TcpHeader, forward_qdisc};
use aqmlab_units::Time;

use super::log::QueueOutcome;
use super::{Capture, OnTheWire};
use crate::link::Numbered;
use crate::packet::Packet;

/// A packet with its number in the capture, if it is captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedPacket<O> {
    packet: Packet<O>,
    number: Option<u64>,
}

impl<O> Numbered for NumberedPacket<O>
where
    Packet<O>: Numbered,
{
    fn number(&self) -> u32 {
        self.packet.number()
    }

    fn is_marked(&self) -> bool {
        self.packet.is_marked()
    }
}

/// The discipline of one direction of a link. Every kind of discipline decides packet by packet, so that the capture
/// sees each departure; a capture need not be fast.
pub(crate) struct Tap<Q> {
    queue: Q,
    /// The index of the interface in the file.
    interface: u32,
    capture: Capture,
    /// Captured packets dropped in the current call; empty between calls.
    dropped: Vec<u64>,
}

impl<Q> Tap<Q> {
    pub(crate) fn new(queue: Q, interface: u32, capture: Capture) -> Tap<Q> {
        Tap { queue, interface, capture, dropped: Vec::new() }
    }

    /// Enqueue a packet by `enqueue`, and log its fate and those of packets that were dropped for it.
    fn log_arrival<O: OnTheWire>(
        &mut self,
        packet: Packet<O>,
        now: Time,
        lost: &mut dyn FnMut(Packet<O>),
        enqueue: impl FnOnce(&mut Q, NumberedPacket<O>, &mut dyn FnMut(NumberedPacket<O>)) -> Admission,
    ) -> Admission
    where
        Q: Qdisc<NumberedPacket<O>>,
    {
        let number = self.capture.lock().arrive(self.interface, &packet, now);
        let admission = enqueue(&mut self.queue, NumberedPacket { packet, number }, &mut |tagged| {
            self.dropped.extend(tagged.number);
            lost(tagged.packet);
        });
        let variables = number.map(|_| self.variables());
        let mut log = self.capture.lock();
        if let Some((number, variables)) = number.zip(variables) {
            log.decided(number, variables);
            if admission == Admission::Marked {
                log.mark(number);
            }
        }
        let refused = match admission {
            Admission::DroppedEarly => Some("early"),
            Admission::DroppedForced => Some("forced"),
            Admission::DroppedByLimit => Some("by limit"),
            Admission::Queued | Admission::Marked => None,
        };
        for dropped in self.dropped.drain(..) {
            let fate = match refused {
                Some(why) if number == Some(dropped) => QueueOutcome::Refused(why),
                _ => QueueOutcome::Dropped("evicted", now),
            };
            log.settle(dropped, fate);
        }
        admission
    }

    /// Return the discipline's variables as text, rounded to the nearest `f32`: seven digits suffice.
    #[expect(clippy::cast_possible_truncation, reason = "only shown")]
    fn variables<O>(&self) -> String
    where
        Q: Qdisc<NumberedPacket<O>>,
    {
        let mut shown = Vec::new();
        self.queue.probe(&mut |name, value| shown.push(format!("{name}={}", value as f32)));
        shown.join(" ")
    }
}

impl<O: OnTheWire, Q: Qdisc<NumberedPacket<O>>> Qdisc<Packet<O>> for Tap<Q> {
    fn enqueue(
        &mut self,
        seen: Seen,
        packet: Packet<O>,
        now: Time,
        lost: &mut dyn FnMut(Packet<O>),
    ) -> Admission {
        self.log_arrival(packet, now, lost, |queue, packet, lost| queue.enqueue(seen, packet, now, lost))
    }

    fn enqueue_segment(
        &mut self,
        seen: Seen,
        header: &TcpHeader,
        packet: Packet<O>,
        now: Time,
        lost: &mut dyn FnMut(Packet<O>),
    ) -> Admission {
        self.log_arrival(packet, now, lost, |queue, packet, lost| {
            queue.enqueue_segment(seen, header, packet, now, lost)
        })
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(Packet<O>)) -> Option<Departure<Packet<O>>> {
        let departure = self.queue.dequeue(now, &mut |tagged| {
            self.dropped.extend(tagged.number);
            lost(tagged.packet);
        });
        for dropped in std::mem::take(&mut self.dropped) {
            let variables = self.variables();
            let mut log = self.capture.lock();
            log.decided(dropped, variables);
            log.settle(dropped, QueueOutcome::Dropped("at dequeue", now));
        }
        let Departure { packet, payload, enqueued_at } = departure?;
        if let Some(number) = payload.number {
            let is_marked = packet.ecn == Ecn::Ce && payload.packet.ecn() != Ecn::Ce;
            if is_marked && self.capture.lock().mark(number) {
                let variables = self.variables();
                self.capture.lock().decided(number, variables);
            }
            self.capture.lock().settle(number, QueueOutcome::Left(now));
        }
        Some(Departure { packet, payload: payload.packet, enqueued_at })
    }

    forward_qdisc!(queue);

    fn class_of(&self, packet: &Seen) -> u8 {
        self.queue.class_of(packet)
    }
}
