//! A discipline that holds packets back, before a link that is free: nothing but its own timer tells when they leave.

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Counters, Departure};

use super::*;

/// The time between two packets.
const PACE: Duration = Duration::from_millis(1);

/// First in, first out, and one packet a millisecond.
#[derive(Debug, Default)]
struct Paced<P> {
    waiting: VecDeque<Departure<P>>,
    counters: Counters,
    ready: Time,
    timeout: Option<Time>,
}

impl<P> Qdisc<P> for Paced<P> {
    fn enqueue(
        &mut self,
        packet: aqmlab_aqm::Packet,
        payload: P,
        now: Time,
        _lost: &mut dyn FnMut(P),
    ) -> Admission {
        self.waiting.push_back(Departure { packet, payload, enqueued_at: now });
        self.counters.count(Admission::Queued, packet.size);
        Admission::Queued
    }

    fn dequeue(&mut self, now: Time, _lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        if self.ready > now && !self.waiting.is_empty() {
            self.timeout = Some(self.ready);
            return None;
        }
        let departure = self.waiting.pop_front()?;
        self.ready = now + PACE;
        Some(departure)
    }

    fn state(&self) -> QueueState {
        let packets = u32::try_from(self.waiting.len()).expect("few");
        QueueState { packets, bytes: Bytes::new(1500 * u64::from(packets)) }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timeout
    }

    fn on_timeout(&mut self, now: Time) {
        self.timeout = self.timeout.filter(|&at| at > now);
    }

    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Runs `link` as the engine does until nothing is left. Returns the times of deliveries.
fn deliveries(link: &mut impl Link) -> Vec<Time> {
    let (mut times, mut now) = (Vec::new(), Time::ZERO);
    while link.next_delivery() < Time::MAX {
        assert!(link.next_delivery() >= now, "time does not go back");
        now = link.next_delivery();
        if link.forward_to_next_hop() == Forwarding::AtDestination {
            link.deliver();
            times.push(now);
        }
    }
    times
}

proptest! {
    #[test]
    fn packets_held_back_leave_when_their_discipline_lets_them(
        gaps in prop::collection::vec(0..4_000_000_u64, 1..40), delay_us in 0..5_000_u64, device_fifo in 0..3_u32,
    ) {
        let context = LinkContext { rate: BitRate::from_mbit_per_sec(100), header: Bytes::ZERO, overhead: Bytes::ZERO, peak: None };
        let delay = Duration::from_micros(delay_us);
        let wire = Wire { context, delay, device_fifo, owners: 0 };
        let links: [Box<dyn Link>; 2] = [
            Box::new(Queued::new(Paced::default(), &wire)),
            Box::new(Boxed::new(Queued::new(Paced::default(), &wire))),
        ];
        for mut link in links {
            let (mut now, mut got, mut expected, mut ready) = (Time::ZERO, Vec::new(), Vec::new(), Time::ZERO);
            for (number, gap) in (0..).zip(&gaps) {
                now += Duration::from_nanos(*gap);
                while link.next_delivery() <= now {
                    let at = link.next_delivery();
                    if link.forward_to_next_hop() == Forwarding::AtDestination {
                        link.deliver();
                        got.push(at);
                    }
                }
                link.arrive(&packet(number, 1460, false, 0), now);
                let leaves = now.max(ready);
                ready = leaves + PACE;
                expected.push(leaves + Duration::from_micros(120) + delay);
            }
            got.extend(deliveries(&mut link));
            prop_assert_eq!(got, expected);
        }
    }
}
