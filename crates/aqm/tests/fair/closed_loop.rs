//! Senders that answer what becomes of their packets, one round trip later: the closed loop that a controller needs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_aqm::{Ecn, Packet, Qdisc};
use aqmlab_units::{Bytes, Duration, Time};

use crate::common::link;

/// The response of a sender's window to signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sender {
    /// Halves its window once a round trip when a packet is marked or lost, and adds a packet each round trip.
    Reno(Ecn),
    /// Takes half a packet off its window for each mark, and adds a packet each round trip.
    Scalable,
    /// Sends this many packets per thousand of the link's capacity, without regard to signals.
    Blind(Ecn, u64),
}

/// The results of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderResults {
    pub(crate) packets: u64,
    /// The sum of its packets' delays in the queue, in seconds.
    pub(crate) delay: f64,
    pub(crate) lost: u64,
    pub(crate) marked: u64,
}

impl SenderResults {
    pub(crate) fn mean_delay_ms(&self) -> f64 {
        1e3 * self.delay / self.packets as f64
    }
}

#[derive(Clone, Copy, Debug)]
struct State {
    sender: Sender,
    window: f64,
    inside: f64,
    /// Marks of packets sent before this are those of a round trip already answered.
    answered: Time,
}

/// Feedback to a sender: its time, the sender, whether its packet was signalled, and when that left the sender.
type Feedback = Reverse<(Time, usize, bool, Time)>;

const SIZE: Bytes = Bytes::new(1500);

/// Run `senders` with round trips of `rtt` through `queue` into a link of 100 Mbit/s, and count from `from` to `to`.
pub(crate) fn run(
    queue: &mut dyn Qdisc<usize>,
    senders: &[Sender],
    rtt: Duration,
    (from, to): (f64, f64),
) -> Vec<SenderResults> {
    let (from, to) = (Time::from_secs_f64(from), Time::from_secs_f64(to));
    let slot = link().rate.time_to_send(SIZE + link().overhead);
    let start = |&sender: &Sender| State { sender, window: 10.0, inside: 0.0, answered: Time::ZERO };
    let mut states: Vec<State> = senders.iter().map(start).collect();
    let mut results = vec![SenderResults::default(); senders.len()];
    let mut blind: Vec<u64> = vec![0; senders.len()];
    // Of each packet, who sent it and when.
    let mut sent: Vec<(usize, Time)> = Vec::new();
    let mut news: BinaryHeap<Feedback> = BinaryHeap::new();
    let mut now = Time::ZERO;
    // One packet's transmission time per step; packets that arrive within a step arrive at its beginning.
    while now < to {
        while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
            queue.on_timeout(due);
        }
        while let Some(&Reverse((at, who, signalled, sent_at))) =
            news.peek().filter(|Reverse(next)| next.0 <= now)
        {
            news.pop();
            on_feedback(&mut states[who], signalled, sent_at, at);
        }
        let mut lost: Vec<usize> = Vec::new();
        for who in 0..senders.len() {
            let (ecn, n) = match states[who].sender {
                Sender::Blind(ecn, per_thousand) => {
                    blind[who] += per_thousand;
                    let n = blind[who] / 1000;
                    blind[who] %= 1000;
                    (ecn, n)
                }
                Sender::Reno(ecn) => (ecn, room(&states[who])),
                Sender::Scalable => (Ecn::Ect1, room(&states[who])),
            };
            for _ in 0..n {
                states[who].inside += 1.0;
                let packet = Packet { size: SIZE, ecn, flow: u32::try_from(who).expect("few") };
                queue.enqueue(packet, sent.len(), now, &mut |packet| lost.push(packet));
                sent.push((who, now));
            }
        }
        let left = queue.dequeue(now, &mut |packet| lost.push(packet));
        let counts = now >= from;
        for packet in lost {
            let (who, sent_at) = sent[packet];
            results[who].lost += u64::from(counts);
            news.push(Reverse((now + rtt, who, true, sent_at)));
        }
        if let Some(left) = left {
            let (who, sent_at) = sent[left.payload];
            let marked = left.packet.ecn == Ecn::Ce;
            if counts {
                results[who].packets += 1;
                results[who].delay += (now - left.enqueued_at).as_secs_f64();
                results[who].marked += u64::from(marked);
            }
            news.push(Reverse((now + rtt, who, marked, sent_at)));
        }
        now += slot;
    }
    results
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "windows are small and positive")]
fn room(state: &State) -> u64 {
    (state.window - state.inside).max(0.0) as u64
}

fn on_feedback(state: &mut State, signalled: bool, sent: Time, now: Time) {
    state.inside -= 1.0;
    match (state.sender, signalled) {
        (Sender::Blind(..), _) => {}
        (_, false) => state.window += 1.0 / state.window,
        (Sender::Scalable, true) => state.window = (state.window - 0.5).max(2.0),
        (Sender::Reno(_), true) if sent >= state.answered => {
            state.window = (state.window / 2.0).max(2.0);
            state.answered = now;
        }
        (Sender::Reno(_), true) => {}
    }
}
