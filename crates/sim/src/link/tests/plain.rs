//! The dull link: a queue that owns its packets, the device's places, and one event for each departure.

use std::collections::VecDeque;

use aqmlab_aqm::{Departure, Ecn, Qdisc};
use aqmlab_units::{Bytes, Time};

use super::{DelayHistogram, Delivery, Wire, number_of};
use crate::link::delay_histogram::Wait;
use crate::packet::Packet;

pub(super) struct PlainLink<Q> {
    wire: Wire,
    pub(super) queue: Q,
    /// The packet being sent, and those in the device behind it, each with the time since which it is there.
    device: VecDeque<(Departure<Packet>, Time)>,
    /// The end of the current transmission, and its start.
    sent_at: Option<Time>,
    began_at: Time,
    /// The delays of the packets sent.
    pub(super) delays: DelayHistogram,
    sent: u64,
    sent_bytes: Bytes,
    pub(super) delivered: Vec<Delivery>,
    pub(super) lost: Vec<u32>,
}

impl<Q: Qdisc<Packet>> PlainLink<Q> {
    pub(super) fn new(queue: Q, wire: Wire) -> PlainLink<Q> {
        PlainLink {
            wire,
            queue,
            device: VecDeque::new(),
            sent_at: None,
            began_at: Time::ZERO,
            delays: DelayHistogram::new(),
            sent: 0,
            sent_bytes: Bytes::ZERO,
            delivered: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// A packet arrives.
    pub(super) fn arrive(&mut self, packet: Packet, now: Time) {
        self.advance(now);
        self.queue.enqueue(packet.seen_by_law(self.wire.context.header), packet, now, &mut |packet| {
            self.lost.push(number_of(&packet));
        });
        self.fill_device(now);
    }

    /// Everything due by `now`; within one instant departures come before the law's timer.
    pub(super) fn advance(&mut self, now: Time) {
        loop {
            let departure = self.sent_at.unwrap_or(Time::MAX);
            let timer = self.queue.poll_timeout().unwrap_or(Time::MAX);
            if departure.min(timer) > now {
                return;
            }
            if departure <= timer {
                self.depart(departure);
            } else {
                self.queue.on_timeout(timer);
            }
        }
    }

    fn depart(&mut self, now: Time) {
        let (departure, dequeued_at) = self.device.pop_front().expect("one is being sent");
        let Departure { packet, payload, enqueued_at } = departure;
        let (time, sojourn) = (self.began_at - enqueued_at, dequeued_at - enqueued_at);
        self.delays.record(&Wait { time, sojourn, to: payload.to, class: 0 });
        self.sent += 1;
        self.sent_bytes += payload.size();
        self.delivered.push((number_of(&payload), packet.ecn == Ecn::Ce, now + self.wire.delay));
        self.sent_at = None;
        self.fill_device(now);
    }

    /// The device takes what it has places for, and sends when it does not.
    fn fill_device(&mut self, now: Time) {
        while self.device.len() <= self.wire.device_fifo as usize
            && let Some(departure) = self.queue.dequeue(now, &mut |packet| self.lost.push(number_of(&packet)))
        {
            self.device.push_back((departure, now));
        }
        if self.sent_at.is_none()
            && let Some((head, _)) = self.device.front()
        {
            let context = self.wire.context;
            self.began_at = now;
            self.sent_at = Some(now + context.rate.time_to_send(head.packet.size + context.overhead));
        }
    }

    pub(super) fn sent_and_held(&self) -> (u64, Bytes, u64) {
        let held = u64::from(self.queue.state().packets) + self.device.len() as u64;
        (self.sent, self.sent_bytes, held)
    }
}
