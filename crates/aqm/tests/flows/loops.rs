//! Adaptive flows and one that does not adapt, at one queue in virtual time.
//!
//! The adaptive ones are the textbook's: a window that grows by one packet a round trip and is halved by a loss, at most
//! once a round trip, sent evenly over the round trip. They learn of a loss at once.

use aqmlab_aqm::{DroptailConfig, Ecn, Limit, LinkContext, QueueConfig};
use aqmlab_units::{BitRate, Bytes, Stream, Time};

use crate::common::packet_of;

/// A packet of 1000 B leaves every millisecond.
const PACKETS_PER_SEC: f64 = 1000.0;
const SIZE: u64 = 1000;
const BASE_RTT_MS: f64 = 50.0;

pub(crate) fn link() -> LinkContext {
    LinkContext {
        rate: BitRate::from_mbit_per_sec(8),
        header: Bytes::ZERO,
        overhead: Bytes::ZERO,
        peak: None,
    }
}

/// One unresponsive flow among adaptive ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) adaptive: usize,
    /// The rate of the unresponsive flow, in units of the link's capacity.
    pub(crate) load: f64,
}

struct Sender {
    /// In packets; `None` for the unresponsive flow.
    window: Option<f64>,
    next_ms: f64,
    cut_ms: f64,
}

impl Sender {
    fn acknowledged(&mut self) {
        if let Some(window) = &mut self.window {
            *window += 1.0 / *window;
        }
    }

    fn lost(&mut self, now_ms: f64, rtt_ms: f64) {
        if let Some(window) = &mut self.window
            && now_ms - self.cut_ms > rtt_ms
        {
            *window = (*window / 2.0).max(1.0);
            self.cut_ms = now_ms;
        }
    }
}

fn time(ms: f64) -> Time {
    Time::from_secs_f64(ms / 1000.0)
}

/// The unresponsive flow's share of the departures, over 40 s after 20 s.
pub(crate) fn share(config: &QueueConfig, Scenario { adaptive, load }: Scenario) -> f64 {
    let config = config.resolve(&link()).expect("these parameters are possible");
    let mut queue = config.queue(&link(), Stream::named(1, "queue/0"));
    let mut jitter = Stream::named(1, "senders");
    let mut senders: Vec<Sender> = (0..=adaptive)
        .map(|flow| Sender { window: (flow > 0).then_some(2.0), next_ms: flow as f64, cut_ms: 0.0 })
        .collect();
    let (mut unresponsive, mut all) = (0_u32, 0_u32);
    for step in 0..60_000_u32 {
        let departure_ms = f64::from(step + 1);
        // All that is sent before the next packet leaves.
        while let Some((flow, sender)) =
            senders.iter().enumerate().min_by(|a, b| a.1.next_ms.total_cmp(&b.1.next_ms))
            && sender.next_ms < departure_ms
        {
            let now_ms = sender.next_ms;
            while let Some(due) = queue.poll_timeout().filter(|due| *due <= time(now_ms)) {
                queue.on_timeout(due);
            }
            let rtt_ms = BASE_RTT_MS + f64::from(queue.state().packets) * 1000.0 / PACKETS_PER_SEC;
            let mut lost = Vec::new();
            let arriving = packet_of(u32::try_from(flow).expect("a few flows"), SIZE, Ecn::NotEct);
            let admission = queue.enqueue(arriving, flow, time(now_ms), &mut |flow| lost.push(flow));
            if admission.is_queued() {
                senders[flow].acknowledged();
            }
            for flow in lost {
                senders[flow].lost(now_ms, rtt_ms);
            }
            let sender = &mut senders[flow];
            let pause = sender.window.map_or(1000.0 / (load * PACKETS_PER_SEC), |window| rtt_ms / window);
            sender.next_ms += pause * (0.5 + jitter.uniform());
        }
        if let Some(departure) = queue.dequeue(time(departure_ms), &mut |_| ())
            && step >= 20_000
        {
            unresponsive += u32::from(departure.payload == 0);
            all += 1;
        }
    }
    assert!(all > 38_000, "the link is busy: {all} of 40,000 packets");
    f64::from(unresponsive) / f64::from(all)
}

/// The control: no active management, with the room that the disciplines have.
pub(crate) fn droptail(room: u32) -> QueueConfig {
    QueueConfig::Droptail(DroptailConfig { limit: Limit::Packets(room), ..DroptailConfig::default() })
}

#[test]
fn behind_drop_tail_an_unresponsive_flow_takes_what_it_sends() {
    for load in [0.5, 1.0, 2.0] {
        let share = share(&droptail(240), Scenario { adaptive: 9, load });
        assert!(share > 0.85 * load.min(0.9), "a load of {load} takes {share} of the link");
    }
}
