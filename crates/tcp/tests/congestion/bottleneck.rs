//! A path with one queue, a paced sender with endless data, and the delivery rates it measures.
//!
//! Rate samples are those of draft-ietf-ccwg-bbr, "Delivery Rate Samples". What a full queue drops is found lost when
//! the next segment is acknowledged. Nothing is sent again: data are endless.

use std::collections::VecDeque;

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Ack, CongestionControl, Profile, RateSample};
use aqmlab_units::{BitRate, Bytes, Duration, Time};

use crate::MSS;

/// The path.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub(crate) rate: BitRate,
    /// The round trip without a queue.
    pub(crate) rtt: Duration,
    /// The most segments that may wait.
    pub(crate) buffer: usize,
}

impl Path {
    /// The bandwidth-delay product in bytes.
    pub(crate) fn bdp(&self) -> f64 {
        self.rate.bits_per_sec() as f64 / 8.0 * self.rtt.as_secs_f64()
    }
}

/// A segment on its way, with the state of the connection when it left.
#[derive(Clone, Copy)]
struct Sent {
    at: Time,
    /// The time at which its acknowledgement arrives; `None` if it was dropped.
    returns: Option<Time>,
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    lost: u64,
    in_flight: u32,
}

/// A sender and its path.
pub(crate) struct Flow {
    pub(crate) control: Any,
    pub(crate) path: Path,
    pub(crate) now: Time,
    sent: VecDeque<Sent>,
    /// The time at which the bottleneck will have sent its queue.
    busy_until: Time,
    next_send: Time,
    pub(crate) in_flight: u32,
    pub(crate) delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    pub(crate) lost: u64,
    round_end: u64,
    recovery_end: Option<u64>,
    window_limited: bool,
}

impl Flow {
    pub(crate) fn new(profile: &Profile, path: Path) -> Flow {
        Flow {
            control: Any::new(profile),
            path,
            now: Time::ZERO,
            sent: VecDeque::new(),
            busy_until: Time::ZERO,
            next_send: Time::ZERO,
            in_flight: 0,
            delivered: 0,
            delivered_time: Time::ZERO,
            first_sent_time: Time::ZERO,
            lost: 0,
            round_end: 0,
            recovery_end: None,
            window_limited: false,
        }
    }

    /// Run until `end`, calling `look` after each acknowledgement.
    pub(crate) fn run(&mut self, end: Time, mut look: impl FnMut(&Flow)) {
        while self.now < end {
            if self.step() {
                look(self);
            }
        }
    }

    /// Segments that wait at the bottleneck or are on its wire.
    pub(crate) fn queue(&self) -> f64 {
        let wire = self.path.rate.time_to_send(Bytes::new(u64::from(MSS)));
        self.busy_until.saturating_since(self.now) / wire
    }

    /// The next acknowledgement or the next segment, whichever comes first; true for an acknowledgement.
    fn step(&mut self) -> bool {
        let returns = self.sent.iter().find_map(|sent| sent.returns);
        let has_room = self.in_flight + MSS <= self.control.cwnd();
        self.window_limited |= !has_room;
        let leaves = has_room.then_some(self.next_send.max(self.now));
        match (returns, leaves) {
            (Some(returns), Some(leaves)) if leaves < returns => self.send(leaves),
            (None, Some(leaves)) => self.send(leaves),
            (Some(returns), _) => {
                self.receive(returns);
                return true;
            }
            (None, None) => unreachable!("all that was in flight has been dropped"),
        }
        false
    }

    fn send(&mut self, now: Time) {
        self.now = now;
        let size = Bytes::new(u64::from(MSS));
        let pacing = self.control.pacing_rate().map_or(Duration::ZERO, |rate| rate.time_to_send(size));
        self.next_send = now + pacing;
        if self.in_flight == 0 {
            (self.first_sent_time, self.delivered_time) = (now, now);
        }
        self.in_flight += MSS;
        let fits = self.queue() < self.path.buffer as f64;
        if fits {
            self.busy_until = self.busy_until.max(now) + self.path.rate.time_to_send(size);
        }
        self.sent.push_back(Sent {
            at: now,
            returns: fits.then_some(self.busy_until + self.path.rtt),
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            lost: self.lost,
            in_flight: self.in_flight,
        });
    }

    fn receive(&mut self, now: Time) {
        self.now = now;
        let (mut newly_lost, mut acked) = (0, None);
        while acked.is_none() {
            let first = self.sent.pop_front().expect("an acknowledgement is of something sent");
            self.in_flight -= MSS;
            if first.returns.is_some() {
                acked = Some(first);
            } else {
                newly_lost += MSS;
            }
        }
        let acked = acked.expect("the loop ends with one");
        self.delivered += u64::from(MSS);
        self.delivered_time = now;
        self.first_sent_time = acked.at;
        self.lost += u64::from(newly_lost);
        self.notify_control(acked, newly_lost);
    }

    /// Tell the control, in the order that the trait promises.
    fn notify_control(&mut self, acked: Sent, newly_lost: u32) {
        let bytes = |count: u64| u32::try_from(count).expect("a window is small");
        let interval = (acked.at - acked.first_sent_time).max(self.now - acked.delivered_time);
        let new_round = acked.delivered >= self.round_end;
        if new_round {
            self.round_end = self.delivered;
        }
        let ack = Ack {
            now: self.now,
            bytes: MSS,
            mss: MSS,
            in_flight: self.in_flight,
            lost: newly_lost,
            rtt: Some(self.now - acked.at),
            new_round,
            window_limited: std::mem::take(&mut self.window_limited),
            rate: Some(RateSample {
                delivered: bytes(self.delivered - acked.delivered),
                interval,
                lost: bytes(self.lost - acked.lost),
                in_flight_at_send: acked.in_flight,
                app_limited: false,
            }),
            ..Ack::default()
        };
        self.control.on_delivery(&ack);
        match self.recovery_end {
            Some(end) if acked.delivered >= end => {
                self.recovery_end = None;
                self.control.on_recovered(self.in_flight, MSS);
            }
            Some(_) => {}
            None if newly_lost > 0 => {
                self.recovery_end = Some(self.delivered);
                self.control.on_fast_retransmit(self.control.cwnd(), MSS);
            }
            None => self.control.on_ack(&ack),
        }
    }
}
