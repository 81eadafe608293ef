//! CHOKe in the arithmetic of Linux: RED with a queue in packets, and places from which packets are drawn.
//!
//! Differs from [`crate::Choke`] also in these points. A dropped packet leaves an empty place, which is drawn too; after three
//! empty places the packet at the head is compared. An average at a threshold counts as below it.
//!
//! Differs from Linux: there is always a place for a packet. Linux has a ring of places, which empty ones could fill.

use std::collections::VecDeque;

use aqmlab_units::Time;

use crate::parts::linux::coin::Coin;
use crate::parts::linux::red::LinuxRed;
use crate::{
    Admission, Aqm, ChokeConfig, Counters, Departure, Ecn, Limit, LinkContext, Packet, Qdisc, QueueState,
    Verdict,
};

/// The draws of a place before the head is taken.
const DRAWS: u32 = 3;

/// CHOKe.
#[derive(Clone, Debug)]
pub(crate) struct LinuxChoke<C, P> {
    red: LinuxRed<C>,
    limit: Limit,
    /// The place at the head is never empty.
    places: VecDeque<Option<Departure<P>>>,
    state: QueueState,
    counters: Counters,
}

impl<C: Coin, P> LinuxChoke<C, P> {
    /// Return an empty queue. `config` must have passed [`ChokeConfig::resolve`].
    pub(crate) fn new(config: &ChokeConfig, link: &LinkContext, coin: C) -> LinuxChoke<C, P> {
        LinuxChoke {
            red: LinuxRed::of_packets(&config.red, link, coin),
            limit: config.red.limit,
            places: VecDeque::new(),
            state: QueueState::default(),
            counters: Counters::default(),
        }
    }

    /// Draw a waiting packet; return its place if it belongs to `flow`.
    fn draw_match(&mut self, flow: u32) -> Option<usize> {
        let places = u32::try_from(self.places.len()).expect("a queue is short");
        let mut draws = (0..if places > 0 { DRAWS } else { 0 }).map(|_| self.red.draw_below(places) as usize);
        let drawn = draws.find(|&place| self.places[place].is_some()).unwrap_or(0);
        let compared = self.places.get(drawn)?.as_ref()?;
        (compared.packet.flow == flow).then_some(drawn)
    }

    /// Take the packet out of a place.
    fn take(&mut self, place: usize) -> Departure<P> {
        let taken = self.places[place].take().expect("a packet is in this place");
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - taken.packet.size;
        while self.places.front().is_some_and(Option::is_none) {
            self.places.pop_front();
        }
        taken
    }

    fn judge(&mut self, packet: &Packet) -> Admission {
        let is_capable = packet.ecn.is_capable();
        match self.red.judge_unmatched() {
            Verdict::Drop => Admission::DroppedForced,
            Verdict::Mark if !is_capable => Admission::DroppedEarly,
            _ if !self.limit.admits(packet.size, self.state) => Admission::DroppedByLimit,
            Verdict::Mark => Admission::Marked,
            Verdict::Pass => Admission::Queued,
        }
    }
}

impl<C: Coin, P> Qdisc<P> for LinuxChoke<C, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        self.red.sample(self.state.packets.into(), now);
        let matched = if self.red.is_above_min() { self.draw_match(packet.flow) } else { None };
        let admission = matched.map_or_else(|| self.judge(&packet), |_| Admission::DroppedForced);
        if let Some(place) = matched {
            self.counters.evicted += 1;
            lost(self.take(place).payload);
        }
        self.counters.count(admission, packet.size);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        if admission == Admission::Marked {
            packet.ecn = Ecn::Ce;
        }
        self.state.packets += 1;
        self.state.bytes += packet.size;
        self.places.push_back(Some(Departure { packet, payload, enqueued_at: now }));
        admission
    }

    fn dequeue(&mut self, now: Time, _lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        if self.places.is_empty() {
            self.red.on_empty(now);
            return None;
        }
        Some(self.take(0))
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::{BitRate, Bytes};

    use super::*;
    use crate::RedConfig;

    /// A coin that gives zeros: the place at the head, and no gap between signals.
    #[derive(Clone)]
    struct Zero;

    impl Coin for Zero {
        fn toss(&mut self) -> u64 {
            0
        }
    }

    fn queue(min_th: f64) -> LinuxChoke<Zero, u32> {
        let red = RedConfig { min_th, max_th: 1000.0, w_q: 0.5, ..ChokeConfig::default().red };
        let rate = BitRate::from_mbit_per_sec(10);
        let link = LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::ZERO, peak: None };
        LinuxChoke::new(&ChokeConfig { red }, &link, Zero)
    }

    /// Enqueue a packet of each flow; return the lost payloads.
    fn enqueue(queue: &mut LinuxChoke<Zero, u32>, flows: &[u32]) -> Vec<u32> {
        let mut lost = Vec::new();
        for (number, &flow) in (0..).zip(flows) {
            let packet = Packet { size: Bytes::new(100), ecn: Ecn::NotEct, flow };
            queue.enqueue(packet, number, Time::ZERO, &mut |payload| lost.push(payload));
        }
        lost
    }

    #[test]
    fn two_packets_of_one_flow_are_dropped_above_min_th() {
        let mut queue = queue(0.0);
        // The average is above zero from the third arrival on, which finds two packets.
        assert_eq!(enqueue(&mut queue, &[1, 2, 1]), [0, 2]);
        assert_eq!(queue.dequeue(Time::ZERO, &mut drop).map(|left| left.payload), Some(1));
        assert_eq!((queue.state(), queue.places.len()), (QueueState::default(), 0));
    }

    #[test]
    fn below_min_th_nothing_is_compared() {
        assert!(enqueue(&mut queue(100.0), &[1; 50]).is_empty());
    }
}
