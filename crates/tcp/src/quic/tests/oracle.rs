//! Loss detection of RFC 9002, Appendix A, written from its pseudocode in seconds, for the application data space.

use std::collections::BTreeMap;

use aqmlab_units::{Duration, Time};

use crate::congestion::CongestionControl;
use crate::quic::Connection;
use crate::quic::wire::{AckFrame, Space};

const K_PACKET_THRESHOLD: u32 = 3;
const K_TIME_THRESHOLD: f64 = 9.0 / 8.0;
const K_GRANULARITY: f64 = 0.001;

/// The variables of A.3 for one space of a confirmed connection.
#[derive(Debug)]
pub(super) struct Oracle {
    latest_rtt: f64,
    smoothed_rtt: f64,
    rttvar: f64,
    min_rtt: f64,
    max_ack_delay: f64,
    pto_count: i32,
    time_of_last_ack_eliciting_packet: f64,
    largest_acked_packet: Option<u32>,
    loss_time: f64,
    sent_packets: BTreeMap<u32, f64>,
    loss_detection_timer: f64,
    pub(super) lost: u32,
    /// A time is within the rounding of a threshold, so that both ways are right.
    pub(super) is_ambiguous: bool,
}

fn secs(time: Time) -> f64 {
    (time - Time::ZERO).as_secs_f64()
}

impl Oracle {
    /// Start from the estimates of a connection with nothing in flight.
    pub(super) fn of<C: CongestionControl>(connection: &Connection<C>) -> Oracle {
        let rtt = &connection.rtt;
        Oracle {
            latest_rtt: rtt.latest.as_secs_f64(),
            smoothed_rtt: rtt.smoothed().map_or(0.0, Duration::as_secs_f64),
            rttvar: rtt.variation().as_secs_f64(),
            min_rtt: rtt.min.map_or(0.0, Duration::as_secs_f64),
            max_ack_delay: 0.025,
            pto_count: 0,
            time_of_last_ack_eliciting_packet: 0.0,
            largest_acked_packet: connection.spaces[Space::Data.index()].largest_acked,
            loss_time: 0.0,
            sent_packets: BTreeMap::new(),
            loss_detection_timer: f64::INFINITY,
            lost: 0,
            is_ambiguous: false,
        }
    }

    pub(super) fn on_packet_sent(&mut self, number: u32, now: Time) {
        self.time_of_last_ack_eliciting_packet = secs(now);
        self.sent_packets.insert(number, secs(now));
        self.set_loss_detection_timer();
    }

    pub(super) fn on_ack_received(&mut self, ack: &AckFrame, now: Time) {
        let now = secs(now);
        self.largest_acked_packet = self.largest_acked_packet.max(Some(ack.largest));
        let acked: Vec<u32> = ack.ranges().flat_map(|(from, to)| from..to).collect();
        let newly: Vec<(u32, f64)> =
            acked.iter().filter_map(|&number| Some((number, self.sent_packets.remove(&number)?))).collect();
        let Some(&(largest, sent_at)) = newly.iter().max_by_key(|(number, _)| *number) else { return };
        if largest == ack.largest {
            self.latest_rtt = now - sent_at;
            self.update_rtt(f64::from(ack.delay) / 1e6);
        }
        let lost_send_time = now - self.loss_delay();
        self.is_ambiguous |= self.sent_packets.values().any(|sent| (sent - lost_send_time).abs() < 5e-6);
        self.detect_and_remove_lost_packets(now);
        self.pto_count = 0;
        self.set_loss_detection_timer();
    }

    fn update_rtt(&mut self, ack_delay: f64) {
        self.min_rtt = self.min_rtt.min(self.latest_rtt);
        let ack_delay = ack_delay.min(self.max_ack_delay);
        self.is_ambiguous |= (1e-9..2e-6).contains(&(self.latest_rtt - self.min_rtt - ack_delay).abs());
        let mut adjusted_rtt = self.latest_rtt;
        if self.latest_rtt + 1e-9 >= self.min_rtt + ack_delay {
            adjusted_rtt = self.latest_rtt - ack_delay;
        }
        self.rttvar = 0.75 * self.rttvar + 0.25 * (self.smoothed_rtt - adjusted_rtt).abs();
        self.smoothed_rtt = 0.875 * self.smoothed_rtt + 0.125 * adjusted_rtt;
    }

    fn loss_delay(&self) -> f64 {
        (K_TIME_THRESHOLD * self.latest_rtt.max(self.smoothed_rtt)).max(K_GRANULARITY)
    }

    fn detect_and_remove_lost_packets(&mut self, now: f64) {
        self.loss_time = 0.0;
        let loss_delay = self.loss_delay();
        let lost_send_time = now - loss_delay;
        let largest = self.largest_acked_packet.expect("an acknowledgement came");
        for number in self.sent_packets.keys().copied().collect::<Vec<_>>() {
            let time_sent = self.sent_packets[&number];
            if number > largest {
                continue;
            }
            // A margin for the rounding of the estimates.
            if time_sent <= lost_send_time + 2e-6 || largest >= number + K_PACKET_THRESHOLD {
                self.sent_packets.remove(&number);
                self.lost += 1;
            } else if self.loss_time == 0.0 {
                self.loss_time = time_sent + loss_delay;
            } else {
                self.loss_time = self.loss_time.min(time_sent + loss_delay);
            }
        }
    }

    fn set_loss_detection_timer(&mut self) {
        self.loss_detection_timer = if self.loss_time != 0.0 {
            self.loss_time
        } else if self.sent_packets.is_empty() {
            f64::INFINITY
        } else {
            let duration = self.smoothed_rtt + (4.0 * self.rttvar).max(K_GRANULARITY) + self.max_ack_delay;
            self.time_of_last_ack_eliciting_packet + duration * 2f64.powi(self.pto_count)
        };
    }

    pub(super) fn on_loss_detection_timeout(&mut self, now: Time) {
        if self.loss_time == 0.0 {
            self.pto_count += 1;
        } else {
            self.detect_and_remove_lost_packets(secs(now));
        }
        self.set_loss_detection_timer();
    }

    /// Compare a connection that had the same events, and take over its estimates, whose rounding would add up.
    pub(super) fn check<C: CongestionControl>(&mut self, connection: &Connection<C>) {
        if self.is_ambiguous {
            return;
        }
        let of = &connection.spaces[Space::Data.index()];
        let outstanding: Vec<u32> =
            of.sent.iter().filter(|packet| packet.is_outstanding).map(|packet| packet.number).collect();
        let expected: Vec<u32> = self.sent_packets.keys().copied().collect();
        assert_eq!(outstanding, expected, "packets in flight");
        // Estimates are in whole microseconds.
        let near = |ours: f64, expected: f64| (ours - expected).abs() <= 4e-6;
        let smoothed = connection.rtt.smoothed().map_or(0.0, Duration::as_secs_f64);
        assert!(near(smoothed, self.smoothed_rtt), "{smoothed} s, not {} s", self.smoothed_rtt);
        let variation = connection.rtt.variation().as_secs_f64();
        assert!(near(variation, self.rttvar), "{variation} s, not {} s", self.rttvar);
        let timer = connection.loss_timer.deadline();
        let (timer, expected) =
            (if timer == Time::MAX { f64::INFINITY } else { secs(timer) }, self.loss_detection_timer);
        let scale = 2f64.powi(self.pto_count);
        assert!(
            (timer.is_infinite() && expected.is_infinite()) || (timer - expected).abs() <= 2e-5 * scale,
            "the timer expires at {timer} s, not {expected} s"
        );
        (self.smoothed_rtt, self.rttvar) = (smoothed, variation);
    }
}
