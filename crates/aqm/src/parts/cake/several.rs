//! CAKE for each transmit queue of a device, which share one rate: `cake_mq`.
//!
//! A flow belongs to one queue, by its hash, and the device serves the queues in turn. Each queue looks for the active ones
//! again and again, and shapes to its part of the rate. Between two looks the parts may add up to more than the rate.
//!
//! Source: Linux 7.0, `sch_cake.c`.

use aqmlab_units::{Duration, Stream, Time};

use super::queue::{Cake, Plan};
use crate::parts::flows::hash::FlowHash;
use crate::{Admission, Counters, Departure, FlowLabel, Packet, Qdisc, QueueState, TcpHeader};

/// The time from one look for active queues to the next one.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// A transmit queue.
#[derive(Clone, Debug)]
struct Queue<P> {
    cake: Cake<P>,
    /// The time of its last departure.
    active_at: Time,
    looked_at: Time,
}

/// The CAKEs of the queues of a device.
#[derive(Clone, Debug)]
pub(crate) struct SeveralCakes<P> {
    /// The shared rate, in bytes per second.
    rate: Option<u64>,
    queues: Vec<Queue<P>>,
    hash: FlowHash,
    /// The queue whose turn it is.
    turn: usize,
    /// The active queues at the last look of any of them.
    active: usize,
}

impl<P> SeveralCakes<P> {
    /// Return `queues` empty queues that share the rate of `plan`.
    pub(crate) fn new(queues: usize, plan: Plan, mut rng: Stream) -> SeveralCakes<P> {
        let hash = FlowHash::plain(queues, rng.next_u64());
        let each = (0_u64..).take(queues).map(|number| Queue {
            cake: Cake::new(plan, Stream::numbered(rng.next_u64(), number), None),
            active_at: Time::ZERO,
            looked_at: Time::ZERO,
        });
        SeveralCakes { rate: plan.rate, queues: each.collect(), hash, turn: 0, active: 1 }
    }

    fn queue_of(&mut self, flow: u32) -> &mut Cake<P> {
        let queue = self.hash.plain_queue_of(flow);
        &mut self.queues[queue].cake
    }

    /// Give a queue its part of the rate, if its last look is long enough ago.
    fn look(&mut self, queue: usize, now: Time) {
        let looked_at = self.queues[queue].looked_at;
        let Some(rate) = self.rate.filter(|_| now.saturating_since(looked_at) >= LOOK_EVERY) else { return };
        let is_active = |other: &Queue<P>| other.cake.state().packets > 0 || other.active_at > looked_at;
        let others =
            self.queues.iter().enumerate().filter(|&(number, other)| number != queue && is_active(other));
        self.active = 1 + others.count();
        self.queues[queue].cake.set_rate(rate / self.active as u64);
        self.queues[queue].looked_at = now;
    }
}

impl<P> Qdisc<P> for SeveralCakes<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        self.queue_of(packet.flow).enqueue(packet, payload, now, lost)
    }

    fn reads_headers(&self) -> bool {
        self.queues[0].cake.reads_headers()
    }

    fn enqueue_segment(
        &mut self,
        packet: Packet,
        header: &TcpHeader,
        payload: P,
        now: Time,
        lost: &mut dyn FnMut(P),
    ) -> Admission {
        self.queue_of(packet.flow).enqueue_segment(packet, header, payload, now, lost)
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        let number = self.queues.len();
        for queue in (self.turn..self.turn + number).map(|turn| turn % number) {
            if self.queues[queue].cake.state().packets == 0 {
                continue;
            }
            self.look(queue, now);
            if let Some(departure) = self.queues[queue].cake.dequeue(now, lost) {
                self.queues[queue].active_at = now;
                self.turn = (queue + 1) % number;
                return Some(departure);
            }
        }
        None
    }

    fn state(&self) -> QueueState {
        let states = self.queues.iter().map(|queue| queue.cake.state());
        states.fold(QueueState::default(), |all, each| QueueState {
            packets: all.packets + each.packets,
            bytes: all.bytes + each.bytes,
        })
    }

    fn counters(&self) -> Counters {
        self.queues.iter().map(|queue| queue.cake.counters()).sum()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.queues.iter().filter_map(|queue| queue.cake.poll_timeout()).min()
    }

    fn on_timeout(&mut self, now: Time) {
        self.queues.iter_mut().for_each(|queue| queue.cake.on_timeout(now));
    }

    fn label_flow(&mut self, flow: u32, label: FlowLabel) -> FlowLabel {
        self.queue_of(flow).label_flow(flow, label)
    }

    fn classes(&self) -> &'static [&'static str] {
        self.queues[0].cake.classes()
    }

    fn class_of(&self, packet: &Packet) -> u8 {
        self.queues[self.hash.plain_queue_of(packet.flow)].cake.class_of(packet)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("memory_used_bytes", self.queues.iter().map(|queue| queue.cake.memory_used() as f64).sum());
        out("active_queues", self.active as f64);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::{BitRate, Bytes};

    use super::*;
    use crate::{Bandwidth, CakeConfig, Discipline, Ecn, LinkContext};

    const MBPS: u64 = 80;

    /// The queues of a shaper whose packets of 1000 bytes take 100 us at the whole rate.
    fn queues(number: u32) -> SeveralCakes<u32> {
        let rate = BitRate::from_mbit_per_sec(MBPS);
        let link = LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::ZERO, peak: None };
        let config = CakeConfig { bandwidth: Bandwidth::Rate(rate), queues: number, ..CakeConfig::default() };
        let config = config.resolve(&link).expect("it is valid");
        config.several(&link, Stream::numbered(1, 1))
    }

    /// The departures of as many milliseconds with a packet waiting in each of `flows`, by flow.
    fn departures(queues: &mut SeveralCakes<u32>, flows: &[u32], from_ms: u64, millis: u64) -> Vec<u32> {
        let mut count = vec![0; 4];
        for micro in from_ms * 1000..(from_ms + millis) * 1000 {
            let now = Time::ZERO + Duration::from_micros(micro);
            for (number, &flow) in flows.iter().enumerate() {
                if queues.queue_of(flow).state().packets < 2 {
                    let packet = Packet { size: Bytes::new(1000), ecn: Ecn::Ect0, flow };
                    queues.enqueue(packet, u32::try_from(number).expect("few"), now, &mut |_| ());
                }
            }
            while let Some(departure) = queues.dequeue(now, &mut |_| ()) {
                count[departure.payload as usize] += 1;
            }
        }
        count
    }

    /// Flows of different queues.
    fn flows(queues: &SeveralCakes<u32>, number: usize) -> Vec<u32> {
        let mut taken = Vec::new();
        let own = |&flow: &u32| {
            let queue = queues.hash.plain_queue_of(flow);
            let is_new = !taken.contains(&queue);
            taken.push(queue);
            is_new
        };
        (0..).filter(own).take(number).collect()
    }

    #[test]
    fn active_queues_share_the_rate() {
        let mut several = queues(4);
        let flows = flows(&several, 4);
        // Whole rate: ten packets a millisecond.
        for (active, each) in [(1, 1000_u32), (2, 500), (4, 250)] {
            let mut several = several.clone();
            let count = departures(&mut several, &flows[..active], 0, 100);
            let all: u32 = count.iter().sum();
            assert!((990..=1015).contains(&all), "{active} active: {count:?}");
            assert!(count[..active].iter().all(|&one| one.abs_diff(each) <= 8), "{count:?}");
        }
        // One that remains has the whole rate again after a look.
        departures(&mut several, &flows, 0, 50);
        departures(&mut several, &flows[..1], 50, 5);
        assert!((98..=101).contains(&departures(&mut several, &flows[..1], 55, 10)[0]));
    }

    #[test]
    fn a_new_queue_may_exceed_the_rate_until_the_next_look() {
        let mut several = queues(2);
        let flows = flows(&several, 2);
        departures(&mut several, &flows[..1], 0, 50);
        // The first queue has the whole rate for 200 us more, beside a half of the other one: at most two packets.
        let all: u32 = departures(&mut several, &flows, 50, 10).iter().sum();
        assert!((99..=103).contains(&all), "{all}");
    }
}
